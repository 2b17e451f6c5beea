/**
 * Reads packed keys, a block at a time, as 32-bit words with two 32-bit hashes each (hash.ts).
 *
 * A row r of a sketch takes `h1 + h2 · multipliers[r]`, with random odd multipliers, of which the top bits decide. Over the multipliers
 * alone, two keys whose h2 differ fall into the same of w places with a probability of at most 2 / w + 2^z / 2^31, where 2^z divides the
 * difference of the h2, and in each row independently (as in multiply-shift: Dietzfelbinger, Hagerup, Katajainen and Penttonen, J.
 * Algorithms 25, 1997). The theorems on sketches require 1 / w, which is what h1 and h2 have each alone, but is not proven of their sum.
 * The tests hold every stated bound over 200 seeds.
 */
import { type Block, front, hashOf, hashWords } from './hash.ts'
import { Random } from './seed.ts'

/** Number of keys that are read at once: with their words they stay in the first-level cache. */
export const blockKeys = 256
export const mostKeyBytes = 256
const mostRows = 16

export class KeyReader {
  readonly keyBytes: number
  /** Number of 32-bit words of a key; the last one is padded with zeros. */
  readonly words: number
  /** Words of the keys of the block, one key after the other. */
  readonly word: Int32Array
  /** Hashes of the keys of the block, followed, at `blockKeys`, by those that `rehash` computes. */
  readonly h1: Int32Array = new Int32Array(blockKeys + 1)
  readonly h2: Int32Array = new Int32Array(blockKeys + 1)
  readonly multipliers: Int32Array = new Int32Array(mostRows)
  readonly #bytes: Uint8Array
  readonly #block: Block
  readonly #hash: (block: Block, count: number) => void

  constructor(keyBytes: number, seed: Uint8Array) {
    this.keyBytes = keyBytes
    this.words = (keyBytes + 3) >> 2
    this.word = new Int32Array(blockKeys * this.words)
    const random = new Random(seed)
    for (let row = 0; row < mostRows; row++) this.multipliers[row] = random.bits() | 1
    const k = new Int32Array(4 * this.words).map(() => random.bits())
    this.#bytes = new Uint8Array(front + blockKeys * keyBytes)
    const view = new DataView(this.#bytes.buffer)
    this.#block = {
      view,
      keyBytes,
      shift: (-8 * keyBytes) & 31,
      k,
      word: this.word,
      withWords: true,
      h1: this.h1,
      h2: this.h2,
    }
    this.#hash = hashOf(this.words)
  }

  /** Makes `load` leave out `word`: for sketches that keep no keys. */
  omitWords(): void {
    this.#block.withWords = false
  }

  get hasWords(): boolean {
    return this.#block.withWords
  }

  /** Reads `count` keys, at most `blockKeys`, that begin at `offset` without gaps. */
  load(keys: Uint8Array, offset: number, count: number): void {
    const length = count * this.keyBytes
    if (count > 1) this.#bytes.set(keys.subarray(offset, offset + length), front)
    else for (let i = 0; i < length; i++) this.#bytes[front + i] = keys[offset + i]!
    this.#hash(this.#block, count)
  }

  /** Takes over the first `count` keys of another reader, of the same length and seed, which has their words. */
  copy(other: KeyReader, count: number): void {
    this.word.set(other.word.subarray(0, count * this.words))
    this.h1.set(other.h1.subarray(0, count))
    this.h2.set(other.h2.subarray(0, count))
  }

  /** Hashes a key that is stored as words, into the entry after the block. */
  rehash(words: Int32Array, at: number): void {
    hashWords(this.#block, this.words, words, at, blockKeys)
  }

  /** Returns true if the padding after the last byte of a key that is stored as words is zero. */
  isPadded(words: Int32Array, at: number): boolean {
    const tail = this.keyBytes & 3
    return tail === 0 || words[at + this.words - 1]! >>> (8 * tail) === 0
  }
}

/** Returns the hash of a key for a row with that multiplier. */
export function hashIn(h1: number, h2: number, multiplier: number): number {
  return (h1 + Math.imul(h2, multiplier)) | 0
}

/** Returns the index of a hash among `width`; `scale` is width / 2^32, which is exact. */
export function placeAt(hash: number, scale: number): number {
  return ((hash >>> 0) * scale) | 0
}

/** Returns the index of a key in a row. */
export function placeOf(h1: number, h2: number, multiplier: number, scale: number): number {
  return placeAt(hashIn(h1, h2, multiplier), scale)
}

/**
 * Returns true if two keys whose first words are equal have equal words, which begin at `i` and `j`. Written out for up to four words,
 * since loops are slower.
 */
export function sameRest(a: Int32Array, i: number, b: Int32Array, j: number, words: number): boolean {
  if (words > 1 && a[i + 1] !== b[j + 1]) return false
  if (words > 2 && a[i + 2] !== b[j + 2]) return false
  if (words > 3 && a[i + 3] !== b[j + 3]) return false
  for (let w = 4; w < words; w++) if (a[i + w] !== b[j + w]) return false
  return true
}

/** Returns the bytes of a key that is stored as words. */
export function keyOf(words: Int32Array, at: number, keyBytes: number): Uint8Array {
  const key = new Uint8Array(keyBytes)
  for (let i = 0; i < keyBytes; i++) key[i] = words[at + (i >> 2)]! >>> (8 * (i & 3))
  return key
}
