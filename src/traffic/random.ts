/**
 * Random numbers that a seed and a name determine: xoshiro128** (Blackman and Vigna, 2018), whose state splitmix32 fills.
 * Each distribution of a schedule draws from a stream of its own, so that a change of one leaves the others as they were.
 */

export class RandomStream {
  #a: number
  #b: number
  #c: number
  #d: number
  /** Second value of a pair of normal numbers; NaN if there is none. */
  #spare = Number.NaN

  /** `seed`: an integer from 0 to 2^53 − 1; `name` distinguishes streams of one seed. */
  constructor(seed: number, name: string) {
    let state = mixed(Math.floor(seed / 2 ** 32) ^ 0x243f6a88) ^ mixed(seed >>> 0)
    for (let i = 0; i < name.length; i++) state = mixed(state ^ name.charCodeAt(i))
    const next = (): number => {
      state = (state + 0x9e3779b9) | 0
      return mixed(state)
    }
    this.#a = next()
    this.#b = next()
    this.#c = next()
    // A state of zeros would never change.
    this.#d = next() | 1
  }

  /** Returns 32 random bits, unsigned. */
  bits(): number {
    const b = this.#b
    const product = Math.imul(b, 5)
    const result = Math.imul((product << 7) | (product >>> 25), 9)
    const shifted = b << 9
    this.#c ^= this.#a
    this.#d ^= b
    this.#b = b ^ this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = (this.#d << 11) | (this.#d >>> 21)
    return result >>> 0
  }

  /** Returns a number, 0 ≤ value < 1, a multiple of 2^−53. */
  unit(): number {
    const high = this.bits() >>> 5
    return (high * 0x4000000 + (this.bits() >>> 6)) / 0x20000000000000
  }

  /** Returns an integer, 0 ≤ value < limit. */
  below(limit: number): number {
    return Math.floor(this.unit() * limit)
  }

  /** Returns an exponential number with mean 1, by inversion. */
  exponential(): number {
    return -Math.log(1 - this.unit())
  }

  /** Returns a normal number with mean 0 and variance 1 (Box and Muller). */
  normal(): number {
    const spare = this.#spare
    if (!Number.isNaN(spare)) {
      this.#spare = Number.NaN
      return spare
    }
    const radius = Math.sqrt(2 * this.exponential())
    const angle = 2 * Math.PI * this.unit()
    this.#spare = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }

  /** Returns the numbers from 0 to `count` − 1 in random order (Fisher and Yates). */
  permutation(count: number): number[] {
    const order = Array.from({ length: count }, (_, i) => i)
    for (let i = count - 1; i > 0; i--) {
      const j = this.below(i + 1)
      const item = order[i]!
      order[i] = order[j]!
      order[j] = item
    }
    return order
  }
}

/** Returns the finalizer of murmur3. */
function mixed(word: number): number {
  let mix = word ^ (word >>> 16)
  mix = Math.imul(mix, 0x85ebca6b)
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35)
  return mix ^ (mix >>> 16)
}
