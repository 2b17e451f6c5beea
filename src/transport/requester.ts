/**
 * The requester of RC and UC: takes requests from the send queue and cuts them into packets. It completes those of UC when the last
 * packet has left; those of RC complete when the responder has acknowledged them (completer.ts).
 *
 *     sqNext         una                    txPsn                newPsn
 *       │ completed   │ in flight            │ being sent again    │ never sent          PSN →
 *
 * Everything about a packet follows from its PSN: the request it belongs to, and its offset in there. To go back N, only `txIndex` and
 * `txPsn` are set back. A READ takes the PSNs of its responses; one of many packets is requested in chunks, so that responses never
 * exceed the capacity of a receive buffer, and requested again from the byte that is missing.
 *
 * InfiniBand Architecture volume 1, 9.7.3 and 9.7.5.
 */
import {
  answeredOpcodes,
  bind,
  fillingOpcodes,
  hasOpcode,
  layout,
  localInvalidate,
  localOpcodes,
  maxMessageBytes,
  Opcode,
  QpState,
  QpType,
  receiveOpcodes,
  SendFlag,
  WcStatus,
} from '../verbs/provider/index.ts'
import {
  AtomicEth,
  Bth,
  BthFlag,
  Feth,
  headerLength,
  OpBit,
  opcodeBits,
  psnAdd,
  psnDiff,
  put32,
  put64,
  Reth,
  WireOpcode,
} from '../wire/index.ts'
import { putBth } from './bth.ts'
import { isLimited, lacksCredit } from './credits.ts'
import { begun, SendProgress, TransportQp } from './layout.ts'
import type { SendQueue } from './send-queue.ts'
import type { PacketSink } from './sink.ts'
import type { TransportState } from './state.ts'

const { Qp, Sg, Wqe } = layout

/** Maximum number of PSNs that may be outstanding. */
const mostPsns = 2 ** 23

/** Opcodes of RC for first, middle, last and only packet of each send opcode; UC has the same ones above 0x20. */
const packets = new Uint8Array(16 * 4)
function packetsOf(opcode: number, first: number, middle: number, last: number, only: number): void {
  packets.set([first, middle, last, only], opcode * 4)
}
/** Enters a request with a response, which is one packet. */
function requestOf(opcode: number, wire: number): void {
  packetsOf(opcode, wire, wire, wire, wire)
}
{
  const w = WireOpcode
  packetsOf(Opcode.Send, w.RcSendFirst, w.RcSendMiddle, w.RcSendLast, w.RcSendOnly)
  packetsOf(Opcode.SendWithImm, w.RcSendFirst, w.RcSendMiddle, w.RcSendLastWithImm, w.RcSendOnlyWithImm)
  packetsOf(Opcode.SendWithInv, w.RcSendFirst, w.RcSendMiddle, w.RcSendLastWithInv, w.RcSendOnlyWithInv)
  packetsOf(Opcode.Write, w.RcWriteFirst, w.RcWriteMiddle, w.RcWriteLast, w.RcWriteOnly)
  packetsOf(Opcode.WriteWithImm, w.RcWriteFirst, w.RcWriteMiddle, w.RcWriteLastWithImm, w.RcWriteOnlyWithImm)
  requestOf(Opcode.Read, w.RcReadRequest)
  requestOf(Opcode.AtomicCmpAndSwp, w.RcCompareSwap)
  requestOf(Opcode.AtomicFetchAndAdd, w.RcFetchAdd)
  requestOf(Opcode.Flush, w.RcFlush)
  requestOf(Opcode.AtomicWrite, w.RcAtomicWrite)
}
const place = { first: 0, middle: 1, last: 2, only: 3 } as const
const ucBase = 0x20

/** Minimum backlog, in requests or bytes, that is sent without waiting for more. */
const worthSending = { requests: 48, bytes: 48 * 1024 }

export class Requester {
  readonly #state: TransportState
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #u8: Uint8Array
  readonly #queue: SendQueue
  /** Bytes of the last packet. */
  #sentBytes = 0

  constructor(state: TransportState, queue: SendQueue) {
    this.#state = state
    this.#queue = queue
    this.#i32 = state.i32
    this.#f64 = state.f64
    this.#u8 = state.u8
  }

  /** Initializes the state that a QP starts with in RTS. */
  #begin(q: number, t: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.txIndex] = i32[q + Qp.sqNext]!
    i32[t + TransportQp.freshIndex] = i32[q + Qp.sqNext]!
    const psn = i32[q + Qp.sqPsn]!
    i32[t + TransportQp.txPsn] = psn
    i32[t + TransportQp.newPsn] = psn
    i32[t + TransportQp.una] = psn
    i32[t + TransportQp.lastAckReq] = psnAdd(psn, -1)
    this.#queue.restartCounts(q, t)
    this.#queue.recovery.begin(t)
    i32[t + TransportQp.ready] = i32[t + TransportQp.ready]! | begun.requester
    this.#state.buffers.beginReceiver(~q)
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  /** True if the backlog is small, and its last request one packet. */
  hasShortBacklog(q: number): boolean {
    const i32 = this.#i32
    const head = i32[q + Qp.sqHead]!
    const waiting = (head - i32[this.#state.of(q) + TransportQp.txIndex]!) | 0
    if (waiting >= worthSending.requests) return false
    const wqe = this.#queue.wqe(q, head - 1)
    if ((i32[wqe + Wqe.flags]! & SendFlag.Inline) !== 0) return true
    const length = i32[wqe + Wqe.data + Sg.length]!
    return i32[wqe + Wqe.sges]! <= 1 && length <= i32[q + Qp.pathMtu]! && waiting * length < worthSending.bytes
  }

  /** Sends up to `budget` packets of a QP; true if it stopped for the budget or for lack of room. */
  transmit(q: number, nowNs: number, sink: PacketSink, budget: number): boolean {
    const i32 = this.#i32
    const state = this.#state
    const t = state.of(q)
    const qpState = i32[q + Qp.state]!
    if (qpState === QpState.Err || qpState === QpState.Sqe) {
      state.flush(q)
      return false
    }
    if (qpState !== QpState.Rts && qpState !== QpState.Sqd) return false
    if ((i32[t + TransportQp.ready]! & begun.requester) === 0) this.#begin(q, t)
    const { congestion, timers } = state
    const head = Atomics.load(i32, q + Qp.sqHead)
    const rc = i32[q + Qp.type] === QpType.RC
    const asked = this.#queue.expectsAck(t)
    let sent = 0
    let more = false
    let pacedNs = nowNs
    for (;;) {
      if (timers.rnrRuns(t)) break
      const index = i32[t + TransportQp.txIndex]!
      if (qpState === QpState.Sqd && ((index - i32[q + Qp.sqDrainAt]!) | 0) >= 0) break
      if (index === head) break
      if (sent >= budget) {
        more = true
        break
      }
      const wqe = this.#queue.wqe(q, index)
      if (index === i32[t + TransportQp.freshIndex]) {
        if (i32[t + TransportQp.localError] !== 0 || !this.#prepare(q, t, wqe, index)) break
        if (i32[wqe + SendProgress.settled] === 1) {
          i32[t + TransportQp.txIndex] = (index + 1) | 0
          this.#queue.completeReady(q, t)
          continue
        }
      } else if (i32[wqe + SendProgress.settled] === 1) {
        i32[t + TransportQp.txIndex] = (index + 1) | 0
        continue
      }
      if (congestion !== null) {
        pacedNs = congestion.nextNs(t, nowNs)
        if (pacedNs > nowNs) break
      }
      const packetCount = this.#packet(q, t, wqe, rc, sink, nowNs)
      more = packetCount < 0
      if (packetCount <= 0) break
      sent++
      congestion?.sent(t, this.#sentBytes, nowNs)
      const psn = psnAdd(i32[t + TransportQp.txPsn]!, packetCount)
      if (psnDiff(psn, i32[t + TransportQp.newPsn]!) > 0) i32[t + TransportQp.newPsn] = psn
      else state.count(state.counters.retransmitted_pkts)
      i32[t + TransportQp.txPsn] = psn
      if (psnDiff(psn, i32[wqe + SendProgress.lastPsn]!) > 0) {
        i32[t + TransportQp.txIndex] = (index + 1) | 0
        if (!rc) {
          i32[t + TransportQp.una] = psn
          this.#queue.completeReady(q, t)
        }
      }
    }
    if (sent > 0 && rc) {
      if (!timers.ackTimeoutRuns(t)) this.#queue.armAckTimeout(q, t, nowNs)
      else if (!asked && this.#queue.expectsAck(t)) this.#queue.armEarly(q, t, nowNs)
    }
    if (pacedNs > nowNs) timers.armPace(q, t, pacedNs)
    else if (congestion !== null) timers.cancelPace(t)
    if (qpState === QpState.Sqd) state.host.drained(q)
    return more
  }

  /** Prepares a request when it is reached first; false if it has to wait, or cannot be sent at all (`localError`). */
  #prepare(q: number, t: number, wqe: number, index: number): boolean {
    const i32 = this.#i32
    const opcode = i32[wqe + Wqe.opcode]!
    const alone = i32[q + Qp.sqNext] === index
    // IBA list-92: a fenced request waits for the READs and atomics before it.
    if ((i32[wqe + Wqe.flags]! & SendFlag.Fence) !== 0 && i32[t + TransportQp.readsOut]! > 0) return false
    if (hasOpcode(localOpcodes, opcode)) {
      // IBA 10.6.5.1: LOCAL_INV waits for all requests before it.
      if (opcode === Opcode.LocalInv && !alone) return false
      const { host } = this.#state
      // No grace period is needed: writes of peers to this device are placed under the lock that this thread holds.
      this.#state.beginWindow(q, index)
      const status = opcode === Opcode.BindMw ? bind(host, q, wqe) : localInvalidate(host, q, wqe)
      if (status !== WcStatus.Success) return this.#failInTurn(q, t, status, alone)
      i32[wqe + SendProgress.settled] = 1
      i32[t + TransportQp.freshIndex] = (index + 1) | 0
      this.#state.end()
      return true
    }
    const answered = hasOpcode(answeredOpcodes, opcode)
    const rc = i32[q + Qp.type] === QpType.RC
    // UC has no packets for these requests.
    if (!rc && answered) return this.#failInTurn(q, t, WcStatus.LocQpOpErr, alone)
    if (answered && i32[q + Qp.maxRdAtomic] === 0) return this.#failInTurn(q, t, WcStatus.LocQpOpErr, alone)
    let length = 0
    if (opcode !== Opcode.Flush) {
      const fills = hasOpcode(fillingOpcodes, opcode)
      length = this.#state.buffers.gather(i32[q + Qp.pd]!, wqe, fills ? 1 : 0)
      if (length < 0) return this.#failInTurn(q, t, WcStatus.LocProtErr, alone)
      const wrong = answered && opcode !== Opcode.Read ? length !== 8 : length > maxMessageBytes
      if (wrong) return this.#failInTurn(q, t, WcStatus.LocLenErr, alone)
    }
    const single = answered && opcode !== Opcode.Read
    const count = single ? 1 : Math.max(1, Math.ceil(length / i32[q + Qp.pathMtu]!))
    // PSNs are compared around half of their circle: no two that are outstanding may be further apart. A message of 2 GiB
    // in packets of 256 bytes takes that half by itself.
    if (rc && psnDiff(i32[t + TransportQp.newPsn]!, i32[t + TransportQp.una]!) + count > mostPsns) return false
    i32[wqe + SendProgress.settled] = 0
    i32[wqe + SendProgress.firstPsn] = i32[t + TransportQp.newPsn]!
    i32[wqe + SendProgress.lastPsn] = psnAdd(i32[t + TransportQp.newPsn]!, count - 1)
    this.#f64[(wqe + SendProgress.length) >> 1] = length
    const chunks = opcode === Opcode.Read ? Math.ceil(count / this.#queue.chunkPackets(i32[q + Qp.pathMtu]!)) : 1
    i32[wqe + SendProgress.ssn] = psnAdd(i32[t + TransportQp.ssn]!, chunks)
    i32[t + TransportQp.freshIndex] = (index + 1) | 0
    i32[t + TransportQp.ssn] = i32[wqe + SendProgress.ssn]!
    return true
  }

  /** Fails a request in its turn, after those before it. */
  #failInTurn(q: number, t: number, status: number, alone: boolean): false {
    this.#i32[t + TransportQp.localError] = status
    if (alone) this.#queue.failLocally(q, t)
    return false
  }

  /**
   * Writes the next packet of the request at `wqe`: returns the number of PSNs that it takes, 0 if it has to wait for an acknowledgement
   * or a response, −1 if there is no room for it now.
   */
  #packet(q: number, t: number, wqe: number, rc: boolean, sink: PacketSink, nowNs: number): number {
    const i32 = this.#i32
    const opcode = i32[wqe + Wqe.opcode]!
    const mtu = i32[q + Qp.pathMtu]!
    const psn = i32[t + TransportQp.txPsn]!
    const inFlight = psnDiff(psn, i32[t + TransportQp.una]!)
    const window = this.#queue.recovery.window(t, this.#queue.window(mtu))
    if (rc && hasOpcode(answeredOpcodes, opcode)) {
      // IBA list-91: at most `maxRdAtomic` READs and atomics are outstanding.
      if (i32[t + TransportQp.readsOut]! >= i32[q + Qp.maxRdAtomic]!) return 0
      const count = opcode === Opcode.Read ? this.#readPackets(wqe, mtu, psn) : 1
      if (inFlight > 0 && inFlight + count > window) return 0
      const taken = this.#requestWithResponse(q, t, wqe, opcode, mtu, psn, count, sink)
      if (taken > 0) {
        i32[t + TransportQp.readsOut] = i32[t + TransportQp.readsOut]! + 1
        // Its response acknowledges the packets before it, as an ACK does.
        i32[t + TransportQp.lastAckReq] = psnAdd(psn, count - 1)
        if (psn === i32[t + TransportQp.newPsn]) this.#queue.recovery.sent(t, psn, nowNs)
      }
      return taken
    }
    if (rc && (inFlight >= window || lacksCredit(i32, t, wqe))) return 0
    const length = this.#f64[(wqe + SendProgress.length) >> 1]!
    const number = psnDiff(psn, i32[wqe + SendProgress.firstPsn]!)
    const offset = number * mtu
    const bytes = Math.min(mtu, length - offset)
    const last = psn === i32[wqe + SendProgress.lastPsn]
    const where = last ? (number === 0 ? place.only : place.last) : number === 0 ? place.first : place.middle
    const wire = packets[opcode * 4 + where]! + (rc ? 0 : ucBase)
    const header = headerLength[wire]!
    const pad = -bytes & 3
    const at = sink.open(q + Qp.av, header + bytes + pad)
    if (at < 0) return -1
    const u8 = this.#u8
    let ackReq = last
    if (rc) {
      if (!last) {
        const since = psnDiff(psn, i32[t + TransportQp.lastAckReq]!)
        ackReq = since >= window >> 2 || inFlight + 1 === window || (number === 0 && isLimited(i32, t, wqe))
      }
      if (ackReq) {
        i32[t + TransportQp.lastAckReq] = psn
        if (psn === i32[t + TransportQp.newPsn]) this.#queue.recovery.sent(t, psn, nowNs)
      }
    } else ackReq = false
    // IBA list-51: only the last packet solicits an event.
    const solicited = last && (i32[wqe + Wqe.flags]! & SendFlag.Solicited) !== 0 && hasOpcode(receiveOpcodes, opcode)
    const flags = (solicited ? BthFlag.solicited : 0) | (pad << BthFlag.padShift)
    putBth(u8, at, wire, flags, i32[q + Qp.destQpNum]!, ackReq, psn)
    let extension = at + Bth.length
    if ((opcodeBits[wire]! & OpBit.Reth) !== 0) {
      this.#reth(extension, wqe, 0, length)
      extension += Reth.length
    }
    if ((opcodeBits[wire]! & (OpBit.Imm | OpBit.Ieth)) !== 0) {
      put32(u8, extension, i32[wqe + Wqe.immData]!)
      extension += 4
    }
    if (!this.#state.buffers.read(i32[q + Qp.pd]!, wqe, offset, bytes, extension)) return this.#regionGone(q, t)
    for (let i = 0; i < pad; i++) u8[extension + bytes + i] = 0
    sink.close(header + bytes + pad)
    this.#sentBytes = header + bytes + pad
    if (number === 0 && psn === i32[t + TransportQp.newPsn]) this.#state.count(this.#state.counters.rdma_sends)
    return 1
  }

  /** Fails the request at `txIndex`, whose memory was deregistered after it had been posted. The packet in the room is not sent. */
  #regionGone(q: number, t: number): 0 {
    const i32 = this.#i32
    i32[t + TransportQp.freshIndex] = i32[t + TransportQp.txIndex]!
    i32[t + TransportQp.localError] = WcStatus.LocProtErr
    if (i32[q + Qp.sqNext] === i32[t + TransportQp.txIndex]) this.#queue.failLocally(q, t)
    return 0
  }

  #reth(extension: number, wqe: number, offset: number, length: number): void {
    const u8 = this.#u8
    put64(u8, extension + Reth.va, this.#f64[(wqe + Wqe.remoteAddr) >> 1]! + offset)
    put32(u8, extension + Reth.rkey, this.#i32[wqe + Wqe.rkey]!)
    put32(u8, extension + Reth.dmaLength, length)
  }

  /** Returns the number of packets of the response that the next request of a READ requests: from `psn` to the end of its chunk. */
  #readPackets(wqe: number, mtu: number, psn: number): number {
    const i32 = this.#i32
    const chunk = this.#queue.chunkPackets(mtu)
    const number = psnDiff(psn, i32[wqe + SendProgress.firstPsn]!)
    const left = psnDiff(i32[wqe + SendProgress.lastPsn]!, psn) + 1
    return Math.min(left, chunk - (number % chunk))
  }

  /** Writes READ, atomic, ATOMIC_WRITE or FLUSH, which takes `count` PSNs; returns the same as `#packet`. */
  #requestWithResponse(
    q: number,
    t: number,
    wqe: number,
    opcode: number,
    mtu: number,
    psn: number,
    count: number,
    sink: PacketSink,
  ): number {
    const i32 = this.#i32
    const u8 = this.#u8
    const destQp = i32[q + Qp.destQpNum]!
    const wire = packets[opcode * 4 + place.only]!
    const header = headerLength[wire]!
    const size = opcode === Opcode.AtomicWrite ? header + 8 : header
    const at = sink.open(q + Qp.av, size)
    if (at < 0) return -1
    putBth(u8, at, wire, 0, destQp, true, psn)
    const extension = at + Bth.length
    if (opcode === Opcode.Read) {
      const offset = psnDiff(psn, i32[wqe + SendProgress.firstPsn]!) * mtu
      // IBA 9.4.4: a repeated READ requests only the missing part.
      // IBA 9.4.4 deviation: a READ is one request; one longer than `readChunkBytes` is several here, so that its responses fit into the
      // receive buffer of a UDP socket, which has no flow control of its own.
      this.#reth(extension, wqe, offset, Math.min(count * mtu, this.#f64[(wqe + SendProgress.length) >> 1]! - offset))
    } else if (opcode === Opcode.Flush) {
      put32(u8, extension, i32[wqe + Wqe.access]!)
      this.#reth(extension + Feth.length, wqe, 0, this.#f64[(wqe + Wqe.length) >> 1]!)
    } else if (opcode === Opcode.AtomicWrite) {
      this.#reth(extension, wqe, 0, 8)
      if (!this.#state.buffers.read(i32[q + Qp.pd]!, wqe, 0, 8, at + header)) return this.#regionGone(q, t)
    } else {
      put64(u8, extension + AtomicEth.va, this.#f64[(wqe + Wqe.remoteAddr) >> 1]!)
      put32(u8, extension + AtomicEth.rkey, i32[wqe + Wqe.rkey]!)
      const swap = opcode === Opcode.AtomicCmpAndSwp
      this.#operand(extension + AtomicEth.swapAdd, wqe + (swap ? Wqe.swap : Wqe.compareAdd))
      if (swap) this.#operand(extension + AtomicEth.compare, wqe + Wqe.compareAdd)
      else u8.fill(0, extension + AtomicEth.compare, extension + AtomicEth.length)
    }
    sink.close(size)
    this.#sentBytes = size
    if (psn === i32[wqe + SendProgress.firstPsn] && psn === i32[t + TransportQp.newPsn])
      this.#state.count(this.#state.counters.rdma_sends)
    return count
  }

  /** Writes a 64-bit operand from two words of the queue. */
  #operand(at: number, word: number): void {
    put32(this.#u8, at, this.#i32[word + 1]!)
    put32(this.#u8, at + 4, this.#i32[word]!)
  }
}
