import { fork } from 'node:child_process'
import { createCommunicator } from './src/collectives/index.ts'
const size = Number(process.argv[2] ?? 2)
if (!process.send) {
  const kids = Array.from({ length: size }, (_, r) => fork(process.argv[1]!, [String(size), String(r)], { execArgv: process.execArgv }))
  const turns = new Map<number, any[]>()
  kids.forEach((k, r) => k.on('message', ([t, b]: any) => { const m = turns.get(t) ?? []; turns.set(t, m); m[r] = b; if (Object.keys(m).length === size) kids.forEach((k) => k.send([t, m])) }))
} else {
  const rank = Number(process.argv[3]); let turn = 0
  const meet = (b: Uint8Array) => new Promise<Uint8Array[]>((res) => { const t = turn++; process.on('message', function f([tt, m]: any) { if (tt === t) { process.off('message', f); res(m.map((x: string) => new Uint8Array(Buffer.from(x, 'base64')))) } }); process.send!([t, Buffer.from(b).toString('base64')]) })
  const host = 'h'
  const comm = await createCommunicator({ rank, size, members: Array.from({ length: size }, () => ({ host })), allgather: meet, barrier: async () => void (await meet(new Uint8Array(0))) }, { device: 'shm:cbtest' + process.ppid })
  const A = comm.alloc(Float64Array, 1), B = comm.alloc(Float64Array, 1)
  const time = (name: string, n: number, f: () => void) => {
    for (let i = 0; i < n / 5 + 5; i++) f()
    comm.barrier()
    const rounds: number[] = []
    for (let k = 0; k < 5; k++) { const t = performance.now(); for (let i = 0; i < n / 5; i++) f(); rounds.push((performance.now() - t) * 1e3 / (n / 5)); comm.barrier() }
    if (rank === 0) console.log(name.padEnd(24), rounds.sort((a, b) => a - b)[2]!.toFixed(3), 'us', rounds[0]!.toFixed(3))
  }
  if (process.argv[4] === 'p' || process.env.P) { for (let i = 0; i < 1000000; i++) comm.allreduce(comm === null ? null! : A, B, 'sum') }
  const N = size > 2 ? 2000 : 50000
  time('barrier', N, () => comm.barrier())
  for (const [count, n] of [[1, N], [512, N / 4], [131072, N / 200]] as const) {
    const a = comm.alloc(Float64Array, count), b = comm.alloc(Float64Array, count)
    time('broadcast ' + count * 8, n, () => comm.broadcast(a))
    time('allreduce ' + count * 8, n, () => comm.allreduce(a, b, 'sum'))
    const c = new Float64Array(count), d = new Float64Array(count)
    time('allreduce unreg ' + count * 8, n, () => comm.allreduce(c, d, 'sum'))
  }
  comm.close(); process.disconnect()
}
