/** As `verbena run`, with a door that echoes: LOG PROGRAM ARGS… */
import { startThread } from '../../../src/memory/index.ts'
import { launch, RunError } from '../../../src/run/front/index.ts'

const [log, program, ...args] = process.argv.slice(2)
// As a profiler has it, which sends it to threads.
if (process.env.ECHO_SIGNALS === '1') process.on('SIGPROF', () => {})
const supervisor = () => startThread(new URL(process.env.ECHO_SUPERVISOR!))
try {
  const { code, signal } = await launch({
    ...{ program: program!, args, env: process.env, supervisor, settings: log },
    verbose: process.env.ECHO_VERBOSE === '1',
    onWarning: (text) => process.stderr.write(`${text}\n`),
  })
  if (signal !== null) process.kill(process.pid, signal)
  process.exitCode = code ?? 1
} catch (error) {
  process.stderr.write(`${error instanceof RunError ? `${error.code}: ${error.message}` : (error as Error).stack}\n`)
  process.exitCode = 99
}
