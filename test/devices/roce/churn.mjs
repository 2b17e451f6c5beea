/**
 * A process of churn.ts: its threads open and close devices at random moments, and whoever has one open asks the prober
 * for a datagram before going on. `churn.mjs` is forked with a `Churn` as JSON; its workers run this file, too.
 *
 * A thread that finds nobody's datagram in time, or gets an error that it does not expect, reports it: { failed }.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { Access, connectQp, endpointOf, openDevice, QpType, workCompletions } from 'verbena'

/** Everything that the prober has to send before a device counts as unreachable. */
const patienceMs = 15_000

/** @type {{ devices: string[], seed: number, ms: number, workers: number, pauseMs: number, mortals: boolean }} */
const churn = isMainThread ? JSON.parse(process.argv[2]) : workerData.churn
const name = isMainThread ? `${process.pid}` : `${process.pid}.${workerData.number}`
let state = (churn.seed + (isMainThread ? 0 : workerData.number * 7919)) >>> 0
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state / 2 ** 32
}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const tell = (message) => (isMainThread ? process.send(message) : parentPort.postMessage(message))
const end = performance.now() + churn.ms
let rounds = 0

async function round(mortal) {
  await sleep(random() * churn.pauseMs)
  const device = churn.devices[Math.floor(random() * churn.devices.length)]
  const context = openDevice(device)
  const pd = context.allocPd()
  const cq = context.createCq(8)
  const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 4 } })
  const mr = pd.regMr(context.alloc(4096), Access.LocalWrite)
  connectQp(qp, { psn: 1 }, null)
  qp.postRecv({ wrId: 1, sgList: [{ addr: mr.addr, length: 64, lkey: mr.lkey }] })
  const id = `${name}/${++rounds}`
  tell({ id, device, gid: [...endpointOf(qp).gid], qpNum: qp.qpNum })
  const wc = workCompletions(1)
  const started = performance.now()
  while (cq.poll(wc) === 0) {
    if (performance.now() - started > patienceMs) {
      tell({ id, failed: `${device}: no datagram in ${patienceMs} ms: ${JSON.stringify(context.counters())}` })
      break
    }
    await sleep(1)
  }
  tell({ id, arrived: true })
  if (mortal && random() < 0.5) process.exit()
  await sleep(random() * churn.pauseMs)
  qp.close()
  mr.close()
  cq.close()
  pd.close()
  context.close()
}

const mortal = !isMainThread && workerData.mortal
const workers = []
if (isMainThread) {
  // Nobody opens anything before all have loaded: it is the first openings that are to meet.
  const gate = new Int32Array(new SharedArrayBuffer(8))
  const start = (number, isMortal) =>
    new Promise((resolve) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: { churn, number, mortal: isMortal, gate } })
      worker.on('message', tell)
      worker.on('error', (error) => tell({ id: name, failed: String(error.stack) }))
      worker.on('exit', () => resolve())
    })
  for (let number = 1; number <= churn.workers; number++) workers.push(start(number, false))
  while (Atomics.load(gate, 0) < churn.workers) await sleep(1)
  Atomics.store(gate, 1, 1)
  Atomics.notify(gate, 1)
  const mortals = async () => {
    for (let number = 100; performance.now() < end; number++) await start(number, true)
  }
  if (churn.mortals) workers.push(mortals())
} else {
  Atomics.add(workerData.gate, 0, 1)
  Atomics.wait(workerData.gate, 1, 0)
}
try {
  do await round(mortal)
  while (performance.now() < end)
} catch (error) {
  tell({ id: name, failed: String(error.stack) })
}
if (isMainThread) {
  await Promise.all(workers)
  tell({ done: true })
  process.disconnect()
} else process.exit()
