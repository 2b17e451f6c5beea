/**
 * Big-endian numbers in a Uint8Array, (b, at), with which all headers are read and written. There are no checks: the caller
 * ensures that the bytes exist. A read beyond the end returns zeros for the missing bytes, a write there has no effect.
 */

const two32 = 2 ** 32

export function u16(b: Uint8Array, at: number): number {
  return (b[at]! << 8) | b[at + 1]!
}

export function u24(b: Uint8Array, at: number): number {
  return (b[at]! << 16) | (b[at + 1]! << 8) | b[at + 2]!
}

export function u32(b: Uint8Array, at: number): number {
  return ((b[at]! << 24) | (b[at + 1]! << 16) | (b[at + 2]! << 8) | b[at + 3]!) >>> 0
}

export function put16(b: Uint8Array, at: number, v: number): void {
  b[at] = v >>> 8
  b[at + 1] = v
}

export function put24(b: Uint8Array, at: number, v: number): void {
  b[at] = v >>> 16
  b[at + 1] = v >>> 8
  b[at + 2] = v
}

export function put32(b: Uint8Array, at: number, v: number): void {
  b[at] = v >>> 24
  b[at + 1] = v >>> 16
  b[at + 2] = v >>> 8
  b[at + 3] = v
}

/** Returns 64 bits as a number: exact below 2^53, rounded to the nearest double above. */
export function get64(b: Uint8Array, at: number): number {
  return u32(b, at) * two32 + u32(b, at + 4)
}

/** Writes 64 bits. `v` is an integer from 0 to 2^53 - 1. */
export function put64(b: Uint8Array, at: number, v: number): void {
  put32(b, at, Math.floor(v / two32))
  put32(b, at + 4, v >>> 0)
}

/** Returns 64 bits, unsigned and exact. Ten times as slow as get64: for atomic operands and GUIDs. */
export function get64Big(b: Uint8Array, at: number): bigint {
  return (BigInt(u32(b, at)) << 32n) | BigInt(u32(b, at + 4))
}

/** Writes the low 64 bits of `v`; negative numbers as two's complement. */
export function put64Big(b: Uint8Array, at: number, v: bigint): void {
  put32(b, at, Number((v >> 32n) & 0xffffffffn))
  put32(b, at + 4, Number(v & 0xffffffffn))
}

/** Returns the little-endian 32-bit number: the byte order of the ICRC on the wire. */
export function u32le(b: Uint8Array, at: number): number {
  return (b[at]! | (b[at + 1]! << 8) | (b[at + 2]! << 16) | (b[at + 3]! << 24)) >>> 0
}

export function put32le(b: Uint8Array, at: number, v: number): void {
  b[at] = v
  b[at + 1] = v >>> 8
  b[at + 2] = v >>> 16
  b[at + 3] = v >>> 24
}

/** True if two ranges of bytes, such as GIDs or addresses, are equal. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
