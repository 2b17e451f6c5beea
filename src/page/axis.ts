/** Ticks of axes: round numbers, and the time in the unit that fits. */
import { fixed, timeUnits, unitOf } from '../text/index.ts'

export interface Tick {
  value: number
  text: string
}

/** Returns the smallest of 1, 2 or 5 times a power of ten that is at least `least`. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  for (const factor of [1, 2, 5]) if (factor * power >= least * (1 - 1e-9)) return factor * power
  return 10 * power
}

/** Returns times in nanoseconds in a range, at most `most` of them. All have one unit, and as many digits as their step needs. */
export function timeTicks(fromNs: number, toNs: number, most: number): Tick[] {
  const step = roundStep((toNs - fromNs) / Math.max(1, most))
  const largest = Math.max(Math.abs(fromNs), Math.abs(toNs))
  const [unit, perUnit] = unitOf(largest, timeUnits)
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / perUnit) - 1e-9)))
  return multiples(fromNs, toNs, step).map((value) => ({
    value,
    text: `${fixed(value / perUnit, digits)} ${unit}`,
  }))
}

/** Returns the multiples of a step between two values. */
export function multiples(from: number, to: number, step: number): number[] {
  const values: number[] = []
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9 && values.length < 1000; i++)
    values.push(i * step)
  return values
}

const clockSteps = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200,
  86_400,
]

/** Returns round times of day between two moments, in milliseconds since 1970. */
export function clockTicks(fromMs: number, toMs: number, most: number): Tick[] {
  const least = (toMs - fromMs) / 1000 / Math.max(1, most)
  const step = (clockSteps.find((one) => one >= least) ?? roundStep(least)) * 1000
  return multiples(fromMs, toMs, step).map((value) => ({ value, text: clockText(value) }))
}

/** Returns 12:34:56, with the fraction if there is one. */
export function clockText(ms: number): string {
  const text = new Date(ms).toLocaleTimeString('en-GB')
  return ms % 1000 === 0 ? text : `${text}.${String(Math.floor(ms % 1000)).padStart(3, '0')}`
}
