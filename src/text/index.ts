/** Numbers as people read them: three digits that count, in the unit that they fill; and IP addresses as they write them. Pure. */

export { parseIp } from './ip-address.ts'

export function whole(count: number): string {
  return count.toLocaleString('en')
}

/** Three digits that count, and all before the point: 0.05, 1.20, 12.5, 345, 12,345. */
function threeDigits(value: number): string {
  const rounded = Math.abs(Number(value.toPrecision(3)))
  if (rounded >= 1000) return whole(Math.round(value))
  return value.toFixed(rounded >= 100 ? 0 : rounded >= 10 ? 1 : 2)
}

/** A unit, and how many of the smallest it is. */
export type Unit = readonly [name: string, size: number]

/**
 * `value`, which counts the first of `units`, in the largest of them that it fills when it is rounded: 999.6 B are 1.00 kB. `digits` writes
 * what stays in the first.
 */
export function inUnits(
  value: number,
  units: readonly Unit[],
  digits: (value: number) => string = threeDigits,
): string {
  let at = 0
  let text = digits(value)
  while (at + 1 < units.length && magnitude(text) * units[at]![1] >= units[at + 1]![1])
    text = threeDigits(value / units[++at]![1])
  return `${text} ${units[at]![0]}`.trimEnd()
}

function magnitude(text: string): number {
  return Math.abs(Number(text.replaceAll(',', '')))
}

const bytes: readonly Unit[] = [
  ['B', 1],
  ['kB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['TB', 1e12],
]

/** 1.25 MB */
export function byteText(count: number): string {
  return inUnits(count, bytes, String)
}

export const timeUnits: readonly Unit[] = [
  ['ns', 1],
  ['µs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
]

/** 609 ns, 12.5 µs, 1.20 ms */
export function timeText(ns: number): string {
  return inUnits(ns, timeUnits, (few) => String(Math.round(few)))
}
