/** Ticks of axes: round numbers, and the time in the unit that fits. */

export interface Tick {
  value: number
  text: string
}

/** The smallest of 1, 2 or 5 times a power of ten that is at least `least`. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  for (const factor of [1, 2, 5]) if (factor * power >= least * (1 - 1e-9)) return factor * power
  return 10 * power
}

/** Times in nanoseconds between two others, at most `most` of them. All have one unit, and as many digits as their step needs. */
export function timeTicks(fromNs: number, toNs: number, most: number): Tick[] {
  const step = roundStep((toNs - fromNs) / Math.max(1, most))
  const largest = Math.max(Math.abs(fromNs), Math.abs(toNs))
  const [unit, perUnit] =
    largest >= 1e9 ? ['s', 1e9] : largest >= 1e6 ? ['ms', 1e6] : largest >= 1e3 ? ['µs', 1e3] : ['ns', 1]
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / (perUnit as number)) - 1e-9)))
  return multiples(fromNs, toNs, step).map((value) => ({
    value,
    text: `${(value / (perUnit as number)).toFixed(digits)} ${unit}`,
  }))
}

/** The multiples of a step between two values. */
export function multiples(from: number, to: number, step: number): number[] {
  const values: number[] = []
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9 && values.length < 1000; i++)
    values.push(i * step)
  return values
}
