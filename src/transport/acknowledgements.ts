/**
 * The ACKs and NAKs of the responder of RC. Both wait for the responses to earlier requests, which come first in the order of PSNs. An
 * ACK that is due may wait longer, for a packet to be sent with (`Transport.acknowledge`).
 *
 * InfiniBand Architecture volume 1, 9.7.5.
 */
import { EventType, layout, QpType } from '../verbs/provider/index.ts'
import { Aeth, Bth, psnAdd, put24, Syndrome, WireOpcode } from '../wire/index.ts'
import type { AckPolicy } from './ack-policy.ts'
import { putBth } from './bth.ts'
import { ackSyndrome } from './credits.ts'
import { TransportQp } from './layout.ts'
import type { PacketSink } from './sink.ts'
import type { TransportState } from './state.ts'

const { Qp } = layout

/** Value in place of a syndrome: the packet was dropped, and counted. */
export const dropped = -1

export class Acknowledgements {
  readonly #state: TransportState
  /** Decides when ACKs go. What acknowledges requests otherwise, a response or a NAK, settles them with it. */
  readonly policy: AckPolicy
  readonly #i32: Int32Array

  constructor(state: TransportState, policy: AckPolicy) {
    this.#state = state
    this.policy = policy
    this.#i32 = state.i32
  }

  /** Counts one more executed request of the peer in the MSN of the packets that are sent from now on. */
  executed(t: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.msn] = psnAdd(i32[t + TransportQp.msn]!, 1)
    this.#state.count(this.#state.counters.rdma_recvs)
  }

  // --- ACKs --------------------------------------------------------------------------------------------------------

  /** Marks the newest SEND or WRITE as to be acknowledged. */
  due(q: number, t: number): void {
    this.policy.owe(t)
    this.#state.scheduleAck(q)
  }

  /**
   * Sends the ACK that is owed, if it may be sent; false if there was no room. Its PSN is that of the newest SEND or WRITE. READs and
   * atomics after it are left out, since only their responses acknowledge them: a requester that lost the response, and repeats the
   * requests before, could take an ACK with their PSN for their completion. Linux does so, and has then read nothing.
   */
  send(q: number, sink: PacketSink): boolean {
    const i32 = this.#i32
    const t = this.#state.of(q)
    if (!this.policy.mayGo(t)) return true
    if (!this.#sendAeth(q, t, ackSyndrome(i32, q, t), i32[t + TransportQp.plainPsn]!, sink)) return false
    this.policy.settle(t)
    return true
  }

  // --- NAKs --------------------------------------------------------------------------------------------------------

  /** Handles an invalid request, which ends a QP of RC; returns the syndrome of the NAK. */
  invalid(q: number): number {
    // IBA 9.7.5.2.2: the NAK of an invalid request.
    if (this.#i32[q + Qp.type] === QpType.RC) this.#state.failResponder(q, EventType.QpReqErr)
    return Syndrome.InvalidRequest
  }

  /** Handles a request without the rights to its memory, which ends a QP of RC; returns the syndrome of the NAK. */
  forbidden(q: number): number {
    // IBA 9.7.5.2.4: the NAK of a remote access error.
    this.#state.count(this.#state.counters.resp_remote_access_errors)
    if (this.#i32[q + Qp.type] === QpType.RC) this.#state.failResponder(q, EventType.QpAccessErr)
    return Syndrome.RemoteAccess
  }

  /** Handles a request whose memory `Buffers` has failed to find, or to reach; returns the syndrome of the NAK, or `dropped`. */
  notThere(q: number): number {
    return this.#state.buffers.isGone ? this.gone(q) : this.forbidden(q)
  }

  /** Ends the QP of a program whose memory it was and that has ended: from now on no response is sent. Returns `dropped`. */
  gone(q: number): number {
    this.#state.count(this.#state.counters.drops_qp_state)
    if (this.#i32[q + Qp.type] === QpType.RC) this.#state.endQp(q)
    return dropped
  }

  /**
   * Rejects the packet `psn`. Responses to earlier requests come first, at the pace of `Responses.send`: the NAK indicates that all
   * requests before it were executed, and a requester that lacks a response would request it again.
   */
  reject(q: number, t: number, syndrome: number, psn: number, sink: PacketSink): void {
    this.oweNak(t, syndrome, psn)
    if (this.#i32[t + TransportQp.resNext] === this.#i32[t + TransportQp.resTail] && this.sendNakDue(q, t, sink)) return
    this.#state.schedule(q)
  }

  /** Leaves a NAK to be sent after the responses to earlier requests. */
  oweNak(t: number, syndrome: number, psn: number): void {
    const i32 = this.#i32
    // The PSN first: after a takeover a NAK that is due is sent with these values, and acknowledges all packets before its PSN.
    i32[t + TransportQp.nakPsn] = psn
    i32[t + TransportQp.nakSent] = 1
    i32[t + TransportQp.nakDue] = syndrome
  }

  /** True if a QP in ERR has yet to send a NAK, and the responses before it. */
  owesNak(q: number): boolean {
    return this.#i32[this.#state.of(q) + TransportQp.nakDue]! > Syndrome.PsnSequence
  }

  /** Sends the NAK that is due; false if there was no room. */
  sendNakDue(q: number, t: number, sink: PacketSink): boolean {
    const i32 = this.#i32
    const state = this.#state
    const syndrome = i32[t + TransportQp.nakDue]!
    if (!this.#sendAeth(q, t, syndrome, i32[t + TransportQp.nakPsn]!, sink)) return false
    i32[t + TransportQp.nakDue] = 0
    this.policy.settle(t)
    state.count(syndrome < Syndrome.PsnSequence ? state.counters.send_rnr_err : state.counters.naks_sent)
    return true
  }

  #sendAeth(q: number, t: number, syndrome: number, psn: number, sink: PacketSink): boolean {
    const length = Bth.length + Aeth.length
    const at = sink.open(q + Qp.av, length)
    if (at < 0) return false
    const { u8 } = this.#state
    putBth(u8, at, WireOpcode.RcAck, 0, this.#i32[q + Qp.destQpNum]!, false, psn)
    u8[at + Bth.length + Aeth.syndrome] = syndrome
    put24(u8, at + Bth.length + Aeth.msn, this.#i32[t + TransportQp.msn]!)
    sink.close(length)
    return true
  }
}
