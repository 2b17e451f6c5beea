/**
 * Numbers out of text, read straight from bytes: the results of C's strtod and strtol, correctly rounded.
 *
 * Up to 15 digits, a number is one exact division by a power of ten. Up to 30 digits, which %.17f of usual values has, it is a division in
 * double-double arithmetic, whose result is taken if both ends of its error interval round to the same double. The rest (a tie nearly met,
 * long numbers, large exponents) goes through a string. Reading stops at the first byte that does not belong to the number: the bytes must
 * end with one, so that no position has to be compared with an end.
 */

const exactDigits = 15
const mostDigits = 30
const splitter = 2 ** 27 + 1
const powers = Float64Array.from({ length: 23 }, (_, i) => 10 ** i)
const highHalves = powers.map(highHalf)
const lowHalves = powers.map((power, i) => power - highHalves[i]!)

/** Upper and lower half of 10^17. */
const divisorHigh = highHalves[17]!
const divisorLow = lowHalves[17]!

/**
 * Returns the upper 26 bits of a double (Veltkamp), so that products of halves are exact. Code that reads numbers has it in place: where V8
 * does not inline a call, a double that is passed or returned is garbage.
 */
function highHalf(value: number): number {
  const c = splitter * value
  return c - (c - value)
}

const sixes = 0x06060606
const upperBits = 0xf0f0f0f0 | 0

/** Returns the number of the digits in the four bytes of a word, the first in the lowest. */
function fourDigits(word: number): number {
  const pairs = Math.imul(word, 10) + (word >>> 8)
  return (pairs & 0xff) * 100 + ((pairs >>> 16) & 0xff)
}

export class NumberReader {
  /** Position after the last number; where it began if there was none. */
  end = 0
  /** Last integer, as the words of a 64-bit integer. */
  low = 0
  high = 0
  /** Last number, and its first 15 digits and next 15: numbers that are passed or returned may be boxed. */
  readonly #value: Float64Array = new Float64Array(3)
  /** Bytes that were read last, and a view of them. */
  #bytes: Uint8Array | undefined
  #words: DataView = new DataView(new ArrayBuffer(0))

  /** Reads a number at `from`, with a sign, a point and an exponent or without; nan and inf. NaN with `end` = `from`: there is none. */
  float(bytes: Uint8Array, from: number): number {
    return this.#read(bytes, from) ? this.#value[0]! : Number.NaN
  }

  /** Reads the same into `#value`; returns false if there is none. */
  #read(bytes: Uint8Array, from: number): boolean {
    let at = from
    let c = bytes[at]!
    const negative = c === 0x2d
    if (negative || c === 0x2b) c = bytes[++at]!
    const first = at
    if (this.#usual(bytes, first, negative)) return true
    let upper = 0
    let lower = 0
    let digits = 0
    let lowerDigits = 0
    let point = -1
    for (; ; c = bytes[++at]!) {
      const digit = c - 0x30
      if (digit >= 0 && digit <= 9) {
        if (digits < exactDigits) {
          upper = upper * 10 + digit
          if (upper !== 0) digits++
        } else {
          if (lowerDigits < exactDigits) lower = lower * 10 + digit
          lowerDigits++
        }
      } else if (c === 0x2e && point < 0) point = at
      else break
    }
    const counted = at - first - (point < 0 ? 0 : 1)
    if (counted <= 0) return this.#special(bytes, from, first, negative)
    let scale = point < 0 ? 0 : point + 1 - at
    this.end = at
    if (c === 0x65 || c === 0x45) scale += this.#exponent(bytes, at)
    this.#value[1] = upper
    this.#value[2] = lower
    if (!this.#scaled(digits, lowerDigits, scale, negative)) this.#value[0] = Number(text(bytes, from, this.end))
    return true
  }

  /**
   * Reads as `float`, but into `out[index]`: a number that a function returns may be boxed, which is garbage for each value. Returns false,
   * and writes nothing, if there is none.
   */
  floatInto(bytes: Uint8Array, from: number, out: Float64Array | Float32Array, index: number): boolean {
    const negative = bytes[from] === 0x2d
    if (this.#seventeen(bytes, negative ? from + 1 : from, negative, out, index)) return true
    if (!this.#read(bytes, from)) return false
    out[index] = this.#value[0]!
    return true
  }

  /**
   * Reads numbers as %.17f writes them, up to six digits before the point and 17 after it: four of these are read at once, which takes half
   * the time of a loop. Returns false, and writes nothing, if it is another number.
   */
  #seventeen(
    bytes: Uint8Array,
    from: number,
    negative: boolean,
    out: Float64Array | Float32Array,
    index: number,
  ): boolean {
    let at = from
    let whole = 0
    for (let digit = bytes[at]! - 0x30; digit >= 0 && digit <= 9 && at < from + 6; digit = bytes[++at]! - 0x30)
      whole = (whole * 10 + digit) | 0
    if (at === from || bytes[at] !== 0x2e || at + 18 >= bytes.length) return false
    const behind = bytes[at + 18]!
    if ((behind >= 0x30 && behind <= 0x39) || behind === 0x65 || behind === 0x45) return false
    if (bytes !== this.#bytes) {
      this.#bytes = bytes
      this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    const view = this.#words
    // Four digits at a time, the first in the lowest byte.
    const a = view.getInt32(at + 1, true) ^ 0x30303030
    const b = view.getInt32(at + 5, true) ^ 0x30303030
    const c = view.getInt32(at + 9, true) ^ 0x30303030
    const d = view.getInt32(at + 13, true) ^ 0x30303030
    const e = bytes[at + 17]! ^ 0x30
    // A byte above 9 has one of its upper bits set, or has one with 6 more.
    const sixMore = (a + sixes) | (b + sixes) | (c + sixes) | (d + sixes)
    if (((a | b | c | d | sixMore) & upperBits) !== 0 || e > 9) return false
    const first = whole * 1e8 + (fourDigits(a) * 10000 + fourDigits(b))
    const lower = (fourDigits(c) * 10000 + fourDigits(d)) * 10 + e
    this.end = at + 18
    // (first × 10^9 + lower) / 10^17 as in #scaled; the lower half of 10^9 is 0.
    const product = first * 1e9
    const firstSplit = splitter * first
    const firstHigh = firstSplit - (firstSplit - first)
    const error = firstHigh * 1e9 - product + (first - firstHigh) * 1e9
    const sum = product + lower
    const tail = lower - (sum - product) + error
    // The reciprocal is exact enough: the remainder of the quotient is added.
    const quotient = sum * 1e-17
    const back = quotient * 1e17
    const quotientSplit = splitter * quotient
    const quotientHigh = quotientSplit - (quotientSplit - quotient)
    const quotientLow = quotient - quotientHigh
    const backError =
      quotientHigh * divisorHigh -
      back +
      quotientHigh * divisorLow +
      quotientLow * divisorHigh +
      quotientLow * divisorLow
    const lacking = (sum - back - backError + tail) * 1e-17
    const margin = quotient * 2 ** -99
    const value = quotient + (lacking - margin)
    if (value !== quotient + (lacking + margin)) return false
    out[index] = negative ? -value : value
    return true
  }

  /**
   * Reads numbers as %.17f writes them, up to six digits before the point and 18 after it, into `#value`: digits are gathered as 32-bit
   * integers, which takes half the time. Returns false if it is another number.
   */
  #usual(bytes: Uint8Array, from: number, negative: boolean): boolean {
    let at = from
    let whole = 0
    let digit = bytes[at]! - 0x30
    for (; digit >= 0 && digit <= 9 && at < from + 6; digit = bytes[++at]! - 0x30) whole = whole * 10 + digit
    if (at === from || bytes[at] !== 0x2e) return false
    const point = at
    let upper = 0
    digit = bytes[++at]! - 0x30
    for (; digit >= 0 && digit <= 9 && at <= point + 9; digit = bytes[++at]! - 0x30) upper = upper * 10 + digit
    const upperDigits = at - point - 1
    let lower = 0
    for (; digit >= 0 && digit <= 9 && at <= point + 18; digit = bytes[++at]! - 0x30) lower = lower * 10 + digit
    const c = digit + 0x30
    if ((digit >= 0 && digit <= 9) || c === 0x65 || c === 0x45) return false
    this.end = at
    const lowerDigits = at - point - 1 - upperDigits
    const first = whole * powers[upperDigits]! + upper
    this.#value[1] = first
    this.#value[2] = lower
    return this.#scaled(exactDigits, lowerDigits, point + 1 - at, negative)
  }

  /** Converts the digits in `#value` to a number; returns false if that takes more than this. */
  #scaled(digits: number, lowerDigits: number, scale: number, negative: boolean): boolean {
    const upper = this.#value[1]!
    const lower = this.#value[2]!
    if (digits < exactDigits || lowerDigits === 0) {
      const exact =
        scale === 0 || upper === 0
          ? upper
          : scale < 0
            ? upper / powers[Math.min(-scale, 22)]!
            : upper * powers[Math.min(scale, 22)]!
      this.#value[0] = negative ? -exact : exact
      return upper === 0 || (scale >= -22 && scale <= 22)
    }
    if (digits + lowerDigits > mostDigits || scale > 0 || scale < -22) return false
    // upper × 10^lowerDigits + lower, as an unevaluated sum.
    const factor = powers[lowerDigits]!
    const product = upper * factor
    const upperSplit = splitter * upper
    const a = upperSplit - (upperSplit - upper)
    const b = upper - a
    const factorHigh = highHalves[lowerDigits]!
    const factorLow = lowHalves[lowerDigits]!
    const error = a * factorHigh - product + a * factorLow + b * factorHigh + b * factorLow
    const sum = product + lower
    const tail = lower - (sum - product) + error
    // The quotient, and how much it lacks.
    const divisor = powers[-scale]!
    const quotient = sum / divisor
    const back = quotient * divisor
    const quotientSplit = splitter * quotient
    const c = quotientSplit - (quotientSplit - quotient)
    const d = quotient - c
    const divisorHigh = highHalves[-scale]!
    const divisorLow = lowHalves[-scale]!
    const backError = c * divisorHigh - back + c * divisorLow + d * divisorHigh + d * divisorLow
    const lacking = (sum - back - backError + tail) / divisor
    // The error of all that is below 2^-101 of the quotient.
    const margin = quotient * 2 ** -99
    const value = quotient + (lacking - margin)
    this.#value[0] = negative ? -value : value
    return value === quotient + (lacking + margin)
  }

  #exponent(bytes: Uint8Array, at: number): number {
    let next = at + 1
    const negative = bytes[next] === 0x2d
    if (negative || bytes[next] === 0x2b) next++
    const start = next
    let exponent = 0
    for (let digit = bytes[next]! - 0x30; digit >= 0 && digit <= 9; digit = bytes[++next]! - 0x30)
      exponent = Math.min(exponent * 10 + digit, 100_000)
    if (next === start) return 0
    this.end = next
    return negative ? -exponent : exponent
  }

  #special(bytes: Uint8Array, from: number, first: number, negative: boolean): boolean {
    const word = text(bytes, first, Math.min(first + 8, bytes.length)).toLowerCase()
    const length = /^(infinity|inf|nan)/.exec(word)?.[0].length ?? 0
    this.end = length === 0 ? from : first + length
    const infinity = negative ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
    this.#value[0] = word.startsWith('inf') ? infinity : Number.NaN
    return length > 0
  }

  /**
   * Reads a decimal integer at `from` into `low` and `high`; returns false if there is none. Beyond 64 bits (`signed` or not) it is the
   * nearest that there is, as for strtol. Without `signed`, a minus sign does not belong to it.
   */
  integer(bytes: Uint8Array, from: number, signed: boolean): boolean {
    let at = from
    const negative = signed && bytes[at] === 0x2d
    if (negative || bytes[at] === 0x2b) at++
    const first = at
    let value = 0
    for (let digit = bytes[at]! - 0x30; digit >= 0 && digit <= 9; digit = bytes[++at]! - 0x30)
      value = value * 10 + digit
    if (at === first) {
      this.end = from
      return false
    }
    this.end = at
    if (value <= 0x7fffffff && !negative) {
      this.low = value
      this.high = 0
    } else if (at - first <= exactDigits) this.#split(negative ? -value : value)
    else this.#splitLong(text(bytes, from, at).replace('+', ''), signed)
    return true
  }

  #split(value: number): void {
    this.high = Math.floor(value / 2 ** 32)
    this.low = value - this.high * 2 ** 32
  }

  #splitLong(digits: string, signed: boolean): void {
    // Any number this long exceeds the range: the string need not become a number of that size.
    const value = digits.length > 400 ? 10n ** 30n * (digits[0] === '-' ? -1n : 1n) : BigInt(digits)
    const [least, most] = signed ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n]
    const kept = value < least ? least : value > most ? most : value
    this.low = Number(kept & 0xffffffffn)
    this.high = Number(BigInt.asIntN(32, kept >> 32n))
  }
}

function text(bytes: Uint8Array, from: number, to: number): string {
  let result = ''
  for (let i = from; i < to; i++) result += String.fromCharCode(bytes[i]!)
  return result
}
