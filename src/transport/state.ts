/**
 * State that all parts of the transport of one device share in one thread: views of the segment, the device's record with its lists of
 * QPs, and the failure of requests and QPs.
 *
 * A thread that runs the transport holds the device's lock (`TransportDevice.lock`) and is in an operation of the segment. So after a
 * change of a QP's state and a grace period the transport no longer touches that QP.
 */
import {
  EventType,
  failureOf,
  failureOfEvent,
  type Host,
  Journal,
  journalStage,
  layout,
  noReceive,
  type QpFailure,
  QpState,
  QpType,
  type RetransmitReason,
  receiveTooShort,
  WcOpcode,
  WcStatus,
} from '../verbs/provider/index.ts'
import { psnDiff } from '../wire/index.ts'
import { Buffers } from './buffers.ts'
import { Congestion } from './congestion.ts'
import { type Counters, countersOf } from './counters.ts'
import { listed, PacketJournal, TransportDevice, TransportQp } from './layout.ts'
import { Timers } from './timers.ts'

const { Key, Qp, Rwqe, Srq } = layout

/** Duration of a turn, or lateness of a timer, from which on a thread was delayed. */
export const noticeableNs = 1e6

export interface TransportOptions {
  /** Maximum bytes of one connection that may be outstanding. */
  windowBytes: number
  /** Bytes of the response that one READ request covers. */
  readChunkBytes: number
  /** Shortest ACK timeout, ns: a peer in software on a busy machine does not respond within 4 µs. */
  minTimeoutNs: number
  /** Flag: packets that a switch marked are answered with CNPs, and received CNPs slow the sender down: see congestion.ts. */
  congestionControl: boolean
  /** Rate of the line, where congestion control ends. */
  lineRateBps: number
}

const defaultOptions: TransportOptions = {
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
  readonly timers: Timers
  readonly options: TransportOptions
  /** State of congestion control; null if there is none. */
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
    this.timers = new Timers(host, device, record)
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

  /** Returns the first word of the transport's part of a QP. */
  of(q: number): number {
    return this.i32[q + Qp.wire]!
  }

  // --- lists of QPs ------------------------------------------------------------------------------------------------

  /** Schedules a QP that has something to send: its turn comes in `transmit`. */
  schedule(q: number): void {
    this.#list(q, listed.tx, TransportDevice.txTail, TransportDevice.txRing)
  }

  /** Schedules a QP that owes its peer an ACK. */
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

  /** Takes the next QP of a list: returns its first word, or −1 when the list is empty; QPs that are gone are skipped. */
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
      if (i32[q + Qp.number]! > 0 && i32[q + Qp.device] === this.device) return q
    }
  }

  // --- receives ----------------------------------------------------------------------------------------------------

  /**
   * Takes the receive for a message of `bytes`: returns its word, `noReceive`, or `receiveTooShort`, and then it stays for the next
   * message. That of an SRQ is copied out and used by this. With 0 bytes any receive will do.
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
    // Only the holder of the device's lock takes receives, so that the position of the SRQ shows whether one was taken.
    const packet = this.record + TransportDevice.packet
    i32[packet + PacketJournal.srqTail] = (i32[host.srqWord(srqSlot) + Srq.tail]! + 1) | 0
    i32[packet + PacketJournal.takes] = 1
    return host.takeFromSrq(srqSlot, i32, to, bytes)
  }

  /** Returns the protection domain that a receive belongs to. */
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
    const tail = (i32[q + Qp.rqTail]! + 1) | 0
    return host.completeReceive(q, tail, wrId, status, opcode, flags, bytes, immData, srcQp, solicited)
  }

  // --- the journal -------------------------------------------------------------------------------------------------

  /** Begins the execution of a packet of the peer: keeps the state of the QP, for `Takeover` to restore. */
  beginPacket(q: number, t: number): void {
    const { i32, f64, record } = this
    const packet = record + TransportDevice.packet
    i32[record + TransportDevice.journal + Journal.qp] = i32[q + Qp.ref]!
    i32[packet + PacketJournal.epsn] = i32[t + TransportQp.epsn]!
    i32[packet + PacketJournal.msn] = i32[t + TransportQp.msn]!
    i32[packet + PacketJournal.rxKind] = i32[t + TransportQp.rxKind]!
    i32[packet + PacketJournal.receive] = i32[t + TransportQp.receive]!
    i32[packet + PacketJournal.rkey] = i32[t + TransportQp.rkey]!
    i32[packet + PacketJournal.plainPsn] = i32[t + TransportQp.plainPsn]!
    i32[packet + PacketJournal.resTail] = i32[t + TransportQp.resTail]!
    i32[packet + PacketJournal.takes] = 0
    i32[packet + PacketJournal.region] = 0
    f64[(packet + PacketJournal.rxBytes) >> 1] = f64[(t + TransportQp.rxBytes) >> 1]!
    f64[(packet + PacketJournal.va) >> 1] = f64[(t + TransportQp.va) >> 1]!
    f64[(packet + PacketJournal.remaining) >> 1] = f64[(t + TransportQp.remaining) >> 1]!
    i32[record + TransportDevice.journal + Journal.stage] = journalStage.packet
  }

  /** Begins the execution of a request that binds or invalidates a window, which `Host.noteWindow` records. */
  beginWindow(q: number, index: number): void {
    const journal = this.record + TransportDevice.journal
    this.i32[journal + Journal.qp] = this.i32[q + Qp.ref]!
    this.i32[journal + Journal.queue] = index
  }

  /** Records that the packet that has begun is about to invalidate the window `entry`. */
  beginInvalidate(entry: number): void {
    this.i32[this.record + TransportDevice.packet + PacketJournal.region] = this.i32[entry + Key.region]! + 1
  }

  /** Records that an atomic of the packet that has begun is about to store `value` into the 64-bit word `target`. */
  beginAtomic(target: number, value: bigint): void {
    const { record } = this
    this.f64[(record + TransportDevice.packet + PacketJournal.target) >> 1] = target
    this.b64[(record + TransportDevice.packet + PacketJournal.value) >> 1] = value
    this.i32[record + TransportDevice.journal + Journal.stage] = journalStage.atomic
  }

  /** Ends the operation that was begun. */
  end(): void {
    this.i32[this.record + TransportDevice.journal + Journal.stage] = journalStage.none
  }

  // --- failing -----------------------------------------------------------------------------------------------------

  /** Fails the request at the front of the send queue: it completes with the error, and all requests after it are flushed. */
  failRequest(q: number, status: number): void {
    const { i32, host } = this
    const rc = i32[q + Qp.type] === QpType.RC
    if (host.breakQp(q, rc ? QpState.Err : QpState.Sqe, failureOf(status)) && i32[q + Qp.sqNext] !== i32[q + Qp.sqHead])
      host.completeSend(q, status, 0)
    this.timers.cancelAll(this.of(q))
    this.flush(q)
  }

  /** Ends the responder: its QP goes to ERR with an asynchronous event. */
  failResponder(q: number, event: EventType, reason: QpFailure = failureOfEvent(event)): void {
    const { host } = this
    if (!host.breakQp(q, QpState.Err, reason)) return
    host.qpEvent(q, event)
    this.flush(q)
  }

  /** Ends a QP without an event, since the program whose memory it reached has ended: it goes to ERR. */
  endQp(q: number): void {
    if (this.host.breakQp(q, QpState.Err, 'ProgramGone')) this.flush(q)
  }

  /** Ends a QP of any type whose receive CQ is full, so that its owner cannot learn of a message. */
  overran(q: number): void {
    this.failResponder(q, EventType.QpFatal, 'CqOverrun')
  }

  /** Ends a receive with an error that its owner made, and the QP with it. */
  failReceive(q: number, receive: number, status: number, srcQp: number): void {
    const { host } = this
    host.breakQp(q, QpState.Err, failureOf(status))
    this.completeReceive(q, receive, status, WcOpcode.Recv, 0, 0, 0, srcQp, false)
    this.flush(q)
  }

  /** Reports that packets are sent again from the oldest unacknowledged one on. */
  sendsAgain(q: number, t: number, reason: RetransmitReason): void {
    const { i32 } = this
    const { news } = this.host.platform
    if (!news?.wantsRetransmits) return
    const una = i32[t + TransportQp.una]!
    const packets = psnDiff(i32[t + TransportQp.newPsn]!, una)
    if (packets > 0) news.qpRetransmit(i32[q + Qp.device]!, i32[q + Qp.number]!, una, packets, reason)
  }

  /** Flushes both queues of a QP in ERR, or the send queue of one in SQE. */
  flush(q: number): void {
    const { i32, host } = this
    const { segment } = host
    if (i32[q + Qp.state] === QpState.Err) {
      const receive = i32[this.of(q) + TransportQp.receive]!
      segment.lock(q + Qp.rqLock)
      // A receive that an unfinished message had taken from the SRQ belongs to no other QP any more.
      if (receive !== 0 && i32[q + Qp.srq]! >= 0)
        this.completeReceive(q, receive, WcStatus.WrFlushErr, WcOpcode.Recv, 0, 0, 0, 0, false)
      i32[this.of(q) + TransportQp.receive] = 0
      host.flushReceives(q)
      segment.unlock(q + Qp.rqLock)
    } else if (i32[q + Qp.state] !== QpState.Sqe) return
    segment.lock(q + Qp.sqLock)
    host.flushSends(q)
    segment.unlock(q + Qp.sqLock)
    const t = this.of(q)
    this.timers.cancelAll(t)
    // From SQE a QP may go on: with the next PSN, and nothing outstanding.
    i32[t + TransportQp.txIndex] = i32[q + Qp.sqNext]!
    i32[t + TransportQp.freshIndex] = i32[q + Qp.sqNext]!
    i32[t + TransportQp.txPsn] = i32[t + TransportQp.newPsn]!
    i32[t + TransportQp.una] = i32[t + TransportQp.newPsn]!
    i32[t + TransportQp.readsOut] = 0
    i32[t + TransportQp.localError] = 0
  }
}
