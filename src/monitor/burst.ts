/** A microburst, as data. How they are found: bursts.ts. */
import type { KeyFields } from './key.ts'

export interface Burst {
  name: string
  /** Host, or host and QP, to which it went. */
  fields: Partial<KeyFields>
  /** Milliseconds since 1970, with fractions. */
  startMs: number
  microseconds: number
  /** Bytes in that time: at least, at most, and as estimated. */
  bytes: { value: number; lower: number; upper: number; confidence: number }
  /** Bits a second: in the highest bin, and of the key in the whole window. */
  peak: number
  mean: number
}

export const mostBursts = 32

export function highest(bursts: readonly Burst[]): Burst[] {
  return bursts.toSorted((a, b) => b.peak - a.peak).slice(0, mostBursts)
}

/** For bytes from elsewhere. */
export function isBurst(value: unknown): value is Burst {
  const { name, fields, bytes, ...numbers } = (value ?? {}) as Burst
  const { startMs, microseconds, peak, mean } = numbers
  return (
    typeof name === 'string' &&
    name.length < 256 &&
    typeof fields === 'object' &&
    fields !== null &&
    typeof bytes === 'object' &&
    bytes !== null &&
    [startMs, microseconds, peak, mean, bytes.value, bytes.lower, bytes.upper].every((one) => Number.isFinite(one))
  )
}
