/**
 * What all parts of the transport of one device share in one thread: views of the segment, the device's record with its
 * lists of QPs, and how a request or a QP fails.
 *
 * A thread that runs the transport holds the device's lock (`TransportDevice.lock`) and is in an operation of the segment. So after a
 * change of a QP's state and a grace period the transport no longer touches that QP.
 */
import {
  EventType,
  type Host,
  layout,
  noReceive,
  QpState,
  QpType,
  receiveTooShort,
  WcOpcode,
  WcStatus,
} from '../verbs/provider/index.ts'
import { Buffers } from './buffers.ts'
import { Congestion } from './congestion.ts'
import { type Counters, countersOf } from './counters.ts'
import { listed, TransportDevice, TransportQp } from './layout.ts'

const { Qp, Rwqe, Srq } = layout

/** A thread that takes longer for one turn, or notices a timer so late, was held up. */
export const noticeableNs = 1e6

export interface TransportOptions {
  /** Bytes of one connection that may be outstanding. */
  windowBytes: number
  /** Bytes of the response that one READ request asks for. */
  readChunkBytes: number
  /** The shortest ACK timeout, ns: a peer in software on a busy machine does not respond within 4 µs. */
  minTimeoutNs: number
  /** Answers packets that a switch marked with CNPs, and slows down when CNPs come: see congestion.ts. */
  congestionControl: boolean
  /** The rate of the line, where congestion control ends. */
  lineRateBps: number
}

export const defaultOptions: TransportOptions = {
  windowBytes: 256 * 1024,
  readChunkBytes: 128 * 1024,
  minTimeoutNs: 10e6,
  congestionControl: false,
  lineRateBps: 100e9,
}

export class TransportState {
  readonly host: Host
  readonly device: number
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly u8: Uint8Array
  readonly b64: BigInt64Array
  readonly buffers: Buffers
  readonly counters: Counters
  readonly options: TransportOptions
  /** Null when there is no congestion control. */
  congestion: Congestion | null
  /** First word of the transport's record of the device. */
  readonly record: number

  constructor(host: Host, device: number, record: number, options: Partial<TransportOptions> = {}) {
    this.host = host
    this.device = device
    this.record = record
    this.i32 = host.i32
    this.f64 = host.f64
    this.u8 = host.u8
    this.b64 = host.segment.b64
    this.buffers = new Buffers(host)
    this.counters = countersOf(host, device)
    this.options = { ...defaultOptions, ...options }
    this.congestion = null
    this.controlCongestion(this.options.congestionControl)
  }

  controlCongestion(on: boolean): void {
    if (on !== (this.congestion !== null))
      this.congestion = on ? new Congestion(this.host, this.options.lineRateBps) : null
  }

  count(counter: number): void {
    this.f64[counter] = this.f64[counter]! + 1
  }

  /** First word of the transport's part of a QP. */
  of(q: number): number {
    return this.i32[q + Qp.wire]!
  }

  // --- lists of QPs ------------------------------------------------------------------------------------------------

  /** The QP has something to send: its turn comes in `transmit`. */
  schedule(q: number): void {
    this.#list(q, listed.tx, TransportDevice.txTail, TransportDevice.txRing)
  }

  /** The QP owes its peer an ACK. */
  scheduleAck(q: number): void {
    this.#list(q, listed.ack, TransportDevice.ackTail, TransportDevice.ackRing)
  }

  #list(q: number, bit: number, tailWord: number, ring: number): void {
    const { i32, u8, record } = this
    const slot = this.host.qpSlot(q)
    const flags = (record + TransportDevice.flags) * 4 + slot
    if ((u8[flags]! & bit) !== 0) return
    u8[flags] = u8[flags]! | bit
    const tail = i32[record + tailWord]!
    i32[record + ring + (tail & (TransportDevice.slots - 1))] = slot
    i32[record + tailWord] = (tail + 1) | 0
  }

  /** Takes the next QP of a list: its first word, or −1 when the list is empty; QPs that are gone are passed over. */
  next(bit: number, headWord: number, tailWord: number, ring: number): number {
    const { i32, u8, record } = this
    for (;;) {
      const head = i32[record + headWord]!
      if (head === i32[record + tailWord]) return -1
      const slot = i32[record + ring + (head & (TransportDevice.slots - 1))]!
      i32[record + headWord] = (head + 1) | 0
      const flags = (record + TransportDevice.flags) * 4 + slot
      u8[flags] = u8[flags]! & ~bit
      const q = this.host.qpWord(slot)
      if (i32[q + Qp.number] !== 0 && i32[q + Qp.device] === this.device) return q
    }
  }

  /** Lets the QP's timer expire at `deadline`, ns; Infinity stops it. */
  arm(q: number, deadline: number): void {
    const { i32, u8, f64, record } = this
    f64[(this.of(q) + TransportQp.deadline) >> 1] = deadline
    if (deadline === Number.POSITIVE_INFINITY) return
    const slot = this.host.qpSlot(q)
    const flags = (record + TransportDevice.flags) * 4 + slot
    if ((u8[flags]! & listed.timer) === 0) {
      u8[flags] = u8[flags]! | listed.timer
      const count = i32[record + TransportDevice.timers]!
      i32[record + TransportDevice.timerList + count] = slot
      i32[record + TransportDevice.timers] = count + 1
    }
    const next = (record + TransportDevice.nextDeadline) >> 1
    if (deadline < f64[next]!) f64[next] = deadline
  }

  // --- receives ----------------------------------------------------------------------------------------------------

  /**
   * The receive that a message of `bytes` takes: its word, `noReceive`, or `receiveTooShort`, and then it stays for the
   * next message. That of an SRQ is copied out and used by this. With 0 bytes any receive will do.
   */
  takeReceive(q: number, bytes: number): number {
    const { i32, host } = this
    const srqSlot = i32[q + Qp.srq]!
    if (srqSlot < 0) {
      const tail = i32[q + Qp.rqTail]!
      if (tail === Atomics.load(i32, q + Qp.rqHead)) return noReceive
      const receive = i32[q + Qp.rqRing]! + (tail & i32[q + Qp.rqMask]!) * i32[q + Qp.rqStride]!
      return host.receiveIsShort(receive, bytes) ? receiveTooShort : receive
    }
    const to = this.of(q) + TransportQp.srqCopy
    return host.takeFromSrq(srqSlot, i32, to, bytes)
  }

  /** The receive is used up; its place is free. */
  consumeReceive(q: number): void {
    const { i32 } = this
    if (i32[q + Qp.srq]! < 0) this.host.segment.publish(q + Qp.rqTail, (i32[q + Qp.rqTail]! + 1) | 0)
  }

  /** The protection domain that a receive belongs to. */
  receivePd(q: number): number {
    const srq = this.i32[q + Qp.srq]!
    return srq < 0 ? this.i32[q + Qp.pd]! : this.i32[this.host.srqWord(srq) + Srq.pd]!
  }

  /** Completes a receive; false if the CQ overran. */
  completeReceive(
    q: number,
    receive: number,
    status: number,
    opcode: WcOpcode,
    flags: number,
    bytes: number,
    immData: number,
    srcQp: number,
    solicited: boolean,
  ): boolean {
    const { i32, f64, host } = this
    const wrId = f64[(receive + Rwqe.wrId) >> 1]!
    this.consumeReceive(q)
    const cq = host.cqWord(i32[q + Qp.recvCq]!)
    return host.complete(cq, wrId, status, opcode, flags, bytes, immData, q, srcQp, solicited)
  }

  // --- failing -----------------------------------------------------------------------------------------------------

  /** The request at the front of the send queue failed: it completes with the error, and all after it is flushed. */
  failRequest(q: number, status: number): void {
    const { i32, host } = this
    const rc = i32[q + Qp.type] === QpType.RC
    if (host.breakQp(q, rc ? QpState.Err : QpState.Sqe) && i32[q + Qp.sqNext] !== i32[q + Qp.sqHead])
      host.completeSend(q, status, 0)
    this.arm(q, Number.POSITIVE_INFINITY)
    this.flush(q)
  }

  /** The responder ends: its QP goes to ERR with an asynchronous event. */
  failResponder(q: number, event: EventType): void {
    const { host } = this
    if (!host.breakQp(q, QpState.Err)) return
    host.qpEvent(q, event)
    this.flush(q)
  }

  /** The receive CQ is full, so that its owner cannot learn of a message: a QP of any type ends with that. */
  overran(q: number): void {
    this.failResponder(q, EventType.QpFatal)
  }

  /** A receive ends with an error that its owner made, and the QP with it. */
  failReceive(q: number, receive: number, status: number, srcQp: number): void {
    const { host } = this
    host.breakQp(q, QpState.Err)
    this.completeReceive(q, receive, status, WcOpcode.Recv, 0, 0, 0, srcQp, false)
    this.flush(q)
  }

  /** Flushes what a QP in ERR has in both queues, or one in SQE in its send queue. */
  flush(q: number): void {
    const { i32, host } = this
    const { segment } = host
    if (i32[q + Qp.state] === QpState.Err) {
      const receive = i32[this.of(q) + TransportQp.receive]!
      segment.lock(q + Qp.rqLock)
      // A receive that an unfinished message had taken from the SRQ is nobody else's any more.
      if (receive !== 0 && i32[q + Qp.srq]! >= 0)
        this.completeReceive(q, receive, WcStatus.WrFlushErr, WcOpcode.Recv, 0, 0, 0, 0, false)
      i32[this.of(q) + TransportQp.receive] = 0
      host.flushReceives(q)
      segment.unlock(q + Qp.rqLock)
    } else if (i32[q + Qp.state] !== QpState.Sqe) return
    segment.lock(q + Qp.sqLock)
    host.flushSends(q)
    segment.unlock(q + Qp.sqLock)
    this.arm(q, Number.POSITIVE_INFINITY)
    // From SQE a QP may go on: with the next PSN, and nothing outstanding.
    const t = this.of(q)
    i32[t + TransportQp.txIndex] = i32[q + Qp.sqNext]!
    i32[t + TransportQp.freshIndex] = i32[q + Qp.sqNext]!
    i32[t + TransportQp.txPsn] = i32[t + TransportQp.newPsn]!
    i32[t + TransportQp.una] = i32[t + TransportQp.newPsn]!
    i32[t + TransportQp.readsOut] = 0
    i32[t + TransportQp.localError] = 0
  }
}
