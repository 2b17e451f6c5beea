/**
 * UD: one packet per message, no connection, no response. The sender's request completes when the packet has left; a receiver that cannot
 * take it drops and counts it. Its buffer begins with 40 bytes for the IP header: an IPv6 header, or 20 bytes of zeros and an IPv4 header
 * (annex A17, 17.4.5.2).
 */
import {
  GsiDispatch,
  grhLength,
  gsiQpn,
  hasOpcode,
  layout,
  legalOpcodes,
  mcastMember,
  multicastQpn,
  noReceive,
  Opcode,
  QpState,
  QpType,
  receiveTooShort,
  SendFlag,
  WcFlag,
  WcOpcode,
  WcStatus,
} from '../verbs/provider/index.ts'
import {
  Bth,
  BthFlag,
  Deth,
  headerLength,
  Icrc,
  Ipv4,
  OpBit,
  opcodeBits,
  psnAdd,
  put16,
  put24,
  put32,
  Udp,
  u24,
  u32,
  WireOpcode,
} from '../wire/index.ts'
import { padOf, putBth } from './bth.ts'
import type { Hosting } from './hosting.ts'
import { begun, TransportQp } from './layout.ts'
import type { Origin } from './origin.ts'
import type { PacketSink } from './sink.ts'
import type { TransportState } from './state.ts'

const { Av, avMulticast, Dev, Meta, Qp, qpEngine, Wqe } = layout

export class Datagrams {
  readonly #state: TransportState
  /** Length of the longest datagram, bytes. */
  mtu: number
  readonly #grh: number
  readonly #gsi: GsiDispatch
  readonly #hosting: Hosting

  /** Constructs the UD part of a transport; `scratch` is the byte offset of 64 bytes in the segment. */
  constructor(state: TransportState, mtu: number, scratch: number, hosting: Hosting) {
    this.#state = state
    this.#hosting = hosting
    this.mtu = mtu
    this.#grh = scratch
    this.#gsi = new GsiDispatch(state.host)
  }

  /** Sends up to `budget` datagrams; true if it stopped for the budget or for lack of room. */
  transmit(q: number, sink: PacketSink, budget: number): boolean {
    const state = this.#state
    const { i32, host } = state
    const t = state.of(q)
    for (let sent = 0; ; sent++) {
      const qpState = i32[q + Qp.state]!
      if (qpState === QpState.Err || qpState === QpState.Sqe) state.flush(q)
      const next = i32[q + Qp.sqNext]!
      const draining = qpState === QpState.Sqd && ((next - i32[q + Qp.sqDrainAt]!) | 0) >= 0
      if (draining) state.host.drained(q)
      if ((qpState !== QpState.Rts && qpState !== QpState.Sqd) || draining) return false
      if (next === Atomics.load(i32, q + Qp.sqHead)) return false
      if (sent >= budget) return true
      if ((i32[t + TransportQp.ready]! & begun.requester) === 0) {
        i32[t + TransportQp.newPsn] = i32[q + Qp.sqPsn]!
        i32[t + TransportQp.ready] = i32[t + TransportQp.ready]! | begun.requester
      }
      const wqe = i32[q + Qp.sqRing]! + (next & i32[q + Qp.sqMask]!) * i32[q + Qp.sqStride]!
      const status = this.#send(q, t, wqe, sink)
      if (status < 0) return true
      if (status !== WcStatus.Success) state.failRequest(q, status)
      else if (!host.completeSend(q, WcStatus.Success, 0)) state.flush(q)
    }
  }

  #send(q: number, t: number, wqe: number, sink: PacketSink): number {
    const state = this.#state
    const { i32, u8 } = state
    const opcode = i32[wqe + Wqe.opcode]!
    // IBA list-98: UD sends only SENDs.
    if (!hasOpcode(legalOpcodes[QpType.UD], opcode)) return WcStatus.LocQpOpErr
    const pd = i32[q + Qp.pd]!
    const bytes = state.buffers.gather(pd, wqe, 0)
    if (bytes < 0) return WcStatus.LocProtErr
    // IBA list-96: a message of UD is one packet.
    if (bytes > this.mtu) return WcStatus.LocLenErr
    const av = wqe + Wqe.av
    if (i32[av + Av.device]! < 0) {
      state.count(state.counters.drops_no_path)
      return WcStatus.Success
    }
    const wire = opcode === Opcode.Send ? WireOpcode.UdSendOnly : WireOpcode.UdSendOnlyWithImm
    const header = headerLength[wire]!
    const pad = -bytes & 3
    const at = sink.open(av, header + bytes + pad)
    if (at < 0) return -1
    const psn = i32[t + TransportQp.newPsn]!
    const solicited = (i32[wqe + Wqe.flags]! & SendFlag.Solicited) !== 0
    const flags = (solicited ? BthFlag.solicited : 0) | (pad << BthFlag.padShift)
    const group = (i32[av + Av.flags]! & avMulticast) !== 0
    putBth(u8, at, wire, flags, group ? multicastQpn : i32[wqe + Wqe.remoteQpn]!, false, psn)
    const extension = at + Bth.length
    // IBA 10.2.5: a Q_Key with its highest bit set stands for the sender's own.
    const qkey = i32[wqe + Wqe.remoteQkey]!
    put32(u8, extension + Deth.qkey, qkey < 0 ? i32[q + Qp.qkey]! : qkey)
    u8[extension + 4] = 0
    // IBA A17.5.8 deviation: a port has one QP 1; here each connection manager has a queue pair of type GSI, and all of them present
    // themselves as QP 1. Threads and processes share an adapter without a thread that serves the others.
    put24(u8, extension + Deth.srcQp, i32[q + Qp.type] === QpType.GSI ? gsiQpn : i32[q + Qp.number]!)
    if (opcode === Opcode.SendWithImm) put32(u8, extension + Deth.length, i32[wqe + Wqe.immData]!)
    if (!state.buffers.read(pd, wqe, 0, bytes, at + header)) return WcStatus.LocProtErr
    for (let i = 0; i < pad; i++) u8[at + header + bytes + i] = 0
    sink.close(header + bytes + pad)
    i32[t + TransportQp.newPsn] = psnAdd(psn, 1)
    state.count(state.counters.rdma_sends)
    return WcStatus.Success
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  /** Handles a datagram for `q`: [at, end) from BTH to the end of the pad. */
  receive(q: number, op: number, at: number, end: number, origin: Origin): void {
    const state = this.#state
    const { i32, u8, host } = state
    const extension = at + Bth.length
    // IBA 9.6.1.4.1: a datagram with another Q_Key is dropped silently.
    if ((u32(u8, extension + Deth.qkey) | 0) !== i32[q + Qp.qkey]) {
      state.count(state.counters.ud_drops_qkey)
      Atomics.add(i32, host.deviceWord(state.device) + Dev.qkeyViolations, 1)
      return
    }
    const header = headerLength[op]!
    const pad = padOf(u8, at)
    const bytes = end - at - header - pad
    if (bytes > this.mtu) {
      state.count(state.counters.drops_malformed)
      return
    }
    const t = state.of(q)
    state.beginPacket(q, t)
    // There is a receive already if the thread that had taken it from the SRQ was killed.
    let receive = i32[t + TransportQp.receive]!
    if (receive === 0) receive = state.takeReceive(q, grhLength + bytes)
    else if (host.receiveIsShort(receive, grhLength + bytes)) receive = receiveTooShort
    // IBA list-97: without a receive, or with one that is too short, a datagram is dropped.
    if (receive < 0) {
      state.end()
      state.count(receive === noReceive ? state.counters.ud_drops_no_receive : state.counters.ud_drops_length)
      return
    }
    const sender = u24(u8, extension + Deth.srcQp)
    const pd = state.receivePd(q)
    this.#writeHeader(end - at, origin)
    state.buffers.beginReceiver(q)
    let status = state.buffers.scatter(q, pd, receive, 0, grhLength, this.#grh, bytes > 0)
    if (status === WcStatus.Success)
      status = state.buffers.scatter(q, pd, receive, grhLength, bytes, at + header, false)
    i32[t + TransportQp.receive] = 0
    if (status !== WcStatus.Success) {
      state.failReceive(q, receive, status, sender)
      state.end()
      return
    }
    const imm = (opcodeBits[op]! & OpBit.Imm) !== 0
    const flags = WcFlag.Grh | (imm ? WcFlag.WithImm : 0)
    const data = imm ? u32(u8, extension + Deth.length) | 0 : 0
    const solicited = (u8[at + Bth.flags]! & BthFlag.solicited) !== 0
    state.count(state.counters.rdma_recvs)
    const length = grhLength + bytes
    if (!state.completeReceive(q, receive, WcStatus.Success, WcOpcode.Recv, flags, length, data, sender, solicited))
      state.overran(q)
    state.end()
  }

  /** Delivers a datagram to every QP that is attached to the group; returns their number. */
  receiveGroup(op: number, at: number, end: number, origin: Origin): number {
    const state = this.#state
    const { i32, host } = state
    const { destination } = origin
    let delivered = 0
    // IBA list-100: every QP that is attached gets the datagram, including QPs of the sender's own adapter.
    for (let i = 0; i < i32[host.at.meta + Meta.mcastHigh]!; i++) {
      const q = mcastMember(host, i, destination, 0, state.device, state.device + 1)
      if (q < 0) continue
      const qpState = i32[q + Qp.state]!
      if (qpState < QpState.Rtr || qpState === QpState.Err) continue
      const isHosted = i32[q + Qp.engine] === qpEngine.hosted
      if (!isHosted || !this.#hosting.keeps(q, op, at, end, origin)) this.receive(q, op, at, end, origin)
      delivered++
    }
    return delivered
  }

  /** Delivers a datagram for QP 1 to the agents that it is meant for. */
  receiveManagement(op: number, at: number, end: number, origin: Origin): void {
    const { i32, u8, device } = this.#state
    const header = headerLength[op]!
    const pad = padOf(u8, at)
    const found = this.#gsi.find(device, u8, at + header, end - at - header - pad)
    for (let i = 0; i < found; i++) {
      const q = this.#gsi.targets[i]!
      const qpState = i32[q + Qp.state]!
      if (qpState >= QpState.Rtr && qpState !== QpState.Err) this.receive(q, op, at, end, origin)
      else this.#state.count(this.#state.counters.drops_qp_state)
    }
  }

  /** Writes the IP header of a packet, as far as a UDP socket reports it, in place of a GRH. */
  #writeHeader(packetBytes: number, origin: Origin): void {
    const { u8 } = this.#state
    const at = this.#grh
    const udp = packetBytes + Icrc.length + Udp.length
    u8.fill(0, at, at + grhLength)
    // IBA A17.4.5.2: an IPv6 header has all 40 bytes before the payload, an IPv4 header the last 20.
    if (origin.ipv4) {
      const ip = at + grhLength - Ipv4.length
      u8[ip] = 0x45
      u8[ip + 1] = origin.trafficClass
      put16(u8, ip + 2, udp + Ipv4.length)
      u8[ip + 6] = 0x40
      u8[ip + 8] = origin.hopLimit
      u8[ip + 9] = 17
      for (let i = 0; i < 4; i++) {
        u8[ip + 12 + i] = origin.sourceBytes[12 + i]!
        u8[ip + 16 + i] = origin.destinationBytes[12 + i]!
      }
      // A group whose GID is one of IPv6 has the address 239.x.y.z on a network of IPv4.
      if (origin.destinationBytes[0] === 0xff) u8[ip + 16] = 239
      let sum = 0
      for (let i = 0; i < Ipv4.length; i += 2) sum += (u8[ip + i]! << 8) | u8[ip + i + 1]!
      sum = (sum & 0xffff) + (sum >>> 16)
      put16(u8, ip + 10, ~((sum & 0xffff) + (sum >>> 16)))
      return
    }
    u8[at] = 0x60 | (origin.trafficClass >> 4)
    u8[at + 1] = (origin.trafficClass & 15) << 4
    put16(u8, at + 4, udp)
    u8[at + 6] = 17
    u8[at + 7] = origin.hopLimit
    u8.set(origin.sourceBytes, at + 8)
    u8.set(origin.destinationBytes, at + 24)
  }
}
