/** Microburst as data. The detection is in bursts.ts. */
import { mostMs } from './config.ts'
import { isFields, type KeyFields } from './key.ts'
import { isName } from './text.ts'

/** Microburst at a host or queue pair. */
export interface Burst {
  name: string
  /** Host, or host and QP, that received it. */
  fields: Partial<KeyFields>
  /** Milliseconds since 1970, with fractions. */
  startMs: number
  microseconds: number
  /** Number of bytes in that time: estimate and bounds. */
  bytes: { value: number; lower: number; upper: number; confidence: number }
  /** Bits per second: in the highest bin, and of the key in the whole window. */
  peak: number
  mean: number
}

export const mostBursts = 32

export function highest(bursts: readonly Burst[]): Burst[] {
  return bursts.toSorted((a, b) => b.peak - a.peak).slice(0, mostBursts)
}

/** True if the value, which may come from another process, is a burst. */
export function isBurst(value: unknown): value is Burst {
  const { name, fields, bytes, ...numbers } = (value ?? {}) as Burst
  const { startMs, microseconds, peak, mean } = numbers
  if (!isName(name) || !isFields(fields) || typeof bytes !== 'object' || bytes === null) return false
  const all = [startMs, microseconds, peak, mean, bytes.value, bytes.lower, bytes.upper, bytes.confidence]
  return all.every((one) => Number.isFinite(one) && one >= 0) && startMs <= mostMs && bytes.confidence <= 1
}

/** Returns a burst without properties that are not part of one. */
export function burstOnly({ name, fields, startMs, microseconds, bytes, peak, mean }: Burst): Burst {
  const { value, lower, upper, confidence } = bytes
  return { name, fields, startMs, microseconds, bytes: { value, lower, upper, confidence }, peak, mean }
}
