/**
 * The responder of RC and UC: takes packets in the order of their PSNs, puts what they carry into memory, completes
 * receives, and responds.
 *
 *     RC   expected PSN   executed; ACK when asked for
 *          ahead          one NAK, then silence until the expected one comes, or what was ahead comes again
 *          behind         a duplicate: acknowledged again; READ executed again; an atomic's old result sent again
 *     UC   a gap ends the message that was arriving; the next first or only packet starts another one
 *
 * Responses go out in the order of their PSNs: READs and atomics stay in the ring of resources until they are sent, and an
 * ACK or NAK waits for those before it. InfiniBand Architecture volume 1, 9.7.4 and 9.8.
 */
import {
  Access,
  EventType,
  FlushPlacement,
  invalidable,
  layout,
  maxMessageBytes,
  noReceive,
  QpType,
  unbindWindow,
  WcFlag,
  WcOpcode,
  WcStatus,
} from '../verbs/provider/index.ts'
import {
  Aeth,
  AtomicEth,
  Bth,
  BthFlag,
  bthAckReqBit,
  Feth,
  get64,
  get64Big,
  headerLength,
  OpBit,
  opcodeBits,
  psnAdd,
  psnDiff,
  put24,
  put32,
  Reth,
  Syndrome,
  u32,
  WireOpcode,
} from '../wire/index.ts'
import { padOf, putBth } from './bth.ts'
import { ackSyndrome } from './credits.ts'
import { begun, maxResources, Resource, resourceKind, TransportQp } from './layout.ts'
import type { PacketSink } from './sink.ts'
import type { TransportState } from './state.ts'

const { Key, Qp } = layout

/** What kind of message is arriving. */
const kind = { none: 0, send: 1, write: 2 } as const

/** In place of a syndrome: a message of UC was dropped, and counted. */
const dropped = -1

/** AETH syndrome of an RNR NAK, without its timer. */
const rnrNak = 0x20

export class Responder {
  readonly #state: TransportState
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #u8: Uint8Array
  /** True if the last packet completed a receive, so that its ACK can wait for what the program answers. */
  completed = false

  constructor(state: TransportState) {
    this.#state = state
    this.#i32 = state.i32
    this.#f64 = state.f64
    this.#u8 = state.u8
  }

  #begin(q: number, t: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.ready] = i32[t + TransportQp.ready]! | begun.responder
    i32[t + TransportQp.epsn] = i32[q + Qp.rqPsn]!
    i32[t + TransportQp.plainPsn] = psnAdd(i32[q + Qp.rqPsn]!, -1)
  }

  /** A request packet for `q`: [at, end) from BTH to the end of the pad. */
  receive(q: number, op: number, at: number, end: number, psn: number, sink: PacketSink): void {
    const i32 = this.#i32
    const state = this.#state
    const t = state.of(q)
    this.completed = false
    if ((i32[t + TransportQp.ready]! & begun.responder) === 0) this.#begin(q, t)
    const u8 = this.#u8
    const bits = opcodeBits[op]!
    const pad = padOf(u8, at)
    const bytes = end - at - headerLength[op]! - pad
    const ahead = psnDiff(psn, i32[t + TransportQp.epsn]!)
    if (i32[q + Qp.type] === QpType.UC) {
      this.#unreliable(q, t, op, bits, at, bytes, psn, ahead)
      return
    }
    if (ahead > 0) {
      state.count(state.counters.out_of_seq_request)
      // A requester that has gone back sends again what showed the gap: the packet that it lacks was lost once more.
      const again = i32[t + TransportQp.nakDue] === 0 && psnDiff(psn, i32[t + TransportQp.nakAhead]!) <= 0
      if (i32[t + TransportQp.nakSent] !== 0 && !again) state.count(state.counters.drops_nak_pending)
      else {
        this.#nak(q, t, Syndrome.PsnSequence, i32[t + TransportQp.epsn]!, sink)
        i32[t + TransportQp.nakAhead] = psn
      }
      return
    }
    if (ahead < 0) {
      this.#duplicate(q, t, bits, at, psn)
      return
    }
    i32[t + TransportQp.nakSent] = 0
    i32[t + TransportQp.nakDue] = 0
    const syndrome = this.#execute(q, t, op, bits, at, bytes, psn)
    if (syndrome !== 0) {
      this.#nak(q, t, syndrome, psn, sink)
      i32[t + TransportQp.nakAhead] = psn
      return
    }
    // A READ or atomic is acknowledged by its answer.
    if ((bits & (OpBit.Send | OpBit.Write)) === 0) return
    i32[t + TransportQp.plainPsn] = psn
    if ((u8[at + Bth.ackReq]! & bthAckReqBit) !== 0) this.#acknowledge(q, t)
  }

  #acknowledge(q: number, t: number): void {
    this.#i32[t + TransportQp.ackDue] = 1
    this.#state.scheduleAck(q)
  }

  // --- RC ----------------------------------------------------------------------------------------------------------

  /** Executes the packet with the expected PSN; 0, the syndrome of the NAK that it earns, or of UC `dropped`. */
  #execute(q: number, t: number, op: number, bits: number, at: number, bytes: number, psn: number): number {
    if ((bits & OpBit.Send) !== 0) return this.#send(q, t, op, bits, at, bytes)
    if ((bits & OpBit.Write) !== 0) return this.#write(q, t, op, bits, at, bytes)
    if (this.#i32[t + TransportQp.rxKind] !== kind.none) return this.#invalid(q)
    if ((bits & OpBit.ReadRequest) !== 0) return this.#read(q, t, at, psn)
    if ((bits & OpBit.Atomic) !== 0) return this.#atomic(q, t, op, at, psn)
    if ((bits & OpBit.AtomicWrite) !== 0) return this.#atomicWrite(q, t, op, at, bytes, psn)
    if ((bits & OpBit.Flush) !== 0) return this.#flush(q, t, at, psn)
    return this.#invalid(q)
  }

  /** The request breaks a rule: of UC the message is dropped. */
  #invalid(q: number): number {
    if (this.#i32[q + Qp.type] === QpType.RC) this.#state.failResponder(q, EventType.QpReqErr)
    return Syndrome.InvalidRequest
  }

  #forbidden(q: number): number {
    this.#state.count(this.#state.counters.resp_remote_access_errors)
    if (this.#i32[q + Qp.type] === QpType.RC) this.#state.failResponder(q, EventType.QpAccessErr)
    return Syndrome.RemoteAccess
  }

  /** Whether opcode and payload fit the message that is arriving: the order of packets, and full ones but the last. */
  #inOrder(t: number, q: number, bits: number, what: number, bytes: number): boolean {
    const i32 = this.#i32
    const mtu = i32[q + Qp.pathMtu]!
    const begins = (bits & (OpBit.First | OpBit.Only)) !== 0
    if (i32[t + TransportQp.rxKind] !== (begins ? kind.none : what)) return false
    if ((bits & (OpBit.First | OpBit.Middle)) !== 0) return bytes === mtu
    return bytes <= mtu && ((bits & OpBit.Only) !== 0 || bytes > 0)
  }

  #ended(t: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.rxKind] = kind.none
    i32[t + TransportQp.msn] = psnAdd(i32[t + TransportQp.msn]!, 1)
    this.#state.count(this.#state.counters.rdma_recvs)
  }

  #send(q: number, t: number, op: number, bits: number, at: number, bytes: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const state = this.#state
    if (!this.#inOrder(t, q, bits, kind.send, bytes)) return this.#invalid(q)
    const begins = (bits & (OpBit.First | OpBit.Only)) !== 0
    const ends = (bits & (OpBit.Last | OpBit.Only)) !== 0
    const rc = i32[q + Qp.type] === QpType.RC
    let window = -1
    if ((bits & OpBit.Ieth) !== 0) {
      window = invalidable(state.host, q, u32(this.#u8, at + Bth.length) | 0)
      if (window < 0) return this.#forbidden(q)
    }
    let receive = i32[t + TransportQp.receive]!
    let offset = 0
    if (begins) {
      if (receive === 0) receive = state.takeReceive(q, 0)
      if (receive === noReceive) {
        if (!rc) state.count(state.counters.uc_drops_no_receive)
        return rnrNak | i32[q + Qp.minRnrTimer]!
      }
    } else offset = f64[(t + TransportQp.rxBytes) >> 1]!
    const status = state.buffers.scatter(state.receivePd(q), receive, offset, bytes, at + headerLength[op]!)
    if (status === WcStatus.LocLenErr && !rc) {
      // Only the message is lost: nobody ends a QP of UC with a SEND that is too long. Its receive serves the next one.
      i32[t + TransportQp.receive] = receive
      state.count(state.counters.uc_drops_length)
      return dropped
    }
    if (status !== WcStatus.Success) {
      i32[t + TransportQp.receive] = 0
      i32[t + TransportQp.rxKind] = kind.none
      state.failReceive(q, receive, status, 0)
      return status === WcStatus.LocLenErr ? Syndrome.InvalidRequest : Syndrome.RemoteOperational
    }
    i32[t + TransportQp.epsn] = psnAdd(i32[t + TransportQp.epsn]!, 1)
    if (!ends) {
      i32[t + TransportQp.rxKind] = kind.send
      i32[t + TransportQp.receive] = receive
      f64[(t + TransportQp.rxBytes) >> 1] = offset + bytes
      return 0
    }
    let flags = 0
    let data = 0
    if ((bits & (OpBit.Imm | OpBit.Ieth)) !== 0) {
      data = u32(this.#u8, at + Bth.length) | 0
      flags = window >= 0 ? WcFlag.WithInv : WcFlag.WithImm
      if (window >= 0) unbindWindow(state.host, window)
    }
    return this.#complete(q, t, receive, WcOpcode.Recv, flags, offset + bytes, data, at)
  }

  /** The message is whole: its receive completes. */
  #complete(
    q: number,
    t: number,
    receive: number,
    opcode: WcOpcode,
    flags: number,
    bytes: number,
    data: number,
    at: number,
  ): number {
    const state = this.#state
    this.#ended(t)
    this.#i32[t + TransportQp.receive] = 0
    this.completed = true
    const solicited = (this.#u8[at + Bth.flags]! & BthFlag.solicited) !== 0
    if (state.completeReceive(q, receive, WcStatus.Success, opcode, flags, bytes, data, 0, solicited)) return 0
    // The CQ is full: its owner cannot learn of the message, and the QP ends with that.
    state.overran(q)
    return Syndrome.RemoteOperational
  }

  #write(q: number, t: number, op: number, bits: number, at: number, bytes: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const state = this.#state
    const u8 = this.#u8
    if (!this.#inOrder(t, q, bits, kind.write, bytes)) return this.#invalid(q)
    const ends = (bits & (OpBit.Last | OpBit.Only)) !== 0
    let extension = at + Bth.length
    const pd = i32[q + Qp.pd]!
    let va = f64[(t + TransportQp.va) >> 1]!
    let left = f64[(t + TransportQp.remaining) >> 1]!
    let total = f64[(t + TransportQp.rxBytes) >> 1]!
    let rkey = i32[t + TransportQp.rkey]!
    if ((bits & OpBit.Reth) !== 0) {
      if ((i32[q + Qp.accessFlags]! & Access.RemoteWrite) === 0) return this.#invalid(q)
      va = get64(u8, extension + Reth.va)
      rkey = u32(u8, extension + Reth.rkey) | 0
      left = u32(u8, extension + Reth.dmaLength)
      total = left
      if (left > maxMessageBytes) return this.#invalid(q)
      // C9-88: a zero-length message needs no key.
      if (left > 0 && state.buffers.resolve(rkey, pd, va, left, Access.RemoteWrite, state.host.qpSlot(q)) < 0)
        return this.#forbidden(q)
      extension += Reth.length
    }
    if (ends ? bytes !== left : bytes >= left) return this.#invalid(q)
    let to = 0
    if (bytes > 0) {
      to = state.buffers.resolve(rkey, pd, va, bytes, Access.RemoteWrite, state.host.qpSlot(q))
      if (to < 0) return this.#forbidden(q)
    }
    let receive = 0
    if ((bits & OpBit.Imm) !== 0) {
      receive = i32[t + TransportQp.receive] || state.takeReceive(q, 0)
      if (receive === noReceive) {
        if (i32[q + Qp.type] !== QpType.RC) state.count(state.counters.uc_drops_no_receive)
        return rnrNak | i32[q + Qp.minRnrTimer]!
      }
    }
    if (bytes > 0) state.host.segment.copyOrdered(to, at + headerLength[op]!, bytes)
    i32[t + TransportQp.epsn] = psnAdd(i32[t + TransportQp.epsn]!, 1)
    if (!ends) {
      i32[t + TransportQp.rxKind] = kind.write
      f64[(t + TransportQp.va) >> 1] = va + bytes
      f64[(t + TransportQp.remaining) >> 1] = left - bytes
      f64[(t + TransportQp.rxBytes) >> 1] = total
      i32[t + TransportQp.rkey] = rkey
      return 0
    }
    if (receive === 0) {
      this.#ended(t)
      return 0
    }
    const data = u32(u8, extension) | 0
    return this.#complete(q, t, receive, WcOpcode.RecvRdmaWithImm, WcFlag.WithImm, total, data, at)
  }

  // --- READ, atomics and the like ----------------------------------------------------------------------------------

  #resource(t: number, index: number): number {
    return t + TransportQp.resources + (index & (maxResources - 1)) * Resource.words
  }

  /** A resource for one more request with a response; −1 if the peer has more outstanding than was agreed. */
  #newResource(q: number, t: number, what: number, psn: number, count: number): number {
    const i32 = this.#i32
    const agreed = Math.min(maxResources, i32[q + Qp.maxDestRdAtomic]!)
    while (((i32[t + TransportQp.resTail]! - i32[t + TransportQp.resNext]!) | 0) >= agreed) {
      // The peer asks for more although a duplicate is still to be answered: then it has the answer meanwhile.
      if (agreed === 0 || i32[this.#resource(t, i32[t + TransportQp.resNext]!) + Resource.answered] === 0) return -1
      i32[t + TransportQp.resNext] = (i32[t + TransportQp.resNext]! + 1) | 0
    }
    const resource = this.#resource(t, i32[t + TransportQp.resTail]!)
    i32[resource + Resource.operation] = what
    i32[resource + Resource.first] = psn
    i32[resource + Resource.last] = psnAdd(psn, count - 1)
    i32[resource + Resource.next] = psn
    i32[resource + Resource.end] = i32[resource + Resource.last]!
    i32[resource + Resource.begun] = 0
    i32[resource + Resource.answered] = 0
    return resource
  }

  /** The resource is complete: it is answered in its turn. */
  #enlist(q: number, t: number, resource: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.resTail] = (i32[t + TransportQp.resTail]! + 1) | 0
    i32[t + TransportQp.epsn] = psnAdd(i32[resource + Resource.last]!, 1)
    // The answer acknowledges what came before it, too.
    i32[t + TransportQp.ackDue] = 0
    this.#ended(t)
    this.#state.schedule(q)
  }

  #read(q: number, t: number, at: number, psn: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const u8 = this.#u8
    if ((i32[q + Qp.accessFlags]! & Access.RemoteRead) === 0) return this.#invalid(q)
    const extension = at + Bth.length
    const va = get64(u8, extension + Reth.va)
    const rkey = u32(u8, extension + Reth.rkey) | 0
    const length = u32(u8, extension + Reth.dmaLength)
    if (length > maxMessageBytes) return this.#invalid(q)
    const { buffers, host } = this.#state
    if (length > 0 && buffers.resolve(rkey, i32[q + Qp.pd]!, va, length, Access.RemoteRead, host.qpSlot(q)) < 0)
      return this.#forbidden(q)
    const count = Math.max(1, Math.ceil(length / i32[q + Qp.pathMtu]!))
    const resource = this.#newResource(q, t, resourceKind.read, psn, count)
    if (resource < 0) return this.#invalid(q)
    i32[resource + Resource.rkey] = rkey
    f64[(resource + Resource.va) >> 1] = va
    f64[(resource + Resource.length) >> 1] = length
    f64[(resource + Resource.jobVa) >> 1] = va
    f64[(resource + Resource.jobLeft) >> 1] = length
    this.#enlist(q, t, resource)
    return 0
  }

  #atomic(q: number, t: number, op: number, at: number, psn: number): number {
    const i32 = this.#i32
    const u8 = this.#u8
    const { b64, buffers, host } = this.#state
    const extension = at + Bth.length
    const va = get64(u8, extension + AtomicEth.va)
    if ((i32[q + Qp.accessFlags]! & Access.RemoteAtomic) === 0 || va % 8 !== 0) return this.#invalid(q)
    const rkey = u32(u8, extension + AtomicEth.rkey) | 0
    const to = buffers.resolve(rkey, i32[q + Qp.pd]!, va, 8, Access.RemoteAtomic, host.qpSlot(q))
    if (to < 0) return this.#forbidden(q)
    if (to % 8 !== 0) return this.#invalid(q)
    const resource = this.#newResource(q, t, resourceKind.atomic, psn, 1)
    if (resource < 0) return this.#invalid(q)
    const operand = get64Big(u8, extension + AtomicEth.swapAdd)
    b64[(resource + Resource.va) >> 1] =
      op === WireOpcode.RcCompareSwap
        ? Atomics.compareExchange(b64, to / 8, get64Big(u8, extension + AtomicEth.compare), operand)
        : Atomics.add(b64, to / 8, operand)
    this.#enlist(q, t, resource)
    return 0
  }

  #atomicWrite(q: number, t: number, op: number, at: number, bytes: number, psn: number): number {
    const i32 = this.#i32
    const u8 = this.#u8
    const { b64, buffers, host } = this.#state
    const extension = at + Bth.length
    const va = get64(u8, extension + Reth.va)
    const wrong = (i32[q + Qp.accessFlags]! & Access.RemoteWrite) === 0 || va % 8 !== 0 || bytes !== 8
    if (wrong || u32(u8, extension + Reth.dmaLength) !== 8) return this.#invalid(q)
    const rkey = u32(u8, extension + Reth.rkey) | 0
    const to = buffers.resolve(rkey, i32[q + Qp.pd]!, va, 8, Access.RemoteWrite, host.qpSlot(q))
    if (to < 0) return this.#forbidden(q)
    if (to % 8 !== 0) return this.#invalid(q)
    const resource = this.#newResource(q, t, resourceKind.plain, psn, 1)
    if (resource < 0) return this.#invalid(q)
    // In memory order, as in the packet; put together first, since a packet is not aligned.
    const from = at + headerLength[op]!
    host.segment.copy((resource + Resource.va) * 4, from, 8)
    Atomics.store(b64, to / 8, b64[(resource + Resource.va) >> 1]!)
    this.#enlist(q, t, resource)
    return 0
  }

  #flush(q: number, t: number, at: number, psn: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const u8 = this.#u8
    const { buffers, host } = this.#state
    const type = u8[at + Bth.length + Feth.type]!
    const extension = at + Bth.length + Feth.length
    const needs =
      ((type & FlushPlacement.Global) !== 0 ? Access.FlushGlobal : 0) |
      ((type & FlushPlacement.Persistent) !== 0 ? Access.FlushPersistent : 0)
    if ((i32[q + Qp.accessFlags]! & needs) !== needs || needs === 0) return this.#invalid(q)
    const rkey = u32(u8, extension + Reth.rkey) | 0
    let va = get64(u8, extension + Reth.va)
    let length = u32(u8, extension + Reth.dmaLength)
    if ((type & Feth.selectivityBits) !== 0) {
      const entry = host.findKey(rkey)
      if (entry >= 0) va = f64[(entry + Key.iova) >> 1]!
      length = 0
    }
    if (buffers.resolve(rkey, i32[q + Qp.pd]!, va, length, needs, host.qpSlot(q)) < 0) return this.#forbidden(q)
    const resource = this.#newResource(q, t, resourceKind.plain, psn, 1)
    if (resource < 0) return this.#invalid(q)
    // Stores of this thread are visible to all others after a full barrier; that is global placement.
    Atomics.add(i32, t + TransportQp.msn, 0)
    this.#enlist(q, t, resource)
    return 0
  }

  /** A packet that was executed before. */
  #duplicate(q: number, t: number, bits: number, at: number, psn: number): void {
    const i32 = this.#i32
    const state = this.#state
    state.count(state.counters.duplicate_request)
    if ((bits & (OpBit.Send | OpBit.Write)) !== 0) {
      this.#acknowledge(q, t)
      return
    }
    const kept = Math.min(maxResources, i32[q + Qp.maxDestRdAtomic]!)
    for (let back = 1; back <= kept; back++) {
      const index = (i32[t + TransportQp.resTail]! - back) | 0
      const resource = this.#resource(t, index)
      if (i32[resource + Resource.operation] === resourceKind.none) break
      if (psnDiff(psn, i32[resource + Resource.first]!) < 0 || psnDiff(psn, i32[resource + Resource.last]!) > 0)
        continue
      if (!this.#again(q, resource, bits, at, psn)) break
      i32[resource + Resource.next] = psn
      i32[resource + Resource.begun] = 0
      if (((index - i32[t + TransportQp.resNext]!) | 0) < 0) i32[t + TransportQp.resNext] = index
      // Later answers that had been sent are not sent again by this: their jobs are done.
      state.schedule(q)
      return
    }
    state.count(state.counters.drops_duplicate_unknown)
  }

  /** Whether the duplicate asks for (a part of) what the resource `resource` was; then its job is set up again. */
  #again(q: number, resource: number, bits: number, at: number, psn: number): boolean {
    const i32 = this.#i32
    const f64 = this.#f64
    const u8 = this.#u8
    const what = i32[resource + Resource.operation]
    if ((bits & OpBit.ReadRequest) === 0) {
      const atomic = (bits & OpBit.Atomic) !== 0
      if (what !== (atomic ? resourceKind.atomic : resourceKind.plain)) return false
      i32[resource + Resource.end] = i32[resource + Resource.last]!
      return true
    }
    if (what !== resourceKind.read) return false
    const extension = at + Bth.length
    const va = get64(u8, extension + Reth.va)
    const length = u32(u8, extension + Reth.dmaLength)
    const low = f64[(resource + Resource.va) >> 1]!
    const high = low + f64[(resource + Resource.length) >> 1]!
    if (
      length > 0 &&
      (va < low || va + length > high || (u32(u8, extension + Reth.rkey) | 0) !== i32[resource + Resource.rkey])
    )
      return false
    const end = psnAdd(psn, Math.max(1, Math.ceil(length / i32[q + Qp.pathMtu]!)) - 1)
    if (psnDiff(end, i32[resource + Resource.last]!) > 0) return false
    i32[resource + Resource.end] = end
    f64[(resource + Resource.jobVa) >> 1] = va
    f64[(resource + Resource.jobLeft) >> 1] = length
    return true
  }

  // --- answering ---------------------------------------------------------------------------------------------------

  /** Whether a QP in ERR has yet to send a NAK, and the responses before it. */
  owesNak(q: number): boolean {
    return this.#i32[this.#state.of(q) + TransportQp.nakDue]! > Syndrome.PsnSequence
  }

  /** Sends responses and the NAK that are due, at most `budget` packets; how many, −1 if there was no room. */
  respond(q: number, sink: PacketSink, budget: number): number {
    const i32 = this.#i32
    const t = this.#state.of(q)
    let sent = 0
    while (i32[t + TransportQp.resNext] !== i32[t + TransportQp.resTail]) {
      const resource = this.#resource(t, i32[t + TransportQp.resNext]!)
      while (psnDiff(i32[resource + Resource.next]!, i32[resource + Resource.end]!) <= 0) {
        if (sent >= budget) return sent
        const bytes = this.#responseBytes(q, resource)
        const from = bytes > 0 ? this.#source(q, resource, bytes) : 0
        if (from < 0) {
          this.#gone(q, t, resource)
          break
        }
        if (!this.#answer(q, t, resource, from, bytes, sink)) return -1
        sent++
      }
      i32[resource + Resource.answered] = 1
      i32[t + TransportQp.resNext] = (i32[t + TransportQp.resNext]! + 1) | 0
    }
    if (i32[t + TransportQp.nakDue] === 0 || sent >= budget) return sent
    return this.#sendNakDue(q, t, sink) ? sent + 1 : -1
  }

  /** Bytes of the next response packet for the resource `resource`. */
  #responseBytes(q: number, resource: number): number {
    if (this.#i32[resource + Resource.operation] !== resourceKind.read) return 0
    return Math.min(this.#i32[q + Qp.pathMtu]!, this.#f64[(resource + Resource.jobLeft) >> 1]!)
  }

  /** Where the next response to the READ `resource` is read from; −1 if the peer may not read there any more. */
  #source(q: number, resource: number, bytes: number): number {
    const { buffers, host } = this.#state
    const i32 = this.#i32
    const va = this.#f64[(resource + Resource.jobVa) >> 1]!
    return buffers.resolve(
      i32[resource + Resource.rkey]!,
      i32[q + Qp.pd]!,
      va,
      bytes,
      Access.RemoteRead,
      host.qpSlot(q),
    )
  }

  /**
   * The region of a READ was deregistered before its responses were sent. One that had been answered to its end is asked
   * for again by a late duplicate, which is dropped: the program may have heard from its peer that the READ is done. Any
   * other ends with a NAK in place of the next response, and the QP with it.
   */
  #gone(q: number, t: number, resource: number): void {
    const i32 = this.#i32
    const psn = i32[resource + Resource.next]!
    i32[resource + Resource.end] = psnAdd(psn, -1)
    if (i32[resource + Resource.answered] === 1) {
      this.#state.count(this.#state.counters.drops_duplicate_unknown)
      return
    }
    i32[t + TransportQp.resNext] = (i32[t + TransportQp.resTail]! - 1) | 0
    this.#oweNak(t, Syndrome.RemoteAccess, psn)
    this.#forbidden(q)
  }

  /** Sends the next packet for the resource `resource`, with `bytes` at `from`; false if there was no room. */
  #answer(q: number, t: number, resource: number, from: number, bytes: number, sink: PacketSink): boolean {
    const i32 = this.#i32
    const f64 = this.#f64
    const u8 = this.#u8
    const state = this.#state
    const psn = i32[resource + Resource.next]!
    let wire: number = WireOpcode.RcReadResponseOnly
    const what = i32[resource + Resource.operation]
    if (what === resourceKind.atomic) wire = WireOpcode.RcAtomicAck
    else if (what === resourceKind.read) {
      const first = i32[resource + Resource.begun] === 0
      if (f64[(resource + Resource.jobLeft) >> 1]! > bytes)
        wire = first ? WireOpcode.RcReadResponseFirst : WireOpcode.RcReadResponseMiddle
      else if (!first) wire = WireOpcode.RcReadResponseLast
    }
    const header = headerLength[wire]!
    const pad = -bytes & 3
    const at = sink.open(q + Qp.av, header + bytes + pad)
    if (at < 0) return false
    putBth(u8, at, wire, pad << BthFlag.padShift, i32[q + Qp.destQpNum]!, false, psn)
    if (wire !== WireOpcode.RcReadResponseMiddle) {
      u8[at + Bth.length + Aeth.syndrome] = ackSyndrome(i32, q, t)
      put24(u8, at + Bth.length + Aeth.msn, i32[t + TransportQp.msn]!)
    }
    if (what === resourceKind.atomic) {
      const extension = at + Bth.length + Aeth.length
      put32(u8, extension, i32[resource + Resource.va + 1]!)
      put32(u8, extension + 4, i32[resource + Resource.va]!)
    }
    if (bytes > 0) {
      state.host.segment.copy(at + header, from, bytes)
      for (let i = 0; i < pad; i++) u8[at + header + bytes + i] = 0
      f64[(resource + Resource.jobVa) >> 1] = f64[(resource + Resource.jobVa) >> 1]! + bytes
      f64[(resource + Resource.jobLeft) >> 1] = f64[(resource + Resource.jobLeft) >> 1]! - bytes
    }
    sink.close(header + bytes + pad)
    i32[resource + Resource.begun] = 1
    i32[resource + Resource.next] = psnAdd(psn, 1)
    return true
  }

  /**
   * Sends the ACK that is due, unless answers with lower PSNs are still to be sent; false if there was no room. Its PSN is
   * that of the newest SEND or WRITE. READs and atomics after it are left out, since only their answers acknowledge them:
   * a requester that lost the answer, and repeats what was before, could take an ACK with their PSN for their completion.
   * Linux does, and has then read nothing.
   */
  acknowledge(q: number, sink: PacketSink): boolean {
    const i32 = this.#i32
    const t = this.#state.of(q)
    if (i32[t + TransportQp.ackDue] === 0 || i32[t + TransportQp.resNext] !== i32[t + TransportQp.resTail]) return true
    if (!this.#sendNak(q, t, ackSyndrome(i32, q, t), i32[t + TransportQp.plainPsn]!, sink)) return false
    i32[t + TransportQp.ackDue] = 0
    return true
  }

  /**
   * Rejects the packet `psn`. Responses to earlier requests come first, at the pace of `respond`: the NAK says that all
   * before it was executed, and a requester that lacks a response would ask for it again.
   */
  #nak(q: number, t: number, syndrome: number, psn: number, sink: PacketSink): void {
    this.#oweNak(t, syndrome, psn)
    if (this.#i32[t + TransportQp.resNext] === this.#i32[t + TransportQp.resTail] && this.#sendNakDue(q, t, sink))
      return
    this.#state.schedule(q)
  }

  #oweNak(t: number, syndrome: number, psn: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.nakSent] = 1
    i32[t + TransportQp.nakDue] = syndrome
    i32[t + TransportQp.nakPsn] = psn
  }

  #sendNakDue(q: number, t: number, sink: PacketSink): boolean {
    const i32 = this.#i32
    const state = this.#state
    const syndrome = i32[t + TransportQp.nakDue]!
    if (!this.#sendNak(q, t, syndrome, i32[t + TransportQp.nakPsn]!, sink)) return false
    i32[t + TransportQp.nakDue] = 0
    i32[t + TransportQp.ackDue] = 0
    state.count(syndrome < Syndrome.PsnSequence ? state.counters.send_rnr_err : state.counters.naks_sent)
    return true
  }

  #sendNak(q: number, t: number, syndrome: number, psn: number, sink: PacketSink): boolean {
    const length = Bth.length + Aeth.length
    const at = sink.open(q + Qp.av, length)
    if (at < 0) return false
    const u8 = this.#u8
    putBth(u8, at, WireOpcode.RcAck, 0, this.#i32[q + Qp.destQpNum]!, false, psn)
    u8[at + Bth.length + Aeth.syndrome] = syndrome
    put24(u8, at + Bth.length + Aeth.msn, this.#i32[t + TransportQp.msn]!)
    sink.close(length)
    return true
  }

  // --- UC ----------------------------------------------------------------------------------------------------------

  #unreliable(
    q: number,
    t: number,
    op: number,
    bits: number,
    at: number,
    bytes: number,
    psn: number,
    ahead: number,
  ): void {
    const i32 = this.#i32
    const state = this.#state
    const begins = (bits & (OpBit.First | OpBit.Only)) !== 0
    if (ahead !== 0) {
      // A gap: what was arriving is lost, and the next message begins with its first packet.
      state.count(state.counters.out_of_seq_request)
      i32[t + TransportQp.dropRest] = 1
    }
    i32[t + TransportQp.epsn] = psn
    if (begins) {
      i32[t + TransportQp.dropRest] = 0
      i32[t + TransportQp.rxKind] = kind.none
    }
    if (i32[t + TransportQp.dropRest] !== 0) {
      state.count(state.counters.drops_uc_sequence)
      i32[t + TransportQp.rxKind] = kind.none
      i32[t + TransportQp.epsn] = psnAdd(psn, 1)
      return
    }
    const plain = (bits & (OpBit.Send | OpBit.Write)) !== 0
    const syndrome = plain ? this.#execute(q, t, op, bits, at, bytes, psn) : Syndrome.InvalidRequest
    if (syndrome === 0) return
    if (syndrome === Syndrome.RemoteAccess || syndrome === Syndrome.InvalidRequest)
      state.count(state.counters.uc_drops_access)
    i32[t + TransportQp.dropRest] = 1
    i32[t + TransportQp.rxKind] = kind.none
    i32[t + TransportQp.epsn] = psnAdd(psn, 1)
  }
}
