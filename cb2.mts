import { openDevice } from './src/index.ts'
import { Memory } from './src/collectives/memory.ts'
import { Mesh } from './src/collectives/mesh.ts'
import { Runner } from './src/collectives/runner.ts'
import { Caller } from './src/collectives/caller.ts'
import { Chooser } from './src/collectives/choose.ts'
const ends = [0, 1].map((rank) => {
  const context = openDevice('shm0'); const pd = context.allocPd(); const memory = new Memory(context, pd)
  const mesh = new Mesh(context, pd, memory, { rank, size: 2, gidIndex: 0 })
  const runner = new Runner(mesh, memory)
  return { memory, mesh, runner, caller: new Caller(runner, memory, new Chooser(2), { rank, size: 2 }) }
})
for (const e of ends) e.mesh.connect(ends.map((x) => x.mesh.address))
const [a, b] = ends as any
const ain = a.memory.array(Float64Array, 1), aout = a.memory.array(Float64Array, 1), bin = b.memory.array(Float64Array, 1), bout = b.memory.array(Float64Array, 1)
const one = () => { a.caller.begin('allreduce', 0, ain, aout, 'sum'); b.caller.begin('allreduce', 0, bin, bout, 'sum'); while (!(a.runner.step() && b.runner.step())); a.caller.finish(); b.caller.finish() }
const bar = () => { a.caller.begin('barrier', 0, null, null, null); b.caller.begin('barrier', 0, null, null, null); while (!(a.runner.step() && b.runner.step())); a.caller.finish(); b.caller.finish() }
for (const [n, f] of [['allreduce', one], ['barrier', bar], ['allreduce', one]] as const) {
  for (let i = 0; i < 50000; i++) f()
  const c = process.cpuUsage(), t = performance.now(), N = Number(process.env.N ?? 500000)
  for (let i = 0; i < N; i++) f()
  const d = process.cpuUsage(c)
  console.log(n, 'per rank', ((performance.now() - t) * 1e6 / N / 2).toFixed(0), 'ns wall', ((d.user + d.system) * 1e3 / N / 2).toFixed(0), 'ns cpu')
}
process.exit(0)
