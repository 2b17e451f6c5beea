/** Numbers as people read them, wherever they are written: never with an exponent, right as far as they are rounded, in the unit that suits them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bitText, scaled, timeText } from '../../src/monitor/page/format.ts'
import { formatBytes, formatNs, formatNsTick, formatRate, formatShare, formatTick } from '../../src/report/format.ts'
import { byteText } from '../../src/text/index.ts'
import { duration } from '../../src/trace/index.ts'
import { spanText } from '../../src/trace/page/format.ts'
import { rateText, sizeText } from '../../src/traffic/index.ts'
import { holds } from '../property.ts'

const decimal = ['', 'k', 'M', 'G', 'T']
const prefixed = (unit: string, count: number): Record<string, number> =>
  Object.fromEntries(decimal.slice(0, count).map((prefix, i) => [`${prefix}${unit}`, 1000 ** i]))
const binary = Object.fromEntries(['B', 'KiB', 'MiB', 'GiB', 'TiB'].map((unit, i) => [unit, 1024 ** i]))
const times = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }
const bytes = { B: 1, kB: 1e6 / 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }

interface Formatter {
  text: (value: number) => string
  /** Each unit, and how many of what is given it is. */
  units: Readonly<Record<string, number>>
  /** Half of the last digit, as a part of the value. */
  digits?: 3 | 4
  /** Only whole numbers are given. */
  whole?: true
  /** Half of the last digit of the smallest unit. */
  least: number
  /** The largest unit may not be all of it: sizes that no larger one divides. */
  exact?: true
}

const formatters: Readonly<Record<string, Formatter>> = {
  byteText: { text: byteText, units: bytes, whole: true, least: 0 },
  timeText: { text: timeText, units: times, least: 0.5 },
  scaled: { text: scaled, units: prefixed('', 5), least: 0.05 },
  bitText: { text: bitText, units: prefixed('bit/s', 5), least: 0.05 },
  formatNs: { text: formatNs, units: times, least: 0.5 },
  formatNsTick: { text: formatNsTick, units: times, least: 0 },
  formatRate: { text: (value) => formatRate(value, 'B/s'), units: prefixed('B/s', 4), least: 0.005 },
  'formatRate without a unit': { text: (value) => formatRate(value), units: prefixed('', 4), least: 0.005 },
  'ticks of rates': { text: (value) => formatTick('bit/s', value), units: prefixed('', 4), least: 0.005 },
  'ticks of bytes': {
    text: (value) => formatTick('bytes', value),
    units: { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 },
    least: 0,
  },
  formatBytes: { text: formatBytes, units: binary, whole: true, least: 0, exact: true },
  duration: { text: duration, units: times, least: 0.5 },
  sizeText: { text: sizeText, units: binary, digits: 4, least: 0 },
  rateText: { text: rateText, units: prefixed('bit/s', 5), digits: 4, least: 0 },
}

function read(text: string): [number: number, unit: string] {
  const [, digits, unit] = /^(-?[\d,]+(?:\.\d+)?)(?: (.*))?$/.exec(text) ?? []
  return [Number(digits?.replaceAll(',', '')), unit ?? '']
}

/** Of all sizes alike, and about the borders of units. */
function amounts(units: Readonly<Record<string, number>>): fc.Arbitrary<number> {
  const sizes = Object.values(units)
  const near = fc.tuple(
    fc.constantFrom(...sizes),
    fc.constantFrom(0.9994, 0.9995, 0.99949999, 0.99951, 0.999999, 1, 1.0049, 1.005),
  )
  return fc.oneof(
    fc.double({ min: -1, max: 15, noNaN: true }).map((power) => 10 ** power),
    near.map(([size, part]) => size * part),
    near.map(([size, part]) => size * part * 10),
  )
}

describe.each(Object.entries(formatters))('%s', (_, { text, units, digits = 3, whole, least, exact }) => {
  const check = (amount: number): void => {
    const value = whole ? Math.round(amount) : amount
    const written = text(value)
    const [number, unit] = read(written)
    expect(written, `${value}`).toMatch(/^[^e]*$/)
    const size = units[unit] ?? (number === 0 ? 1 : Number.NaN)
    expect(Math.abs(number * size - value), `${value} is ${written}`).toBeLessThanOrEqual(
      Math.max(least, 0.5 * 10 ** (1 - digits) * value) * (1 + 1e-9),
    )
    if (exact) return
    const sizes = Object.values(units)
    const larger = sizes[sizes.indexOf(size) + 1]
    if (larger !== undefined) expect(number, `${value} is ${written}`).toBeLessThan(larger / size)
    if (size !== sizes[0]) expect(number, `${value} is ${written}`).toBeGreaterThanOrEqual(1)
  }
  it('writes what it was given, in the right unit', () => holds(fc.property(amounts(units), check), 300))
})

it('a share is 0 % or 100 % only if it is', () => {
  const check = (share: number): void => {
    const text = formatShare(share)
    const value = Number(/[\d.]+/.exec(text)![0])
    if (share > 0) expect(value, `${share}`).toBeGreaterThan(0)
    if (share < 1) expect(value, `${share}`).toBeLessThan(100)
    expect(Math.abs(value / 100 - share)).toBeLessThanOrEqual(0.0005)
  }
  holds(fc.property(fc.double({ min: 0, max: 1, noNaN: true }), check), 1000)
})

it.each([
  [119.6, '2 min 0 s'],
  [3599.6, '1 h 0 min'],
  [99.97, '1 min 40 s'],
  [99.2, '99.2 s'],
])('%d seconds are %s', (seconds, text) => expect(spanText(seconds)).toBe(text))
