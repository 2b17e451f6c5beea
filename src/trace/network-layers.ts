/**
 * Headers of a packet, from the link to the one before the BTH; transport-layers.ts goes on from the BTH. They are read from the packet
 * again, since `dissect` keeps only what the analysis needs. Headers that the capture cut off are left out.
 */
import { type CapturedPacket, LinkLayer, linkTypeName, locate, located } from '../capture/index.ts'
import {
  Ethernet,
  EtherType,
  formatIp,
  Grh,
  grhCodec,
  grhNextHeaderBth,
  IpProtocol,
  Ipv4,
  Ipv6,
  ipExtensionLength,
  ipv4Checksum,
  ipv4Codec,
  ipv6Codec,
  isIpExtension,
  isVlanType,
  Lrh,
  LrhNext,
  lrhCodec,
  Udp,
  u16,
  u32,
  udpCodec,
  Vlan,
  vcrc,
} from '../wire/index.ts'
import type { Dissection } from './dissect.ts'
import { etherTypeText, type FieldList, hexNumber, type Layer, LayerList } from './layers.ts'
import { transportLayers } from './transport-layers.ts'
import { tunnelLayer } from './tunnel-layers.ts'
import {
  Inner,
  isMpls,
  isTag,
  openIp,
  openLink,
  openMpls,
  openUdp,
  PortUse,
  TunnelProtocol,
  tagLength,
} from './tunnels.ts'

/** Returns the layers of the packet with which `d` was filled. */
export function layersOf(packet: CapturedPacket, d: Dissection): Layer[] {
  const list = new LayerList(packet)
  const place = located()
  const layer = locate(packet.bytes, packet.offset, packet.length, packet.linkType, place)
  if (layer === LinkLayer.Unknown || layer === LinkLayer.Cut) return list.layers
  if (place.offset > list.origin) {
    const type = layer === LinkLayer.Network ? etherTypeText(place.etherType) : 'a frame'
    list.add(linkTypeName(packet.linkType), list.origin, place.offset, [['Carries', type]])
  }
  const walk = new Walk(list, d)
  if (layer === LinkLayer.Ethernet) walk.ethernet(place.offset)
  else if (layer === LinkLayer.InfiniBand) walk.infiniBand(place.offset)
  else walk.network(place.etherType, place.offset)
  return list.layers
}

function mac(b: Uint8Array, at: number): string {
  return Array.from(b.subarray(at, at + 6), (byte) => byte.toString(16).padStart(2, '0')).join(':')
}

const protocolNames = new Map<number, string>([
  [1, 'ICMP'],
  [TunnelProtocol.ipv4, 'IPv4'],
  [6, 'TCP'],
  [IpProtocol.udp, 'UDP'],
  [TunnelProtocol.ipv6, 'IPv6'],
  [TunnelProtocol.gre, 'GRE'],
  [58, 'ICMPv6'],
  [TunnelProtocol.mpls, 'MPLS'],
  [IpProtocol.hopByHop, 'hop-by-hop options'],
  [IpProtocol.routing, 'routing header'],
  [IpProtocol.fragment, 'fragment header'],
  [IpProtocol.destinationOptions, 'destination options'],
  [IpProtocol.authentication, 'authentication header'],
  [grhNextHeaderBth, 'BTH'],
])

function protocolText(protocol: number): string {
  const name = protocolNames.get(protocol)
  return name === undefined ? String(protocol) : `${name} (${protocol})`
}

const ecnTexts = ['not ECN-capable', 'ECT(1)', 'ECT(0)', 'congestion experienced']

function trafficClass(value: number): FieldList {
  return [
    ['DSCP', value >> 2],
    ['ECN', `${ecnTexts[value & 3]} (${value & 3})`],
  ]
}

/** Maximum number of layers; no packet that `dissect` looks into has as many. */
const mostLayers = 64

class Walk {
  readonly #list: LayerList
  readonly #d: Dissection
  readonly #inner = new Inner()

  constructor(list: LayerList, d: Dissection) {
    this.#list = list
    this.#d = d
  }

  ethernet(at: number): void {
    const { b, end } = this.#list
    if (end - at < Ethernet.length) return
    const type = u16(b, at + Ethernet.etherType)
    this.#list.add(`Ethernet, ${mac(b, at + 6)} → ${mac(b, at)}`, at, at + Ethernet.length, [
      ['Destination', mac(b, at)],
      ['Source', mac(b, at + Ethernet.source)],
      ['Type', etherTypeText(type)],
    ])
    this.network(type, at + Ethernet.length)
  }

  network(etherType: number, at: number): void {
    const { b, end, layers } = this.#list
    if (layers.length >= mostLayers) return
    if (isTag(etherType) && !isVlanType(etherType)) {
      const length = tagLength(etherType)
      if (end - at < length) return
      const inner = u16(b, at + length - 2)
      this.#list.add(etherTypeText(etherType).replace(/ \(.*/, ''), at, at + length, [['Type', etherTypeText(inner)]])
      this.network(inner, at + length)
    } else if (isVlanType(etherType)) {
      if (end - at < Vlan.length) return
      const tci = u16(b, at)
      const inner = u16(b, at + Vlan.etherType)
      this.#list.add(`VLAN ${tci & 0xfff}`, at, at + Vlan.length, [
        ['Priority', tci >> 13],
        ['Drop eligible', (tci >> 12) & 1],
        ['VLAN', tci & 0xfff],
        ['Type', etherTypeText(inner)],
      ])
      this.network(inner, at + Vlan.length)
    } else if (etherType === EtherType.ipv4) this.#ipv4(at)
    else if (etherType === EtherType.ipv6) this.#ipv6(at)
    else if (etherType === EtherType.rocev1) this.#global(at)
    else if (isMpls(etherType)) this.#mpls(at)
    else if (openLink(b, etherType, at, end, this.#inner)) this.#decapsulate(at)
  }

  infiniBand(at: number): void {
    const { b, end } = this.#list
    if (end - at < Lrh.length) return
    const lrh = lrhCodec.read(b, at)
    this.#list.add(`LRH, LID ${lrh.slid} → LID ${lrh.dlid}`, at, at + Lrh.length, [
      ['Virtual lane', lrh.virtualLane],
      ['Link version', b[at]! & 15],
      ['Service level', lrh.serviceLevel],
      ['Next header', ['raw', 'IPv6', 'BTH', 'GRH'][lrh.next]!],
      ['Destination LID', lrh.dlid],
      ['Packet length', `${lrh.packetLength * 4} bytes`],
      ['Source LID', lrh.slid],
    ])
    if (lrh.next === LrhNext.grh) this.#global(at + Lrh.length)
    else if (lrh.next === LrhNext.bth) this.#transport(at + Lrh.length)
    this.#vcrc(at, at + lrh.packetLength * 4)
  }

  /** Adds the VCRC, which not all captures have. */
  #vcrc(at: number, vcrcAt: number): void {
    const { b, end } = this.#list
    if (vcrcAt + 2 > end || vcrcAt <= at) return
    const received = b[vcrcAt]! | (b[vcrcAt + 1]! << 8)
    const computed = vcrc(b, at, vcrcAt)
    const verdict = received === computed ? 'right' : `WRONG, should be ${hexNumber(computed, 4)}`
    this.#list.add(`VCRC, ${received === computed ? 'right' : 'WRONG'}`, vcrcAt, vcrcAt + 2, [
      ['VCRC', `${hexNumber(received, 4)}, ${verdict}`],
    ])
  }

  #global(at: number): void {
    const { b, end } = this.#list
    if (end - at < Grh.length) return
    const grh = grhCodec.read(b, at)
    this.#list.add(`GRH, ${formatIp(grh.sgid)} → ${formatIp(grh.dgid)}`, at, at + Grh.length, [
      ['IP version', b[at]! >> 4],
      ...trafficClass(grh.trafficClass),
      ['Flow label', hexNumber(grh.flowLabel, 5)],
      ['Payload length', `${grh.payloadLength} bytes`],
      ['Next header', protocolText(grh.nextHeader)],
      ['Hop limit', grh.hopLimit],
      ['Source GID', formatIp(grh.sgid)],
      ['Destination GID', formatIp(grh.dgid)],
    ])
    this.#transport(at + Grh.length)
  }

  #ipv4(at: number): void {
    const { b, end } = this.#list
    if (end - at < Ipv4.length || b[at]! >> 4 !== 4) return
    const ip = ipv4Codec.read(b, at)
    const header = (b[at]! & 15) * 4
    const whole = header >= Ipv4.length && end - at >= header
    const sum = whole && ipv4Checksum(b, at, at + header) === 0 ? 'right' : whole ? 'WRONG' : 'cut'
    const flags = [ip.dontFragment ? 'do not fragment' : '', ip.moreFragments ? 'more fragments' : '']
    this.#list.add(`IPv4, ${formatIp(ip.source)} → ${formatIp(ip.destination)}`, at, Math.min(at + header, end), [
      ['Header length', `${header} bytes`],
      ...trafficClass(ip.tos),
      ['Total length', `${ip.totalLength} bytes`],
      ['Identification', hexNumber(ip.identification, 4)],
      ['Flags', flags.filter((text) => text !== '').join(', ') || 'none'],
      ['Fragment offset', ip.fragmentOffset * 8],
      ['Time to live', ip.ttl],
      ['Protocol', protocolText(ip.protocol)],
      ['Checksum', `${hexNumber(ip.checksum, 4)}, ${sum}`],
      ['Source', formatIp(ip.source)],
      ['Destination', formatIp(ip.destination)],
    ])
    if (header >= Ipv4.length && ip.fragmentOffset === 0) this.#behindIpv4(ip.protocol, at + header)
  }

  #behindIpv4(protocol: number, at: number): void {
    const { b, end } = this.#list
    if (protocol !== IpProtocol.authentication) this.#above(protocol, at)
    else if (end - at >= 8) {
      const length = ipExtensionLength(protocol, b, at)
      this.#list.add('IPv4 authentication header', at, Math.min(at + length, end), [
        ['Next header', protocolText(b[at]!)],
      ])
      this.#above(b[at]!, at + length)
    }
  }

  #ipv6(at: number): void {
    const { b, end } = this.#list
    if (end - at < Ipv6.length || b[at]! >> 4 !== 6) return
    const ip = ipv6Codec.read(b, at)
    this.#list.add(`IPv6, ${formatIp(ip.source)} → ${formatIp(ip.destination)}`, at, at + Ipv6.length, [
      ...trafficClass(ip.trafficClass),
      ['Flow label', hexNumber(ip.flowLabel, 5)],
      ['Payload length', `${ip.payloadLength} bytes`],
      ['Next header', protocolText(ip.nextHeader)],
      ['Hop limit', ip.hopLimit],
      ['Source', formatIp(ip.source)],
      ['Destination', formatIp(ip.destination)],
    ])
    let next = ip.nextHeader
    at += Ipv6.length
    while (isIpExtension(next)) {
      const isFragment = next === IpProtocol.fragment
      if (end - at < 8 || this.#list.layers.length >= mostLayers) return
      const length = ipExtensionLength(next, b, at)
      const offset = isFragment ? u16(b, at + 2) & 0xfff8 : 0
      this.#list.add(`IPv6 ${protocolNames.get(next)}`, at, Math.min(at + length, end), [
        ['Next header', protocolText(b[at]!)],
        ...(isFragment ? ([['Fragment offset', offset]] as const) : []),
      ])
      if (offset > 0) return
      next = b[at]!
      at += length
    }
    this.#above(next, at)
  }

  #above(protocol: number, at: number): void {
    const { b, end, layers } = this.#list
    if (layers.length >= mostLayers) return
    if (protocol !== IpProtocol.udp) {
      if (protocol === TunnelProtocol.mpls) this.#mpls(at)
      else if (openIp(b, protocol, at, end, this.#inner)) this.#decapsulate(at)
      return
    }
    if (end - at < Udp.length) return
    const udp = udpCodec.read(b, at)
    this.#list.add(`UDP, port ${udp.sourcePort} → ${udp.destinationPort}`, at, at + Udp.length, [
      ['Source port', udp.sourcePort],
      ['Destination port', udp.destinationPort],
      ['Length', `${udp.udpLength} bytes`],
      ['Checksum', udp.checksum === 0 ? 'none' : hexNumber(udp.checksum, 4)],
    ])
    const use = this.#d.ports[udp.destinationPort]!
    at += Udp.length
    if (use === PortUse.Roce) this.#transport(at)
    else if (use === PortUse.Mpls) this.#mpls(at)
    else if (openUdp(b, use, at, end, this.#inner)) this.#decapsulate(at)
  }

  /** Adds the header of a tunnel, which begins at `at`, and the layers inside. */
  #decapsulate(at: number): void {
    const { b, end } = this.#list
    const { tunnel, at: inside, etherType, truncated } = this.#inner
    if (inside > end) return
    // IP in IP has no header of its own.
    if (inside > at) this.#list.add(...tunnelLayer(b, tunnel, at, inside, truncated))
    if (etherType === 0) this.ethernet(inside)
    else this.network(etherType, inside)
  }

  #mpls(at: number): void {
    const { b, end } = this.#list
    if (!openMpls(b, at, end, this.#inner)) return
    const { at: inside, etherType } = this.#inner
    for (let last = false; !last && at < inside; at += 4) {
      const word = u32(b, at)
      last = ((word >>> 8) & 1) !== 0
      this.#list.add(`MPLS, label ${word >>> 12}`, at, at + 4, [
        ['Label', word >>> 12],
        ['Traffic class', (word >>> 9) & 7],
        ['Bottom of the stack', last ? 'yes' : 'no'],
        ['Time to live', word & 255],
      ])
    }
    if (inside > at) this.#list.add('Pseudowire control word', at, inside, [['Word', hexNumber(u32(b, at), 8)]])
    if (etherType === 0) this.ethernet(inside)
    else this.network(etherType, inside)
  }

  #transport(at: number): void {
    transportLayers(this.#list, this.#d, at)
  }
}
