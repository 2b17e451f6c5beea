/** Numbers as people read them, wherever they are written: never with an exponent, right as far as they are rounded, in the unit that suits them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatTick } from '../../src/report/format.ts'
import {
  bitText,
  byteText,
  countText,
  exactSizeText,
  exactTimeText,
  fixed,
  percentText,
  rateText,
  scaled,
  scaledShort,
  shareText,
  shortPercentText,
  shortSizeText,
  shortTimeText,
  significant,
  sizeText,
  spanText,
  threeDigits,
  timeText,
  whole,
} from '../../src/text/index.ts'
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
  countText: { text: countText, units: prefixed('', 5), least: 0.05 },
  bitText: { text: bitText, units: prefixed('bit/s', 5), least: 0.05 },
  shortTimeText: { text: shortTimeText, units: times, least: 0 },
  scaled: { text: (value) => scaled(value, 'B/s'), units: prefixed('B/s', 5), least: 0.005 },
  'scaled without a unit': { text: scaled, units: prefixed('', 5), least: 0.005 },
  scaledShort: { text: (value) => scaledShort(value, 'Hz'), units: prefixed('Hz', 5), least: 0.005 },
  'ticks of rates': { text: (value) => formatTick('bit/s', value), units: prefixed('', 5), least: 0.005 },
  shortSizeText: { text: shortSizeText, units: binary, least: 0 },
  exactSizeText: { text: exactSizeText, units: binary, whole: true, least: 0, exact: true },
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

/** Those of one argument, with all that they may be given. */
const all: Readonly<Record<string, (value: number) => string>> = {
  ...Object.fromEntries(Object.entries(formatters).map(([name, { text }]) => [name, text])),
  whole,
  threeDigits,
  spanText,
  exactTimeText,
  shareText,
  percentText,
  'fixed, two digits': (value) => fixed(value, 2),
  'significant, three digits': (value) => significant(value, 3),
  'shortPercentText, two digits': (value) => shortPercentText(value, 2),
}

describe.each(Object.entries(all))('%s', (_, text) => {
  it('has no exponent, and no sign at a zero, whatever it is given', () => {
    const check = (value: number): void => {
      const written = text(value)
      expect(written, `${value}`).not.toMatch(/\de[+-]?\d|NaN|Infinity|undefined|^-[0.,]+(?: |$)/)
      expect(written, `${value}`).toMatch(Number.isNaN(value) ? /^–$/ : Number.isFinite(value) ? /\d/ : /∞/)
    }
    holds(fc.property(fc.double({ min: -1e300, max: 1e300 }), check), 500)
    for (const value of [0, -0, 1e-7, -1e-7, 5e-324, -0.4, 999.6, -999.6, 1e21, -1e21, 1e300]) check(value)
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) check(value)
  })
})

/** A share, a size that is exact and how long something took are never below 0. */
const signed = Object.entries(all).filter(([, text]) => ![shareText, exactSizeText, spanText].includes(text))

it.each(signed)('%s is the same with the other sign', (_, text) => {
  const check = (value: number): void => {
    // JavaScript rounds ties up.
    fc.pre(value % 0.5 !== 0)
    expect(text(-value).replace(/^-/, ''), `${value}`).toBe(text(value))
  }
  holds(fc.property(fc.double({ min: 1e-9, max: 1e15, noNaN: true }), check), 300)
})

/** What a text says is. */
const sizes = Object.assign(
  { '': 1, min: 60e9, h: 3600e9, '%': 1 },
  ...Object.values(formatters).map(({ units }) => units),
)

function amountOf(text: string): number {
  const parts = [...text.replace(/^[<>] /, '').matchAll(/(-?[\d,]+(?:\.\d+)?) ?([^\d ]*)/g)]
  return parts.reduce((sum, [, number, unit]) => sum + Number(number!.replaceAll(',', '')) * sizes[unit!], 0)
}

it.each(Object.entries(all))('%s: of two numbers the larger one is not written as the smaller one', (_, text) => {
  const amount = fc.double({ min: -3, max: 16, noNaN: true }).map((power) => 10 ** power)
  const check = (a: number, factor: number): void => {
    const [less, more] = [text(a), text(a * factor)]
    expect(amountOf(less), `${a} is ${less}, ${a * factor} is ${more}`).toBeLessThanOrEqual(amountOf(more) * (1 + 1e-9))
  }
  holds(fc.property(amount, fc.double({ min: 1, max: 1.01, noNaN: true }), check), 500)
})

it.each([
  [() => threeDigits(999.6), '1,000'],
  [() => significant(999.6, 3), '1000'],
  [() => scaled(999.6), '1.00 k'],
  [() => countText(999.96), '1.00 k'],
  [() => byteText(999.6), '1.00 kB'],
  [() => timeText(999.6), '1.00 µs'],
  [() => timeText(-999.6), '-1.00 µs'],
  [() => timeText(12e12), '12,000 s'],
  [() => sizeText(1023.96), '1 KiB'],
  [() => exactSizeText(1000), '1,000 B'],
  [() => exactSizeText(3 * 2 ** 40), '3 TiB'],
  [() => significant(1.25e-7, 3), '0.000000125'],
  [() => significant(1.254e22, 3), '12,500,000,000,000,000,000,000'],
  [() => exactTimeText(1_500_000), '1.5 ms'],
  [() => percentText(1, 8), '12.5 %'],
  [() => shortPercentText(1, 2), '100 %'],
  [() => percentText(0, 0), '–'],
  [() => shareText(1.5), '150.00 %'],
])('%s is %s', (text, expected) => expect(text()).toBe(expected))

it('a share is 0 % or 100 % only if it is', () => {
  const check = (share: number): void => {
    const text = shareText(share)
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
  [360_000, '100 h 0 min'],
])('%d seconds are %s', (seconds, text) => expect(spanText(seconds * 1e9)).toBe(text))
