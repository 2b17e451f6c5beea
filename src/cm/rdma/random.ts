/** Randomness for what a stranger must not guess: communication and transaction IDs, start PSNs, ephemeral ports. */
import { randomFillSync } from 'node:crypto'

/** A call of the random source costs more than the bytes, and each connection takes several numbers. */
const pool = Buffer.alloc(1536)
const bytesEach = 6
let used = pool.length

/** From 0 to below 1, from the system's random source. */
export function randomNumber(): number {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const number = pool.readUIntBE(used, bytesEach) / 2 ** 48
  used += bytesEach
  return number
}
