/**
 * CRC-32 as used by Ethernet and the ICRC: polynomial 0x04c11db7, bits reflected (0xedb88320). The state here is the
 * register, an int32 before the final inversion; it starts as -1.
 *
 * It is computed from tables, eight bytes a step (slicing-by-8). For long ranges native code is faster although it costs a call;
 * this folder is pure, so a program on Node supplies it (`useCrc32`). Measured on Node 20, two cores, nanoseconds:
 *
 *     bytes      16   56  120  184  248  1024  4096
 *     tables      8   43   87  131  170   710  2817
 *     zlib       79  160  217  196  171   323  1120    with its subarray
 *     ISA-L      52   54   56   57   59    71   120
 *
 * Sixteen bytes a step were a fifth faster than eight from 56 bytes on, slower below, and need twice the tables.
 *
 * The register is also a polynomial over GF(2) modulo the generator: bit 31 is the coefficient of x^0, bit 0 that of
 * x^31. One more zero byte multiplies it by x^8; this can be inverted, too.
 */
const generator = 0xedb88320 | 0

/** Native code that computes CRC-32 faster than the tables do, above a certain length. */
export interface LongCrc32 {
  /** Shortest range for which it is called, in bytes. */
  readonly fromBytes: number
  /** Returns the CRC of b[start, end) after bytes whose CRC is `crc`; both inverted as in zlib, as int32 or uint32. */
  update(crc: number, b: Uint8Array, start: number, end: number): number
}

/** Length that no packet reaches; a small integer, since comparison with one is fastest. */
const never = 2 ** 30
let long: LongCrc32['update'] | null = null
let longFrom = never

/** Sets the function that computes the long ranges from now on; null restores the initial state: tables compute all of them. */
export function useCrc32(crc32: LongCrc32 | null): void {
  long = crc32 === null ? null : crc32.update
  longFrom = crc32 === null ? never : crc32.fromBytes
}

/** Eight tables of 256 entries: T[256 * k + v] is the effect of byte v on the register k bytes later. */
const crcTable: Int32Array = new Int32Array(8 * 256)
for (let bit = 128, r = generator; bit > 0; bit >>= 1) {
  crcTable[bit] = r
  r = r & 1 ? (r >>> 1) ^ generator : r >>> 1
}
fromSingleBits(crcTable)
for (let i = 256; i < crcTable.length; i++) {
  const r = crcTable[i - 256]!
  crcTable[i] = crcTable[r & 255]! ^ (r >>> 8)
}
const T = crcTable

/** Computes CRC-32 of Ethernet and zlib: the register after b[start, end). It starts as −1, and the CRC is its complement. */
export function crcUpdate(r: number, b: Uint8Array, start: number, end: number): number {
  if (end - start < longFrom || long === null) return crcByTables(r, b, start, end)
  return ~long(~r, b, start, end)
}

export function crcByTables(r: number, b: Uint8Array, start: number, end: number): number {
  let at = start
  for (; at + 8 <= end; at += 8) {
    r ^= b[at]! | (b[at + 1]! << 8) | (b[at + 2]! << 16) | (b[at + 3]! << 24)
    r =
      T[1792 | (r & 255)]! ^
      T[1536 | ((r >>> 8) & 255)]! ^
      T[1280 | ((r >>> 16) & 255)]! ^
      T[1024 | (r >>> 24)]! ^
      T[768 | b[at + 4]!]! ^
      T[512 | b[at + 5]!]! ^
      T[256 | b[at + 6]!]! ^
      T[b[at + 7]!]!
  }
  for (; at < end; at++) r = T[(r ^ b[at]!) & 255]! ^ (r >>> 8)
  return r
}

/** Returns the register after two words whose first bytes are the least significant: one step of slicing-by-8. */
export function crcWords(r: number, first: number, second: number): number {
  r ^= first
  return (
    T[1792 | (r & 255)]! ^
    T[1536 | ((r >>> 8) & 255)]! ^
    T[1280 | ((r >>> 16) & 255)]! ^
    T[1024 | (r >>> 24)]! ^
    T[768 | (second & 255)]! ^
    T[512 | ((second >>> 8) & 255)]! ^
    T[256 | ((second >>> 16) & 255)]! ^
    T[second >>> 24]!
  )
}

/** Returns the register after one word whose first byte is the least significant. */
export function crcWord(r: number, word: number): number {
  r ^= word
  return T[768 | (r & 255)]! ^ T[512 | ((r >>> 8) & 255)]! ^ T[256 | ((r >>> 16) & 255)]! ^ T[r >>> 24]!
}

/** Returns 256 entries: the contribution of each value of a byte to the register `behind` bytes after it. */
export function contributions(behind: number): Int32Array {
  const table = T.slice(0, 256)
  for (let i = 0; i < behind; i++) for (let v = 1; v < 256; v <<= 1) table[v] = T[table[v]! & 255]! ^ (table[v]! >>> 8)
  fromSingleBits(table)
  return table
}

/**
 * Fills in the remaining ones of the first 256 entries, given those of single bits: the function is linear. The computation of
 * each entry by itself took milliseconds at every program start.
 */
function fromSingleBits(table: Int32Array): void {
  for (let v = 1; v < 256; v++) table[v] = table[v & (v - 1)]! ^ table[v & -v]!
}

/** Returns the product of two polynomials, modulo the generator. */
export function multiply(a: number, b: number): number {
  let product = 0
  for (; a !== 0; a <<= 1) {
    // The sign is the coefficient of the power of x that b has been multiplied by.
    product ^= b & (a >> 31)
    b = (b >>> 1) ^ (generator & -(b & 1))
  }
  return product
}

const one = 0x80000000 | 0
/** x^-1: its product with x is 1. */
const inverseOfX = ((one ^ generator) << 1) | 1
/** [j] is x^(-8 * 2^j). */
const inversePowers = new Int32Array(24)
{
  let power = inverseOfX
  for (let j = 0; j < 3; j++) power = multiply(power, power)
  for (let j = 0; j < inversePowers.length; j++) {
    inversePowers[j] = power
    power = multiply(power, power)
  }
}

/** Returns x^(-8 n) for n from 0 to 2^24 - 1: its product with the register after n zero bytes is the register before them. */
export function inverseOfZeroBytes(n: number): number {
  let product = one
  for (let j = 0; n !== 0; j++, n >>>= 1) if (n & 1) product = multiply(product, inversePowers[j]!)
  return product
}
