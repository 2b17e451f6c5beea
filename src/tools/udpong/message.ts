/**
 * Messages of udpong: a header of 8 bytes, then arbitrary data; messages that only request something have 16 bytes in all.
 *
 *     op u8 | client's number u8 | sequence number u8 | 0 | data be32
 *
 *     LOGIN   the answer has the client's number
 *     START   the server counts from 0 again, and answers
 *     DATA    is counted
 *     ECHO    is counted, and sent back
 *     END     the answer has the number of received datagrams as its data
 */
export const Op = { Login: 0, Start: 1, Data: 2, Echo: 3, End: 4 } as const
export type Op = (typeof Op)[keyof typeof Op]

const udpongHeaderBytes = 8
export const controlBytes = 16
export const maxMessageBytes: number = 2048 + udpongHeaderBytes

export interface UdpongHeader {
  op: number
  id: number
  seqno: number
  data: number
}

export function emitUdpong({ op, id, seqno, data }: UdpongHeader, to: Uint8Array): void {
  to[0] = op
  to[1] = id
  to[2] = seqno
  to[3] = 0
  new DataView(to.buffer, to.byteOffset, udpongHeaderBytes).setUint32(4, data)
}

/** Parses a header; undefined if the datagram is too short. */
export function parseUdpong(from: Uint8Array, length: number): UdpongHeader | undefined {
  if (length < udpongHeaderBytes) return undefined
  const data = new DataView(from.buffer, from.byteOffset, udpongHeaderBytes).getUint32(4)
  return { op: from[0]!, id: from[1]!, seqno: from[2]!, data }
}
