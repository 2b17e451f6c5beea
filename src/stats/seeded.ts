/** Random numbers that a seed determines (mulberry32), so that a run can be repeated. Not for keys. */

/** Returns a source of 32 random bits, signed. */
export function seededBits(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return bits ^ (bits >>> 14)
  }
}

/** Returns a source of numbers from 0 to below 1. */
export function seeded(seed: number): () => number {
  const bits = seededBits(seed)
  return () => (bits() >>> 0) / 2 ** 32
}
