/**
 * The thread that plays the adapter for a context opened with `engine: 'thread'`: it waits for doorbells, fetches the
 * requests, reads their payload only then, and completes them.
 */
import { parentPort } from 'node:worker_threads'
import { nowNs, Polling, pinThread, processCores, threadData, untilLook } from '../../memory/index.ts'
import { passNews } from '../../verbs/index.ts'
import { layout } from '../../verbs/provider/index.ts'
import { attachSegment } from './segments.ts'
import type { EngineData, EngineOrder } from './thread-data.ts'

const { Ctx, Meta, Qp } = layout

const { segment: name, subscriptions } = threadData<EngineData>()
passNews(subscriptions, (passed) => parentPort?.postMessage(passed))
const { host, executor } = attachSegment(name)
const { i32, segment } = host
let pinned = false
const polling = new Polling()
let context = 0
/** First word of the context's record. */
let c = 0

// The thread serves one context at a time, and is used again for another one when that is closed: starting a thread takes long.
parentPort?.on('message', (order: EngineOrder) => {
  context = order.context
  c = host.ctxWord(context)
  if (order.cores.length > 0 || pinned) pinThread(order.cores.length > 0 ? order.cores : [...processCores])
  pinned = order.cores.length > 0
  announce(1)
  serve()
  announce(0)
})

function announce(ready: number): void {
  Atomics.store(i32, c + Ctx.doorbellReady, ready)
  segment.notify(c + Ctx.doorbellReady)
}

function serve(): void {
  for (let spins = 0; ; spins++) {
    const head = i32[c + Ctx.doorbellHead]!
    if (head !== i32[c + Ctx.doorbellTail] && head !== Atomics.load(i32, c + Ctx.doorbellTail)) {
      const slot = i32[c + Ctx.doorbells + (head & (Ctx.doorbellSlots - 1))]!
      Atomics.store(i32, c + Ctx.doorbellHead, (head + 1) | 0)
      execute(slot)
      // Reading the clock for each doorbell would take longer than it is worth.
      polling.came(0)
      continue
    }
    if ((spins & 63) !== 0 && polling.polls) continue
    if (Atomics.load(i32, c + Ctx.doorbellStop) === 1) return
    if (Atomics.exchange(i32, c + Ctx.doorbellMissed, 0) === 1) executeAll()
    if (i32[host.pendingCount] !== 0) executor.progress()
    if (!polling.goesOn(nowNs())) sleep(i32[host.pendingCount] !== 0 ? 1 : untilLook(100))
  }
}

function sleep(timeoutMs: number): void {
  const wake = Atomics.load(i32, c + Ctx.doorbellWake)
  Atomics.store(i32, c + Ctx.doorbellSleeping, 1)
  if (
    Atomics.load(i32, c + Ctx.doorbellTail) === i32[c + Ctx.doorbellHead] &&
    Atomics.load(i32, c + Ctx.doorbellStop) === 0
  )
    segment.wait(c + Ctx.doorbellWake, wake, timeoutMs)
  Atomics.store(i32, c + Ctx.doorbellSleeping, 0)
}

function execute(slot: number): void {
  // Cleared before the queue is read: a request posted from now on rings again.
  Atomics.store(i32, host.qpWord(slot) + Qp.rung, 0)
  executor.resume(slot)
}

/** Executes the queues of all queue pairs of the context: the doorbell ring was full. */
function executeAll(): void {
  for (let slot = 0; slot < i32[host.at.meta + Meta.qpsUsed]!; slot++) {
    const q = host.qpWord(slot)
    if (i32[q + Qp.number]! > 0 && i32[q + Qp.context] === context) execute(slot)
  }
}
