/**
 * The responder of RC and UC: takes packets in the order of their PSNs, writes the payload of SENDs and WRITEs to memory, and completes
 * receives.
 *
 *     RC   expected PSN   executed; ACK when requested
 *          ahead          one NAK, then silence until the expected one comes, or what was ahead comes again
 *          behind         a duplicate: acknowledged again, or its response is sent again
 *     UC   a gap ends the message that was arriving; the next first or only packet starts another one
 *
 * Requests that are answered with a response are in responses.ts, ACKs and NAKs in acknowledgements.ts.
 *
 * InfiniBand Architecture volume 1, 9.7.4 and 9.8.
 */
import {
  Access,
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
  AethKind,
  Bth,
  BthFlag,
  bthAckReqBit,
  get64,
  headerLength,
  OpBit,
  opcodeBits,
  psnAdd,
  psnDiff,
  Reth,
  Syndrome,
  u32,
} from '../wire/index.ts'
import { type Acknowledgements, dropped } from './acknowledgements.ts'
import { padOf } from './bth.ts'
import { begun, TransportQp } from './layout.ts'
import type { Responses } from './responses.ts'
import type { PacketSink } from './sink.ts'
import type { TransportState } from './state.ts'

const { Qp } = layout

/** Kinds of messages that are arriving. */
const kind = { none: 0, send: 1, write: 2 } as const

const asksForAck = (u8: Uint8Array, at: number): boolean => (u8[at + Bth.ackReq]! & bthAckReqBit) !== 0

export class Responder {
  readonly #state: TransportState
  readonly #acks: Acknowledgements
  readonly #responses: Responses
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #u8: Uint8Array
  /** Flag: the last packet completed a receive, so that its ACK can wait for the reply of the program. */
  completed = false

  constructor(state: TransportState, acks: Acknowledgements, responses: Responses) {
    this.#state = state
    this.#acks = acks
    this.#responses = responses
    this.#i32 = state.i32
    this.#f64 = state.f64
    this.#u8 = state.u8
  }

  #begin(q: number, t: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.epsn] = i32[q + Qp.rqPsn]!
    i32[t + TransportQp.plainPsn] = psnAdd(i32[q + Qp.rqPsn]!, -1)
    i32[t + TransportQp.ready] = i32[t + TransportQp.ready]! | begun.responder
    this.#state.buffers.beginReceiver(q)
  }

  /** Handles a request packet for `q`: [at, end) from BTH to the end of the pad. */
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
      state.beginPacket(q, t)
      this.#unreliable(q, t, op, bits, at, bytes, psn, ahead)
      state.end()
      return
    }
    // IBA 9.7.5.2.2: a PSN ahead of the expected one is a sequence error; its NAK has the expected PSN.
    if (ahead > 0) {
      state.count(state.counters.out_of_seq_request)
      // IBA 9.7.5.2 deviation: a responder that has sent this NAK is silent until the expected PSN comes; here it repeats the
      // NAK for a packet that is not beyond the one that showed the gap. A requester that has gone back sends that one again
      // when the packet that is missing was lost once more, and would learn of it only by its ACK timeout.
      const again = i32[t + TransportQp.nakDue] === 0 && psnDiff(psn, i32[t + TransportQp.nakAhead]!) <= 0
      if (i32[t + TransportQp.nakSent] !== 0 && !again) state.count(state.counters.drops_nak_pending)
      else {
        this.#acks.reject(q, t, Syndrome.PsnSequence, i32[t + TransportQp.epsn]!, sink)
        i32[t + TransportQp.nakAhead] = psn
      }
      return
    }
    if (ahead < 0) {
      state.count(state.counters.duplicate_request)
      // IBA C9-105: a duplicate SEND or WRITE is acknowledged again, and not executed.
      if ((bits & (OpBit.Send | OpBit.Write)) !== 0) this.#acks.due(q, t)
      else this.#responses.repeat(q, t, bits, at, psn)
      return
    }
    i32[t + TransportQp.nakSent] = 0
    i32[t + TransportQp.nakDue] = 0
    state.beginPacket(q, t)
    const syndrome = this.#execute(q, t, op, bits, at, bytes, psn)
    state.end()
    if (syndrome === dropped) return
    if (syndrome !== 0) {
      this.#acks.reject(q, t, syndrome, psn, sink)
      i32[t + TransportQp.nakAhead] = psn
      return
    }
    // A READ or atomic is acknowledged by its response.
    if ((bits & (OpBit.Send | OpBit.Write)) === 0) return
    if (asksForAck(u8, at)) this.#acks.due(q, t)
  }

  // --- RC ----------------------------------------------------------------------------------------------------------

  /** Executes the packet with the expected PSN; returns 0, the syndrome of the resulting NAK, or `dropped`. */
  #execute(q: number, t: number, op: number, bits: number, at: number, bytes: number, psn: number): number {
    if ((bits & OpBit.Send) !== 0) return this.#send(q, t, op, bits, at, bytes)
    if ((bits & OpBit.Write) !== 0) return this.#write(q, t, op, bits, at, bytes)
    if (this.#i32[t + TransportQp.rxKind] !== kind.none) return this.#acks.invalid(q)
    return this.#responses.execute(q, t, op, bits, at, bytes, psn)
  }

  /** True if opcode and payload fit the message that is arriving: the order of packets, and full ones but the last. */
  #inOrder(t: number, q: number, bits: number, what: number, bytes: number): boolean {
    const i32 = this.#i32
    const mtu = i32[q + Qp.pathMtu]!
    const begins = (bits & (OpBit.First | OpBit.Only)) !== 0
    if (i32[t + TransportQp.rxKind] !== (begins ? kind.none : what)) return false
    // IBA 9.7.4.1.6: first and middle packets have a path MTU of payload, a last one has at least a byte, and none has more than the MTU.
    if ((bits & (OpBit.First | OpBit.Middle)) !== 0) return bytes === mtu
    return bytes <= mtu && ((bits & OpBit.Only) !== 0 || bytes > 0)
  }

  /** Advances the expected PSN after a packet of a SEND or WRITE, which is in memory. */
  #taken(t: number): void {
    const i32 = this.#i32
    const psn = i32[t + TransportQp.epsn]!
    i32[t + TransportQp.plainPsn] = psn
    i32[t + TransportQp.epsn] = psnAdd(psn, 1)
  }

  #executed(t: number): void {
    this.#i32[t + TransportQp.rxKind] = kind.none
    this.#acks.executed(t)
  }

  #send(q: number, t: number, op: number, bits: number, at: number, bytes: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const state = this.#state
    if (!this.#inOrder(t, q, bits, kind.send, bytes)) return this.#acks.invalid(q)
    const begins = (bits & (OpBit.First | OpBit.Only)) !== 0
    const ends = (bits & (OpBit.Last | OpBit.Only)) !== 0
    const rc = i32[q + Qp.type] === QpType.RC
    let receive = i32[t + TransportQp.receive]!
    let offset = 0
    if (begins) {
      if (receive === 0) receive = state.takeReceive(q, 0)
      if (receive === noReceive) {
        if (!rc) state.count(state.counters.uc_drops_no_receive)
        // IBA 9.7.5.2.8: without a receive an RNR NAK specifies the minimum wait of the requester.
        return AethKind.RnrNak | i32[q + Qp.minRnrTimer]!
      }
    } else offset = f64[(t + TransportQp.rxBytes) >> 1]!
    const from = at + headerLength[op]!
    const more = !ends && !asksForAck(this.#u8, at)
    const status = state.buffers.scatter(q, state.receivePd(q), receive, offset, bytes, from, more)
    // IBA list-101: a message of UC that does not fit is dropped.
    if (status === WcStatus.LocLenErr && !rc) {
      // Only the message is lost: a peer cannot end a QP of UC with a SEND that is too long. Its receive serves the next one.
      i32[t + TransportQp.receive] = receive
      state.count(state.counters.uc_drops_length)
      return dropped
    }
    if (status === WcStatus.LocProtErr && state.buffers.isGone) {
      i32[t + TransportQp.receive] = receive
      return this.#acks.gone(q)
    }
    if (status !== WcStatus.Success) {
      i32[t + TransportQp.receive] = 0
      i32[t + TransportQp.rxKind] = kind.none
      state.failReceive(q, receive, status, 0)
      // IBA list-80, list-81: a receive that is too short is an error of the requester, one whose memory may not be written an error of
      // the responder.
      return status === WcStatus.LocLenErr ? Syndrome.InvalidRequest : Syndrome.RemoteOperational
    }
    let window = -1
    if ((bits & OpBit.Ieth) !== 0) {
      const rkey = u32(this.#u8, at + Bth.length) | 0
      window = invalidable(state.host, q, rkey)
      // A thread that was killed may have invalidated it, and no more. That word is 0 when there was none, and no window has key 0.
      if (window < 0 && (rkey === 0 || i32[t + TransportQp.invalidated] !== rkey)) {
        i32[t + TransportQp.receive] = receive
        // IBA 9.9.6.3 deviation: a key that cannot be invalidated is an error of class J, for which no NAK is sent. Here a NAK for remote
        // access is sent, as case 85 of the conformance list requires:  the requester learns why its peer has ended.
        return this.#acks.forbidden(q)
      }
    }
    this.#taken(t)
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
      flags = (bits & OpBit.Ieth) !== 0 ? WcFlag.WithInv : WcFlag.WithImm
      if (window >= 0) {
        i32[t + TransportQp.invalidated] = data
        state.beginInvalidate(window)
        unbindWindow(state.host, window)
      }
    }
    const syndrome = this.#complete(q, t, receive, WcOpcode.Recv, flags, offset + bytes, data, at)
    if ((bits & OpBit.Ieth) !== 0) i32[t + TransportQp.invalidated] = 0
    return syndrome
  }

  /** Completes the receive of a message that has arrived completely. */
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
    this.#executed(t)
    this.#i32[t + TransportQp.receive] = 0
    this.completed = true
    const solicited = (this.#u8[at + Bth.flags]! & BthFlag.solicited) !== 0
    if (state.completeReceive(q, receive, WcStatus.Success, opcode, flags, bytes, data, 0, solicited)) return 0
    // IBA C11-37: a full CQ is an error of the QP that completes to it.
    // Its owner cannot learn of the message, and the QP ends with that. The NAK acknowledges the requests before.
    this.#acks.policy.settle(t)
    state.overran(q)
    return Syndrome.RemoteOperational
  }

  #write(q: number, t: number, op: number, bits: number, at: number, bytes: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const state = this.#state
    const u8 = this.#u8
    if (!this.#inOrder(t, q, bits, kind.write, bytes)) return this.#acks.invalid(q)
    const ends = (bits & (OpBit.Last | OpBit.Only)) !== 0
    let extension = at + Bth.length
    const pd = i32[q + Qp.pd]!
    let va = f64[(t + TransportQp.va) >> 1]!
    let left = f64[(t + TransportQp.remaining) >> 1]!
    let total = f64[(t + TransportQp.rxBytes) >> 1]!
    let rkey = i32[t + TransportQp.rkey]!
    if ((bits & OpBit.Reth) !== 0) {
      // IBA list-84: access that the QP does not permit is an invalid request; access that the region does not permit, a remote access
      // error.
      if ((i32[q + Qp.accessFlags]! & Access.RemoteWrite) === 0) return this.#acks.invalid(q)
      va = get64(u8, extension + Reth.va)
      rkey = u32(u8, extension + Reth.rkey) | 0
      left = u32(u8, extension + Reth.dmaLength)
      total = left
      // IBA 9.7.4.1.6: a DMA length is at most 2 GiB.
      if (left > maxMessageBytes) return this.#acks.invalid(q)
      // IBA C9-88: the R_Key of a zero-length message is not checked.
      if (left > 0 && state.buffers.resolve(rkey, pd, va, left, Access.RemoteWrite, state.host.qpSlot(q)) === -1)
        return this.#acks.notThere(q)
      extension += Reth.length
    }
    // IBA 9.7.4.1.6: the payloads of a WRITE are together its DMA length.
    if (ends ? bytes !== left : bytes >= left) return this.#acks.invalid(q)
    let to = 0
    if (bytes > 0) {
      to = state.buffers.resolve(rkey, pd, va, bytes, Access.RemoteWrite, state.host.qpSlot(q))
      if (to === -1) return this.#acks.notThere(q)
    }
    let receive = 0
    if ((bits & OpBit.Imm) !== 0) {
      // IBA C10-86: a WRITE with immediate takes a receive, with its last packet.
      receive = i32[t + TransportQp.receive] || state.takeReceive(q, 0)
      if (receive === noReceive) {
        if (i32[q + Qp.type] !== QpType.RC) state.count(state.counters.uc_drops_no_receive)
        return AethKind.RnrNak | i32[q + Qp.minRnrTimer]!
      }
    }
    const more = !ends && !asksForAck(u8, at)
    if (bytes > 0 && !state.buffers.deliver(q, to, at + headerLength[op]!, bytes, more)) {
      i32[t + TransportQp.receive] = receive
      return this.#acks.notThere(q)
    }
    this.#taken(t)
    if (!ends) {
      i32[t + TransportQp.rxKind] = kind.write
      f64[(t + TransportQp.va) >> 1] = va + bytes
      f64[(t + TransportQp.remaining) >> 1] = left - bytes
      f64[(t + TransportQp.rxBytes) >> 1] = total
      i32[t + TransportQp.rkey] = rkey
      return 0
    }
    // IBA C10-87: a WRITE without immediate takes none.
    if (receive === 0) {
      this.#executed(t)
      return 0
    }
    const data = u32(u8, extension) | 0
    return this.#complete(q, t, receive, WcOpcode.RecvRdmaWithImm, WcFlag.WithImm, total, data, at)
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
    // IBA 9.8.2: a gap in the PSNs of UC loses a message, without a NAK.
    if (ahead !== 0) {
      // A gap: the arriving message is lost, and the next message begins with its first packet.
      state.count(state.counters.out_of_seq_request)
      i32[t + TransportQp.dropRest] = 1
    }
    i32[t + TransportQp.epsn] = psn
    if (begins) {
      i32[t + TransportQp.dropRest] = 0
      i32[t + TransportQp.rxKind] = kind.none
      state.buffers.beginReceiver(q)
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
