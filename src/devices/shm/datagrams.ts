/**
 * Datagrams: SENDs of a UD QP, to one QP or to all of a multicast group. Whatever the network or the receiver may do to them, the
 * sender's completion is a success: a datagram that cannot be delivered is dropped and counted.
 *
 * The receiver's buffers begin with 40 bytes for the global route header (GRH), which are written if the address handle requests one; the
 * payload follows.
 */
import {
  GsiDispatch,
  grhLength,
  gsiQpn,
  type Host,
  isOthers,
  layout,
  madDispatchBytes,
  mcastMember,
  noReceive,
  Opcode,
  QpType,
  receiveTooShort,
  SendFlag,
  WcFlag,
  WcOpcode,
  WcStatus,
} from '../../verbs/provider/index.ts'
import { noFault } from '../process-memory/index.ts'
import type { Failures } from './failures.ts'
import type { HandOver } from './hand-over.ts'
import { canRespond } from './peer.ts'
import type { Ranges } from './ranges.ts'
import type { Receives } from './receives.ts'
import type { Traffic } from './traffic.ts'
import { type Waiting, waits } from './waiting.ts'

const { Av, avGlobal, avMulticast, Cqe, Dev, Meta, Qp, qpEngine, Wqe } = layout

/** Marker below all attachments. */
const nobody = -1

/** Returns the attachment that hosts a queue pair, −1 if none does. */
const hostOf = (i32: Int32Array, d: number): number =>
  i32[d + Qp.engine] === qpEngine.hosted ? i32[d + Qp.owner]! : nobody

export class Datagrams {
  readonly #host: Host
  readonly #mtu: number
  readonly #adapters: number
  readonly #ranges: Ranges
  readonly #receives: Receives
  readonly #waiting: Waiting
  readonly #handOver: HandOver
  readonly #failures: Failures
  readonly #traffic: Traffic
  /** Offset of scratch memory for GRHs. */
  readonly #grh: number
  readonly #gsi: GsiDispatch
  /** Offset of scratch memory for the beginning of a management datagram. */
  readonly #mad: number

  /**
   * Constructs the part of the executor for datagrams; `adapters` is the number of devices of the segment, from the first on, that are of
   * this kind.
   */
  constructor(
    host: Host,
    mtu: number,
    adapters: number,
    ranges: Ranges,
    receives: Receives,
    waiting: Waiting,
    handOver: HandOver,
    failures: Failures,
    traffic: Traffic,
  ) {
    this.#host = host
    this.#mtu = mtu
    this.#adapters = adapters
    this.#ranges = ranges
    this.#receives = receives
    this.#waiting = waiting
    this.#handOver = handOver
    this.#failures = failures
    this.#traffic = traffic
    this.#grh = host.segment.allocate(grhLength + madDispatchBytes)
    this.#mad = this.#grh + grhLength
    this.#gsi = new GsiDispatch(host)
  }

  send(q: number, w: number): number {
    const host = this.#host
    const { i32 } = host
    const total = this.#ranges.gather(q, w, 0)
    if (total < 0) return WcStatus.LocProtErr
    // IBA list-96: a message of UD is one packet.
    if (total > this.#mtu) return WcStatus.LocLenErr
    const av = w + Wqe.av
    if ((i32[av + Av.flags]! & avMulticast) !== 0) return this.#multicast(q, w, total)
    const number = i32[w + Wqe.remoteQpn]!
    if (number === gsiQpn) {
      this.#management(q, w, i32[av + Av.device]!, total)
      return WcStatus.Success
    }
    const d = host.findQp(number)
    if (d < 0 || i32[d + Qp.device] !== i32[av + Av.device]) host.count(i32[q + Qp.device]!, 'drops_no_qp')
    else if (isOthers(host, d)) return this.#handOver.give(q, w, d, total)
    else if (!this.#deliver(q, w, d, total)) {
      if (this.#waiting.asksOwner(q, d)) return waits
      this.#dropped(d)
    }
    return WcStatus.Success
  }

  /**
   * Delivers to all members of a group: those that no thread hosts, and then those of each thread that hosts some, in the order of their
   * attachments. Another thread receives the request for its members, and passes it on.
   */
  #multicast(q: number, w: number, total: number): number {
    const { i32, segment } = this.#host
    let owner = nobody
    if (i32[q + Qp.executor] === 0) {
      this.#deliverToMembers(q, w, total, nobody)
    } else {
      owner = i32[q + Qp.mcastOwner]!
      // A thread that takes back a request that was not answered in time is not the one that it was handed over to.
      if (i32[q + Qp.executor] !== segment.lockValue) this.#waiting.unanswered(q)
      else if (!this.#deliverToMembers(q, w, total, owner)) return waits
    }
    for (;;) {
      const d = this.#nextHosted(w, owner)
      const next = d < 0 ? nobody : hostOf(i32, d)
      // Or the next queue pair is not a member any more.
      if (next <= owner) return WcStatus.Success
      owner = next
      i32[q + Qp.mcastOwner] = owner
      if (owner !== segment.me) return this.#handOver.pass(q, w, d, total)
      if (!this.#deliverToMembers(q, w, total, owner)) return this.#waiting.keep(q)
    }
  }

  /**
   * Delivers to the members of a group that `owner` hosts, or, with −1, that no thread hosts. False if receives are to be requested from
   * their programs first: the datagram is delivered once.
   */
  #deliverToMembers(q: number, w: number, total: number, owner: number): boolean {
    const host = this.#host
    const { i32 } = host
    const gid = w + Wqe.av + Av.gid
    const high = i32[host.at.meta + Meta.mcastHigh]!
    const isMeant = (d: number): boolean => d >= 0 && hostOf(i32, d) === owner
    if (owner !== nobody && this.#waiting.mayAsk(q)) {
      let asks = false
      for (let i = 0; i < high; i++) {
        const d = mcastMember(host, i, i32, gid, 0, this.#adapters)
        if (isMeant(d) && this.#receives.isEmpty(d) && this.#waiting.asksOwner(q, d)) asks = true
      }
      if (asks) return false
    }
    let members = 0
    for (let i = 0; i < high; i++) {
      const d = mcastMember(host, i, i32, gid, 0, this.#adapters)
      if (d >= 0) members++
      if (isMeant(d) && !this.#deliver(q, w, d, total)) this.#dropped(d)
    }
    if (members === 0 && owner === nobody) host.count(i32[q + Qp.device]!, 'drops_no_qp')
    return true
  }

  /** Returns the member with the next host after `owner`; −1 if there is none. Members of a host that is being cleaned up count as gone. */
  #nextHosted(w: number, owner: number): number {
    const host = this.#host
    const { i32, segment } = host
    let next = -1
    for (let i = 0; i < i32[host.at.meta + Meta.mcastHigh]!; i++) {
      const d = mcastMember(host, i, i32, w + Wqe.av + Av.gid, 0, this.#adapters)
      if (d < 0) continue
      const its = hostOf(i32, d)
      if (its > owner && (next < 0 || its < i32[next + Qp.owner]!) && segment.useOf(its) > 0) next = d
    }
    return next
  }

  /** Counts a datagram for which there was no receive at `d`. */
  #dropped(d: number): void {
    this.#host.count(this.#host.i32[d + Qp.device]!, 'ud_drops_no_receive')
  }

  /** Delivers a management datagram to the queue pair that QP 1 of the device stands for here. */
  #management(q: number, w: number, device: number, total: number): void {
    const { u8 } = this.#host
    if (device < 0) {
      this.#host.count(this.#host.i32[q + Qp.device]!, 'drops_no_qp')
      return
    }
    const at = this.#ranges.peek(this.#mad, madDispatchBytes)
    const found = this.#gsi.find(device, u8, at, total)
    for (let i = 0; i < found; i++) {
      const d = this.#gsi.targets[i]!
      if (!this.#deliver(q, w, d, total)) this.#dropped(d)
    }
  }

  /**
   * Delivers one datagram to one QP; a datagram that cannot be delivered is dropped and counted at the receiver. False if that has no
   * receive; then nothing is counted.
   */
  #deliver(q: number, w: number, d: number, total: number): boolean {
    const { segment } = this.#host
    segment.lock(d + Qp.rqLock)
    const taken = this.#deliverLocked(q, w, d, total)
    segment.unlock(d + Qp.rqLock)
    return taken
  }

  #deliverLocked(q: number, w: number, d: number, total: number): boolean {
    const host = this.#host
    const receives = this.#receives
    const { i32 } = host
    const device = i32[d + Qp.device]!
    const type = i32[d + Qp.type]
    const reachable = type === QpType.UD || (type === QpType.GSI && i32[w + Wqe.remoteQpn] === gsiQpn)
    if (!reachable || !canRespond(host, d) || isOthers(host, d)) {
      host.count(device, 'drops_no_qp')
      return true
    }
    // IBA 10.2.5: a Q_Key with its highest bit set stands for the sender's own.
    const qkey = i32[w + Wqe.remoteQkey]!
    // IBA 9.6.1.4.1: a datagram with another Q_Key is dropped silently.
    if ((qkey < 0 ? i32[q + Qp.qkey] : qkey) !== i32[d + Qp.qkey]) {
      host.count(device, 'ud_drops_qkey')
      Atomics.add(i32, host.deviceWord(device) + Dev.qkeyViolations, 1)
      return true
    }
    const r = receives.take(d, grhLength + total)
    if (r === noReceive) return false
    // IBA list-97: a receive that is too short loses the datagram, and stays.
    if (r === receiveTooShort) {
      host.count(device, 'ud_drops_length')
      return true
    }
    // IBA A17.5.8 deviation: a port has one QP 1; here each connection manager has a queue pair of type GSI, and all of them present
    // themselves as QP 1 (transport/datagrams.ts).
    const sender = i32[q + Qp.type] === QpType.GSI ? gsiQpn : i32[q + Qp.number]!
    const av = w + Wqe.av
    // IBA 11.4.1.2: 40 bytes of a receive are for the GRH, whether there is one or not.
    const withGrh = (i32[av + Av.flags]! & avGlobal) !== 0
    let placed = receives.scatter(d, r, grhLength + total)
    // Into another process before the CQ is locked, since the bytes may have gone from there.
    const early = placed === WcStatus.Success && this.#ranges.toAway
    if (early && this.#place(q, w, withGrh, total) !== noFault) placed = WcStatus.LocProtErr
    if (placed !== WcStatus.Success) {
      receives.fail(d, r, placed, sender)
      return true
    }
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    const e = host.reserve(cq)
    if (e < 0) {
      this.#failures.overran(d)
      return true
    }
    if (!early) this.#place(q, w, withGrh, total)
    let flags = withGrh ? WcFlag.Grh : 0
    let immData = 0
    if (i32[w + Wqe.opcode] === Opcode.SendWithImm) {
      flags |= WcFlag.WithImm
      immData = i32[w + Wqe.immData]!
    }
    const wrId = receives.id(r)
    const length = grhLength + total
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    i32[e + Cqe.slid] = i32[host.deviceWord(i32[q + Qp.device]!) + Dev.lid]! | (i32[av + Av.sl]! << 16)
    receives.consume(d, r)
    if (this.#traffic.isCounted(q) || this.#traffic.isCounted(d))
      this.#traffic.arrived(device, i32[w + Wqe.opcode]!, total)
    host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.Recv, flags, length, immData, d, sender, solicited)
    return true
  }

  /** Copies GRH and payload to the receive's ranges. */
  #place(q: number, w: number, withGrh: boolean, total: number): number {
    const { segment, u8 } = this.#host
    const ranges = this.#ranges
    const grh = this.#grh
    if (withGrh) this.#writeGrh(q, w, grh, total)
    if (ranges.toCount === 1 && ranges.fromCount <= 1 && !ranges.toAway) {
      const to = ranges.to[0]!
      if (withGrh) segment.copy(to, grh, grhLength)
      if (total > 0) segment.copy(to + grhLength, ranges.from[0]!, total)
      return noFault
    }
    // Several elements: the GRH becomes the first range that is copied.
    if (!withGrh) u8.fill(0, grh, grh + grhLength)
    ranges.prepend(grh, grhLength)
    let fault = noFault
    if (ranges.toAway) fault = ranges.copyListsAway()
    else ranges.copyLists()
    ranges.dropFirst()
    return fault
  }

  /** Writes the global route header that the receiver sees before the payload; InfiniBand Architecture volume 1, 8.3. */
  #writeGrh(q: number, w: number, at: number, total: number): void {
    const { i32, u8 } = this.#host
    const av = w + Wqe.av
    const trafficClass = i32[av + Av.trafficClass]!
    const flowLabel = i32[av + Av.flowLabel]!
    u8[at] = 0x60 | (trafficClass >> 4)
    u8[at + 1] = ((trafficClass & 15) << 4) | (flowLabel >> 16)
    u8[at + 2] = flowLabel >> 8
    u8[at + 3] = flowLabel
    // Payload length: BTH 12, DETH 8, immediate, payload with padding, ICRC 4.
    const length = 24 + (i32[w + Wqe.opcode] === Opcode.SendWithImm ? 4 : 0) + ((total + 3) & ~3)
    u8[at + 4] = length >> 8
    u8[at + 5] = length
    u8[at + 6] = 0x1b
    u8[at + 7] = i32[av + Av.hopLimit]!
    const dev = this.#host.deviceWord(i32[q + Qp.device]!)
    i32[(at + 8) / 4] = 0x000080fe
    i32[(at + 12) / 4] = 0
    writeBigEndian(u8, at + 16, i32[dev + Dev.guidHigh]!)
    writeBigEndian(u8, at + 20, i32[dev + Dev.guidLow]!)
    for (let i = 0; i < 4; i++) i32[(at + 24) / 4 + i] = i32[av + Av.gid + i]!
  }
}

function writeBigEndian(u8: Uint8Array, at: number, word: number): void {
  u8[at] = word >>> 24
  u8[at + 1] = word >>> 16
  u8[at + 2] = word >>> 8
  u8[at + 3] = word
}
