/** Numbers of the monitor as text, with their bounds. */
import { byteText, whole } from '../../page/index.ts'

export interface Bounded {
  value: number
  lower: number
  upper: number
}

const units = ['', 'k', 'M', 'G', 'T']

/** 21.6 M */
export function scaled(value: number, unit = ''): string {
  let rest = value
  let at = 0
  for (; rest >= 1000 && at < units.length - 1; at++) rest /= 1000
  const digits = at === 0 ? String(Math.round(rest * 10) / 10) : rest.toPrecision(3)
  return `${digits} ${units[at]}${unit}`.trim()
}

export function bitText(bitsPerSecond: number): string {
  return scaled(bitsPerSecond, 'bit/s')
}

/** 609 ns, 12.5 µs, 1.20 ms */
export function timeText(ns: number): string {
  for (const [unit, size] of [
    ['s', 1e9],
    ['ms', 1e6],
    ['µs', 1e3],
  ] as const)
    if (ns >= size) return `${(ns / size).toPrecision(3)} ${unit}`
  return `${Math.round(ns)} ns`
}

/** A number of a measure. */
export function amountText(value: number, measure: string): string {
  return measure === 'bytes' ? byteText(Math.round(value)) : whole(Math.round(value))
}

/** "345", or "about 345 (269 to 442)". */
export function boundedText({ value, lower, upper }: Bounded, text: (value: number) => string): string {
  return lower === upper ? text(value) : `about ${text(value)} (${text(lower)} to ${text(upper)})`
}

/** "2.23 µs ± 1 %": bounds of quantiles are as far away on both sides, as a part of the value. */
export function quantileText({ value, lower, upper }: Bounded): string {
  const part = value === 0 ? 0 : Math.max(upper - value, value - lower) / value
  return part < 1e-9 ? timeText(value) : `${timeText(value)} ± ${(part * 100).toPrecision(2)}\u00a0%`
}
