/**
 * Offsets of addresses, numbers of queue pairs, keys, operands and the checksums over them: the fields that anonymising and rewriting
 * change. Offsets after the BTH follow from the opcode and are in a table.
 */
import {
  Aeth,
  AtomicAckEth,
  AtomicEth,
  Bth,
  Deth,
  extensionLengths,
  type HeaderName,
  Icrc,
  Ieth,
  ImmDt,
  Ipv4,
  Ipv6,
  ipv4Checksum,
  opcodeTable,
  put16,
  Reth,
  udpChecksum,
  vcrc,
} from '../wire/index.ts'
import type { Dissection } from './dissect.ts'

/** Offsets from the beginning of the BTH; −1 where packets of the opcode have none. */
export interface TransportPlaces {
  readonly qkey: number
  readonly srcQp: number
  readonly msn: number
  /** Virtual address of a RETH or an AtomicETH. */
  readonly va: number
  readonly rkey: number
  /** Key that a SEND invalidates. */
  readonly invalidated: number
  readonly immediate: number
  /** Both operands of an atomic, 16 bytes, and its response, 8 bytes. */
  readonly operands: number
  readonly original: number
}

type Place = keyof TransportPlaces

const within: Partial<Record<HeaderName, Partial<Record<Place, number>>>> = {
  DETH: { qkey: Deth.qkey, srcQp: Deth.srcQp },
  RETH: { va: Reth.va, rkey: Reth.rkey },
  AtomicETH: { va: AtomicEth.va, rkey: AtomicEth.rkey, operands: AtomicEth.swapAdd },
  AETH: { msn: Aeth.msn },
  AtomicAckETH: { original: AtomicAckEth.original },
  ImmDt: { immediate: ImmDt.data },
  IETH: { invalidated: Ieth.rkey },
}

function placesOf(headers: readonly HeaderName[]): TransportPlaces {
  const places: Record<Place, number> = {
    ...{ qkey: -1, srcQp: -1, msn: -1, va: -1, rkey: -1 },
    ...{ invalidated: -1, immediate: -1, operands: -1, original: -1 },
  }
  let at: number = Bth.length
  for (const name of headers) {
    for (const [place, offset] of Object.entries(within[name] ?? {})) places[place as Place] = at + offset
    at += extensionLengths[name]
  }
  return places
}

const none = placesOf([])

/** Places by opcode; an unknown one has none. */
export const transportPlaces: readonly TransportPlaces[] = Array.from({ length: 256 }, (_, opcode) => {
  const info = opcodeTable[opcode]
  return info === undefined ? none : placesOf(info.headers)
})

/** Returns the length of the source, and of the destination, in an IP header or GRH: 0 for InfiniBand without one. */
export function addressLength({ ipVersion }: Dissection): number {
  return ipVersion === 4 ? 4 : ipVersion === 6 ? 16 : 0
}

/** Returns the offset of the source; the destination follows it. */
export function sourceAt({ ip, ipVersion }: Dissection): number {
  return ip + (ipVersion === 4 ? Ipv4.source : Ipv6.source)
}

/** Returns the checksum of the UDP datagram that ends with the ICRC, which was captured whole. */
export function udpSum(b: Uint8Array, d: Dissection): number {
  const length = addressLength(d)
  const source = sourceAt(d)
  const destination = source + length
  const end = d.end + Icrc.length
  return udpChecksum(b, d.udp, end, b.subarray(source, destination), b.subarray(destination, destination + length))
}

/** Writes the checksum of the IPv4 header. */
export function putIpv4Sum(b: Uint8Array, { ip }: Dissection): void {
  put16(b, ip + Ipv4.checksum, 0)
  put16(b, ip + Ipv4.checksum, ipv4Checksum(b, ip, ip + (b[ip]! & 15) * 4))
}

/** Writes the VCRC after the ICRC. */
export function putVcrc(b: Uint8Array, { lrh, end }: Dissection): void {
  const at = end + Icrc.length
  const sum = vcrc(b, lrh, at)
  b[at] = sum
  b[at + 1] = sum >> 8
}
