/**
 * Numbers as text, written straight into bytes: the output of C's printf for %d, %09d, %.17f, %e and %.17g, digit for digit. A string for
 * each number would cost more than its digits. All functions return the position after what they wrote.
 *
 * A double as an argument of a function that V8 does not inline is an object of 16 bytes. Doubles are therefore passed as a place in an
 * array.
 */

const zero = 0x30
const minus = 0x2d
const point = 0x2e

export function writeText(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at++] = text.charCodeAt(i)
  return at
}

/** Writes `width` digits of a whole number from 0 to 2^31 − 1, with leading zeros. */
export function writePadded(out: Uint8Array, at: number, value: number, width: number): number {
  for (let i = at + width - 1; i >= at; i--) {
    const rest = (value / 10) | 0
    out[i] = zero + value - rest * 10
    value = rest
  }
  return at + width
}

/** Whole number that `writeWhole` writes. */
const whole = new Float64Array(1)

/** Writes the whole number in `whole`, from 0 to 2^53. */
function writeWhole(out: Uint8Array, at: number): number {
  const value = whole[0]!
  if (value < 1e7) return writeSmall(out, at, value | 0)
  const high = Math.floor(value / 1e7)
  const low = (value - high * 1e7) | 0
  whole[0] = high
  return writePadded(out, writeWhole(out, at), low, 7)
}

/** Writes a whole number from 0 to 2^31 − 1. */
function writeSmall(out: Uint8Array, at: number, value: number): number {
  if (value < 10) {
    out[at] = zero + value
    return at + 1
  }
  let width = 2
  for (let bound = 100; value >= bound; bound *= 10) width++
  return writePadded(out, at, value, width)
}

/** Writes a 64-bit integer of two words, each with a sign or without; signed (%lld) or not (%llu). */
export function writeInt64(out: Uint8Array, at: number, low: number, high: number, signed: boolean): number {
  low >>>= 0
  if (high >= 0 && high < 1 << 21) {
    whole[0] = high * 2 ** 32 + low
    return writeWhole(out, at)
  }
  if (signed && high < 0 && high > -(1 << 21)) {
    out[at] = minus
    whole[0] = -(high * 2 ** 32 + low)
    return writeWhole(out, at + 1)
  }
  const value = (BigInt(high) << 32n) | BigInt(low)
  return writeText(out, at, String(signed ? value : BigInt.asUintN(64, value)))
}

/** Base of the limbs. Fractions are fixed-point numbers of limbs of 28 bits: 168 bits, so that 31 digits of any double are exact. */
const limbScale = 2 ** 28
const limbInverse = 2 ** -28
const limbs = new Float64Array(6)
/** Number of digits in a group: a limb times 10^7 fits 53 bits. */
const groupDigits = 7
const groups = new Int32Array(5)
const powers = new Float64Array([1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7])

/** Array in which doubles are passed. */
export type Doubles = Float64Array | Float32Array

/**
 * Writes `values[index]` as `printf("%.*f")` does: correctly rounded, ties to even, up to 31 digits after the point. `plus` writes the sign
 * of positive numbers, too (%+f).
 */
export function writeFixed(
  out: Uint8Array,
  at: number,
  values: Doubles,
  index: number,
  precision: number,
  plus = false,
): number {
  let value = values[index]!
  if (Number.isNaN(value)) return writeText(out, at, plus ? '+nan' : 'nan')
  if (value < 0 || (value === 0 && 1 / value < 0)) {
    out[at++] = minus
    value = -value
  } else if (plus) out[at++] = 0x2b
  if (value >= 2 ** 53) {
    if (value === Number.POSITIVE_INFINITY) return writeText(out, at, 'inf')
    at = writeText(out, at, String(BigInt(value)))
    return writeZeros(out, at, precision)
  }
  const floor = Math.floor(value)
  let fraction = value - floor
  whole[0] = floor
  if (fraction === 0) return writeZeros(out, writeWhole(out, at), precision)
  let used = 0
  while (fraction > 0 && used < limbs.length) {
    fraction *= limbScale
    const limb = Math.floor(fraction)
    limbs[used++] = limb
    fraction -= limb
  }
  let count = 0
  for (let left = precision; left > 0; left -= groupDigits) {
    const power = left >= groupDigits ? 1e7 : powers[left]!
    let carry = 0
    for (let i = used - 1; i >= 0; i--) {
      const product = limbs[i]! * power + carry
      carry = Math.floor(product * limbInverse)
      limbs[i] = product - carry * limbScale
    }
    groups[count++] = carry
  }
  const odd = count === 0 ? (floor % 2) | 0 : groups[count - 1]! & 1
  if (roundsUp(used, odd)) whole[0] = floor + carried(count, precision)
  at = writeWhole(out, at)
  if (precision === 0) return at
  out[at++] = point
  let left = precision
  for (let i = 0; i < count; i++, left -= groupDigits)
    at = writePadded(out, at, groups[i]!, Math.min(left, groupDigits))
  return at
}

/** True if the rest in the limbs is more than half, or half and the last digit is odd. */
function roundsUp(used: number, odd: number): boolean {
  const half = limbScale / 2
  if (limbs[0]! !== half) return limbs[0]! > half
  for (let i = 1; i < used; i++) if (limbs[i] !== 0) return true
  return odd === 1
}

/** Adds one to the last digit; returns the carry into the whole part. */
function carried(count: number, precision: number): number {
  let digits = precision - (count - 1) * groupDigits
  for (let i = count - 1; i >= 0; i--) {
    if (++groups[i]! < powers[digits]!) return 0
    groups[i] = 0
    digits = groupDigits
  }
  return 1
}

function writeZeros(out: Uint8Array, at: number, precision: number): number {
  if (precision === 0) return at
  out[at++] = point
  for (let i = 0; i < precision; i++) out[at++] = zero
  return at
}

/** Writes `values[index]` as `printf("%+e")` does: a digit, six after the point, an exponent of at least two. */
export function writeExponential(out: Uint8Array, at: number, values: Doubles, index: number): number {
  const value = values[index]!
  if (Number.isNaN(value)) return writeText(out, at, '+nan')
  const negative = value < 0 || (value === 0 && 1 / value < 0)
  out[at++] = negative ? minus : 0x2b
  const end = writeUsual(out, at, values, index)
  if (end > 0) return end
  const size = Math.abs(value)
  const text = exponential(size, 6)
  const e = text.indexOf('e')
  if (e < 0) return writeText(out, at, 'inf')
  at = writeText(out, at, text.slice(0, e + 2))
  return writeText(out, at, text.slice(e + 2).padStart(2, '0'))
}

/** Writes `%e` of the size of a number, if that is a usual one, without a string; −1 where rounding is too close for doubles to decide. */
function writeUsual(out: Uint8Array, at: number, values: Doubles, index: number): number {
  const size = Math.abs(values[index]!)
  if (!(size >= 1e-12 && size < 1e12)) return -1
  let exponent = Math.floor(Math.log10(size))
  let scaled = exponent > 6 ? size / 10 ** (exponent - 6) : size * 10 ** (6 - exponent)
  // The logarithm may be one off.
  if (scaled < 1e6) {
    scaled *= 10
    exponent--
  } else if (scaled >= 1e7) {
    scaled /= 10
    exponent++
  }
  let digits = Math.floor(scaled)
  const rest = scaled - digits
  if (Math.abs(rest - 0.5) < closeToHalf) return -1
  if (rest > 0.5 && ++digits === 1e7) {
    digits = 1e6
    exponent++
  }
  const first = Math.floor(digits / 1e6)
  out[at++] = zero + first
  out[at++] = point
  at = writePadded(out, at, (digits - first * 1e6) | 0, 6)
  out[at++] = 0x65
  out[at++] = exponent < 0 ? minus : 0x2b
  return writePadded(out, at, Math.abs(exponent), 2)
}

/** Distance from a tie within which rounding is not decided: scaling is right to 4e-9 of the last digit. */
const closeToHalf = 1e-6

/** Formats as `toExponential`, but with ties to even as in C: JavaScript takes the larger number. */
function exponential(value: number, digits: number): string {
  const text = value.toExponential(digits)
  // A tie ends after few digits, binary ones as well as decimal ones.
  if (value < 2 ** 53 && !Number.isInteger(value * 2 ** 60)) return text
  const exact = value.toExponential(100)
  const e = exact.indexOf('e')
  const rest = exact.slice(digits + 2, e)
  if (rest[0] !== '5' || !/^50*$/.test(rest)) return text
  const last = exact.charCodeAt(digits + 1) - zero
  return last % 2 === 1 ? text : exact.slice(0, digits + 2) + exact.slice(e)
}

/**
 * Writes `values[index]` as jansson writes it into JSON: `printf("%.*g")`, with ".0" if nothing else marks it as not an integer, and no
 * plus sign or leading zeros in the exponent. NaN and infinities, which JSON does not have, are the strings "nan", "inf" and "-inf".
 */
export function writeJsonReal(out: Uint8Array, at: number, values: Doubles, index: number, precision: number): number {
  const value = values[index]!
  const size = Math.abs(value)
  if (Number.isNaN(value)) return writeText(out, at, '"nan"')
  if (size === Number.POSITIVE_INFINITY) return writeText(out, at, value < 0 ? '"-inf"' : '"inf"')
  if (size === 0 || (size >= 1e-4 && size < 10 ** Math.min(precision, 15))) {
    let exponent = size === 0 ? 0 : Math.floor(Math.log10(size))
    if (size !== 0 && 10 ** exponent > size) exponent--
    else if (10 ** (exponent + 1) <= size) exponent++
    const end = writeFixed(out, at, values, index, Math.max(precision - 1 - exponent, 0))
    return withPoint(out, at, withoutZeros(out, at, end))
  }
  const text = exponential(size, precision - 1)
  const e = text.indexOf('e')
  const exponent = Number(text.slice(e + 1))
  if (value < 0) out[at++] = minus
  const start = at
  if (exponent < precision && exponent >= -4)
    return withPoint(out, start, writeText(out, at, plain(text.slice(0, e), exponent)))
  at = withoutZeros(out, start, writeText(out, at, text.slice(0, e)))
  return writeText(out, at, `e${exponent}`)
}

/** Returns d.ddd × 10^exponent with the point moved to the right, without zeros at the end. */
function plain(mantissa: string, exponent: number): string {
  const digits = mantissa.replace('.', '')
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`.replace(/0+$/, '')
  const text = `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`
  return text.replace(/\.?0*$/, '')
}

function withoutZeros(out: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && out[at] !== point) at++
  if (at === end) return end
  while (out[end - 1] === zero) end--
  return out[end - 1] === point ? end - 1 : end
}

function withPoint(out: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) if (out[i] === point) return end
  out[end] = point
  out[end + 1] = zero
  return end + 2
}
