/**
 * Reads packed keys, a block at a time, as 32-bit words with two 32-bit hashes each.
 *
 * The hash is NH of UMAC (Black, Halevi, Krawczyk, Krovetz, Rogaway, CRYPTO 1999; RFC 4418) on 16-bit halves: the sum of
 * (low + k) · (high + k'), each factor modulo 2^16. Its theorem: two different keys agree in the sum with a probability of at most
 * 2^−16, however they were chosen, as long as the choice does not depend on k. Two sums with independent k agree both with at most
 * 2^−32. A bijection (multiplications, and the finaliser of MurmurHash3) then spreads them over 64 bits.
 * Hashes that only take a seed as their initial state, such as MurmurHash3 itself, have keys that collide under every seed.
 *
 * A row r of a sketch takes `h1 + h2 · multipliers[r]`, with random odd multipliers. The theorems on sketches ask for rows that are
 * pairwise independent; the finaliser is not proven to give that. The tests hold every stated bound over 200 seeds.
 */
import { Random } from './seed.ts'

/** Keys that are read at once: with their words they stay in the first cache. */
export const blockKeys = 256
export const mostKeyBytes = 256
const mostRows = 16

export class KeyReader {
  readonly keyBytes: number
  /** 32-bit words of a key; the last one is padded with zeros. */
  readonly words: number
  /** The words of the keys of the block, one key after the other. */
  readonly word: Int32Array
  /** Hashes of the keys of the block; behind them, at `blockKeys`, those that `rehash` makes. */
  readonly h1: Int32Array = new Int32Array(blockKeys + 1)
  readonly h2: Int32Array = new Int32Array(blockKeys + 1)
  readonly multipliers: Int32Array = new Int32Array(mostRows)
  /** Four 16-bit numbers for each word: two for each of the two sums. */
  readonly #nh: Int32Array

  constructor(keyBytes: number, seed: Uint8Array) {
    this.keyBytes = keyBytes
    this.words = (keyBytes + 3) >> 2
    this.word = new Int32Array(blockKeys * this.words)
    const random = new Random(seed)
    for (let row = 0; row < mostRows; row++) this.multipliers[row] = random.bits() | 1
    this.#nh = new Int32Array(4 * this.words).map(() => random.bits() & 0xffff)
  }

  /** Reads `count` keys, at most `blockKeys`, that begin at `offset` without gaps. */
  load(keys: Uint8Array, offset: number, count: number): void {
    const { word, h1, h2 } = this
    const nh = this.#nh
    const whole = this.keyBytes & ~3
    const tail = this.keyBytes & 3
    let from = offset
    let to = 0
    for (let i = 0; i < count; i++) {
      let a = 0
      let b = 0
      let k = 0
      const end = from + whole
      for (; from < end; from += 4, k += 4) {
        const x = keys[from]! | (keys[from + 1]! << 8) | (keys[from + 2]! << 16) | (keys[from + 3]! << 24)
        word[to++] = x
        a = (a + Math.imul((x + nh[k]!) & 0xffff, ((x >>> 16) + nh[k + 1]!) & 0xffff)) | 0
        b = (b + Math.imul((x + nh[k + 2]!) & 0xffff, ((x >>> 16) + nh[k + 3]!) & 0xffff)) | 0
      }
      if (tail !== 0) {
        let x = keys[from]!
        if (tail > 1) x |= keys[from + 1]! << 8
        if (tail > 2) x |= keys[from + 2]! << 16
        from += tail
        word[to++] = x
        a = (a + Math.imul((x + nh[k]!) & 0xffff, ((x >>> 16) + nh[k + 1]!) & 0xffff)) | 0
        b = (b + Math.imul((x + nh[k + 2]!) & 0xffff, ((x >>> 16) + nh[k + 3]!) & 0xffff)) | 0
      }
      a = finalized(a ^ Math.imul(b, 0x9e3779b1))
      h1[i] = a
      h2[i] = finalized(b + Math.imul(a, 0x27d4eb2f))
    }
  }

  /** Hashes a key that is kept as words, into the place behind the block. */
  rehash(words: Int32Array, at: number): void {
    const nh = this.#nh
    let a = 0
    let b = 0
    for (let w = 0, k = 0; w < this.words; w++, k += 4) {
      const x = words[at + w]!
      a = (a + Math.imul((x + nh[k]!) & 0xffff, ((x >>> 16) + nh[k + 1]!) & 0xffff)) | 0
      b = (b + Math.imul((x + nh[k + 2]!) & 0xffff, ((x >>> 16) + nh[k + 3]!) & 0xffff)) | 0
    }
    a = finalized(a ^ Math.imul(b, 0x9e3779b1))
    this.h1[blockKeys] = a
    this.h2[blockKeys] = finalized(b + Math.imul(a, 0x27d4eb2f))
  }

  /** Whether what is behind the last byte of a key that is kept as words is zero. */
  isPadded(words: Int32Array, at: number): boolean {
    const tail = this.keyBytes & 3
    return tail === 0 || words[at + this.words - 1]! >>> (8 * tail) === 0
  }
}

/** The finaliser of MurmurHash3: a bijection in which every bit depends on every bit. */
function finalized(h: number): number {
  let x = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return x ^ (x >>> 16)
}

/** The bytes of a key that is kept as words. */
export function keyOf(words: Int32Array, at: number, keyBytes: number): Uint8Array {
  const key = new Uint8Array(keyBytes)
  for (let i = 0; i < keyBytes; i++) key[i] = words[at + (i >> 2)]! >>> (8 * (i & 3))
  return key
}
