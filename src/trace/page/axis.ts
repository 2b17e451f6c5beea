/** Ticks of the axes of diagrams: PSNs and latencies. */
import { multiples, roundStep, type Tick } from '../../page/index.ts'

/** Returns ticks at round PSNs, as on the wire, between two PSNs that are counted from `firstPsn`. */
export function psnTicks(low: number, high: number, most: number, firstPsn: number): Tick[] {
  const step = Math.max(1, roundStep((high - low) / Math.max(1, most)))
  return multiples(low + firstPsn, high + firstPsn, step).map((psn) => ({
    value: psn - firstPsn,
    text: String(psn & 0xffffff),
  }))
}

/** Returns ticks for a sequence that starts over, so that a position has more than one PSN: distances from the first PSN. */
export function countTicks(low: number, high: number, most: number): Tick[] {
  const step = Math.max(1, roundStep((high - low) / Math.max(1, most)))
  return multiples(low, high, step).map((value) => ({ value, text: `${value < 0 ? '−' : '+'}${Math.abs(value)}` }))
}

/** Returns ticks of latencies on a scale with a thousand steps for each power of ten, from 1 ns. */
export function latencyTicks(low: number, high: number, most: number): Tick[] {
  const ticks: Tick[] = []
  const every = Math.max(1, Math.ceil((high - low) / 1000 / Math.max(1, most)))
  for (let power = Math.ceil(low / 1000); power * 1000 <= high; power++) {
    if (power % every !== 0) continue
    const unit = ['ns', 'µs', 'ms', 's'][Math.min(3, Math.max(0, Math.floor(power / 3)))]
    const rest = power - 3 * Math.min(3, Math.max(0, Math.floor(power / 3)))
    ticks.push({ value: power * 1000, text: `${10 ** rest} ${unit}` })
  }
  return ticks
}
