/**
 * Analysis that follows all flows of a capture, packet after packet, and determines a verdict on each packet from the history of its flow.
 * Memory grows with the number of flows, up to a limit, and not with the number of packets: outstanding requests of all flows share one
 * memory budget, so that gaps in many sequences reserve no more. A source without an end has limits of its own: when they are reached, the
 * analysis forgets the half of the flows that has had no packet for the longest time.
 */
import type { CapturedPacket } from '../capture/index.ts'
import { Bth, type CmMessage, Deth, Ipv4, Ipv6, isMalformed, Lrh, OpBit, parseCm, u16, u24 } from '../wire/index.ts'
import { AddressTable } from './addresses.ts'
import { type Claim, Connections } from './connections.ts'
import { Copies } from './copies.ts'
import { type Dissection, IcrcState, Kind } from './dissect.ts'
import { type Flow, type FlowLimits, Service } from './flow.ts'
import { FlowTable } from './flow-table.ts'
import { inferPair, join, joinDatagrams, joinRest } from './pairing.ts'
import { trackRequest } from './requests.ts'
import { trackResponse } from './responses.ts'
import { Mark, type Verdict } from './verdict.ts'

const gsiQp = 1
/** Maximum number of addresses; the last number is shared by all addresses that found no slot. */
const mostNumbers = 65_535
/** Default of the memory for outstanding requests, in bytes: 800 rings of the largest size. */
export const mostRingBytes: number = 256 * 2 ** 20

export class Analysis {
  addresses: AddressTable = new AddressTable()
  readonly table: FlowTable
  /** Flows that were forgotten to make room for new ones. */
  forgotten = 0
  packets = 0
  roce = 0
  /** Packets, among those counted above, that the capture contains more than once: no other counter includes them. */
  copies = 0
  wireBytes = 0
  icrcInvalid = 0
  malformed = 0
  cut = 0
  /** Number of CM messages of each type. */
  readonly management: Map<string, number> = new Map()
  /** CM message of the last packet, if it carried one. */
  message: CmMessage | undefined
  /** Numbers of the last packet's addresses. */
  source = 0
  destination = 0
  /** Latest time stamp; the packet before may have an earlier one. */
  lastNs = 0
  #beforeNs = 0
  readonly #ahead: Analysis | undefined
  readonly #connections: Connections
  readonly #copies = new Copies()
  readonly #samplesCopies: boolean
  #numbers = 0
  #firstSeconds = -1
  #firstNanoseconds = 0

  readonly #mostFlows: number

  /**
   * @param ahead analysis of another reading of the same capture that is farther on: its flows have the same numbers
   * @param limits limits of memory, and of the number of flows for a source without an end
   */
  constructor(ahead?: Analysis, limits: FlowLimits = { rings: { bytesLeft: mostRingBytes } }) {
    this.#ahead = ahead
    this.#mostFlows = limits.flows ?? Number.POSITIVE_INFINITY
    this.#samplesCopies = limits.samplesCopies === true
    this.table = new FlowTable(limits)
    this.#connections = new Connections((destination, qpn, claim) => this.#claimed(destination, qpn, claim))
  }

  /** Seconds since 1970 of the first packet; -1 before the first. */
  get firstSeconds(): number {
    return this.#firstSeconds
  }

  get firstNanoseconds(): number {
    return this.#firstNanoseconds
  }

  /** Processes the next packet, which `d` describes; fills `v`. */
  packet(packet: CapturedPacket, d: Dissection, v: Verdict): void {
    this.#next(packet, v)
    if (d.kind === Kind.Other) {
      if (d.tcp >= 0) this.#tcp(packet, d)
      return
    }
    if (this.#mostFlows !== Number.POSITIVE_INFINITY) this.#keepWithin(this.#mostFlows)
    this.roce++
    this.#endpoints(packet.bytes, d)
    if (d.complete && this.#isCopy(packet, d, v)) return
    if (d.icrc === IcrcState.Invalid) this.icrcInvalid++
    if (d.problems !== 0) this.malformed++
    if (d.cut) this.cut++
    if (!d.complete) return
    const bad = d.problems !== 0 || d.icrc === IcrcState.Invalid
    const flow = this.#flowOf(packet.bytes, d, bad)
    if (flow === undefined) return
    v.flow = flow
    if (bad) {
      // The receiver drops it: it is not a part of the sequence.
      if (d.icrc === IcrcState.Invalid) flow.icrcInvalid++
      if (d.problems !== 0) flow.malformed++
      return
    }
    this.#track(flow, packet, d, v)
  }

  /**
   * Processes the next packet without following it, in less time: `v` receives its flow, if that is known, and the marks that the packet
   * bears itself. The sequence of the flow begins anew with the next packet that is followed, as at the beginning of a capture.
   */
  passBy(packet: CapturedPacket, d: Dissection, v: Verdict): void {
    this.#next(packet, v)
    if (d.kind === Kind.Other) return
    this.roce++
    if (this.#mostFlows !== Number.POSITIVE_INFINITY) this.#keepWithin(this.#mostFlows)
    this.#endpoints(packet.bytes, d)
    if (!d.complete) return
    // Its ICRC was not checked: it creates no flow.
    const flow = this.#flowOf(packet.bytes, d, true)
    if (flow === undefined) return
    v.flow = flow
    // The receiver drops it.
    if (d.problems !== 0) return
    flow.packets++
    flow.wireBytes += packet.originalLength
    flow.lastNs = v.timeNs
    flow.lastPacket = this.packets
    flow.pause((d.bits & OpBit.Request) !== 0)
    // Its requests may be waiting for what this packet establishes.
    flow.peer?.pause(false)
    if (isMarked(packet.bytes, d)) v.marks |= Mark.Marked
    if ((d.bits & OpBit.Cnp) !== 0) v.marks |= Mark.Cnp
  }

  /**
   * Revisits a packet that was processed before, of which `v` is the verdict: its addresses and its CM message become the last ones, and
   * nothing is counted.
   */
  revisit(packet: CapturedPacket, d: Dissection, v: Verdict): void {
    this.message = undefined
    if (d.kind === Kind.Other) return
    const { bytes } = packet
    this.#endpoints(bytes, d)
    if (v.flow?.service !== Service.UD || !holdsManagement(d)) return
    const message = parseCm(bytes, d.payload, d.payload + d.payloadLength)
    if (!isMalformed(message)) this.message = message
  }

  /** Joins the flows that are still without a peer at the end of the capture. */
  finish(): void {
    joinRest(this.table)
  }

  /** Numbers all flows as `conversationNumbers` does, for `numberOf`, after the whole capture is read. */
  numberAll(): void {
    const numbers = this.conversationNumbers()
    for (const flow of this.table.flows) flow.number = numbers[flow.index]!
  }

  /** Returns the number of the conversation of each flow, by flow number, after the whole capture is read. */
  conversationNumbers(): Int32Array {
    const { flows } = this.table
    const numbers = new Int32Array(flows.length)
    let count = 0
    for (const flow of flows) {
      if (numbers[flow.index] !== 0) continue
      numbers[flow.index] = ++count
      if (flow.peer !== undefined) numbers[flow.peer.index] = count
    }
    return numbers
  }

  /**
   * Returns the conversation of a flow, from 1; both directions have the same. Numbers are assigned on the first request; two directions
   * that are found to belong together later keep different numbers.
   */
  numberOf(flow: Flow): number {
    if (flow.number === 0) flow.number = flow.peer?.number || ++this.#numbers
    return flow.number
  }

  /** True if the packet is a copy: it is counted as one, and `v` names the original. */
  #isCopy(packet: CapturedPacket, d: Dissection, v: Verdict): boolean {
    if (this.#samplesCopies && (d.psn & 15) !== 0) return false
    const original = this.#copies.originalOf(packet, d)
    if (original === 0) return false
    this.copies++
    v.marks = Mark.Copy
    v.refersTo = original
    // A copy creates no flow, since its original has.
    v.flow = this.#flowOf(packet.bytes, d, true)
    if (v.flow !== undefined) v.flow.copies++
    return true
  }

  /** Does what is the same for each packet: counts it, and determines its time. */
  #next(packet: CapturedPacket, v: Verdict): void {
    v.reset()
    this.message = undefined
    this.packets++
    this.wireBytes += packet.originalLength
    if (packet.hasTime) {
      if (this.#firstSeconds < 0) {
        this.#firstSeconds = packet.seconds
        this.#firstNanoseconds = packet.nanoseconds
      }
      v.timeNs = (packet.seconds - this.#firstSeconds) * 1e9 + packet.nanoseconds - this.#firstNanoseconds
      if (v.timeNs > this.lastNs) this.lastNs = v.timeNs
    } else v.timeNs = this.lastNs
    v.deltaNs = this.packets === 1 ? 0 : v.timeNs - this.#beforeNs
    this.#beforeNs = v.timeNs
  }

  #track(flow: Flow, packet: CapturedPacket, d: Dissection, v: Verdict): void {
    if (flow.packets === 0) flow.firstNs = v.timeNs
    flow.packets++
    flow.wireBytes += packet.originalLength
    flow.lastNs = v.timeNs
    flow.lastPacket = this.packets
    if (isMarked(packet.bytes, d)) {
      flow.marked++
      v.marks |= Mark.Marked
    }
    const { bits } = d
    if ((bits & OpBit.Cnp) !== 0) {
      flow.cnps++
      v.marks |= Mark.Cnp
      return
    }
    if (flow.service === Service.UD) this.#datagram(flow, packet, d)
    else if (flow.service === Service.RD) return
    else if ((bits & OpBit.Request) !== 0) trackRequest(flow, packet.bytes, packet.number, d, v)
    else if ((bits & OpBit.Response) !== 0) {
      if (!flow.foreseen) inferPair(flow, d, this.table)
      trackResponse(flow, d, v)
    }
  }

  #keepWithin(most: number): void {
    const { table, addresses } = this
    // A flow has two addresses; packets without a flow have some, too.
    if (table.flows.length < most && addresses.count < Math.min(2 * most, mostNumbers)) return
    // The last packet is a different one for each flow.
    const order = Float64Array.from(table.flows, (flow) => flow.lastPacket).sort()
    const oldest = order[Math.max(0, order.length - (most >> 1))] ?? 0
    const kept = new AddressTable()
    const numbers = new Int32Array(mostNumbers + 1).fill(-1)
    const numberOf = (id: number): number => {
      if (id >= mostNumbers) return id
      if (numbers[id]! < 0) numbers[id] = kept.adopt(addresses, id)
      return numbers[id]!
    }
    for (const flow of table.flows) {
      if (flow.lastPacket < oldest) continue
      if (flow.peer !== undefined && flow.peer.lastPacket < oldest) flow.peer = undefined
      flow.source = numberOf(flow.source)
      flow.destination = numberOf(flow.destination)
    }
    const before = table.flows.length
    table.keep((flow) => flow.lastPacket >= oldest)
    this.forgotten += before - table.flows.length
    this.addresses = kept
    this.#connections.renumber(numbers)
  }

  #datagram(flow: Flow, packet: CapturedPacket, d: Dissection): void {
    flow.requestPackets++
    flow.sends++
    flow.requestBytes += d.payloadLength
    if (!holdsManagement(d)) return
    const { payload, payloadLength } = d
    const message = this.#connections.management(
      packet.bytes,
      payload,
      payload + payloadLength,
      flow.source,
      flow.destination,
    )
    if (message === undefined) return
    this.message = message
    this.management.set(message.type, (this.management.get(message.type) ?? 0) + 1)
  }

  #endpoints(b: Uint8Array, d: Dissection): void {
    const { addresses } = this
    if (d.ipVersion === 4) {
      this.source = addresses.intern(b, d.ip + Ipv4.source, 4)
      this.destination = addresses.intern(b, d.ip + Ipv4.destination, 4)
    } else if (d.ipVersion === 6) {
      this.source = addresses.intern(b, d.ip + Ipv6.source, 16)
      this.destination = addresses.intern(b, d.ip + Ipv6.destination, 16)
    } else {
      this.source = addresses.intern(b, d.lrh + Lrh.slid, 2)
      this.destination = addresses.intern(b, d.lrh + Lrh.dlid, 2)
    }
  }

  /** Returns the packet's flow, and creates it if it is new. A bad packet creates no flow: its numbers may be anything. */
  #flowOf(b: Uint8Array, d: Dissection, bad: boolean): Flow | undefined {
    const { source, destination, table } = this
    let service = d.opcode >> 5
    if ((d.bits & OpBit.Cnp) !== 0) {
      for (const carried of [Service.RC, Service.UC, Service.XRC]) {
        const found = table.find(source, destination, d.destQp, carried, -1)
        if (found !== undefined) return found
      }
      service = Service.CNP
    }
    const srcQp = service === Service.UD ? u24(b, d.bth + Bth.length + Deth.srcQp) : -1
    if (bad) return table.find(source, destination, d.destQp, service, srcQp)
    const before = table.flows.length
    const flow = table.take(source, destination, d.destQp, service, srcQp)
    if (flow !== undefined && table.flows.length > before) this.#begin(flow)
    return flow
  }

  /** Initialises a flow that is seen for the first time with what is known of it already. */
  #begin(flow: Flow): void {
    const known = this.#ahead?.table.flows[flow.index]
    if (known !== undefined) {
      flow.srcQp = known.srcQp
      flow.mtu = known.mtu
      flow.basis = known.basis
      flow.foreseen = known.peer !== undefined
      const peer = this.table.flows[known.peer?.index ?? -1]
      if (peer !== undefined) {
        flow.peer = peer
        peer.peer = flow
        peer.basis ??= known.basis
        if (peer.srcQp < 0) peer.srcQp = flow.destQp
      }
    }
    if (flow.service === Service.UD) {
      if (!flow.foreseen) joinDatagrams(flow, this.table)
      return
    }
    const claim = this.#connections.claimOf(flow.destination, flow.destQp)
    if (claim !== undefined && claim.source === flow.source) this.#apply(flow, claim)
  }

  /** Applies a claim of which end sends to a QP; if its flow exists already, its sequence starts over. */
  #claimed(destination: number, qpn: number, claim: Claim): void {
    for (const service of [Service.RC, Service.UC, Service.XRC]) {
      const flow = this.table.find(claim.source, destination, qpn, service, -1)
      if (flow !== undefined) this.#apply(flow, claim)
    }
  }

  #apply(flow: Flow, claim: Claim): void {
    if (claim.mtu > 0) flow.mtu = claim.mtu
    if (claim.startPsn >= 0) flow.begin(claim.startPsn, false)
    if (flow.foreseen) return
    const back = this.table.find(flow.destination, flow.source, claim.srcQp, flow.service, -1)
    if (back !== undefined) join(flow, back, claim.basis)
    else {
      flow.srcQp = claim.srcQp
      flow.basis = claim.basis
    }
  }

  #tcp(packet: CapturedPacket, d: Dissection): void {
    const { bytes } = packet
    const { ip, tcp } = d
    const end = Math.min(
      packet.offset + packet.length,
      d.ipVersion === 4
        ? ip + u16(bytes, ip + Ipv4.totalLength)
        : ip + Ipv6.length + u16(bytes, ip + Ipv6.payloadLength),
    )
    if (end - tcp < 20) return
    const start = tcp + (bytes[tcp + 12]! >> 4) * 4
    if (end <= start) return
    const from = d.ipVersion === 4 ? Ipv4 : Ipv6
    const length = d.ipVersion === 4 ? 4 : 16
    this.source = this.addresses.intern(bytes, ip + from.source, length)
    this.destination = this.addresses.intern(bytes, ip + from.destination, length)
    const ends = [`${this.source}:${u16(bytes, tcp)}`, `${this.destination}:${u16(bytes, tcp + 2)}`]
    this.#connections.tcp(bytes, start, end, this.source, this.destination, () => ends.toSorted().join(' '))
  }
}

/** True if the payload is a whole management datagram: the packet is sound, and of the service UD. */
function holdsManagement({ complete, problems, icrc, destQp, cut }: Dissection): boolean {
  return complete && problems === 0 && icrc !== IcrcState.Invalid && destQp === gsiQp && !cut
}

/** True if the ECN field, the last two bits of the traffic class, is "congestion experienced". */
function isMarked(b: Uint8Array, d: Dissection): boolean {
  if (d.ipVersion === 4) return (b[d.ip + Ipv4.tos]! & 3) === 3
  if (d.ipVersion === 6) return ((b[d.ip + 1]! >> 4) & 3) === 3
  return false
}
