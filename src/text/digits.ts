/** The digits of a number. None has an exponent, a comma is before each three digits, and what is no number is "–". Pure. */

/** 12,345 */
export function whole(value: number): string {
  // Zero is added because −0.4 rounds to −0.
  return Number.isNaN(value) ? none : (Math.round(value) + 0).toLocaleString('en')
}

/** As `toFixed`: 0.25. What is rounded to nothing has no sign. */
export function fixed(value: number, digits: number): string {
  return Math.abs(value) < 1e21 ? (Number(value.toFixed(digits)) + 0).toFixed(digits) : whole(value)
}

/** Three digits that count, and all before the point: 0.05, 1.20, 12.5, 345, 12,345. */
export function threeDigits(value: number): string {
  const rounded = Math.abs(Number(value.toPrecision(3)))
  if (!(rounded < 1000)) return whole(value)
  return fixed(value, rounded >= 100 ? 0 : rounded >= 10 ? 1 : 2)
}

/** At most so many digits that count, without zeros at the end, and without commas below 10^21: 0.05, 1.2, 12340. */
export function significant(value: number, digits: number): string {
  const rounded = Number(value.toPrecision(digits))
  const text = String(rounded)
  if (!Number.isFinite(rounded) || text.includes('e+')) return whole(rounded)
  // 1.25e-7: its digits behind the point, and where they begin.
  const [, places, power] = /(\d*)e-(.*)/.exec(text) ?? []
  return power === undefined
    ? text
    : fixed(rounded, Math.min(100, Number(power) + (text.includes('.') ? places!.length : 0)))
}

/** The number at the beginning of a text without the zeros behind its point, and without a point that nothing follows. */
export function withoutZeros(text: string): string {
  return text.replace(/\.0+(?=\D|$)|(?<=\.\d*[1-9])0+(?=\D|$)/, '')
}

/** What stands where there is no number. */
export const none = '–'
