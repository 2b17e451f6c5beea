/**
 * Headers of datagrams. All fields are big endian.
 *
 * Over UDP, before the peer's queue pair is known, and to announce the sender's own (`ds_udp_header`):
 *
 *      0  tag        0x55555555
 *      4  version    4 or 6, of the address
 *      5  operation  0 data, 7 control: only announces the queue pair
 *      6  length     of this header: 16 or 28
 *      7  reserved
 *      8  QP number  24 bits; the upper 8 are reserved
 *     12  address    4 or 16 bytes: of the sender's queue pair
 *
 * From one UD queue pair to the other (`ds_header`):
 *
 *      0  version    4 or 6
 *      1  length     of this header: 8 or 24
 *      2  port       of the sender's socket
 *      4  address    4 bytes; or flow information, 4 bytes, and 16 bytes
 */
const tag = 0x55555555

export const UdpOp = { Data: 0, Control: 7 } as const

export interface UdpHeader {
  op: number
  qpn: number
  /** Address of 4 or 16 bytes. */
  address: Uint8Array
}

export interface DatagramHeader {
  port: number
  address: Uint8Array
}

export function udpHeaderBytes(address: Uint8Array): number {
  return 12 + address.length
}

export function encodeUdpHeader({ op, qpn, address }: UdpHeader): Uint8Array {
  const length = udpHeaderBytes(address)
  const bytes = new Uint8Array(length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, tag)
  bytes[4] = address.length === 4 ? 4 : 6
  bytes[5] = op
  bytes[6] = length
  view.setUint32(8, qpn & 0xffffff)
  bytes.set(address, 12)
  return bytes
}

/** Decodes the header and its length; undefined if there is none. */
export function decodeUdpHeader(bytes: Uint8Array): (UdpHeader & { length: number }) | undefined {
  if (bytes.length < 16) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const [version, op, length] = [bytes[4]!, bytes[5]!, bytes[6]!]
  if (view.getUint32(0) !== tag || (version !== 4 && version !== 6)) return undefined
  if (length !== (version === 4 ? 16 : 28) || bytes.length < length) return undefined
  if (op !== UdpOp.Data && op !== UdpOp.Control) return undefined
  return { op, qpn: view.getUint32(8) & 0xffffff, address: Uint8Array.from(bytes.subarray(12, length)), length }
}

export function encodeDatagramHeader({ port, address }: DatagramHeader): Uint8Array {
  const four = address.length === 4
  const bytes = new Uint8Array(four ? 8 : 24)
  bytes[0] = four ? 4 : 6
  bytes[1] = bytes.length
  bytes[2] = port >> 8
  bytes[3] = port & 0xff
  bytes.set(address, four ? 4 : 8)
  return bytes
}

export function decodeDatagramHeader(bytes: Uint8Array): (DatagramHeader & { length: number }) | undefined {
  if (bytes.length < 8) return undefined
  const [version, length] = [bytes[0], bytes[1]!]
  const four = version === 4
  if ((!four && version !== 6) || length !== (four ? 8 : 24) || bytes.length < length) return undefined
  return { port: (bytes[2]! << 8) | bytes[3]!, address: Uint8Array.from(bytes.subarray(four ? 4 : 8, length)), length }
}
