/** The loops of collective-loops.c on `verbena/collectives`: a rank. Arguments: name, bytes, calls, and so on. */
import { createCommunicator, joinGroup } from '../src/collectives/index.ts'
import { nowNs } from '../src/index.ts'

const group = await joinGroup()
const comm = await createCommunicator(group)
const args = process.argv.slice(2)
for (let i = 0; i + 2 < args.length; i += 3) {
  const name = args[i]!
  const bytes = Number(args[i + 1])
  const calls = Number(args[i + 2])
  const input = comm.alloc(Float64Array, bytes / 8)
  const output = comm.alloc(Float64Array, bytes / 8)
  const call: Record<string, () => void> = {
    barrier: () => comm.barrier(),
    broadcast: () => comm.broadcast(output),
    allreduce: () => comm.allreduce(input, output, 'sum'),
  }
  const once = call[name]!
  let spent = 0
  // V8 has compiled what a new kind of call takes for good after some ten thousand of them.
  for (let n = -Math.max(2 * calls, 4000 / (1 + bytes / 65_536)); n < calls; n++) {
    const from = nowNs()
    once()
    if (n >= 0) spent += nowNs() - from
    comm.barrier()
  }
  const all = new Float64Array(1)
  comm.reduce(Float64Array.of(spent), all, 'sum')
  if (comm.rank === 0) console.log(`${name} ${bytes} ${(all[0]! / calls / comm.size).toFixed(1)}`)
  comm.free(input)
  comm.free(output)
}
await comm.end()
await group.close()
