/**
 * Hash of packed keys: MULTILINEAR-HM of Lemire and Kaser ("Strongly universal string hashing is fast", The Computer Journal 57, 2014) on
 * 16-bit halves: the sum of (low + k) · (high + k') modulo 2^32, all k random. Theorem 1 there: with one more
 * random number in the sum its top 17 bits are strongly universal, which means that those of two different keys are uniform and independent
 * of each other, however the keys were chosen, as long as the choice does not depend on k. Hashes that only take a seed as their initial
 * state, such as MurmurHash3, have keys that collide under every seed.
 *
 * Where we differ: the sum has no such number, which took 5 to 8 % of the speed of Count-Min. The difference of two keys does not depend on
 * it, so they collide no more often. The bits of one key are uniform unless the product of each of its words ends with 16 zeros: for w
 * words, (18 / 2^17)^w at most.
 *
 * Two such sums a and b with independent k give two hashes. In a ^ (b >>> 15), the low 17 bits are covered by the top bits of b, so that
 * all 32 are as good as those; likewise in b ^ (a >>> 15). Both together are a bijection of (a, b): two keys agree in both hashes with a
 * probability of at most 2^−34. Multiplications and shifts like those of MurmurHash3's finaliser, bijections too, then spread every bit,
 * for keys with a structure (numbers in a row) and for estimates that require more than pairwise independence (number of keys).
 *
 * Loops are written out by the number of 32-bit words of a key, with k in local variables: a loop over words costs twice as much.
 */

/** Block of packed keys, from byte `front` on. */
export interface Block {
  readonly view: DataView
  readonly keyBytes: number
  /** Bits by which the last four bytes read of a key are shifted to the right to give its last word. */
  readonly shift: number
  /** Four random numbers for each word: two for each of the two sums. */
  readonly k: Int32Array
  /** Words of the keys, one key after the other. */
  readonly word: Int32Array
  /** True if the words are needed: up to four words, the hash itself needs no array of them. */
  withWords: boolean
  readonly h1: Int32Array
  readonly h2: Int32Array
}

/** Bytes before the first key, so that four bytes can be read that end with a key of one byte. */
export const front = 4

function product(x: number, k: number, l: number): number {
  return Math.imul((x & 0xffff) + k, (x >>> 16) + l)
}

/** Returns the first hash of (a, b); `second` returns the other one. */
function first(a: number, b: number): number {
  const x = Math.imul(a ^ (b >>> 15), 0x85ebca6b)
  const y = Math.imul(x ^ (x >>> 15), 0xc2b2ae35)
  return y ^ (y >>> 15)
}

function second(a: number, b: number): number {
  const x = Math.imul(b ^ (a >>> 15), 0x2c1b3c6d)
  const y = Math.imul(x ^ (x >>> 15), 0x297a2d39)
  return y ^ (y >>> 15)
}

function oneWord({ view, keyBytes, shift, k, word, withWords, h1, h2 }: Block, count: number): void {
  const k0 = k[0]!
  const k1 = k[1]!
  const k2 = k[2]!
  const k3 = k[3]!
  for (let i = 0, from = 0; i < count; i++, from += keyBytes) {
    const x = (view.getInt32(from + keyBytes, true) >>> shift) | 0
    if (withWords) word[i] = x
    const a = product(x, k0, k1)
    const b = product(x, k2, k3)
    h1[i] = first(a, b)
    h2[i] = second(a, b)
  }
}

function twoWords({ view, keyBytes, shift, k, word, withWords, h1, h2 }: Block, count: number): void {
  const k0 = k[0]!
  const k1 = k[1]!
  const k2 = k[2]!
  const k3 = k[3]!
  const k4 = k[4]!
  const k5 = k[5]!
  const k6 = k[6]!
  const k7 = k[7]!
  for (let i = 0, from = 0, to = 0; i < count; i++, from += keyBytes, to += 2) {
    const x = view.getInt32(front + from, true)
    const y = (view.getInt32(from + keyBytes, true) >>> shift) | 0
    if (withWords) {
      word[to] = x
      word[to + 1] = y
    }
    const a = (product(x, k0, k1) + product(y, k4, k5)) | 0
    const b = (product(x, k2, k3) + product(y, k6, k7)) | 0
    h1[i] = first(a, b)
    h2[i] = second(a, b)
  }
}

function threeWords({ view, keyBytes, shift, k, word, withWords, h1, h2 }: Block, count: number): void {
  const k0 = k[0]!
  const k1 = k[1]!
  const k2 = k[2]!
  const k3 = k[3]!
  const k4 = k[4]!
  const k5 = k[5]!
  const k6 = k[6]!
  const k7 = k[7]!
  const k8 = k[8]!
  const k9 = k[9]!
  const k10 = k[10]!
  const k11 = k[11]!
  for (let i = 0, from = 0, to = 0; i < count; i++, from += keyBytes, to += 3) {
    const x = view.getInt32(front + from, true)
    const y = view.getInt32(front + from + 4, true)
    const z = (view.getInt32(from + keyBytes, true) >>> shift) | 0
    if (withWords) {
      word[to] = x
      word[to + 1] = y
      word[to + 2] = z
    }
    const a = (((product(x, k0, k1) + product(y, k4, k5)) | 0) + product(z, k8, k9)) | 0
    const b = (((product(x, k2, k3) + product(y, k6, k7)) | 0) + product(z, k10, k11)) | 0
    h1[i] = first(a, b)
    h2[i] = second(a, b)
  }
}

function fourWords({ view, keyBytes, shift, k, word, withWords, h1, h2 }: Block, count: number): void {
  const k0 = k[0]!
  const k1 = k[1]!
  const k2 = k[2]!
  const k3 = k[3]!
  const k4 = k[4]!
  const k5 = k[5]!
  const k6 = k[6]!
  const k7 = k[7]!
  const k8 = k[8]!
  const k9 = k[9]!
  const k10 = k[10]!
  const k11 = k[11]!
  const k12 = k[12]!
  const k13 = k[13]!
  const k14 = k[14]!
  const k15 = k[15]!
  for (let i = 0, from = 0, to = 0; i < count; i++, from += keyBytes, to += 4) {
    const x = view.getInt32(front + from, true)
    const y = view.getInt32(front + from + 4, true)
    const z = view.getInt32(front + from + 8, true)
    const w = (view.getInt32(from + keyBytes, true) >>> shift) | 0
    if (withWords) {
      word[to] = x
      word[to + 1] = y
      word[to + 2] = z
      word[to + 3] = w
    }
    const a = (((product(x, k0, k1) + product(y, k4, k5)) | 0) + ((product(z, k8, k9) + product(w, k12, k13)) | 0)) | 0
    const b =
      (((product(x, k2, k3) + product(y, k6, k7)) | 0) + ((product(z, k10, k11) + product(w, k14, k15)) | 0)) | 0
    h1[i] = first(a, b)
    h2[i] = second(a, b)
  }
}

function manyWords(block: Block, count: number): void {
  const { view, keyBytes, shift, word } = block
  const words = (keyBytes + 3) >> 2
  for (let i = 0, from = 0, to = 0; i < count; i++, from += keyBytes) {
    const start = to
    for (let at = front + from; to < start + words - 1; at += 4) word[to++] = view.getInt32(at, true)
    word[to++] = view.getInt32(from + keyBytes, true) >>> shift
    hashWords(block, words, word, start, i)
  }
}

/** Hashes a key that is stored as words, from `at` on, into the hashes at `to`. */
export function hashWords(
  { k, h1, h2 }: Pick<Block, 'k' | 'h1' | 'h2'>,
  words: number,
  word: Int32Array,
  at: number,
  to: number,
): void {
  let a = 0
  let b = 0
  for (let w = 0, n = 0; w < words; w++, n += 4) {
    const x = word[at + w]!
    a = (a + product(x, k[n]!, k[n + 1]!)) | 0
    b = (b + product(x, k[n + 2]!, k[n + 3]!)) | 0
  }
  h1[to] = first(a, b)
  h2[to] = second(a, b)
}

/** Returns the function that reads and hashes the first `count` keys of a block, for keys with so many words. */
export function hashOf(words: number): (block: Block, count: number) => void {
  return [oneWord, twoWords, threeWords, fourWords][words - 1] ?? manyWords
}
