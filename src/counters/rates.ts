/**
 * What happened between two readings of a counter. The difference of two numbers is not enough:
 *
 * - A counter of 32 bits wraps. The difference is then taken modulo 2^32; but a counter that was reset also became smaller. A
 *   step of more than half the range, or of more events than a second can have, is taken for a reset.
 * - A counter that saturates stays at its largest value: from then on it says only "at least".
 * - The kernel gives hardware counters from a cache (`lifespan`): an unchanged value within that time is the old reading, not
 *   a rate of zero. The next fresh one is compared with the last fresh one.
 *
 * A counter that wraps twice between readings cannot be told from one that does not: 2^32 packets take 14 s at 300
 * million a second.
 */
import type { Overflow } from './drivers.ts'

export type Step =
  /** The first reading: there is nothing to compare with. */
  | 'first'
  | 'counted'
  | 'wrapped'
  /** It began again at 0; what is counted is a lower bound. */
  | 'reset'
  /** It reached its largest value; what is counted is a lower bound. */
  | 'saturated'
  /** The reading is an old one: no rate yet. */
  | 'stale'

export interface CounterRules {
  readonly bits: number
  readonly overflow: Overflow
  /** Age up to which a reading may come from a cache; 0: always fresh. */
  readonly lifespanMs: number
}

export interface Change {
  readonly step: Step
  /** In the driver's own units; 0 for `first` and `stale`. */
  readonly delta: number
  /** Since the reading that it is compared with. */
  readonly elapsedMs: number
}

/** No link carries more packets: 800 Gbit/s of minimal frames are 1.2 billion a second. */
const mostPerSecond = 2e9

/** The largest value of a counter. */
export function largest(bits: number): bigint {
  return (1n << BigInt(bits)) - 1n
}

/** What happened from `before` to `after`; both may come from a counter that has wrapped, saturated or been reset. */
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

/** The readings of one counter, one after the other. */
export class Series {
  #value = 0n
  #atMs = Number.NaN
  #total = 0

  /** What was counted since the first reading, wraps included; a lower bound after a reset or a saturation. */
  get total(): number {
    return this.#total
  }

  /** `atMs`: when it was read, by a clock that does not go back. */
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

/** Per second; undefined where the readings do not say. */
export function perSecond({ step, delta, elapsedMs }: Change): number | undefined {
  if (step === 'first' || step === 'stale' || elapsedMs <= 0) return undefined
  // A counter that stands at its end says nothing more.
  if (step === 'saturated' && delta === 0) return undefined
  return (delta * 1000) / elapsedMs
}
