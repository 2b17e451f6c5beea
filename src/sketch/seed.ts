/**
 * Seeds and the random numbers made from them. A seed is 128 bits. An attacker who does not know it cannot choose keys that collide
 * (keys.ts), so by default it comes from the platform's cryptographic generator.
 */
import { mustBeBytes, SketchError } from './error.ts'

export const seedBytes = 16

/** Seed of 16 bytes, or an integer from 0 to 2^53 − 1 that is spread over them: for tests and traces that must be repeatable. */
export type SeedLike = Uint8Array | number

/** Returns a seed that cannot be guessed. */
export function randomSeed(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(seedBytes))
}

/** Returns the 16 bytes of a seed. Throws ERR_SKETCH_VALUE for another length, or a number that is not an integer or not exact. */
export function seedFrom(seed: SeedLike | undefined): Uint8Array {
  if (seed === undefined) return randomSeed()
  if (typeof seed !== 'number') {
    mustBeBytes('seed', seed)
    if (seed.length === seedBytes) return seed.slice()
    throw new SketchError('ERR_SKETCH_VALUE', `seed: ${seed.length} bytes are not ${seedBytes}`)
  }
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new SketchError('ERR_SKETCH_VALUE', `seed: ${seed} is not a whole number from 0 to 2^53 − 1`)
  const bytes = new Uint8Array(seedBytes)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, seed >>> 0, true)
  view.setUint32(4, Math.floor(seed / 2 ** 32), true)
  return bytes
}

/**
 * Returns the number after a given one, which is not 0, by Marsaglia's xorshift of 32 bits. For coins of sketches, whose state is one of
 * their scalars.
 */
export function nextRandom(random: number): number {
  let x = random
  x ^= x << 13
  x ^= x >>> 17
  x ^= x << 5
  return x
}

/** Generator sfc32 of Doty-Humphrey's PractRand: 128 bits of state, the first twelve outputs dropped. Not for cryptography. */
export class Random {
  #a: number
  #b: number
  #c: number
  #count: number

  constructor(seed: Uint8Array) {
    const view = new DataView(seed.buffer, seed.byteOffset, seedBytes)
    this.#a = view.getInt32(0, true)
    this.#b = view.getInt32(4, true)
    this.#c = view.getInt32(8, true)
    this.#count = view.getInt32(12, true)
    for (let i = 0; i < 12; i++) this.bits()
  }

  /** Returns 32 random bits, as a signed number. */
  bits(): number {
    const result = (((this.#a + this.#b) | 0) + this.#count) | 0
    this.#count = (this.#count + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) | 0
    return result
  }

  /** Returns a number from 0 to below 1, a multiple of 2^−53. */
  unit(): number {
    const high = this.bits() >>> 5
    return (high * 0x4000000 + (this.bits() >>> 6)) / 2 ** 53
  }
}
