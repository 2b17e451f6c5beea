/**
 * A thread that drives a device may be killed between any two stores. The thread that takes the device's lock over from it brings the
 * transport's state into order here, before it does anything else:
 *
 *     journal      a packet of the peer, a completion, a window, an atomic: what may happen only once is rolled back or finished
 *     lists        of QPs and timers are emptied and made anew; doorbells that rang are answered
 *     requesters   send again from the oldest packet that is not acknowledged, at the cost of no retry
 *     responders   repeat their ACK, and the responses that were still to be sent
 *
 * Packets that the thread had received and not executed, or had made and not sent, are lost packets, and retransmission repairs that.
 * They may cost the peer a retry, as any lost packet: it cannot distinguish them. The following effects remain: a message of UC or UD may
 * be lost; an asynchronous event may be lost or, like the event of a CQ, come twice; a request that was failing may end with WR_FLUSH_ERR
 * instead of the error. An atomic is executed once as long as only this device changes the word meanwhile (`IBV_ATOMIC_HCA`).
 *
 * The takeover may be interrupted as well: the thread that takes over next starts again from the beginning.
 */
import {
  finishCompletion,
  Journal,
  journalQp,
  journalStage,
  layout,
  Opcode,
  QpState,
  QpType,
  recountWindows,
  unbindWindow,
} from '../verbs/provider/index.ts'
import { psnAdd } from '../wire/index.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import type { Completer } from './completer.ts'
import type { Hosting } from './hosting.ts'
import { begun, PacketJournal, Resource, SendProgress, TransportDevice, TransportQp } from './layout.ts'
import type { Responses } from './responses.ts'
import type { SendQueue } from './send-queue.ts'
import type { TransportState } from './state.ts'

const { Key, Meta, Qp, Srq, Wqe } = layout

export class Takeover {
  readonly #state: TransportState
  readonly #queue: SendQueue
  readonly #completer: Completer
  readonly #responses: Responses
  readonly #acks: Acknowledgements
  readonly #hosting: Hosting

  constructor(
    state: TransportState,
    queue: SendQueue,
    completer: Completer,
    responses: Responses,
    acks: Acknowledgements,
    hosting: Hosting,
  ) {
    this.#state = state
    this.#queue = queue
    this.#completer = completer
    this.#responses = responses
    this.#acks = acks
    this.#hosting = hosting
  }

  /** Runs after the device's lock was taken over from a dead thread; this thread is in an operation. */
  run(nowNs: number): void {
    const state = this.#state
    const { i32, host } = state
    state.count(state.counters.takeovers)
    this.#emptyLists()
    this.#finish()
    for (let slot = 0; slot < i32[host.at.meta + Meta.qpsUsed]!; slot++) {
      const q = host.qpWord(slot)
      if (i32[q + Qp.number]! <= 0 || i32[q + Qp.device] !== state.device) continue
      // Cleared before the queue is read: a request posted from now on rings again.
      Atomics.store(i32, q + Qp.rung, 0)
      this.#resume(q, nowNs)
      state.schedule(q)
    }
    host.repairEvents(state.device)
  }

  #emptyLists(): void {
    const { i32, f64, record, host } = this.#state
    for (const word of ['txHead', 'txTail', 'ackHead', 'ackTail', 'timers'] as const)
      i32[record + TransportDevice[word]] = 0
    i32.fill(0, record + TransportDevice.flags, record + TransportDevice.journal)
    f64[(record + TransportDevice.nextDeadline) >> 1] = Number.POSITIVE_INFINITY
    this.#hosting.clear()
    const { segment } = host
    segment.lock(record + TransportDevice.doorbellLock)
    i32[record + TransportDevice.doorbellHead] = i32[record + TransportDevice.doorbellTail]!
    segment.unlock(record + TransportDevice.doorbellLock)
  }

  // --- what may happen only once -----------------------------------------------------------------------------------

  #finish(): void {
    const state = this.#state
    const { i32, host, record } = state
    const journal = record + TransportDevice.journal
    const stage = i32[journal + Journal.stage]!
    const q = stage === journalStage.none ? -1 : journalQp(host, journal)
    // Nothing is to be kept for a QP that is gone, or was reset.
    if (q >= 0 && i32[q + Qp.state]! >= QpState.Rtr) {
      const t = state.of(q)
      if (stage === journalStage.packet) this.#undoPacket(q, t)
      else if (stage === journalStage.atomic) this.#atomic(q, t)
      else if (stage === journalStage.window) this.#window(q, t)
      else {
        if (stage === journalStage.receive) {
          i32[t + TransportQp.receive] = 0
          i32[t + TransportQp.invalidated] = 0
        }
        if (!finishCompletion(host, journal, q)) state.overran(q)
      }
    }
    state.end()
  }

  /** Rolls back a packet: it was not acknowledged, so the peer sends it again. */
  #undoPacket(q: number, t: number): void {
    const { i32, f64, record, host } = this.#state
    const packet = record + TransportDevice.packet
    for (const word of ['epsn', 'msn', 'rxKind', 'receive', 'rkey', 'plainPsn', 'resTail'] as const)
      i32[t + TransportQp[word]] = i32[packet + PacketJournal[word]]!
    for (const word of ['rxBytes', 'va', 'remaining'] as const)
      f64[(t + TransportQp[word]) >> 1] = f64[(packet + PacketJournal[word]) >> 1]!
    const region = i32[packet + PacketJournal.region]!
    if (region !== 0) recountWindows(host, region - 1)
    if (i32[packet + PacketJournal.takes] === 0) return
    // The SRQ has reused its slot by now; its receive waits for the packet here.
    const srq = host.srqWord(i32[q + Qp.srq]!)
    if (i32[srq + Srq.tail] === i32[packet + PacketJournal.srqTail])
      i32[t + TransportQp.receive] = t + TransportQp.srqCopy
  }

  #atomic(q: number, t: number): void {
    const { b64, f64, record } = this.#state
    const packet = record + TransportDevice.packet
    this.#undoPacket(q, t)
    const resource = this.#responses.newest(t)
    const value = b64[(packet + PacketJournal.value) >> 1]!
    const found = b64[(resource + Resource.va) >> 1]!
    // An atomic that changes nothing may be executed again.
    if (found !== value && Atomics.load(b64, f64[(packet + PacketJournal.target) >> 1]!) === value)
      this.#responses.enlist(q, t, resource)
  }

  /** Finishes a LOCAL_INV; a BIND_MW is not finished. */
  #window(q: number, t: number): void {
    const { i32, host, record } = this.#state
    const journal = record + TransportDevice.journal
    const index = i32[journal + Journal.queue]!
    const window = i32[journal + Journal.window]!
    const key = i32[journal + Journal.windowKey]!
    if (i32[t + TransportQp.freshIndex] !== index || i32[window + Key.key]! >>> 8 !== key >>> 8) return
    const wqe = this.#queue.wqe(q, index)
    unbindWindow(host, window)
    if (i32[wqe + Wqe.opcode] === Opcode.LocalInv) {
      i32[wqe + SendProgress.settled] = 1
      i32[t + TransportQp.freshIndex] = (index + 1) | 0
    } else i32[window + Key.key] = key
    recountWindows(host, i32[journal + Journal.windowRegion]!)
    const region = host.findKey(i32[wqe + Wqe.mrKey]!)
    if (region >= 0) recountWindows(host, (region - host.at.keys) / Key.words)
  }

  // --- what may happen again ---------------------------------------------------------------------------------------

  #resume(q: number, nowNs: number): void {
    const { i32 } = this.#state
    const t = this.#state.of(q)
    const state = i32[q + Qp.state]!
    const type = i32[q + Qp.type]!
    const ready = i32[t + TransportQp.ready]!
    if (type !== QpType.RC && type !== QpType.UC) return
    if ((ready & begun.responder) !== 0 && type === QpType.RC && state >= QpState.Rtr) {
      this.#responses.restart(t)
      // The NAK may be among the lost packets.
      if (i32[t + TransportQp.nakDue] === 0) i32[t + TransportQp.nakSent] = 0
      if (state !== QpState.Err) this.#acks.due(q, t)
    }
    if ((ready & begun.requester) === 0 || (state !== QpState.Rts && state !== QpState.Sqd)) return
    if (type === QpType.RC) this.#completer.resume(q, t, nowNs)
    else this.#skipBegun(q, t)
  }

  /** Skips the requests of UC that were begun: UC sends nothing twice, so they count as sent. */
  #skipBegun(q: number, t: number): void {
    const { i32 } = this.#state
    const fresh = i32[t + TransportQp.freshIndex]!
    let psn = i32[t + TransportQp.una]!
    for (let index = i32[q + Qp.sqNext]!; index !== fresh; index = (index + 1) | 0) {
      const wqe = this.#queue.wqe(q, index)
      if (i32[wqe + SendProgress.settled] === 0) psn = psnAdd(i32[wqe + SendProgress.lastPsn]!, 1)
    }
    i32[t + TransportQp.newPsn] = psn
    i32[t + TransportQp.una] = psn
    i32[t + TransportQp.txPsn] = psn
    i32[t + TransportQp.txIndex] = fresh
    this.#queue.completeReady(q, t)
  }
}
