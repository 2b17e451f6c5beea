/** Digits of a number. None has an exponent, a comma precedes each three digits, and a value that is not a number is "–". Pure. */

/** Formats a whole number: 12,345. */
export function whole(value: number): string {
  // Zero is added because −0.4 rounds to −0.
  return Number.isNaN(value) ? none : (Math.round(value) + 0).toLocaleString('en')
}

/** Formats as `toFixed` does: 0.25. A value that rounds to zero has no sign. */
export function fixed(value: number, digits: number): string {
  return Math.abs(value) < 1e21 ? (Number(value.toFixed(digits)) + 0).toFixed(digits) : whole(value)
}

/** Formats with three significant digits, and all before the point: 0.05, 1.20, 12.5, 345, 12,345. */
export function threeDigits(value: number): string {
  const rounded = Math.abs(Number(value.toPrecision(3)))
  if (!(rounded < 1000)) return whole(value)
  return fixed(value, rounded >= 100 ? 0 : rounded >= 10 ? 1 : 2)
}

/** Formats with at most `digits` significant digits, without trailing zeros, and without commas below 10^21: 0.05, 1.2, 12340. */
export function significant(value: number, digits: number): string {
  const rounded = Number(value.toPrecision(digits))
  const text = String(rounded)
  if (!Number.isFinite(rounded) || text.includes('e+')) return whole(rounded)
  // 1.25e-7: its digits after the point, and where they begin.
  const [, places, power] = /(\d*)e-(.*)/.exec(text) ?? []
  return power === undefined
    ? text
    : fixed(rounded, Math.min(100, Number(power) + (text.includes('.') ? places!.length : 0)))
}

/** Removes the trailing zeros after the point of the number at the beginning of a text, and a point that no digit follows. */
export function withoutZeros(text: string): string {
  return text.replace(/\.0+(?=\D|$)|(?<=\.\d*[1-9])0+(?=\D|$)/, '')
}

/** Text in place of a value that is not a number. */
export const none = '–'
