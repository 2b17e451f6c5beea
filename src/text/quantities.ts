/** Sizes, rates, times and shares as text. Pure. */
import { fixed, significant, whole, withoutZeros } from './digits.ts'
import { inUnits, prefixed, type Unit, unitOf } from './units.ts'

// Bundles leave out what is marked and not used.
const decimalBytes = /* @__PURE__ */ prefixed('B')

/** Bytes in powers of 1000: 1.25 MB. */
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

/** Bytes in powers of 1024, with at most four digits that count: 4 KiB, 1.438 MiB. */
export function sizeText(bytes: number): string {
  return inUnits(bytes, binaryBytes, fourDigits, fourDigits)
}

/** As `sizeText` with three digits, for ticks of an axis: 4 KiB, 1.44 MiB. */
export function shortSizeText(bytes: number): string {
  const digits = (value: number): string => significant(value, 3)
  return inUnits(bytes, binaryBytes, digits, digits)
}

const fourDigits = (value: number): string => significant(value, 4)

/** Bytes in a power of 1024 only where no digit is lost: 4 KiB, 4,097 B. */
export function exactSizeText(bytes: number): string {
  const [unit, size] = binaryBytes.findLast(([, size]) => bytes >= size && bytes % size === 0) ?? binaryBytes[0]!
  return inUnits(bytes / size, [[unit, 1]], whole)
}

/** A number with the prefix of a power of 1000, of a unit: 7.12 M, 940 kbit/s, 5.00 B/s. */
export function scaled(value: number, unit = ''): string {
  return inUnits(value, prefixed(unit))
}

/** As `scaled`, without zeros behind the point: 6 M, 2.5 M. */
export function scaledShort(value: number, unit = ''): string {
  return withoutZeros(scaled(value, unit))
}

/** As `scaled`, for what is mostly a whole number: 0, 345.6, 21.6 M. */
export function countText(value: number, unit = ''): string {
  return inUnits(value, prefixed(unit), (few) => fixed(few, 1).replace('.0', ''))
}

/** Measured bits per second: 12.5 Gbit/s, 0 bit/s. */
export function bitText(bitsPerSecond: number): string {
  return countText(bitsPerSecond, 'bit/s')
}

/** Bits per second of a setting, with at most four digits that count: 25 Gbit/s, 12.35 Mbit/s. */
export function rateText(bitsPerSecond: number): string {
  return inUnits(bitsPerSecond, prefixed('bit/s'), fourDigits, fourDigits)
}

export const timeUnits: readonly Unit[] = [
  ['ns', 1],
  ['µs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
]

/** A time in nanoseconds: 609 ns, 12.5 µs, 1.20 ms, 8.04 s. */
export function timeText(ns: number): string {
  return inUnits(ns, timeUnits, whole)
}

/** As `timeText`, for ticks of an axis: 0, 200 ns, 2.5 µs. */
export function shortTimeText(ns: number): string {
  return ns === 0 ? '0' : withoutZeros(inUnits(ns, timeUnits, (few) => significant(few, 3)))
}

/** As `timeText`, not rounded: of settings. */
export function exactTimeText(ns: number): string {
  const [unit, size] = unitOf(ns, timeUnits)
  return inUnits(ns / size, [[unit, 1]], (value) => significant(value, 12))
}

/** As `timeText`, up to hours: 609 ms, 12.5 s, 2 min 0 s, 1 h 2 min. */
export function spanText(ns: number): string {
  if (!(ns >= 99.95e9 && ns < Number.POSITIVE_INFINITY)) return timeText(ns)
  const seconds = Math.round(ns / 1e9)
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${whole(Math.floor(minutes / 60))} h ${minutes % 60} min`
}

/** A part of a whole in per cent, rounded: 12.5 %. */
export function percentText(part: number, of = 1, digits = 1): string {
  const percent = (100 * part) / of
  return Number.isNaN(percent) ? whole(percent) : `${fixed(percent, digits)} %`
}

/** As `percentText`, without zeros behind the point: 12.5 %, 100 %. */
export function shortPercentText(share: number, digits: number): string {
  return withoutZeros(percentText(share, 1, digits))
}

/** A share of a whole in per cent, never rounded to a 0 or 100 that it is not. */
export function shareText(share: number): string {
  const percent = share * 100
  if (percent === 0 || percent === 100) return `${percent + 0} %`
  if (percent > 0 && percent < 0.01) return '< 0.01 %'
  if (percent > 99.99 && percent < 100) return '> 99.99 %'
  return percentText(share, 1, percent >= 9.995 && percent < 99.95 ? 1 : 2)
}
