/** A rank of test/collectives/processes.ts: `rank.process.ts SIZE all|killed|spinning`. Started without a launcher it starts SIZE of itself. */
import {
  type CommunicatorOptions,
  createCommunicator,
  joinGroup,
  operations,
  runRanks,
} from '../../src/collectives/index.ts'
import { faults, openDevice } from '../../src/index.ts'
import { perform, type Step, types } from './reference.ts'

const [size, mode] = process.argv.slice(2)
if (process.env.VERBENA_RANK === undefined) {
  const args = [...process.execArgv, process.argv[1]!, size!, mode!]
  const onLine = (rank: number, line: string): void => console.error(`rank ${rank}: ${line}`)
  process.exitCode = await runRanks({ size: Number(size), args, onLine })
} else {
  const group = await joinGroup()
  // Two seconds after one has ended the launcher asks the others to end; on a loaded machine they need longer to see it by themselves.
  if (mode === 'killed') process.on('SIGTERM', () => {})
  const options = mode === 'spinning' ? lossy(group.rank) : {}
  const comm = await createCommunicator(group, options)
  const names = ['barrier', 'broadcast', 'scatter', 'gather', 'allgather', 'reduce', 'allreduce', 'alltoall'] as const
  let calls = 0
  const wanted = mode === 'spinning' ? (['broadcast'] as const) : names
  for (const count of [1, 37, 9000])
    for (const [i, collective] of wanted.entries())
      for (const blocking of [true, false, true, true]) {
        const type = types[(calls + i) % types.length]!
        const operation = operations[calls % 3]!
        const step: Step = { collective, type, count, root: calls % comm.size, operation, allocated: calls % 2 === 0 }
        await perform(comm, step, calls++, blocking)
        if (mode === 'killed' && calls === 30 && comm.rank === 1) process.kill(process.pid, 'SIGKILL')
      }
  if (comm.rank === 0) console.log(`rank ${comm.rank} of ${comm.size}: ${calls} calls`)
  await comm.end()
  if (options.context?.counters().injected_losses === 0) throw new Error('nothing was lost')
  options.context?.close()
  await group.close()
}

/** Broadcasts by multicast on a network that loses packets, between ranks that poll for longer than any test takes. */
function lossy(rank: number): CommunicatorOptions {
  const context = openDevice(`roce:127.93.11.${rank + 1}`, {
    wrap: [faults({ loss: 0.1, direction: 'in', seed: rank + 1 })],
  })
  const rules = [{ collective: 'broadcast', algorithm: 'multicast' }] as const
  return { context, table: { version: 1, rules }, spinUs: 1e12 }
}
