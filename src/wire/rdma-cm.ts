/**
 * The parts of a REQ or SIDR_REQ that the RDMA CM defines: the service id, made from a port space and a port, and the header with
 * the IP addresses at the start of the private data (annex A11). In a REQ, 56 bytes remain after it for the program.
 */
import { bits, bytesField, HeaderCodec, u8Field, u16Field } from './codec.ts'
import { isMalformed, type MalformedReason, WireError } from './errors.ts'
import { gidOfIp } from './gid.ts'

/** Offsets of the fields of the RDMA CM's header. IPv4 addresses are in the last four bytes of their field. */
export const CmaHdr = { length: 36, version: 0, ipVersion: 1, port: 2, source: 4, destination: 20 } as const

export const RdmaPortSpace = { IpoIb: 0x0002, Tcp: 0x0106, Udp: 0x0111, Ib: 0x013f } as const

export interface CmaFields {
  /** Source port. */
  port: number
  /** Address of 4 or 16 bytes; source and destination have the same length. */
  source: Uint8Array
  destination: Uint8Array
}

interface RawCma {
  version: number
  ipVersion: number
  port: number
  source: Uint8Array
  destination: Uint8Array
}

const codec = new HeaderCodec<RawCma>(
  'RDMA CM header',
  CmaHdr.length,
  {
    version: u8Field(CmaHdr.version),
    ipVersion: bits(CmaHdr.ipVersion, 0, 4),
    port: u16Field(CmaHdr.port),
    source: bytesField(CmaHdr.source, 16),
    destination: bytesField(CmaHdr.destination, 16),
  },
  (b, at) => {
    if (b[at] !== 0) return 'cmaVersion'
    const ipVersion = b[at + CmaHdr.ipVersion]! >>> 4
    return ipVersion === 4 || ipVersion === 6 ? undefined : 'cmaIpVersion'
  },
)

/** Parses the header at b[start]; addresses are views. */
export function parseCma(b: Uint8Array, start: number, end: number): CmaFields | MalformedReason {
  const raw = codec.parse(b, start, end)
  if (isMalformed(raw)) return raw
  const { ipVersion, port, source, destination } = raw
  const from = ipVersion === 4 ? 12 : 0
  return { port, source: source.subarray(from), destination: destination.subarray(from) }
}

/** Writes 36 bytes and returns the offset after them. */
export function emitCma(cma: CmaFields, b: Uint8Array, at: number): number {
  const { length } = cma.source
  if (length !== cma.destination.length || (length !== 4 && length !== 16))
    throw new WireError('ERR_WIRE_VALUE', `RDMA CM header: addresses have 4 or 16 bytes, both the same`)
  const widen = (address: Uint8Array): Uint8Array => (length === 16 ? address : gidOfIp(address).fill(0, 10, 12))
  const { port, source, destination } = cma
  const addresses = { source: widen(source), destination: widen(destination) }
  return codec.emit({ version: 0, ipVersion: length === 4 ? 4 : 6, port, ...addresses }, b, at)
}

/** Returns the service id of a listening port: 0x0000000001061c46 is port 7238 of RdmaPortSpace.Tcp. */
export function rdmaServiceId(portSpace: number, port: number): bigint {
  return (BigInt(portSpace) << 16n) | BigInt(port)
}

/** Returns port space and port of a service id; undefined if it is not a service id of the RDMA CM. */
export function rdmaPortOf(serviceId: bigint): { portSpace: number; port: number } | undefined {
  const portSpace = Number(serviceId >> 16n)
  return portSpace <= 0xffff && (Object.values(RdmaPortSpace) as number[]).includes(portSpace)
    ? { portSpace, port: Number(serviceId & 0xffffn) }
    : undefined
}
