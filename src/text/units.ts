/** Numbers in the unit that they fill. Pure. */
import { none, threeDigits } from './digits.ts'

/** Unit, and the number of smallest units in it. */
export type Unit = readonly [name: string, size: number]

/**
 * Formats `value`, which counts the first of `units`, in the largest of them that it fills when it is rounded: 999.6 B are 1.00 kB. `first`
 * formats a value that stays in the first unit, `digits` a value in another one.
 */
export function inUnits(
  value: number,
  units: readonly Unit[],
  first: (value: number) => string = threeDigits,
  digits: (value: number) => string = threeDigits,
): string {
  if (Number.isNaN(value)) return none
  let at = 0
  let text = first(value)
  while (at + 1 < units.length && magnitude(text) * units[at]![1] >= units[at + 1]![1])
    text = digits(value / units[++at]![1])
  return `${text} ${units[at]![0]}`.trimEnd()
}

function magnitude(text: string): number {
  return Math.abs(Number(text.replaceAll(',', '')))
}

/** Returns the largest unit that `value` fills: for several numbers in the unit of the largest. */
export function unitOf(value: number, units: readonly Unit[]): Unit {
  return units.findLast(([, size]) => Math.abs(value) >= size) ?? units[0]!
}

/** Returns a unit with the prefixes of powers of 1000 before it, from none to T. */
export function prefixed(unit: string): readonly Unit[] {
  return ['', 'k', 'M', 'G', 'T'].map((prefix, i) => [`${prefix}${unit}`, 1000 ** i])
}
