/** Randomness for what a stranger must not guess: communication and transaction IDs, start PSNs, ephemeral ports. */
import { randomBytes } from 'node:crypto'

/** From 0 to below 1, from the system's random source. */
export function randomNumber(): number {
  return randomBytes(6).readUIntBE(0, 6) / 2 ** 48
}
