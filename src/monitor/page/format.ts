/** Numbers of the monitor as text, with their bounds. */
import { byteText, significant, timeText, whole } from '../../text/index.ts'

export interface Bounded {
  value: number
  lower: number
  upper: number
}

/** Returns a number of a measure as text. */
export function amountText(value: number, measure: string): string {
  return measure === 'bytes' ? byteText(value) : whole(value)
}

/** Returns "345", or "about 345 (269 to 442)". */
export function boundedText({ value, lower, upper }: Bounded, text: (value: number) => string): string {
  return lower === upper ? text(value) : `about ${text(value)} (${text(lower)} to ${text(upper)})`
}

/** Returns "2.23 µs ± 1 %": bounds of quantiles are equally far away on both sides, relative to the value. */
export function quantileText({ value, lower, upper }: Bounded): string {
  const part = value === 0 ? 0 : Math.max(upper - value, value - lower) / value
  return part < 1e-9 ? timeText(value) : `${timeText(value)} ± ${significant(part * 100, 2)}\u00a0%`
}
