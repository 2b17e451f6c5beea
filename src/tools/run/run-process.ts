/** The process that `run` of `verbena/run` starts: serves one program, and ends with it, as `verbena run` does. */
import { type ChildMessage, type ChildSettings, recordsDescriptor } from '../../run/child/messages.ts'
import {
  type Ended,
  endDescendants,
  isServed,
  launchServed,
  runProgram,
  runVariable,
} from '../../run/programs/index.ts'
import { runAdapters } from './adapters.ts'
import { endLike } from './end-like.ts'

const settings: ChildSettings = JSON.parse(process.argv[2]!)
const { env } = process
const tell = (message: ChildMessage): boolean => process.send!(message)

// The parent process has ended, or requests an end, which is its only message.
process.once('disconnect', endDescendants)
process.once('message', endDescendants)

async function start({
  program,
  args,
  devices,
  names,
  explain,
  trace,
  counters,
  strict,
}: ChildSettings): Promise<Ended> {
  const onStarted = (pid: number): unknown => tell({ kind: 'started', pid })
  if (isServed(env[runVariable])) {
    if (devices.length + names.length > 0 || explain || trace || counters || strict)
      throw new Error('this process is below `verbena run`, which serves programs: give it the options')
    return await launchServed(program, args, env, onStarted)
  }
  const records = { trace: trace ? recordsDescriptor : null, counters: counters ? recordsDescriptor : null }
  return await runProgram({
    ...{ program, args, env, strict, verbose: false, adapters: runAdapters(devices, names), onStarted },
    watch: explain || trace || counters ? { explain, json: true, ...records } : null,
    leavesThreads: true,
    onWarning: (text) => process.stderr.write(`verbena run: ${text}\n`),
  })
}

try {
  const ended = await start(settings)
  process.off('disconnect', endDescendants)
  endLike(ended)
} catch (error) {
  process.off('disconnect', endDescendants)
  const { code = 'EINVAL', message } = error as NodeJS.ErrnoException
  process.send!({ kind: 'failed', code, message } satisfies ChildMessage, () => process.exit(1))
}
