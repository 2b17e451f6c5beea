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

/** PSNs between two others, counted from `firstPsn`, at round numbers of those that go over the wire. */
export function psnTicks(low: number, high: number, most: number, firstPsn: number): Tick[] {
  const step = Math.max(1, roundStep((high - low) / Math.max(1, most)))
  return multiples(low + firstPsn, high + firstPsn, step).map((psn) => ({
    value: psn - firstPsn,
    text: String(psn & 0xffffff),
  }))
}

/** The same where the sequence starts over, so that a place has more than one PSN: how far they are behind the first. */
export function countTicks(low: number, high: number, most: number): Tick[] {
  const step = Math.max(1, roundStep((high - low) / Math.max(1, most)))
  return multiples(low, high, step).map((value) => ({ value, text: `${value < 0 ? '−' : '+'}${Math.abs(value)}` }))
}

/** Latencies on a scale with a thousand steps for each power of ten, from 1 ns. */
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

function multiples(from: number, to: number, step: number): number[] {
  const values: number[] = []
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9 && values.length < 1000; i++)
    values.push(i * step)
  return values
}
