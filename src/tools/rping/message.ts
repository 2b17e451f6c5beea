/**
 * Messages of rping, and the contents of its buffer.
 *
 *     client                                        server
 *       SEND   {address, rkey, size} of the source     ──>   RDMA READ of it
 *       <── SEND  go ahead
 *       SEND   {address, rkey, size} of the sink       ──>   RDMA WRITE of what was read, up to its NUL
 *       <── SEND  done
 *
 * The message has 16 bytes, big-endian: address 8, rkey 4, size 4. The contents of the server's messages are not used.
 */
export const rpingInfoBytes = 16

export interface RpingInfo {
  addr: number
  rkey: number
  size: number
}

export function emitRpingInfo({ addr, rkey, size }: RpingInfo, to: Uint8Array): void {
  const view = new DataView(to.buffer, to.byteOffset, rpingInfoBytes)
  view.setBigUint64(0, BigInt(addr))
  view.setUint32(8, rkey)
  view.setUint32(12, size)
}

export function parseRpingInfo(from: Uint8Array): RpingInfo {
  const view = new DataView(from.buffer, from.byteOffset, rpingInfoBytes)
  return { addr: Number(view.getBigUint64(0)), rkey: view.getUint32(8), size: view.getUint32(12) }
}

/** First and last of the characters that fill a ping. */
const [first, last] = [65, 122]
export const minPingBytes = 26
export const maxPingBytes = 65535

/** Fills a buffer with `rdma-ping-3: DEFGHIJ…` and a NUL as its last byte; each ping begins one character later. */
export function fillPing(to: Uint8Array, ping: number): void {
  const title = Buffer.from(`rdma-ping-${ping}: `, 'latin1')
  to.set(title.subarray(0, to.length))
  let c = first + (ping % (last - first + 1))
  for (let i = title.length; i < to.length; i++) {
    to[i] = c
    c = c === last ? first : c + 1
  }
  to[to.length - 1] = 0
}

/** Returns the number of bytes up to the NUL, which may be missing. */
export function textLength(bytes: Uint8Array): number {
  const at = bytes.indexOf(0)
  return at < 0 ? bytes.length : at
}

export function pingText(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, textLength(bytes))).toString('latin1')
}
