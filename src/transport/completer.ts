/**
 * The completer of RC handles the replies of the responder, and their absence. ACKs and responses complete requests; NAKs and timeouts
 * set the requester back.
 *
 * InfiniBand Architecture volume 1, 9.7.5.
 */
import {
  answeredOpcodes,
  atomicOpcodes,
  hasOpcode,
  layout,
  Opcode,
  QpState,
  type RetransmitReason,
  WcStatus,
} from '../verbs/provider/index.ts'
import {
  Aeth,
  AethKind,
  aethKindBits,
  aethValueBits,
  Bth,
  headerLength,
  OpBit,
  opcodeBits,
  psnAdd,
  psnDiff,
  rnrTimerNs,
  Syndrome,
  u24,
  u32,
} from '../wire/index.ts'
import { padOf } from './bth.ts'
import { grant } from './credits.ts'
import { begun, SendProgress, TransportQp } from './layout.ts'
import type { SendQueue } from './send-queue.ts'
import { noticeableNs, type TransportState } from './state.ts'
import type { Expiry, Timers } from './timers.ts'

const { Qp, Wqe } = layout

/** Value of `rnrRetry` that stands for infinite retries. */
const forever = 7

export class Completer implements Expiry {
  readonly #state: TransportState
  readonly #queue: SendQueue
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #timers: Timers
  readonly #u8: Uint8Array

  constructor(state: TransportState, queue: SendQueue) {
    this.#state = state
    this.#queue = queue
    this.#i32 = state.i32
    this.#f64 = state.f64
    this.#timers = state.timers
    this.#u8 = state.u8
  }

  /** Handles a packet from the responder of `q`: [at, end) from BTH to the end of the pad. */
  receive(q: number, op: number, at: number, end: number, psn: number, nowNs: number): void {
    const i32 = this.#i32
    const state = this.#state
    const t = state.of(q)
    const qpState = i32[q + Qp.state]!
    const bits = opcodeBits[op]!
    if (qpState !== QpState.Rts && qpState !== QpState.Sqd) {
      state.count(state.counters.drops_qp_state)
      return
    }
    if ((i32[t + TransportQp.ready]! & begun.requester) === 0) {
      // The requester has never sent anything.
      state.count(state.counters.drops_unexpected_ack)
      return
    }
    const aeth = at + Bth.length
    if (psnDiff(psn, i32[t + TransportQp.una]!) < 0 || psnDiff(psn, i32[t + TransportQp.newPsn]!) >= 0) {
      // The newest ACK once more: it may bring credits.
      const newest = (bits & OpBit.Ack) !== 0 && psn === psnAdd(i32[t + TransportQp.una]!, -1)
      if (newest && grant(i32, t, this.#u8[aeth + Aeth.syndrome]!, u24(this.#u8, aeth + Aeth.msn))) state.schedule(q)
      else state.count(state.counters.drops_unexpected_ack)
      return
    }
    if ((bits & OpBit.Aeth) !== 0) grant(i32, t, this.#u8[aeth + Aeth.syndrome]!, u24(this.#u8, aeth + Aeth.msn))
    if ((bits & OpBit.Ack) === 0) this.#response(q, t, bits, at, end, psn, nowNs)
    else {
      const syndrome = this.#u8[aeth + Aeth.syndrome]!
      const kind = syndrome & aethKindBits
      if (kind === AethKind.Ack) {
        if (!this.#acknowledge(q, t, psn, nowNs)) this.#goBack(q, t, nowNs, state.counters.completer_retry_err, psn)
      } else if (kind === AethKind.RnrNak) this.#receiverNotReady(q, t, psn, syndrome & aethValueBits, nowNs)
      else if (kind === AethKind.Nak) this.#negative(q, t, psn, syndrome, nowNs)
      else state.count(state.counters.drops_malformed)
    }
    if (i32[q + Qp.state] === QpState.Sqd) state.host.drained(q)
  }

  /** Acknowledges all packets up to `psn`. False if a response that must have come before it is missing: an implied NAK. */
  #acknowledge(q: number, t: number, psn: number, nowNs: number): boolean {
    const i32 = this.#i32
    // IBA 9.7.5.1.2: an ACK acknowledges all before it, but for requests whose response is missing.
    let una = i32[t + TransportQp.una]!
    let whole = true
    for (let index = i32[q + Qp.sqNext]!; index !== i32[t + TransportQp.freshIndex]; index = (index + 1) | 0) {
      const wqe = this.#queue.wqe(q, index)
      if (i32[wqe + SendProgress.settled] === 1) continue
      const last = i32[wqe + SendProgress.lastPsn]!
      if (psnDiff(last, una) < 0) continue
      if (psnDiff(psn, una) < 0) break
      if (hasOpcode(answeredOpcodes, i32[wqe + Wqe.opcode]!)) {
        whole = false
        break
      }
      una = psnAdd(psnDiff(last, psn) < 0 ? last : psn, 1)
    }
    if (una !== i32[t + TransportQp.una]) this.#progress(q, t, una, nowNs)
    return whole
  }

  /** Advances the oldest unacknowledged packet to `una`. */
  #progress(q: number, t: number, una: number, nowNs: number): void {
    const i32 = this.#i32
    const packets = psnDiff(una, i32[t + TransportQp.una]!)
    i32[t + TransportQp.una] = una
    this.#queue.recovery.progress(t, packets, this.#queue.window(i32[q + Qp.pathMtu]!), nowNs)
    i32[t + TransportQp.resending] = 0
    // A copy of the packet for which there was no receive may have found one: then there is nothing to wait for.
    this.#timers.cancelRnr(t)
    this.#queue.restartCounts(q, t)
    // The packets to be sent again may have arrived after all.
    if (psnDiff(i32[t + TransportQp.txPsn]!, una) < 0) this.#sendFrom(q, t, una)
    this.#queue.armAckTimeout(q, t, nowNs)
    this.#queue.completeReady(q, t)
  }

  /** Sets the sender to the packet `psn`. */
  #sendFrom(q: number, t: number, psn: number): void {
    const i32 = this.#i32
    let index = i32[q + Qp.sqNext]!
    for (; index !== i32[t + TransportQp.freshIndex]; index = (index + 1) | 0) {
      const wqe = this.#queue.wqe(q, index)
      if (i32[wqe + SendProgress.settled] === 0 && psnDiff(i32[wqe + SendProgress.lastPsn]!, psn) >= 0) break
    }
    i32[t + TransportQp.txIndex] = index
    i32[t + TransportQp.txPsn] = psn
    i32[t + TransportQp.lastAckReq] = psnAdd(psn, -1)
  }

  /**
   * Sends everything again from the oldest packet on, unless that is being done; `cause` is the counter, `psn` the packet that showed
   * that a response is missing. The first time since the peer acknowledged anything costs a retry, and so does each ACK timeout; NAKs of
   * the peer meanwhile cost none, since they show that the peer is there.
   */
  #goBack(q: number, t: number, nowNs: number, cause: number, psn: number): void {
    const i32 = this.#i32
    const state = this.#state
    // While the receiver is not ready the timer runs after which all is sent again anyway. The packets that are being sent again may be
    // lost as well; but a NAK that comes too soon is about the first transmission, and the responses to a READ continue long after one
    // was missing: only when they start again, and that one is missing again, it was lost again.
    const begunAnew = cause !== state.counters.completer_retry_err || psnDiff(psn, i32[t + TransportQp.gapPsn]!) <= 0
    const news = begunAnew && this.#queue.recovery.isNews(t, nowNs)
    const resending = i32[t + TransportQp.resending] !== 0 && cause !== state.counters.timeouts
    if (this.#timers.rnrRuns(t) || (resending && !news)) {
      if (cause === state.counters.completer_retry_err) state.count(state.counters.drops_unexpected_ack)
      return
    }
    state.count(cause)
    // Without an ACK timeout nothing else would give up a peer that sends NAKs for ever.
    // IBA list-83 deviation: each time that packets are sent again should cost a retry; here a NAK while they are being sent
    // again costs none: it shows that the peer is there, and a path that loses much would end the connection.
    const free = resending && this.#timers.ackTimeoutRuns(t)
    if (!free) {
      // IBA list-83: without a retry left the request fails, and its QP.
      if (i32[t + TransportQp.retriesLeft] === 0) {
        state.count(state.counters.retry_exceeded_err)
        state.failRequest(q, WcStatus.RetryExcErr)
        return
      }
      i32[t + TransportQp.retriesLeft] = i32[t + TransportQp.retriesLeft]! - 1
    }
    this.#queue.recovery.restart(t, this.#queue.window(i32[q + Qp.pathMtu]!), nowNs)
    i32[t + TransportQp.gapPsn] = psn
    this.#restart(q, t, this.#reasonOf(cause))
    if (free) this.#queue.armEarly(q, t, nowNs)
    else this.#queue.armAckTimeout(q, t, nowNs)
  }

  #reasonOf(cause: number): RetransmitReason {
    const { counters } = this.#state
    if (cause === counters.timeouts) return 'timeout'
    return cause === counters.rcvd_seq_err ? 'nak' : 'missing-response'
  }

  #restart(q: number, t: number, reason: RetransmitReason): void {
    const i32 = this.#i32
    this.#state.sendsAgain(q, t, reason)
    i32[t + TransportQp.resending] = i32[t + TransportQp.resending]! + 1
    i32[t + TransportQp.readsOut] = 0
    this.#sendFrom(q, t, i32[t + TransportQp.una]!)
    this.#state.schedule(q)
  }

  /** Resumes after the thread that drove this requester was killed: outstanding packets are sent again, at the cost of no retry. */
  resume(q: number, t: number, nowNs: number): void {
    const i32 = this.#i32
    const first = i32[q + Qp.sqNext]!
    const fresh = i32[t + TransportQp.freshIndex]!
    if (first !== fresh) {
      // The request may have been numbered, but not counted.
      const newest = this.#queue.wqe(q, fresh - 1)
      if (i32[newest + SendProgress.settled] === 0) i32[t + TransportQp.ssn] = i32[newest + SendProgress.ssn]!
    }
    this.#queue.restartCounts(q, t)
    this.#queue.recovery.pause(t)
    this.#restart(q, t, 'takeover')
    i32[t + TransportQp.resending] = i32[t + TransportQp.una] === i32[t + TransportQp.newPsn] ? 0 : 1
    if (this.#timers.rnrRuns(t)) this.#timers.armRnr(q, t, this.#f64[(t + TransportQp.rnrExpiresNs) >> 1]!)
    else this.#queue.armAckTimeout(q, t, nowNs)
    this.#queue.completeReady(q, t)
  }

  #receiverNotReady(q: number, t: number, psn: number, code: number, nowNs: number): void {
    const i32 = this.#i32
    const state = this.#state
    const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs)
    if (i32[q + Qp.state] !== QpState.Rts && i32[q + Qp.state] !== QpState.Sqd) return
    state.count(state.counters.rcvd_rnr_err)
    if (!whole || i32[t + TransportQp.una] !== psn) {
      this.#goBack(q, t, nowNs, state.counters.completer_retry_err, psn)
      return
    }
    if (this.#timers.rnrRuns(t)) return
    // IBA list-82: an RNR retry of 7 means for ever.
    if (i32[q + Qp.rnrRetry] !== forever) {
      if (i32[t + TransportQp.rnrLeft] === 0) {
        state.count(state.counters.retry_rnr_exceeded_err)
        state.failRequest(q, WcStatus.RnrRetryExcErr)
        return
      }
      i32[t + TransportQp.rnrLeft] = i32[t + TransportQp.rnrLeft]! - 1
    }
    // The peer is there, and `rnrRetry` limits how long it may stay without a receive.
    i32[t + TransportQp.retriesLeft] = i32[q + Qp.retryCnt]!
    this.#queue.recovery.pause(t)
    this.#restart(q, t, 'rnr')
    i32[t + TransportQp.resending] = 0
    // IBA 9.7.5.2.8: the time that the RNR NAK specifies.
    this.#timers.armRnr(q, t, nowNs + rnrTimerNs[code]!)
  }

  #negative(q: number, t: number, psn: number, syndrome: number, nowNs: number): void {
    const i32 = this.#i32
    const state = this.#state
    state.count(state.counters.naks_rcvd)
    const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs)
    if (i32[q + Qp.state] !== QpState.Rts && i32[q + Qp.state] !== QpState.Sqd) return
    if (!whole || syndrome === Syndrome.PsnSequence) {
      this.#goBack(q, t, nowNs, state.counters.rcvd_seq_err, i32[t + TransportQp.newPsn]!)
      return
    }
    // IBA 9.7.5.2.2: the meaning of the other NAK codes for the request.
    let status: WcStatus = WcStatus.RemOpErr
    if (syndrome === Syndrome.InvalidRequest || syndrome === Syndrome.InvalidRdRequest) status = WcStatus.RemInvReqErr
    else if (syndrome === Syndrome.RemoteAccess) status = WcStatus.RemAccessErr
    else if (syndrome !== Syndrome.RemoteOperational) status = WcStatus.BadRespErr
    state.count(
      status === WcStatus.RemAccessErr ? state.counters.remote_access_errors : state.counters.remote_invalid_requests,
    )
    state.failRequest(q, status)
  }

  /** Handles a READ response or an atomic acknowledgement: data for the oldest request that waits for a response. */
  #response(q: number, t: number, bits: number, at: number, end: number, psn: number, nowNs: number): void {
    const i32 = this.#i32
    const u8 = this.#u8
    const state = this.#state
    const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs)
    const qpState = i32[q + Qp.state]!
    if (qpState !== QpState.Rts && qpState !== QpState.Sqd) return
    if (!whole || i32[t + TransportQp.una] !== psn) {
      this.#goBack(q, t, nowNs, state.counters.completer_retry_err, psn)
      return
    }
    const wqe = this.#queue.wqe(q, i32[q + Qp.sqNext]!)
    const opcode = i32[wqe + Wqe.opcode]!
    const atomic = hasOpcode(atomicOpcodes, opcode)
    if (!hasOpcode(answeredOpcodes, opcode) || atomic !== ((bits & OpBit.AtomicAck) !== 0)) {
      state.failRequest(q, WcStatus.BadRespErr)
      return
    }
    const header = headerLength[u8[at]!]!
    let filled = true
    let chunkEnds = true
    if (atomic) {
      // The operand's words in the queue are free now: the old value goes through it to the caller's buffers.
      const original = at + header - 8
      i32[wqe + Wqe.compareAdd + 1] = u32(u8, original)
      i32[wqe + Wqe.compareAdd] = u32(u8, original + 4)
      filled = state.buffers.bringBack(q, wqe, 0, 8, (wqe + Wqe.compareAdd) * 4, false)
    } else {
      const mtu = i32[q + Qp.pathMtu]!
      const number = psnDiff(psn, i32[wqe + SendProgress.firstPsn]!)
      const expected =
        opcode === Opcode.Read ? Math.min(mtu, this.#f64[(wqe + SendProgress.length) >> 1]! - number * mtu) : 0
      // IBA 9.7.6.1 deviation: a READ response is accepted by its PSN and length, whether its opcode is First, Middle, Last or Only. A
      // READ is requested in chunks, and again from any packet on, so that a late response may be marked as another part of a message
      // than the one that is expected; its PSN determines where its bytes belong.
      const pad = padOf(u8, at)
      if (end - at - header - pad !== expected) {
        state.failRequest(q, WcStatus.BadRespErr)
        return
      }
      filled = state.buffers.bringBack(
        q,
        wqe,
        number * mtu,
        expected,
        at + header,
        psn !== i32[wqe + SendProgress.lastPsn],
      )
      if (opcode === Opcode.Read) {
        const chunk = this.#queue.chunkPackets(mtu)
        chunkEnds = psn === i32[wqe + SendProgress.lastPsn] || (number + 1) % chunk === 0
      }
    }
    if (!filled) {
      state.failRequest(q, WcStatus.LocProtErr)
      return
    }
    if (chunkEnds && i32[t + TransportQp.readsOut]! > 0)
      i32[t + TransportQp.readsOut] = i32[t + TransportQp.readsOut]! - 1
    this.#progress(q, t, psnAdd(psn, 1), nowNs)
  }

  // --- timers ------------------------------------------------------------------------------------------------------

  ackTimeoutExpired(q: number, t: number, nowNs: number): void {
    const i32 = this.#i32
    // IBA 9.7.6.1.3: nothing was acknowledged within the ACK timeout.
    this.#goBack(q, t, nowNs, this.#state.counters.timeouts, i32[t + TransportQp.newPsn]!)
  }

  /** Handles a silence of the peer longer than it usually takes: outstanding packets are sent again, at the cost of no retry. */
  earlyExpired(q: number, t: number, nowNs: number, lateNs: number): void {
    const i32 = this.#i32
    // IBA 9.7.6.1.3 deviation: a requester waits for its ACK timeout; here it sends again sooner, when the peer is
    // silent for longer than it usually is (recovery.ts). A connection with a long timeout, as the CM gives, would
    // stand still for it after each loss of a last packet.
    if (lateNs > noticeableNs && i32[t + TransportQp.heldUp] === 0) {
      // This thread was delayed; so may have been the response, by middleware or by a peer that the same thread drives.
      i32[t + TransportQp.heldUp] = 1
    } else if (this.#queue.expectsAck(t)) {
      this.#state.count(this.#state.counters.early_retransmits)
      i32[t + TransportQp.early] = i32[t + TransportQp.early]! + 1
      i32[t + TransportQp.heldUp] = 0
      this.#queue.recovery.restart(t, this.#queue.window(i32[q + Qp.pathMtu]!), nowNs)
      i32[t + TransportQp.gapPsn] = i32[t + TransportQp.newPsn]!
      this.#restart(q, t, 'silence')
    }
    this.#queue.armEarly(q, t, nowNs)
  }

  rnrExpired(q: number): void {
    this.#state.schedule(q)
  }

  paceExpired(q: number): void {
    this.#state.schedule(q)
  }
}
