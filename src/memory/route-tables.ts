/**
 * Routes from the text of /proc/net/route and /proc/net/ipv6_route, for hosts where the kernel cannot be queried: the longest prefix, the
 * smallest metric. Pure.
 *
 *     Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT            hexadecimal, words as the machine has them
 *     destination bits source bits next-hop metric ref use flags device                 32 digits each, in the order of the network
 */
import type { HostIfAddress, HostLink, HostRoute } from './native/index.ts'

export interface RouteTables {
  readonly ipv4: string
  readonly ipv6: string
  readonly links: readonly HostLink[]
  readonly addresses: readonly HostIfAddress[]
}

interface Entry {
  readonly network: Uint8Array
  readonly bits: number
  readonly gateway: Uint8Array
  readonly metric: number
  readonly device: string
}

/** RTF_UP; RTF_REJECT of a route that leads nowhere. */
const flagUp = 0x1
const flagReject = 0x200

/** The route to `to`, or the code of an error. */
export function routeInTables(
  to: Uint8Array,
  { ifindex, source }: { ifindex: number; source: Uint8Array | null },
  tables: RouteTables,
): HostRoute | string {
  const { links, addresses } = tables
  const own = addresses.find(({ address }) => samePrefix(address, to, to.length * 8))
  if (own !== undefined || (to.length === 4 && to[0] === 127)) {
    const lo = links.find((link) => link.loopback)
    return {
      kind: 'local',
      source: source ?? own?.address ?? Uint8Array.of(127, 0, 0, 1),
      ifindex: lo?.ifindex ?? 0,
      gateway: null,
    }
  }
  const nameOf = (index: number): string | undefined => links.find((link) => link.ifindex === index)?.name
  const text = to.length === 4 ? tables.ipv4 : tables.ipv6
  const entries = to.length === 4 ? ipv4Entries(text) : ipv6Entries(text)
  const best = entries
    .filter(
      ({ network, bits, device }) => samePrefix(network, to, bits) && (ifindex === 0 || device === nameOf(ifindex)),
    )
    .sort((a, b) => b.bits - a.bits || a.metric - b.metric)[0]
  const kind = isMulticast(to) ? 'multicast' : 'unicast'
  if (best === undefined) {
    if (text !== '') return 'ENETUNREACH'
    // No table: an address in the same network, or the first.
    const found = pick(addresses, to, ifindex)
    return found === undefined
      ? 'ENETUNREACH'
      : { kind, source: source ?? found.address, ifindex: found.ifindex, gateway: null }
  }
  const gateway = best.gateway.some((byte) => byte !== 0) ? best.gateway : null
  const index = links.find((link) => link.name === best.device)?.ifindex ?? 0
  const found = pick(addresses, gateway ?? to, index) ?? pick(addresses, gateway ?? to, 0)
  return { kind, source: source ?? found?.address ?? null, ifindex: index, gateway }
}

/** An address from which to reach another: of the interface if one is given, of the same network if there is one. */
function pick(addresses: readonly HostIfAddress[], to: Uint8Array, ifindex: number): HostIfAddress | undefined {
  const candidates = addresses.filter(
    (one) =>
      one.address.length === to.length &&
      isLinkLocal(one.address) === isLinkLocal(to) &&
      (ifindex === 0 ? !isLoopback(one.address) : one.ifindex === ifindex),
  )
  return candidates.find(({ address, prefixBits }) => samePrefix(address, to, prefixBits)) ?? candidates[0]
}

function ipv4Entries(text: string): Entry[] {
  return text.split('\n').flatMap((line) => {
    const [device = '', network = '', gateway = '', flags = '', , , metric = '', mask = ''] = line.trim().split(/\s+/)
    if (!/^[0-9A-F]{8}$/i.test(network) || !isUsable(flags)) return []
    const bits = swapped(mask).reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0)
    return [{ device, network: swapped(network), gateway: swapped(gateway), bits, metric: Number(metric) || 0 }]
  })
}

function ipv6Entries(text: string): Entry[] {
  return text.split('\n').flatMap((line) => {
    const [network = '', bits = '', , , gateway = '', metric = '', , , flags = '', device = ''] = line
      .trim()
      .split(/\s+/)
    if (!/^[0-9a-f]{32}$/i.test(network) || !isUsable(flags) || device === '') return []
    const hex = (digits: string): Uint8Array =>
      Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16) || 0)
    return [
      {
        device,
        network: hex(network),
        gateway: hex(gateway),
        bits: Number.parseInt(bits, 16) || 0,
        metric: Number.parseInt(metric, 16) || 0,
      },
    ]
  })
}

function isUsable(flags: string): boolean {
  const bits = Number.parseInt(flags, 16)
  return (bits & flagUp) !== 0 && (bits & flagReject) === 0
}

/** Eight digits of a word of a little-endian machine, as bytes. */
function swapped(digits: string): Uint8Array {
  const word = Number.parseInt(digits, 16) || 0
  return Uint8Array.of(word, word >>> 8, word >>> 16, word >>> 24)
}

function samePrefix(a: Uint8Array, b: Uint8Array, bits: number): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i * 8 < bits; i++) {
    const mask = bits >= i * 8 + 8 ? 0xff : (0xff << (i * 8 + 8 - bits)) & 0xff
    if (((a[i]! ^ b[i]!) & mask) !== 0) return false
  }
  return true
}

function isLinkLocal(address: Uint8Array): boolean {
  return address.length === 16 && address[0] === 0xfe && (address[1]! & 0xc0) === 0x80
}

function isLoopback(address: Uint8Array): boolean {
  if (address.length === 4) return address[0] === 127
  return address[15] === 1 && address.every((byte, i) => i === 15 || byte === 0)
}

function isMulticast(address: Uint8Array): boolean {
  return address.length === 4 ? address[0]! >> 4 === 0xe : address[0] === 0xff
}
