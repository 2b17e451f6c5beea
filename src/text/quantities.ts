/** Sizes, rates, times and shares as text. Pure. */
import { fixed, significant, whole, withoutZeros } from './digits.ts'
import { inUnits, prefixed, type Unit, unitOf } from './units.ts'

// Bundlers drop a call that is marked pure and not used.
const decimalBytes = /* @__PURE__ */ prefixed('B')

/** Formats bytes in powers of 1000: 1.25 MB. */
export function byteText(count: number): string {
  return inUnits(count, decimalBytes, whole)
}

const binaryBytes: readonly Unit[] = [
  ['B', 1],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
  ['TiB', 2 ** 40],
]

/** Formats bytes in powers of 1024, with at most four significant digits: 4 KiB, 1.438 MiB. */
export function sizeText(bytes: number): string {
  return inUnits(bytes, binaryBytes, fourDigits, fourDigits)
}

/** Formats as `sizeText` with three digits, for ticks of an axis: 4 KiB, 1.44 MiB. */
export function shortSizeText(bytes: number): string {
  const digits = (value: number): string => significant(value, 3)
  return inUnits(bytes, binaryBytes, digits, digits)
}

const fourDigits = (value: number): string => significant(value, 4)

/** Formats bytes in a power of 1024 only where no digit is lost: 4 KiB, 4,097 B. */
export function exactSizeText(bytes: number): string {
  const [unit, size] = binaryBytes.findLast(([, size]) => bytes >= size && bytes % size === 0) ?? binaryBytes[0]!
  return inUnits(bytes / size, [[unit, 1]], whole)
}

/** Formats a number with the prefix of a power of 1000, of a unit: 7.12 M, 940 kbit/s, 5.00 B/s. */
export function scaled(value: number, unit = ''): string {
  return inUnits(value, prefixed(unit))
}

/** Formats as `scaled`, without trailing zeros: 6 M, 2.5 M. */
export function scaledShort(value: number, unit = ''): string {
  return withoutZeros(scaled(value, unit))
}

/** Formats as `scaled`, for values that are mostly whole numbers: 0, 345.6, 21.6 M. */
export function countText(value: number, unit = ''): string {
  return inUnits(value, prefixed(unit), (few) => fixed(few, 1).replace('.0', ''))
}

/** Formats measured bits per second: 12.5 Gbit/s, 0 bit/s. */
export function bitText(bitsPerSecond: number): string {
  return countText(bitsPerSecond, 'bit/s')
}

/** Formats the bits per second of a setting, with at most four significant digits: 25 Gbit/s, 12.35 Mbit/s. */
export function rateText(bitsPerSecond: number): string {
  return inUnits(bitsPerSecond, prefixed('bit/s'), fourDigits, fourDigits)
}

export const timeUnits: readonly Unit[] = [
  ['ns', 1],
  ['µs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
]

/** Formats a time in nanoseconds: 609 ns, 12.5 µs, 1.20 ms, 8.04 s. */
export function timeText(ns: number): string {
  return inUnits(ns, timeUnits, whole)
}

/** Formats as `timeText`, for ticks of an axis: 0, 200 ns, 2.5 µs. */
export function shortTimeText(ns: number): string {
  return ns === 0 ? '0' : withoutZeros(inUnits(ns, timeUnits, (few) => significant(few, 3)))
}

/** Formats as `timeText`, not rounded, for settings. */
export function exactTimeText(ns: number): string {
  const [unit, size] = unitOf(ns, timeUnits)
  return inUnits(ns / size, [[unit, 1]], (value) => significant(value, 12))
}

/** Formats as `timeText`, up to hours: 609 ms, 12.5 s, 2 min 0 s, 1 h 2 min. */
export function spanText(ns: number): string {
  if (!(ns >= 99.95e9 && ns < Number.POSITIVE_INFINITY)) return timeText(ns)
  const seconds = Math.round(ns / 1e9)
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${whole(Math.floor(minutes / 60))} h ${minutes % 60} min`
}

/** Formats a part of a whole in per cent, rounded: 12.5 %. */
export function percentText(part: number, of = 1, digits = 1): string {
  const percent = (100 * part) / of
  return Number.isNaN(percent) ? whole(percent) : `${fixed(percent, digits)} %`
}

/** Formats as `percentText`, without trailing zeros: 12.5 %, 100 %. */
export function shortPercentText(share: number, digits: number): string {
  return withoutZeros(percentText(share, 1, digits))
}

/** Formats a share of a whole in per cent, never rounded to a 0 or 100 that it is not. */
export function shareText(share: number): string {
  const percent = share * 100
  if (percent === 0 || percent === 100) return `${percent + 0} %`
  if (percent > 0 && percent < 0.01) return '< 0.01 %'
  if (percent > 99.99 && percent < 100) return '> 99.99 %'
  return percentText(share, 1, percent >= 9.995 && percent < 99.95 ? 1 : 2)
}
