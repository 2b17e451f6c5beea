/** A rank of test/collectives/processes.ts: `rank.ts SIZE all|killed`. Started without a launcher it starts SIZE of itself. */
import { createCommunicator, joinGroup, operations, runRanks } from '../../src/collectives/index.ts'
import { perform, type Step, types } from './reference.ts'

const [size, mode] = process.argv.slice(2)
if (process.env.VERBENA_RANK === undefined) {
  const args = ['--import', 'tsx', process.argv[1]!, size!, mode!]
  const onLine = (rank: number, line: string): void => console.error(`rank ${rank}: ${line}`)
  process.exitCode = await runRanks({ size: Number(size), args, onLine })
} else {
  const group = await joinGroup()
  const comm = await createCommunicator(group)
  const names = ['barrier', 'broadcast', 'scatter', 'gather', 'allgather', 'reduce', 'allreduce', 'alltoall'] as const
  let calls = 0
  for (const count of [1, 37, 9000])
    for (const [i, collective] of names.entries())
      for (const blocking of [true, false, true, true]) {
        const type = types[(calls + i) % types.length]!
        const operation = operations[calls % 3]!
        const step: Step = { collective, type, count, root: calls % comm.size, operation, allocated: calls % 2 === 0 }
        await perform(comm, step, calls++, blocking)
        if (mode === 'killed' && calls === 30 && comm.rank === 1) process.kill(process.pid, 'SIGKILL')
      }
  if (comm.rank === 0) console.log(`rank ${comm.rank} of ${comm.size}: ${calls} calls`)
  await comm.end()
  await group.close()
}
