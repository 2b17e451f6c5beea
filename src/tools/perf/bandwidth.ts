/**
 * Bandwidth tests: each sender keeps up to `txDepth` messages of each queue pair outstanding; one request of `signalEvery`
 * makes a completion. With `-b` both ends send, and with SEND both receive as well, in one loop.
 *
 *     iterations   warm-up, all of it completed; then the clock runs from the first post to the last completion
 *     duration     the clock runs between the margins
 */
import { SendFlag } from '../../index.ts'
import { nowNs } from '../../memory/index.ts'
import type { Flow } from './protocol.ts'
import { busy, Control, type DataEnd, failed, idle, peerSent, quietNs, received } from './state.ts'

export interface BandwidthGoal {
  /** True if this end sends; true if it receives. */
  sends: boolean
  receives: boolean
  /** True if this end is a target of the peer's one-sided operations. */
  serves: boolean
  /** Number of warm-up messages of each QP. */
  warmup: number
  /** Number of messages of each QP; 0 with a duration. */
  iters: number
  fromNs: number
  untilNs: number
  endNs: number
  /** Nanoseconds between messages of this end; 0: as fast as possible. */
  intervalNs: number
  postList: number
  /** Called when all messages have been sent. */
  onSent(messages: number): void
}

export interface BandwidthRun {
  sent: Flow | null
  received: Flow | null
}

/** Counter of messages that finds the fastest window: a twentieth of the messages, or 10 ms. */
class Meter {
  readonly #windowMessages: number
  readonly #windowNs: number
  #startNs = 0
  #start = 0
  #lastNs = 0
  #last = 0
  #windowStartNs = 0
  #windowStart = 0
  #peak = 0

  constructor(windowMessages: number, windowNs: number) {
    this.#windowMessages = windowMessages
    this.#windowNs = windowNs
  }

  get started(): boolean {
    return this.#startNs !== 0
  }

  start(now: number, count: number): void {
    this.#startNs = now
    this.#start = count
    this.#windowStartNs = now
    this.#windowStart = count
    this.#lastNs = now
    this.#last = count
  }

  note(now: number, count: number): void {
    this.#lastNs = now
    this.#last = count
    const messages = count - this.#windowStart
    const ns = now - this.#windowStartNs
    if (messages < this.#windowMessages || ns < this.#windowNs || ns === 0) return
    this.#peak = Math.max(this.#peak, messages / ns)
    this.#windowStartNs = now
    this.#windowStart = count
  }

  flow(): Flow {
    const messages = this.#last - this.#start
    const seconds = (this.#lastNs - this.#startNs) / 1e9
    const messagesPerSecond = seconds > 0 ? messages / seconds : 0
    return { messages, seconds, messagesPerSecond, peakPerSecond: Math.max(messagesPerSecond, this.#peak * 1e9) }
  }
}

/** Number of messages between two reads of the clock. */
const clockEvery = 32
/** Time without an arrival after which UC and UD messages are lost, once the peer has finished. */
const lossAfterNs = 50e6

/** Sending side of a bandwidth test: numbers of posted and completed messages of each QP, and the meter that counts them. */
class Sender {
  readonly #e: DataEnd
  readonly #goal: BandwidthGoal
  readonly #posted: Float64Array
  readonly #done: Float64Array
  readonly #unsignaled: Int32Array
  /** Number of messages of each QP that may be posted now. */
  limit: number
  postedTotal = 0
  doneTotal = 0

  constructor(e: DataEnd, goal: BandwidthGoal, limit: number) {
    this.#e = e
    this.#goal = goal
    this.limit = limit
    this.#posted = new Float64Array(e.qps.length)
    this.#done = new Float64Array(e.qps.length)
    this.#unsignaled = new Int32Array(e.qps.length)
  }

  get allDone(): boolean {
    return this.doneTotal === this.postedTotal
  }

  /** Posts as many messages as fit, until `upTo` messages are posted in all. */
  post(upTo: number): void {
    const e = this.#e
    const { postList } = this.#goal
    for (let q = 0; q < e.qps.length; q++) {
      for (;;) {
        const allowed = Math.min(this.limit - this.#posted[q]!, upTo - this.postedTotal)
        const room = Math.min(e.txDepth - (this.#posted[q]! - this.#done[q]!), allowed)
        if (postList > 1 && room >= postList) this.#postList(q, e.lists[q]!)
        else if (room >= 1 && (postList === 1 || allowed < postList)) this.#postOne(q)
        else break
      }
    }
  }

  #postList(q: number, list: SendList): void {
    for (let i = 0; i < list.length; i++) this.#mark(q, list[i]!, false)
    this.#e.qps[q]!.postSend(list[0]!)
  }

  #postOne(q: number): void {
    const wr = this.#e.singles[q]!
    this.#mark(q, wr, false)
    this.#e.qps[q]!.postSend(wr)
  }

  /** Numbers a request and signals it if its turn has come. */
  #mark(q: number, wr: SendList[number], always: boolean): void {
    const e = this.#e
    const posted = this.#posted[q]! + 1
    this.#posted[q] = posted
    this.postedTotal++
    // The wrId contains both the number of messages and the QP.
    wr.wrId = posted * e.qps.length + q
    const since = this.#unsignaled[q]! + 1
    if (always || since >= e.signalEvery || posted === this.limit) {
      this.#unsignaled[q] = 0
      wr.sendFlags = e.flags | SendFlag.Signaled
    } else {
      this.#unsignaled[q] = since
      wr.sendFlags = e.flags
    }
  }

  /** Posts one more signaled message on each QP whose last ones were unsignaled, so that all completions arrive. */
  flush(): void {
    for (let q = 0; q < this.#e.qps.length; q++) {
      if (this.#unsignaled[q] === 0) continue
      const wr = this.#e.singles[q]!
      this.#mark(q, wr, true)
      this.#e.qps[q]!.postSend(wr)
    }
  }

  /** Takes completions; returns true if there were any. */
  collect(): boolean {
    const e = this.#e
    const n = e.sendCq.poll(e.wcs)
    if (n < 0) e.error ||= 'the send CQ overran'
    for (let i = 0; i < n; i++) {
      const wc = e.wcs[i]!
      if (wc.status !== 0) {
        failed(e, 'request', wc)
        return false
      }
      const q = wc.wrId % e.qps.length
      const done = (wc.wrId - q) / e.qps.length
      this.doneTotal += done - this.#done[q]!
      this.#done[q] = done
    }
    return n > 0
  }
}

type SendList = DataEnd['lists'][number]

export function stream(e: DataEnd, goal: BandwidthGoal): BandwidthRun {
  const timed = goal.iters === 0
  const qps = e.qps.length
  const warm = timed ? 0 : goal.warmup
  const total = (warm + goal.iters) * qps
  const windowMessages = timed ? 1 : Math.max(1, Math.ceil((goal.iters * qps) / 20))
  const windowNs = timed ? 10e6 : 1
  const sent = new Meter(windowMessages, windowNs)
  const arrived = new Meter(windowMessages, windowNs)
  const sender = new Sender(e, goal, timed ? Number.MAX_SAFE_INTEGER : warm > 0 ? warm : goal.iters)
  let sending = goal.sends
  let stopping = false
  let receivedTotal = 0
  let notedTotal = 0
  let sinceClock = 0
  const paced = goal.intervalNs > 0
  const beganNs = nowNs()
  let lookedNs = beganNs
  if (goal.sends && !timed && warm === 0) sent.start(beganNs, 0)
  while (e.error === '') {
    let progress = false
    if (sending) {
      if (!stopping)
        sender.post(paced ? Math.floor((nowNs() - beganNs) / goal.intervalNs) + 1 : Number.MAX_SAFE_INTEGER)
      const before = sender.doneTotal
      if (sender.collect()) {
        progress = true
        sinceClock += sender.doneTotal - before
      }
    } else if (goal.serves) {
      // At a target of one-sided operations, polling lets an adapter that works in this thread serve them.
      e.sendCq.poll(e.wcs)
    }
    if (goal.receives) {
      const n = collectReceives(e)
      if (n > 0) {
        progress = true
        receivedTotal += n
        sinceClock += n
      }
    }
    if (progress) {
      busy(e)
      const complete = receivedTotal === total || (sending && sender.allDone)
      if (sinceClock < clockEvery && !complete) continue
    } else if (!(sending && paced && !stopping ? due(e) : idle(e))) break
    sinceClock = 0
    const now = nowNs()
    if (sending) {
      if (timed) {
        const elapsed = now - beganNs
        if (!stopping) {
          if (!sent.started && elapsed >= goal.fromNs) sent.start(now, sender.doneTotal)
          else if (sent.started && elapsed <= goal.untilNs) sent.note(now, sender.doneTotal)
          if (elapsed >= goal.endNs) {
            stopping = true
            sender.flush()
          }
        }
      } else if (sent.started) sent.note(now, sender.doneTotal)
      else if (sender.doneTotal === warm * qps) {
        sent.start(now, sender.doneTotal)
        sender.limit = warm + goal.iters
      }
      if (sender.allDone && (stopping || (!timed && sender.doneTotal === total))) {
        sending = false
        goal.onSent(sender.postedTotal)
      }
    }
    if (receivedTotal > notedTotal) {
      // Arrivals since the last poll came after it, so the clock starts there.
      if (!arrived.started && receivedTotal > warm * qps) arrived.start(lookedNs, warm * qps)
      if (arrived.started) arrived.note(now, receivedTotal)
      notedTotal = receivedTotal
    }
    lookedNs = now
    if (sending || (goal.serves && !peerSent(e))) continue
    if (!goal.receives || allArrived(e, receivedTotal, timed ? Number.POSITIVE_INFINITY : total)) break
  }
  return { sent: goal.sends ? sent.flow() : null, received: goal.receives ? arrived.flow() : null }
}

/** Takes arrivals and posts their receives again; returns their number. */
function collectReceives(e: DataEnd): number {
  const n = e.recvCq.poll(e.wcs)
  if (n < 0) e.error ||= 'the receive CQ overran'
  for (let i = 0; i < n; i++) {
    const wc = e.wcs[i]!
    if (wc.status !== 0) {
      failed(e, 'receive', wc)
      break
    }
    received(e, wc.wrId)
  }
  return n
}

/** Polls between two messages of a paced sender; sleeping would delay the next one. Returns false when the loop has to end. */
function due(e: DataEnd): boolean {
  e.spins++
  return (e.spins & 1023) !== 0 || Atomics.load(e.control, Control.stop) === 0 || idle(e)
}

function allArrived(e: DataEnd, count: number, total: number): boolean {
  if (count >= total) return true
  if (!peerSent(e)) return false
  return count >= e.doubles[Control.peerMessages / 2]! || (e.connection !== 'RC' && quietNs(e) > lossAfterNs)
}
