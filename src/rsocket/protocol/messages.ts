/**
 * Messages of a stream: the immediate of an RDMA WRITE, `operation << 29 | value`.
 *
 *     0  data          value: bytes that were written into the next buffer of the target SGL
 *     4  SGL           value: low 16 bits of the number of data messages that may have been sent in all. If a buffer is
 *                      offered too, the WRITE carries its entry into the target SGL
 *     6  iomap         value: the entry of the target iomap that the WRITE carries
 *     7  control       value: 0 disconnect, 1 keepalive, 2 shutdown
 *
 * An entry of an SGL is 16 bytes, address 64, key 32, length 32, in the byte order of the host that reads it; an entry
 * of an iomap has a 64-bit offset before that.
 */

export const Op = { Data: 0, Sgl: 4, Iomap: 6, Control: 7 } as const
export const Control = { Disconnect: 0, Keepalive: 1, Shutdown: 2 } as const

const valueMask = 0x1fffffff
export const sgeBytes = 16
export const iomapEntryBytes = 24

/** Returns the immediate, unsigned. */
export function message(op: number, value: number): number {
  return ((op << 29) | value) >>> 0
}

export function messageOp(immediate: number): number {
  return immediate >>> 29
}

export function messageValue(immediate: number): number {
  return immediate & valueMask
}

/** Reverses the four bytes of a word. */
export function swap32(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0
}

/** True if this host is big endian. */
export const hostBigEndian: boolean = new Uint8Array(new Uint16Array([1]).buffer)[0] === 0

/**
 * Writes an entry at word `w` of `i32`, for a reader of this host's byte order or (`swap`) of the other. `hostBigEndian` determines the
 * order of the two halves of an address.
 */
export function writeSge(i32: Int32Array, w: number, addr: number, key: number, length: number, swap: boolean): void {
  writeAddr(i32, w, addr, swap)
  i32[w + 2] = order(key, swap)
  i32[w + 3] = order(length, swap)
}

export function writeAddr(i32: Int32Array, w: number, addr: number, swap: boolean): void {
  const high = Math.floor(addr / 0x100000000)
  const low = addr >>> 0
  const highFirst = hostBigEndian !== swap
  i32[w] = order(highFirst ? high : low, swap)
  i32[w + 1] = order(highFirst ? low : high, swap)
}

function order(word: number, swap: boolean): number {
  return swap ? swap32(word) : word
}

/** Returns the address of an entry at word `w`, which is in this host's byte order; it may exceed the safe integers. */
export function sgeAddr(i32: Int32Array, w: number): number {
  const first = i32[w]! >>> 0
  const second = i32[w + 1]! >>> 0
  return hostBigEndian ? first * 0x100000000 + second : second * 0x100000000 + first
}
