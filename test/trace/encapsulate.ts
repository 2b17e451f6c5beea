/** Puts a packet into another one, as switches and overlay networks do. */
import { EtherType, put16, put32 } from '../../src/wire/index.ts'
import { checksum, ethernet } from './packets.ts'

const bridging = 0x6558
/** Carries Ethernet behind a control word: tshark has to be told. */
export const wireLabel = 300

export function ipv4(protocol: number, payload: Uint8Array, fragment = 0x4000): Uint8Array {
  const b = new Uint8Array(20 + payload.length)
  b[0] = 0x45
  put16(b, 2, b.length)
  put16(b, 6, fragment)
  b[8] = 64
  b[9] = protocol
  b.set([192, 168, 0, 1, 192, 168, 0, 2], 12)
  put16(b, 10, checksum(b, 20))
  b.set(payload, 20)
  return b
}

function ipv6(protocol: number, payload: Uint8Array): Uint8Array {
  const b = new Uint8Array(40 + payload.length)
  b[0] = 0x60
  put16(b, 4, payload.length)
  b[6] = protocol
  b[7] = 64
  b.set([0xfd, 1], 8)
  b.set([0xfd, 2], 24)
  b.set(payload, 40)
  return b
}

/** The checksum is 0, which means none. */
export function udp(port: number, payload: Uint8Array): Uint8Array {
  const b = new Uint8Array(8 + payload.length)
  put16(b, 0, 0xd000)
  put16(b, 2, port)
  put16(b, 4, b.length)
  b.set(payload, 8)
  return b
}

function behind(header: readonly number[], payload: Uint8Array): Uint8Array {
  const b = new Uint8Array(header.length + payload.length)
  b.set(header)
  b.set(payload, header.length)
  return b
}

const typeOf = (packet: Uint8Array): number => (packet[0]! >> 4 === 4 ? EtherType.ipv4 : EtherType.ipv6)
const onWire = (packet: Uint8Array): Uint8Array => ethernet(typeOf(packet), packet)

function mpls(labels: readonly number[], payload: Uint8Array): Uint8Array {
  const b = new Uint8Array(4 * labels.length + payload.length)
  for (const [i, label] of labels.entries()) {
    put32(b, 4 * i, (label << 12) | (i === labels.length - 1 ? 0x100 : 0) | 64)
  }
  b.set(payload, 4 * labels.length)
  return b
}

/** Flags, protocol, then what the flags ask for. */
export function gre(
  protocol: number,
  payload: Uint8Array,
  options: { checksum?: boolean; key?: boolean; sequence?: boolean } = {},
): Uint8Array {
  const flags = (options.checksum ? 0x8000 : 0) | (options.key ? 0x2000 : 0) | (options.sequence ? 0x1000 : 0)
  const words = [
    ...(options.checksum ? [0, 0, 0, 0] : []),
    ...(options.key ? [0, 0, 0, 7] : []),
    ...(options.sequence ? [0, 0, 0, 9] : []),
  ]
  const b = behind([flags >> 8, flags & 255, protocol >> 8, protocol & 255, ...words], payload)
  if (options.checksum) put16(b, 4, checksum(b, b.length))
  return b
}

/** A session that carries IP. */
function pppoe(packet: Uint8Array): Uint8Array {
  const length = packet.length + 2
  const protocol = typeOf(packet) === EtherType.ipv4 ? 0x21 : 0x57
  return behind([0x11, 0, 0, 1, length >> 8, length & 255, 0, protocol], packet)
}

/** Behind the addresses, then the EtherType of the packet. */
function tagged(tags: readonly number[], packet: Uint8Array): Uint8Array {
  const type = typeOf(packet)
  const frame = onWire(packet)
  return new Uint8Array(
    Buffer.concat([frame.subarray(0, 12), Uint8Array.from([...tags, type >> 8, type & 255]), packet]),
  )
}

/** A whole Ethernet frame around an IP packet (`packet`), or around the frame that it is in. */
export const encapsulations: Readonly<Record<string, (packet: Uint8Array) => Uint8Array>> = {
  VXLAN: (p) => onWire(ipv4(17, udp(4789, behind([8, 0, 0, 0, 0, 0, 5, 0], onWire(p))))),
  Geneve: (p) => onWire(ipv6(17, udp(6081, behind([1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 0x80, 0], onWire(p))))),
  'GRE, IP': (p) => onWire(ipv4(47, gre(typeOf(p), p))),
  'GRE, Ethernet': (p) => onWire(ipv6(47, gre(bridging, onWire(p), { key: true, sequence: true }))),
  'GRE, NVGRE': (p) => onWire(ipv4(47, gre(bridging, onWire(p), { key: true }))),
  'GRE, checksum': (p) => onWire(ipv4(47, gre(typeOf(p), p, { checksum: true, key: true }))),
  'ERSPAN I': (p) => onWire(ipv4(47, gre(0x88be, onWire(p)))),
  'ERSPAN II': (p) => onWire(ipv4(47, gre(0x88be, behind([0x10, 5, 0, 1, 0, 0, 0, 3], onWire(p)), { sequence: true }))),
  'ERSPAN III': (p) =>
    onWire(ipv4(47, gre(0x22eb, behind([0x20, 5, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0], onWire(p)), { sequence: true }))),
  'IP in IPv4': (p) => onWire(ipv4(typeOf(p) === EtherType.ipv4 ? 4 : 41, p)),
  'IP in IPv6': (p) => onWire(ipv6(typeOf(p) === EtherType.ipv4 ? 4 : 41, p)),
  MPLS: (p) => ethernet(0x8847, mpls([100, 200], p)),
  'MPLS, Ethernet': (p) => ethernet(0x8847, mpls([wireLabel], behind([0, 0, 0, 0], onWire(p)))),
  'IP in IP in PPPoE in VLANs': (p) => ethernet(0x8864, pppoe(ipv4(typeOf(p) === EtherType.ipv4 ? 4 : 41, p)), [5, 6]),
  PPPoE: (p) => ethernet(0x8864, pppoe(p)),
  'VN-Tag and a VLAN': (p) => tagged([0x89, 0x26, 0, 0, 0, 0, 0x81, 0, 0, 5], p),
  'Cisco metadata': (p) => tagged([0x89, 0x09, 1, 1, 0, 1, 0, 7], p),
  'VXLAN-GPE, Ethernet': (p) => onWire(ipv4(17, udp(4790, behind([0x0c, 0, 0, 3, 0, 0, 5, 0], onWire(p))))),
  'VXLAN-GPE, IP': (p) => onWire(ipv6(17, udp(4790, behind([0x0c, 0, 0, p[0]! >> 4 === 4 ? 1 : 2, 0, 0, 5, 0], p)))),
  'GTP-U': (p) => onWire(ipv4(17, udp(2152, behind([0x30, 255, p.length >> 8, p.length & 255, 0, 0, 0, 1], p)))),
  'GTP-U, sequence and extension': (p) => {
    const length = p.length + 8
    const header = [0x36, 255, length >> 8, length & 255, 0, 0, 0, 1, 0, 9, 0, 0x85, 1, 0x10, 0, 0]
    return onWire(ipv4(17, udp(2152, behind(header, p))))
  },
  TZSP: (p) => onWire(ipv4(17, udp(37_008, behind([1, 0, 0, 1, 0, 10, 1, 0x2c, 0, 1], onWire(p))))),
  'MPLS in UDP': (p) => onWire(ipv4(17, udp(6635, mpls([100], p)))),
  'VXLAN in ERSPAN': (p) =>
    onWire(ipv4(47, gre(0x88be, behind([0x10, 5, 0, 1, 0, 0, 0, 3], encapsulations.VXLAN!(p)), { sequence: true }))),
}
