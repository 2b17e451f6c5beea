/**
 * Rewrites RDMA packets in place: addresses, ports, keys, numbers; then recomputes the checksums that were correct before.
 *
 * - The ICRC of a packet that was damaged stays wrong by the same difference (CRC-32 is linear), so that its receiver drops it
 *   like the first one did, and the reverse mappings produce the same bytes again. `mend` computes the correct one instead.
 * - Checksums of IPv4 and UDP and the VCRC of InfiniBand that were wrong stay as they are.
 * - Of a packet in a tunnel, the outermost Ethernet header and the RDMA packet are rewritten, not the headers between them.
 */
import { type CapturedPacket, LinkType } from '../capture/index.ts'
import {
  addressLength,
  computeIcrc,
  type Dissection,
  IcrcState,
  Kind,
  putIpv4Sum,
  putVcrc,
  sourceAt,
  transportPlaces,
  udpSum,
} from '../trace/index.ts'
import {
  Bth,
  Ethernet,
  Ipv4,
  isIpv4Gid,
  Lrh,
  OpBit,
  put16,
  put24,
  put32,
  put32le,
  Udp,
  u16,
  u24,
  u32,
  u32le,
  vcrc,
} from '../wire/index.ts'
import { AddressLookup, MacLookup, NumberLookup, VaLookup } from './lookup.ts'
import { ManagementRewriter } from './management.ts'
import type { Mapping } from './mappings.ts'

const icrcLength = 4
const gsiQp = 1

export class Rewriter {
  readonly mappings: readonly Mapping[]
  /** True if the other direction of a connection has to be known: PSN offsets of single queue pairs. */
  readonly needsPairs: boolean
  /** Number of responses whose PSN stayed because the capture does not determine which queue pair sent them. */
  unpaired = 0
  readonly #mac: MacLookup
  readonly #ip: AddressLookup
  readonly #lid: NumberLookup
  readonly #sourcePort: NumberLookup
  readonly #destinationPort: NumberLookup
  readonly #pkey: NumberLookup
  readonly #dscp: NumberLookup
  readonly #ecn: NumberLookup
  readonly #qpn: NumberLookup
  readonly #psn: NumberLookup
  readonly #msn: NumberLookup
  readonly #rkey: NumberLookup
  readonly #va: VaLookup
  readonly #management: ManagementRewriter
  readonly #changesAddresses: boolean
  readonly #changesClass: boolean
  readonly #changesPorts: boolean
  readonly #nothing: boolean
  readonly #usesHosts: boolean
  /** Offsets of the addresses of the hosts, for mappings of single hosts. */
  #sourceAt = 0
  #destinationAt = 0
  #addressLength = 0
  /** Source and destination as captured: rewriting changes them in the packet before the fields that depend on them. */
  readonly #hosts = new Uint8Array(32)

  constructor(mappings: readonly Mapping[]) {
    this.mappings = mappings
    this.#mac = new MacLookup(mappings)
    this.#ip = new AddressLookup(mappings)
    this.#lid = new NumberLookup(mappings, 'lid')
    this.#sourcePort = new NumberLookup(mappings, 'source-port')
    this.#destinationPort = new NumberLookup(mappings, 'destination-port')
    this.#pkey = new NumberLookup(mappings, 'pkey')
    this.#dscp = new NumberLookup(mappings, 'dscp')
    this.#ecn = new NumberLookup(mappings, 'ecn')
    this.#qpn = new NumberLookup(mappings, 'qpn')
    this.#psn = new NumberLookup(mappings, 'psn')
    this.#msn = new NumberLookup(mappings, 'msn')
    this.#rkey = new NumberLookup(mappings, 'rkey')
    this.#va = new VaLookup(mappings)
    this.#management = new ManagementRewriter(this.#qpn, this.#psn, this.#pkey, this.#ip, this.#lid)
    this.#changesAddresses = !this.#ip.empty || !this.#lid.empty
    this.#changesClass = !this.#dscp.empty || !this.#ecn.empty
    this.#changesPorts = !this.#sourcePort.empty || !this.#destinationPort.empty
    this.needsPairs = mappings.some(({ kind, ...rest }) => kind === 'psn' && 'from' in rest && rest.from !== -1)
    this.#nothing = mappings.length === 0
    this.#usesHosts = mappings.some((mapping) => 'host' in mapping && mapping.host !== undefined)
  }

  /** Rewrites the outermost Ethernet addresses, also of packets that are not RDMA. Returns true if one has changed. */
  ethernet(packet: CapturedPacket): boolean {
    if (this.#mac.empty || packet.linkType !== LinkType.Ethernet || packet.length < Ethernet.length) return false
    const { bytes, offset } = packet
    const destination = this.#mac.replace(bytes, offset + Ethernet.destination)
    return this.#mac.replace(bytes, offset + Ethernet.source) || destination
  }

  /**
   * Rewrites the RDMA packet that `d` describes, with its ICRC checked. `sender`: the queue pair that sends it, if the
   * connection is known; otherwise −1. Returns true if anything has changed.
   */
  packet(packet: CapturedPacket, d: Dissection, sender: number, mend: boolean): boolean {
    if (this.#nothing && !mend) return false
    const b = packet.bytes
    const end = packet.offset + packet.length
    const residue = mend || d.icrc !== IcrcState.Invalid ? 0 : computeIcrc(b, d) ^ u32le(b, d.end)
    const sums = this.#sumsToMend(b, d, end, mend)
    let outside = this.ethernet(packet)
    // Fields that the ICRC covers.
    let changed = false
    this.#findHosts(b, d, end)
    if (this.#changesClass && d.ipVersion !== 0) outside = this.#trafficClass(b, d) || outside
    if (this.#changesAddresses) {
      const before = addressSum(b, d)
      changed = this.#addresses(b, d)
      if (changed) adjustSum(b, d, before, addressSum(b, d))
    }
    if (this.#changesPorts && d.kind === Kind.RoceV2) changed = this.#ports(b, d) || changed
    if (d.complete) changed = this.#transport(b, d, sender) || changed
    if (!changed && !outside && !mend) return false
    if ((changed || mend) && d.icrc !== IcrcState.Unknown) put32le(b, d.end, computeIcrc(b, d) ^ residue)
    if (sums !== 0) this.#mendSums(b, d, sums)
    return true
  }

  /**
   * Copies the addresses as captured, to which the mappings of single hosts refer. `#addressLength` is 0 if the capture does not have
   * them.
   */
  #findHosts(b: Uint8Array, d: Dissection, end: number): void {
    const from = sourceAt(d)
    const length = addressLength(d)
    this.#addressLength = from + 2 * length > end ? 0 : length
    if (!this.#usesHosts || this.#addressLength === 0) return
    this.#sourceAt = 0
    this.#destinationAt = length
    for (let i = 0; i < 2 * length; i++) this.#hosts[i] = b[from + i]!
    // The GID of an IPv4 address is referred to by that address.
    if (d.kind === Kind.RoceV2 || !isIpv4Gid(this.#hosts.subarray(0, 16)) || !isIpv4Gid(this.#hosts.subarray(16)))
      return
    this.#sourceAt = 12
    this.#destinationAt = 28
    this.#addressLength = 4
  }

  #addresses(b: Uint8Array, d: Dissection): boolean {
    let changed = false
    if (d.kind === Kind.InfiniBand && !this.#lid.empty) {
      for (const at of [d.lrh + Lrh.dlid, d.lrh + Lrh.slid]) {
        const to = this.#lid.get(u16(b, at), -1, b, 0, 0)
        if (to < 0) continue
        put16(b, at, to)
        changed = true
      }
    }
    if (this.#addressLength === 0 || this.#ip.empty) return changed
    const source = sourceAt(d)
    const length = addressLength(d)
    // In a GRH an IPv4 address is stored as a GID.
    if (d.kind === Kind.RoceV2) {
      changed = this.#ip.replace(b, source, length) || changed
      return this.#ip.replace(b, source + length, length) || changed
    }
    changed = this.#ip.replaceGid(b, source) || changed
    return this.#ip.replaceGid(b, source + length) || changed
  }

  /** Rewrites the traffic class. Routers may change it: the ICRC does not cover it. */
  #trafficClass(b: Uint8Array, d: Dissection): boolean {
    if (this.#addressLength === 0) return false
    const { ip, ipVersion } = d
    const old = ipVersion === 4 ? b[ip + Ipv4.tos]! : ((b[ip]! & 15) << 4) | (b[ip + 1]! >> 4)
    const dscp = this.#dscp.get(old >> 2, old >> 2, b, 0, 0)
    const now = (dscp << 2) | this.#ecn.get(old & 3, old & 3, b, 0, 0)
    if (now === old) return false
    if (ipVersion === 4) {
      b[ip + Ipv4.tos] = now
      adjustSum(b, d, old, now)
    } else {
      b[ip] = (b[ip]! & 0xf0) | (now >> 4)
      b[ip + 1] = (b[ip + 1]! & 15) | ((now & 15) << 4)
    }
    return true
  }

  #ports(b: Uint8Array, { udp }: Dissection): boolean {
    const source = u16(b, udp + Udp.sourcePort)
    const destination = u16(b, udp + Udp.destinationPort)
    const newSource = this.#sourcePort.get(source, source, b, 0, 0)
    const newDestination = this.#destinationPort.get(destination, destination, b, 0, 0)
    if (newSource === source && newDestination === destination) return false
    put16(b, udp + Udp.sourcePort, newSource)
    put16(b, udp + Udp.destinationPort, newDestination)
    return true
  }

  #transport(b: Uint8Array, d: Dissection, sender: number): boolean {
    const { bth, bits } = d
    const hosts = this.#hosts
    let changed = false
    if (!this.#pkey.empty) {
      const old = u16(b, bth + Bth.pkey)
      const pkey = this.#pkey.get(old, old, b, 0, 0)
      if (pkey !== old) {
        put16(b, bth + Bth.pkey, pkey)
        changed = true
      }
    }
    if (!this.#psn.empty && (bits & OpBit.Cnp) === 0) changed = this.#movePsn(b, d, sender) || changed
    const { srcQp, msn, va, rkey, invalidated } = transportPlaces[d.opcode]!
    if (!this.#qpn.empty) {
      changed = this.#qpnAt(b, bth + Bth.destQp, this.#destinationAt) || changed
      if (srcQp >= 0) changed = this.#qpnAt(b, bth + srcQp, this.#sourceAt) || changed
    }
    if (msn >= 0 && !this.#msn.empty) {
      const add = this.#msn.get(d.destQp, 0, hosts, this.#destinationAt, this.#addressLength)
      if (add !== 0) {
        put24(b, bth + msn, u24(b, bth + msn) + add)
        changed = true
      }
    }
    if (va >= 0 && !this.#va.empty) changed = this.#va.replace(b, bth + va) || changed
    if (!this.#rkey.empty) {
      if (rkey >= 0) changed = this.#rkeyAt(b, bth + rkey) || changed
      if (invalidated >= 0) changed = this.#rkeyAt(b, bth + invalidated) || changed
    }
    if ((bits & OpBit.Deth) !== 0 && d.destQp === gsiQp && !d.cut && d.problems === 0) {
      const { payload, payloadLength } = d
      this.#management.hosts(hosts, this.#sourceAt, this.#destinationAt, this.#addressLength)
      changed = this.#management.rewrite(b, payload, payload + payloadLength) || changed
    }
    return changed
  }

  /** Moves the PSN. Requests use the offset of their destination queue pair, responses that of their sender: it is the same sequence. */
  #movePsn(b: Uint8Array, d: Dissection, sender: number): boolean {
    const isResponse = (d.bits & OpBit.Response) !== 0
    const responder = isResponse ? sender : d.destQp
    if (responder < 0 && this.needsPairs) this.unpaired++
    const at = isResponse ? this.#sourceAt : this.#destinationAt
    const add = this.#psn.get(responder, 0, this.#hosts, at, this.#addressLength)
    if (add === 0) return false
    put24(b, d.bth + Bth.psn, d.psn + add)
    return true
  }

  #qpnAt(b: Uint8Array, at: number, host: number): boolean {
    const to = this.#qpn.get(u24(b, at), -1, this.#hosts, host, this.#addressLength)
    if (to < 0) return false
    put24(b, at, to)
    return true
  }

  /** Rewrites an R_Key. Keys belong to the host that is the destination of the request. */
  #rkeyAt(b: Uint8Array, at: number): boolean {
    const to = this.#rkey.get(u32(b, at), -1, this.#hosts, this.#destinationAt, this.#addressLength)
    if (to < 0) return false
    put32(b, at, to)
    return true
  }

  /** Returns the checksums besides the ICRC that must be correct afterwards: those that are correct now, or all. Bits of `Sum`. */
  #sumsToMend(b: Uint8Array, d: Dissection, end: number, all: boolean): number {
    let right = 0
    if (all && d.ipVersion === 4 && d.ip + (b[d.ip]! & 15) * 4 <= end) right |= Sum.Ipv4
    if (d.kind === Kind.RoceV2 && d.icrc !== IcrcState.Unknown) {
      const sum = u16(b, d.udp + Udp.checksum)
      if (sum !== 0 && (all || sum === udpSum(b, d))) right |= Sum.Udp
    }
    if (d.kind === Kind.InfiniBand && d.icrc !== IcrcState.Unknown) {
      const behind = d.end + icrcLength
      const isRight = (): boolean => vcrc(b, d.lrh, behind) === (b[behind]! | (b[behind + 1]! << 8))
      if (behind + 2 <= end && (all || isRight())) right |= Sum.Vcrc
    }
    return right
  }

  #mendSums(b: Uint8Array, d: Dissection, right: number): void {
    if ((right & Sum.Ipv4) !== 0) putIpv4Sum(b, d)
    if ((right & Sum.Udp) !== 0) put16(b, d.udp + Udp.checksum, udpSum(b, d))
    if ((right & Sum.Vcrc) !== 0) putVcrc(b, d)
  }
}

const Sum = { Ipv4: 1, Udp: 2, Vcrc: 4 } as const

/** Returns the sum of the words of the addresses in an IPv4 header. */
function addressSum(b: Uint8Array, { ip, ipVersion }: Dissection): number {
  if (ipVersion !== 4) return 0
  return u16(b, ip + 12) + u16(b, ip + 14) + u16(b, ip + 16) + u16(b, ip + 18)
}

/**
 * Adjusts the checksum of an IPv4 header in which words with the sum `before` were replaced by ones with the sum `after`: it stays as
 * correct or wrong as it was. Source: RFC 1624, equation 3.
 */
function adjustSum(b: Uint8Array, { ip, ipVersion }: Dissection, before: number, after: number): void {
  if (ipVersion !== 4) return
  const at = ip + Ipv4.checksum
  let sum = (~u16(b, at) & 0xffff) + (0x4fffb - before) + after
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  put16(b, at, ~sum)
}
