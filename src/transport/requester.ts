/**
 * The requester of RC and UC: takes requests from the front of the send queue, cuts them into packets, and completes them
 * when the responder has acknowledged them (RC) or the last packet has left (UC).
 *
 *     sqNext         una                    txPsn                newPsn
 *       │ completed   │ under way            │ being sent again    │ never sent          PSN →
 *
 * Everything about a packet follows from its PSN: the request it belongs to, and its offset in there. To go back N, only
 * `txIndex` and `txPsn` are set back. A READ takes the PSNs of its answers; one of many packets is asked for in pieces,
 * so that answers never exceed what a receive buffer holds, and asked for again from the byte that is missing.
 *
 * InfiniBand Architecture volume 1, 9.7.3 and 9.7.5; C9-… in comments are its compliance statements.
 */
import { bind, layout, localInvalidate, Opcode, QpState, QpType, SendFlag, WcStatus } from '../verbs/provider/index.ts'
import {
  Aeth,
  AethKind,
  AtomicEth,
  aethKindBits,
  aethValueBits,
  Bth,
  BthFlag,
  bthAckReqBit,
  Feth,
  headerLength,
  OpBit,
  opcodeBits,
  put16,
  put24,
  put32,
  put64,
  Reth,
  rnrTimerNs,
  Syndrome,
  u24,
  WireOpcode,
} from '../wire/index.ts'
import { grant, isLimited, lacksCredit, numberRequest } from './credits.ts'
import { SendProgress, TransportQp } from './layout.ts'
import { psnAdd, psnDiff } from './psn.ts'
import { Recovery } from './recovery.ts'
import type { PacketSink } from './sink.ts'
import { noticeableNs, type TransportState } from './state.ts'

const { Qp, Sg, Wqe } = layout

/** Longest message, bytes: the standard's 2^31. */
export const maxMessageBytes = 0x80000000
/** Unacknowledged packets of one connection, at most. */
const maxWindow = 256
/** PSNs that may be outstanding. */
const mostPsns = 2 ** 23
const forever = 7
/** Local ACK timeouts, ns, by their code: 4.096 µs · 2^code (C9-140). */
const ackTimeoutNs = Float64Array.from({ length: 32 }, (_, code) => 4096 * 2 ** code)

/** Wire opcodes of RC for first, middle, last and only packet of each send opcode; UC has the same ones above 0x20. */
const packets = new Uint8Array(16 * 4)
function packetsOf(opcode: number, first: number, middle: number, last: number, only: number): void {
  packets.set([first, middle, last, only], opcode * 4)
}
{
  const w = WireOpcode
  packetsOf(Opcode.Send, w.RcSendFirst, w.RcSendMiddle, w.RcSendLast, w.RcSendOnly)
  packetsOf(Opcode.SendWithImm, w.RcSendFirst, w.RcSendMiddle, w.RcSendLastWithImm, w.RcSendOnlyWithImm)
  packetsOf(Opcode.SendWithInv, w.RcSendFirst, w.RcSendMiddle, w.RcSendLastWithInv, w.RcSendOnlyWithInv)
  packetsOf(Opcode.Write, w.RcWriteFirst, w.RcWriteMiddle, w.RcWriteLast, w.RcWriteOnly)
  packetsOf(Opcode.WriteWithImm, w.RcWriteFirst, w.RcWriteMiddle, w.RcWriteLastWithImm, w.RcWriteOnlyWithImm)
}
const place = { first: 0, middle: 1, last: 2, only: 3 } as const
const ucBase = 0x20

/** Requests that the responder answers with data, one resource each. */
function hasResponse(opcode: number): boolean {
  return (
    opcode === Opcode.Read ||
    opcode === Opcode.AtomicCmpAndSwp ||
    opcode === Opcode.AtomicFetchAndAdd ||
    opcode === Opcode.Flush ||
    opcode === Opcode.AtomicWrite
  )
}

/** A backlog of so many requests, or bytes, is sent without waiting for more. */
const worthSending = { requests: 48, bytes: 48 * 1024 }

/** Writes a BTH; the address is that of QP `destQp`. */
export function putBth(
  b: Uint8Array,
  at: number,
  opcode: number,
  flags: number,
  destQp: number,
  ackReq: boolean,
  psn: number,
): void {
  b[at] = opcode
  // MigReq is 1 in the state Migrated, which a QP without an alternate path is in; adapters expect it.
  b[at + Bth.flags] = flags | BthFlag.migReq
  put16(b, at + Bth.pkey, 0xffff)
  b[at + Bth.ecn] = 0
  put24(b, at + Bth.destQp, destQp)
  b[at + Bth.ackReq] = ackReq ? bthAckReqBit : 0
  put24(b, at + Bth.psn, psn)
}

export class Requester {
  readonly #s: TransportState
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #u8: Uint8Array
  readonly #recovery: Recovery
  /** Of the last packet. */
  #sentBytes = 0

  constructor(state: TransportState) {
    this.#s = state
    this.#i32 = state.i32
    this.#f64 = state.f64
    this.#u8 = state.u8
    this.#recovery = new Recovery(state.i32, state.f64, state.options.minTimeoutNs)
  }

  #wqe(q: number, index: number): number {
    const i32 = this.#i32
    return i32[q + Qp.sqRing]! + (index & i32[q + Qp.sqMask]!) * i32[q + Qp.sqStride]!
  }

  /** The state that a QP starts with in RTS. */
  #begin(q: number, t: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.ready] = i32[t + TransportQp.ready]! | 2
    i32[t + TransportQp.txIndex] = i32[q + Qp.sqNext]!
    i32[t + TransportQp.freshIndex] = i32[q + Qp.sqNext]!
    const psn = i32[q + Qp.sqPsn]!
    i32[t + TransportQp.txPsn] = psn
    i32[t + TransportQp.newPsn] = psn
    i32[t + TransportQp.una] = psn
    i32[t + TransportQp.lastAckReq] = psnAdd(psn, -1)
    this.#restartCounts(q, t)
    this.#recovery.begin(t)
    this.#s.arm(q, Number.POSITIVE_INFINITY)
  }

  #restartCounts(q: number, t: number): void {
    this.#i32[t + TransportQp.retriesLeft] = this.#i32[q + Qp.retryCnt]!
    this.#i32[t + TransportQp.rnrLeft] = this.#i32[q + Qp.rnrRetry]!
  }

  #window(mtu: number): number {
    return Math.min(maxWindow, Math.max(16, Math.floor(this.#s.options.windowBytes / mtu)))
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  /** Whether what is still to be sent is little, and the last request of it one packet. */
  hasShortBacklog(q: number): boolean {
    const i32 = this.#i32
    const head = i32[q + Qp.sqHead]!
    const waiting = (head - i32[this.#s.of(q) + TransportQp.txIndex]!) | 0
    if (waiting >= worthSending.requests) return false
    const w = this.#wqe(q, head - 1)
    if ((i32[w + Wqe.flags]! & SendFlag.Inline) !== 0) return true
    const length = i32[w + Wqe.data + Sg.length]!
    return i32[w + Wqe.sges]! <= 1 && length <= i32[q + Qp.pathMtu]! && waiting * length < worthSending.bytes
  }

  /** Sends up to `budget` packets of a QP; true if it stopped for the budget or for lack of room. */
  transmit(q: number, nowNs: number, sink: PacketSink, budget: number): boolean {
    const i32 = this.#i32
    const s = this.#s
    const t = s.of(q)
    const state = i32[q + Qp.state]!
    if (state === QpState.Err || state === QpState.Sqe) {
      s.flush(q)
      return false
    }
    if (state !== QpState.Rts && state !== QpState.Sqd) return false
    if ((i32[t + TransportQp.ready]! & 2) === 0) this.#begin(q, t)
    const { congestion } = s
    const timer = (t + TransportQp.deadline) >> 1
    if (congestion !== null) this.#f64[timer] = congestion.unpace(t, this.#f64[timer]!)
    const head = Atomics.load(i32, q + Qp.sqHead)
    const rc = i32[q + Qp.type] === QpType.RC
    const asked = this.#expectsAck(t)
    let sent = 0
    let more = false
    let pacedNs = nowNs
    for (;;) {
      if (i32[t + TransportQp.rnrWaiting] !== 0) break
      const index = i32[t + TransportQp.txIndex]!
      if (state === QpState.Sqd && ((index - i32[q + Qp.sqDrainAt]!) | 0) >= 0) break
      if (index === head) break
      if (sent >= budget) {
        more = true
        break
      }
      const w = this.#wqe(q, index)
      if (index === i32[t + TransportQp.freshIndex]) {
        if (i32[t + TransportQp.localError] !== 0 || !this.#prepare(q, t, w, index)) break
        if (i32[w + SendProgress.settled] === 1) {
          i32[t + TransportQp.txIndex] = (index + 1) | 0
          this.#completeReady(q, t)
          continue
        }
      } else if (i32[w + SendProgress.settled] === 1) {
        i32[t + TransportQp.txIndex] = (index + 1) | 0
        continue
      }
      if (congestion !== null) {
        pacedNs = congestion.nextNs(t, nowNs)
        if (pacedNs > nowNs) break
      }
      const packetCount = this.#packet(q, t, w, rc, sink, nowNs)
      more = packetCount < 0
      if (packetCount <= 0) break
      sent++
      congestion?.sent(t, this.#sentBytes, nowNs)
      const psn = psnAdd(i32[t + TransportQp.txPsn]!, packetCount)
      if (psnDiff(psn, i32[t + TransportQp.newPsn]!) > 0) i32[t + TransportQp.newPsn] = psn
      else s.count(s.counters.retransmitted_pkts)
      i32[t + TransportQp.txPsn] = psn
      if (psnDiff(psn, i32[w + SendProgress.lastPsn]!) > 0) {
        i32[t + TransportQp.txIndex] = (index + 1) | 0
        if (!rc) {
          i32[t + TransportQp.una] = psn
          this.#completeReady(q, t)
        }
      }
    }
    if (sent > 0 && rc) {
      if (this.#f64[timer] === Number.POSITIVE_INFINITY) this.#arm(q, nowNs)
      else if (!asked && this.#expectsAck(t)) this.#armEarly(q, t, nowNs)
    }
    if (pacedNs > nowNs) s.arm(q, congestion!.pace(t, pacedNs, this.#f64[timer]!))
    if (state === QpState.Sqd) s.host.drained(q)
    return more
  }

  /** Starts the ACK timer anew if anything is outstanding, else stops it. */
  #arm(q: number, nowNs: number): void {
    const i32 = this.#i32
    const t = this.#s.of(q)
    const timeout = i32[q + Qp.timeout]!
    if (timeout === 0 || i32[t + TransportQp.una] === i32[t + TransportQp.newPsn] || i32[q + Qp.type] !== QpType.RC) {
      this.#s.arm(q, Number.POSITIVE_INFINITY)
      return
    }
    const wait = Math.max(this.#s.options.minTimeoutNs, ackTimeoutNs[timeout]!)
    this.#f64[(t + TransportQp.ackDeadline) >> 1] = nowNs + wait
    i32[t + TransportQp.heldUp] = 0
    this.#armEarly(q, t, nowNs)
  }

  /** Whether anything that is outstanding asks for an ACK or a response: nothing is to be heard before. */
  #expectsAck(t: number): boolean {
    const i32 = this.#i32
    return (
      i32[t + TransportQp.readsOut]! > 0 || psnDiff(i32[t + TransportQp.lastAckReq]!, i32[t + TransportQp.una]!) >= 0
    )
  }

  /** Waits for the peer as long as it usually takes, or for the rest of the ACK timeout. */
  #armEarly(q: number, t: number, nowNs: number): void {
    const deadline = this.#f64[(t + TransportQp.ackDeadline) >> 1]!
    this.#s.arm(q, Math.min(deadline, nowNs + this.#recovery.waitNs(t)))
  }

  /** The first look at a request; false if it has to wait, or cannot be sent at all (`localError`). */
  #prepare(q: number, t: number, w: number, index: number): boolean {
    const i32 = this.#i32
    const opcode = i32[w + Wqe.opcode]!
    const alone = i32[q + Qp.sqNext] === index
    if ((i32[w + Wqe.flags]! & SendFlag.Fence) !== 0 && i32[t + TransportQp.readsOut]! > 0) return false
    if (opcode === Opcode.LocalInv || opcode === Opcode.BindMw) {
      if (opcode === Opcode.LocalInv && !alone) return false
      const { host } = this.#s
      // No grace period is needed: what peers write to this device is placed under the lock that this thread holds.
      const status = opcode === Opcode.BindMw ? bind(host, q, w) : localInvalidate(host, q, w)
      if (status !== WcStatus.Success) return this.#failInTurn(q, t, status, alone)
      i32[w + SendProgress.settled] = 1
      i32[t + TransportQp.freshIndex] = (index + 1) | 0
      return true
    }
    const answered = hasResponse(opcode)
    const rc = i32[q + Qp.type] === QpType.RC
    // UC has no packets for these.
    if (!rc && (answered || opcode === Opcode.SendWithInv)) return this.#failInTurn(q, t, WcStatus.LocQpOpErr, alone)
    if (answered && i32[q + Qp.maxRdAtomic] === 0) return this.#failInTurn(q, t, WcStatus.LocQpOpErr, alone)
    let length = 0
    if (opcode !== Opcode.Flush) {
      const fills = answered && opcode !== Opcode.AtomicWrite
      length = this.#s.buffers.gather(i32[q + Qp.pd]!, w, fills ? 1 : 0)
      if (length < 0) return this.#failInTurn(q, t, WcStatus.LocProtErr, alone)
      const wrong = answered && opcode !== Opcode.Read ? length !== 8 : length > maxMessageBytes
      if (wrong) return this.#failInTurn(q, t, WcStatus.LocLenErr, alone)
    }
    const single = answered && opcode !== Opcode.Read
    const count = single ? 1 : Math.max(1, Math.ceil(length / i32[q + Qp.pathMtu]!))
    // PSNs are compared around half of their circle: no two that are outstanding may be further apart. A message of 2 GiB
    // in packets of 256 bytes takes that half by itself.
    if (rc && psnDiff(i32[t + TransportQp.newPsn]!, i32[t + TransportQp.una]!) + count > mostPsns) return false
    i32[w + SendProgress.settled] = 0
    i32[w + SendProgress.firstPsn] = i32[t + TransportQp.newPsn]!
    i32[w + SendProgress.lastPsn] = psnAdd(i32[t + TransportQp.newPsn]!, count - 1)
    this.#f64[(w + SendProgress.length) >> 1] = length
    numberRequest(i32, t, w, opcode === Opcode.Read ? Math.ceil(count / this.#piece(i32[q + Qp.pathMtu]!)) : 1)
    i32[t + TransportQp.freshIndex] = (index + 1) | 0
    return true
  }

  /** A request that fails here does so in its turn, after those before it. */
  #failInTurn(q: number, t: number, status: number, alone: boolean): false {
    this.#i32[t + TransportQp.localError] = status
    if (alone) this.#failLocally(q, t)
    return false
  }

  #failLocally(q: number, t: number): void {
    const status = this.#i32[t + TransportQp.localError]!
    this.#i32[t + TransportQp.localError] = 0
    this.#s.failRequest(q, status)
  }

  /**
   * Writes the next packet of the request at `w`: how many PSNs it takes, 0 if it has to wait for an acknowledgement or an
   * answer, −1 if there is no room for it now.
   */
  #packet(q: number, t: number, w: number, rc: boolean, sink: PacketSink, nowNs: number): number {
    const i32 = this.#i32
    const opcode = i32[w + Wqe.opcode]!
    const mtu = i32[q + Qp.pathMtu]!
    const psn = i32[t + TransportQp.txPsn]!
    const inFlight = psnDiff(psn, i32[t + TransportQp.una]!)
    const window = this.#recovery.window(t, this.#window(mtu))
    if (rc && hasResponse(opcode)) {
      if (i32[t + TransportQp.readsOut]! >= i32[q + Qp.maxRdAtomic]!) return 0
      const count = opcode === Opcode.Read ? this.#readPackets(w, mtu, psn) : 1
      if (inFlight > 0 && inFlight + count > window) return 0
      const taken = this.#requestWithResponse(q, t, w, opcode, mtu, psn, count, sink)
      if (taken > 0) {
        i32[t + TransportQp.readsOut] = i32[t + TransportQp.readsOut]! + 1
        if (psn === i32[t + TransportQp.newPsn]) this.#recovery.sent(t, psn, nowNs)
      }
      return taken
    }
    if (rc && (inFlight >= window || lacksCredit(i32, t, w))) return 0
    const length = this.#f64[(w + SendProgress.length) >> 1]!
    const number = psnDiff(psn, i32[w + SendProgress.firstPsn]!)
    const offset = number * mtu
    const bytes = Math.min(mtu, length - offset)
    const last = psn === i32[w + SendProgress.lastPsn]
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
        ackReq = since >= window >> 2 || inFlight + 1 === window || (number === 0 && isLimited(i32, t, w))
      }
      if (ackReq) {
        i32[t + TransportQp.lastAckReq] = psn
        if (psn === i32[t + TransportQp.newPsn]) this.#recovery.sent(t, psn, nowNs)
      }
    } else ackReq = false
    const solicited = last && (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0 && opcode !== Opcode.Write
    const flags = (solicited ? BthFlag.solicited : 0) | (pad << BthFlag.padShift)
    putBth(u8, at, wire, flags, i32[q + Qp.destQpNum]!, ackReq, psn)
    let h = at + Bth.length
    if ((opcodeBits[wire]! & OpBit.Reth) !== 0) {
      this.#reth(h, w, 0, length)
      h += Reth.length
    }
    if ((opcodeBits[wire]! & (OpBit.Imm | OpBit.Ieth)) !== 0) {
      put32(u8, h, i32[w + Wqe.immData]!)
      h += 4
    }
    if (!this.#s.buffers.read(i32[q + Qp.pd]!, w, offset, bytes, h)) return this.#regionGone(q, t)
    for (let i = 0; i < pad; i++) u8[h + bytes + i] = 0
    sink.close(header + bytes + pad)
    this.#sentBytes = header + bytes + pad
    if (number === 0 && psn === i32[t + TransportQp.newPsn]) this.#s.count(this.#s.counters.rdma_sends)
    return 1
  }

  /** The memory of the request at `txIndex` was deregistered after it had been posted. What is in the room is not sent. */
  #regionGone(q: number, t: number): 0 {
    const i32 = this.#i32
    i32[t + TransportQp.localError] = WcStatus.LocProtErr
    i32[t + TransportQp.freshIndex] = i32[t + TransportQp.txIndex]!
    if (i32[q + Qp.sqNext] === i32[t + TransportQp.txIndex]) this.#failLocally(q, t)
    return 0
  }

  #reth(h: number, w: number, offset: number, length: number): void {
    const u8 = this.#u8
    put64(u8, h + Reth.va, this.#f64[(w + Wqe.remoteAddr) >> 1]! + offset)
    put32(u8, h + Reth.rkey, this.#i32[w + Wqe.rkey]!)
    put32(u8, h + Reth.dmaLength, length)
  }

  /** Packets of a READ in one piece: the range between two multiples of it in which `psn` lies, from `psn` on. */
  #piece(mtu: number): number {
    return Math.max(1, Math.min(Math.floor(this.#s.options.readChunkBytes / mtu), this.#window(mtu)))
  }

  #readPackets(w: number, mtu: number, psn: number): number {
    const i32 = this.#i32
    const piece = this.#piece(mtu)
    const number = psnDiff(psn, i32[w + SendProgress.firstPsn]!)
    const left = psnDiff(i32[w + SendProgress.lastPsn]!, psn) + 1
    return Math.min(left, piece - (number % piece))
  }

  /** READ, atomic, ATOMIC_WRITE or FLUSH, which takes `count` PSNs; returns as `#packet` does. */
  #requestWithResponse(
    q: number,
    t: number,
    w: number,
    opcode: number,
    mtu: number,
    psn: number,
    count: number,
    sink: PacketSink,
  ): number {
    const i32 = this.#i32
    const u8 = this.#u8
    const destQp = i32[q + Qp.destQpNum]!
    const wire =
      opcode === Opcode.Read
        ? WireOpcode.RcReadRequest
        : opcode === Opcode.AtomicCmpAndSwp
          ? WireOpcode.RcCompareSwap
          : opcode === Opcode.AtomicFetchAndAdd
            ? WireOpcode.RcFetchAdd
            : opcode === Opcode.Flush
              ? WireOpcode.RcFlush
              : WireOpcode.RcAtomicWrite
    const header = headerLength[wire]!
    const size = opcode === Opcode.AtomicWrite ? header + 8 : header
    const at = sink.open(q + Qp.av, size)
    if (at < 0) return -1
    putBth(u8, at, wire, 0, destQp, true, psn)
    const h = at + Bth.length
    if (opcode === Opcode.Read) {
      const offset = psnDiff(psn, i32[w + SendProgress.firstPsn]!) * mtu
      this.#reth(h, w, offset, Math.min(count * mtu, this.#f64[(w + SendProgress.length) >> 1]! - offset))
    } else if (opcode === Opcode.Flush) {
      put32(u8, h, i32[w + Wqe.access]!)
      this.#reth(h + Feth.length, w, 0, this.#f64[(w + Wqe.length) >> 1]!)
    } else if (opcode === Opcode.AtomicWrite) {
      this.#reth(h, w, 0, 8)
      if (!this.#s.buffers.read(i32[q + Qp.pd]!, w, 0, 8, at + header)) return this.#regionGone(q, t)
    } else {
      put64(u8, h + AtomicEth.va, this.#f64[(w + Wqe.remoteAddr) >> 1]!)
      put32(u8, h + AtomicEth.rkey, i32[w + Wqe.rkey]!)
      const swap = opcode === Opcode.AtomicCmpAndSwp
      this.#operand(h + AtomicEth.swapAdd, w + (swap ? Wqe.swap : Wqe.compareAdd))
      if (swap) this.#operand(h + AtomicEth.compare, w + Wqe.compareAdd)
      else u8.fill(0, h + AtomicEth.compare, h + AtomicEth.length)
    }
    sink.close(size)
    this.#sentBytes = size
    if (psn === i32[w + SendProgress.firstPsn] && psn === i32[t + TransportQp.newPsn])
      this.#s.count(this.#s.counters.rdma_sends)
    return count
  }

  /** A 64-bit operand from two words of the queue. */
  #operand(at: number, word: number): void {
    put32(this.#u8, at, this.#i32[word + 1]!)
    put32(this.#u8, at + 4, this.#i32[word]!)
  }

  // --- completing --------------------------------------------------------------------------------------------------

  /** Completes what is done at the front of the send queue, and sees what may go on because of that. */
  #completeReady(q: number, t: number): void {
    const i32 = this.#i32
    const { host } = this.#s
    for (;;) {
      const next = i32[q + Qp.sqNext]!
      if (next === i32[t + TransportQp.freshIndex]) break
      const w = this.#wqe(q, next)
      let bytes = 0
      if (i32[w + SendProgress.settled] === 0) {
        if (psnDiff(i32[t + TransportQp.una]!, i32[w + SendProgress.lastPsn]!) <= 0) break
        const opcode = i32[w + Wqe.opcode]!
        if (hasResponse(opcode) && opcode !== Opcode.Flush && opcode !== Opcode.AtomicWrite)
          bytes = this.#f64[(w + SendProgress.length) >> 1]!
      }
      if (!host.completeSend(q, WcStatus.Success, bytes)) {
        this.#s.flush(q)
        return
      }
    }
    // The one that cannot be sent is the first that was never begun; `txIndex` may have gone back.
    if (i32[t + TransportQp.localError] !== 0 && i32[q + Qp.sqNext] === i32[t + TransportQp.freshIndex])
      this.#failLocally(q, t)
    else if (i32[t + TransportQp.txIndex] !== i32[q + Qp.sqHead]) this.#s.schedule(q)
  }

  // --- what comes back ---------------------------------------------------------------------------------------------

  /** A packet from the responder of `q`: [at, end) from BTH to the end of the pad. */
  receive(q: number, op: number, at: number, end: number, psn: number, nowNs: number): void {
    const i32 = this.#i32
    const s = this.#s
    const t = s.of(q)
    const state = i32[q + Qp.state]!
    const bits = opcodeBits[op]!
    if ((state !== QpState.Rts && state !== QpState.Sqd) || (i32[t + TransportQp.ready]! & 2) === 0) {
      s.count(s.counters.drops_qp_state)
      return
    }
    const aeth = at + Bth.length
    if (psnDiff(psn, i32[t + TransportQp.una]!) < 0 || psnDiff(psn, i32[t + TransportQp.newPsn]!) >= 0) {
      // The newest ACK once more: it may bring credits.
      const newest = (bits & OpBit.Ack) !== 0 && psn === psnAdd(i32[t + TransportQp.una]!, -1)
      if (newest && grant(i32, t, this.#u8[aeth + Aeth.syndrome]!, u24(this.#u8, aeth + Aeth.msn))) s.schedule(q)
      else s.count(s.counters.drops_unexpected_ack)
      return
    }
    if ((bits & OpBit.Aeth) !== 0) grant(i32, t, this.#u8[aeth + Aeth.syndrome]!, u24(this.#u8, aeth + Aeth.msn))
    if ((bits & OpBit.Ack) === 0) this.#answer(q, t, bits, at, end, psn, nowNs)
    else {
      const syndrome = this.#u8[aeth + Aeth.syndrome]!
      const kind = syndrome & aethKindBits
      if (kind === AethKind.Ack) {
        if (!this.#acknowledge(q, t, psn, nowNs)) this.#goBack(q, t, nowNs, s.counters.completer_retry_err, psn)
      } else if (kind === AethKind.RnrNak) this.#receiverNotReady(q, t, psn, syndrome & aethValueBits, nowNs)
      else if (kind === AethKind.Nak) this.#negative(q, t, psn, syndrome, nowNs)
      else s.count(s.counters.drops_malformed)
    }
    if (i32[q + Qp.state] === QpState.Sqd) s.host.drained(q)
  }

  /**
   * All packets up to `psn` have arrived. False if an answer that must have come before it is missing: an implied NAK.
   */
  #acknowledge(q: number, t: number, psn: number, nowNs: number): boolean {
    const i32 = this.#i32
    let una = i32[t + TransportQp.una]!
    let whole = true
    for (let index = i32[q + Qp.sqNext]!; index !== i32[t + TransportQp.freshIndex]; index = (index + 1) | 0) {
      const w = this.#wqe(q, index)
      if (i32[w + SendProgress.settled] === 1) continue
      const last = i32[w + SendProgress.lastPsn]!
      if (psnDiff(last, una) < 0) continue
      if (psnDiff(psn, una) < 0) break
      if (hasResponse(i32[w + Wqe.opcode]!)) {
        whole = false
        break
      }
      una = psnAdd(psnDiff(last, psn) < 0 ? last : psn, 1)
    }
    if (una !== i32[t + TransportQp.una]) this.#progress(q, t, una, nowNs)
    return whole
  }

  /** The oldest packet that is not acknowledged is `una` now. */
  #progress(q: number, t: number, una: number, nowNs: number): void {
    const i32 = this.#i32
    const packets = psnDiff(una, i32[t + TransportQp.una]!)
    i32[t + TransportQp.una] = una
    this.#recovery.progress(t, packets, this.#window(i32[q + Qp.pathMtu]!), nowNs)
    i32[t + TransportQp.resending] = 0
    // A copy of the packet for which there was no receive may have found one: there is nothing to wait for then.
    i32[t + TransportQp.rnrWaiting] = 0
    this.#restartCounts(q, t)
    // What was to be sent again may have arrived after all.
    if (psnDiff(i32[t + TransportQp.txPsn]!, una) < 0) this.#sendFrom(q, t, una)
    this.#arm(q, nowNs)
    this.#completeReady(q, t)
  }

  /** Sets the sender to the packet `psn`. */
  #sendFrom(q: number, t: number, psn: number): void {
    const i32 = this.#i32
    let index = i32[q + Qp.sqNext]!
    for (; index !== i32[t + TransportQp.freshIndex]; index = (index + 1) | 0) {
      const w = this.#wqe(q, index)
      if (i32[w + SendProgress.settled] === 0 && psnDiff(i32[w + SendProgress.lastPsn]!, psn) >= 0) break
    }
    i32[t + TransportQp.txIndex] = index
    i32[t + TransportQp.txPsn] = psn
    i32[t + TransportQp.lastAckReq] = psnAdd(psn, -1)
  }

  /**
   * Sends everything again from the oldest packet on, unless that is being done; `cause` is the counter, `psn` what showed
   * that a response is missing.
   */
  #goBack(q: number, t: number, nowNs: number, cause: number, psn: number): void {
    const i32 = this.#i32
    const s = this.#s
    // While the receiver is not ready the timer runs after which all is sent again anyway. What is being sent again may be
    // lost as well; but a NAK that comes too soon is about what was sent before, and the responses to a READ go on to come
    // long after one was missing: only when they begin anew, and that one is missing again, it was lost again.
    const begunAnew = cause !== s.counters.completer_retry_err || psnDiff(psn, i32[t + TransportQp.gapPsn]!) <= 0
    const news = begunAnew && this.#recovery.isNews(t, nowNs)
    const known = i32[t + TransportQp.resending] !== 0 && cause !== s.counters.timeouts && !news
    if (i32[t + TransportQp.rnrWaiting] !== 0 || known) {
      if (cause === s.counters.completer_retry_err) s.count(s.counters.drops_unexpected_ack)
      return
    }
    s.count(cause)
    if (i32[t + TransportQp.retriesLeft] === 0) {
      s.count(s.counters.retry_exceeded_err)
      s.failRequest(q, WcStatus.RetryExcErr)
      return
    }
    i32[t + TransportQp.retriesLeft] = i32[t + TransportQp.retriesLeft]! - 1
    this.#recovery.restart(t, this.#window(i32[q + Qp.pathMtu]!), nowNs)
    i32[t + TransportQp.gapPsn] = psn
    this.#restart(q, t)
    this.#arm(q, nowNs)
  }

  /** Nothing was heard for longer than it usually takes: what is outstanding is sent again, at the cost of no retry. */
  #goBackEarly(q: number, t: number, nowNs: number): void {
    const i32 = this.#i32
    if (!this.#expectsAck(t)) {
      this.#armEarly(q, t, nowNs)
      return
    }
    this.#s.count(this.#s.counters.early_retransmits)
    i32[t + TransportQp.early] = i32[t + TransportQp.early]! + 1
    i32[t + TransportQp.heldUp] = 0
    this.#recovery.restart(t, this.#window(i32[q + Qp.pathMtu]!), nowNs)
    i32[t + TransportQp.gapPsn] = i32[t + TransportQp.newPsn]!
    this.#restart(q, t)
    this.#armEarly(q, t, nowNs)
  }

  #restart(q: number, t: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.resending] = 1
    i32[t + TransportQp.readsOut] = 0
    this.#sendFrom(q, t, i32[t + TransportQp.una]!)
    this.#s.schedule(q)
  }

  #receiverNotReady(q: number, t: number, psn: number, code: number, nowNs: number): void {
    const i32 = this.#i32
    const s = this.#s
    const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs)
    if (i32[q + Qp.state] !== QpState.Rts && i32[q + Qp.state] !== QpState.Sqd) return
    s.count(s.counters.rcvd_rnr_err)
    if (!whole || i32[t + TransportQp.una] !== psn) {
      this.#goBack(q, t, nowNs, s.counters.completer_retry_err, psn)
      return
    }
    if (i32[t + TransportQp.rnrWaiting] !== 0) return
    if (i32[q + Qp.rnrRetry] !== forever) {
      if (i32[t + TransportQp.rnrLeft] === 0) {
        s.count(s.counters.retry_rnr_exceeded_err)
        s.failRequest(q, WcStatus.RnrRetryExcErr)
        return
      }
      i32[t + TransportQp.rnrLeft] = i32[t + TransportQp.rnrLeft]! - 1
    }
    this.#recovery.pause(t)
    this.#restart(q, t)
    i32[t + TransportQp.resending] = 0
    i32[t + TransportQp.rnrWaiting] = 1
    s.arm(q, nowNs + rnrTimerNs[code]!)
  }

  #negative(q: number, t: number, psn: number, syndrome: number, nowNs: number): void {
    const i32 = this.#i32
    const s = this.#s
    s.count(s.counters.naks_rcvd)
    const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs)
    if (i32[q + Qp.state] !== QpState.Rts && i32[q + Qp.state] !== QpState.Sqd) return
    if (!whole || syndrome === Syndrome.PsnSequence) {
      this.#goBack(q, t, nowNs, s.counters.rcvd_seq_err, i32[t + TransportQp.newPsn]!)
      return
    }
    let status: WcStatus = WcStatus.RemOpErr
    if (syndrome === Syndrome.InvalidRequest || syndrome === Syndrome.InvalidRdRequest) status = WcStatus.RemInvReqErr
    else if (syndrome === Syndrome.RemoteAccess) status = WcStatus.RemAccessErr
    else if (syndrome !== Syndrome.RemoteOperational) status = WcStatus.BadRespErr
    s.count(status === WcStatus.RemAccessErr ? s.counters.remote_access_errors : s.counters.remote_invalid_requests)
    s.failRequest(q, status)
  }

  /** READ response or atomic acknowledgement: data for the oldest request that waits for an answer. */
  #answer(q: number, t: number, bits: number, at: number, end: number, psn: number, nowNs: number): void {
    const i32 = this.#i32
    const u8 = this.#u8
    const s = this.#s
    const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs)
    const state = i32[q + Qp.state]!
    if (state !== QpState.Rts && state !== QpState.Sqd) return
    if (!whole || i32[t + TransportQp.una] !== psn) {
      this.#goBack(q, t, nowNs, s.counters.completer_retry_err, psn)
      return
    }
    const w = this.#wqe(q, i32[q + Qp.sqNext]!)
    const opcode = i32[w + Wqe.opcode]!
    const atomic = opcode === Opcode.AtomicCmpAndSwp || opcode === Opcode.AtomicFetchAndAdd
    if (!hasResponse(opcode) || atomic !== ((bits & OpBit.AtomicAck) !== 0)) {
      s.failRequest(q, WcStatus.BadRespErr)
      return
    }
    const pd = i32[q + Qp.pd]!
    const header = headerLength[u8[at]!]!
    let filled = true
    let chunkEnds = true
    if (atomic) {
      // The place of the operand in the queue is free now: the old value goes through it to the caller's buffers.
      const original = at + header - 8
      i32[w + Wqe.compareAdd + 1] = readWord(u8, original)
      i32[w + Wqe.compareAdd] = readWord(u8, original + 4)
      filled = s.buffers.bringBack(pd, w, 0, 8, (w + Wqe.compareAdd) * 4)
    } else {
      const mtu = i32[q + Qp.pathMtu]!
      const number = psnDiff(psn, i32[w + SendProgress.firstPsn]!)
      const expected =
        opcode === Opcode.Read ? Math.min(mtu, this.#f64[(w + SendProgress.length) >> 1]! - number * mtu) : 0
      const pad = (u8[at + Bth.flags]! & BthFlag.pad) >> BthFlag.padShift
      if (end - at - header - pad !== expected) {
        s.failRequest(q, WcStatus.BadRespErr)
        return
      }
      filled = s.buffers.bringBack(pd, w, number * mtu, expected, at + header)
      if (opcode === Opcode.Read) {
        const piece = this.#piece(mtu)
        chunkEnds = psn === i32[w + SendProgress.lastPsn] || (number + 1) % piece === 0
      }
    }
    if (!filled) {
      s.failRequest(q, WcStatus.LocProtErr)
      return
    }
    if (chunkEnds && i32[t + TransportQp.readsOut]! > 0)
      i32[t + TransportQp.readsOut] = i32[t + TransportQp.readsOut]! - 1
    this.#progress(q, t, psnAdd(psn, 1), nowNs)
  }

  /** The QP's timer expired. */
  expire(q: number, nowNs: number): void {
    const i32 = this.#i32
    const t = this.#s.of(q)
    const timer = (t + TransportQp.deadline) >> 1
    const { congestion } = this.#s
    if (congestion !== null) {
      const deadline = congestion.unpace(t, this.#f64[timer]!)
      // Whatever else the timer was for: the pause between two packets ends with it.
      this.#s.schedule(q)
      if (deadline > nowNs) {
        this.#s.arm(q, deadline)
        return
      }
    }
    const lateNs = nowNs - this.#f64[timer]!
    this.#f64[timer] = Number.POSITIVE_INFINITY
    if ((i32[t + TransportQp.ready]! & 2) === 0) return
    const state = i32[q + Qp.state]!
    if (state !== QpState.Rts && state !== QpState.Sqd) return
    if (i32[t + TransportQp.rnrWaiting] !== 0) {
      i32[t + TransportQp.rnrWaiting] = 0
      this.#s.schedule(q)
    } else if (i32[t + TransportQp.una] === i32[t + TransportQp.newPsn]) return
    else if (nowNs >= this.#f64[(t + TransportQp.ackDeadline) >> 1]!)
      this.#goBack(q, t, nowNs, this.#s.counters.timeouts, i32[t + TransportQp.newPsn]!)
    else if (lateNs > noticeableNs && i32[t + TransportQp.heldUp] === 0) {
      // This thread was held up; so may have been the answer, by middleware or by a peer that the same thread drives.
      i32[t + TransportQp.heldUp] = 1
      this.#armEarly(q, t, nowNs)
    } else this.#goBackEarly(q, t, nowNs)
  }
}

function readWord(b: Uint8Array, at: number): number {
  return (b[at]! << 24) | (b[at + 1]! << 16) | (b[at + 2]! << 8) | b[at + 3]!
}
