/**
 * The change of a counter between two readings. The difference of two numbers is not enough:
 *
 * - A counter of 32 bits wraps. The difference is then taken modulo 2^32; but a counter that was reset also became smaller. A
 *   step of more than half the range, or of more events than a second can have, is considered a reset.
 * - A counter that saturates stays at its maximum value: from then on it is only a lower bound.
 * - The kernel returns hardware counters from a cache (`lifespan`): an unchanged value within that time is the old reading, not
 *   a rate of zero. The next fresh one is compared with the last fresh one.
 *
 * A counter that wraps twice between readings cannot be distinguished from one that does not: 2^32 packets take 14 s at 300
 * million a second.
 */
import type { Overflow } from './drivers.ts'

export type Step =
  /** First reading: there is nothing to compare with. */
  | 'first'
  | 'counted'
  | 'wrapped'
  /** Restart at 0; the count is a lower bound. */
  | 'reset'
  /** Maximum value reached; the count is a lower bound. */
  | 'saturated'
  /** Old reading: no rate yet. */
  | 'stale'

export interface CounterRules {
  readonly bits: number
  readonly overflow: Overflow
  /** Age up to which a reading may come from a cache; 0: always fresh. */
  readonly lifespanMs: number
}

export interface Change {
  readonly step: Step
  /** Difference in the driver's own units; 0 for `first` and `stale`. */
  readonly delta: number
  /** Time since the reading with which it is compared. */
  readonly elapsedMs: number
}

/** Maximum packet rate of any link: 800 Gbit/s of minimal frames are 1.2 billion a second. */
const mostPerSecond = 2e9

/** Returns the maximum value of a counter. */
export function largest(bits: number): bigint {
  return (1n << BigInt(bits)) - 1n
}

/** Returns the change from `before` to `after`; both may come from a counter that has wrapped, saturated or been reset. */
export function change(before: bigint, after: bigint, elapsedMs: number, rules: CounterRules): Change {
  const { bits, overflow, lifespanMs } = rules
  if (after === before && elapsedMs < lifespanMs) return { step: 'stale', delta: 0, elapsedMs }
  const full = largest(bits)
  if (after >= before) {
    const step = overflow === 'saturate' && after >= full ? 'saturated' : 'counted'
    return { step, delta: Number(after - before), elapsedMs }
  }
  if (overflow === 'wrap' && before <= full) {
    const around = after + full + 1n - before
    if (around <= full / 2n && Number(around) <= (mostPerSecond * elapsedMs) / 1000)
      return { step: 'wrapped', delta: Number(around), elapsedMs }
  }
  return { step: 'reset', delta: Number(after), elapsedMs }
}

/** Series of the readings of one counter. */
export class Series {
  #value = 0n
  #atMs = Number.NaN
  #total = 0

  /** Count since the first reading, wraps included; a lower bound after a reset or a saturation. */
  get total(): number {
    return this.#total
  }

  /** Adds a reading. `atMs`: its time on a monotonic clock. */
  add(value: bigint, atMs: number, rules: CounterRules): Change {
    if (Number.isNaN(this.#atMs)) {
      this.#value = value
      this.#atMs = atMs
      return { step: 'first', delta: 0, elapsedMs: 0 }
    }
    const found = change(this.#value, value, atMs - this.#atMs, rules)
    if (found.step === 'stale') return found
    this.#value = value
    this.#atMs = atMs
    this.#total += found.delta
    return found
  }
}

/** Returns the rate per second; undefined if the readings do not determine it. */
export function perSecond({ step, delta, elapsedMs }: Change): number | undefined {
  if (step === 'first' || step === 'stale' || elapsedMs <= 0) return undefined
  // A counter that stays at its maximum carries no more information.
  if (step === 'saturated' && delta === 0) return undefined
  return (delta * 1000) / elapsedMs
}
