/** Checks the values of options. An error message explains the legal values, with an example. */
import { wrongValue } from './usage.ts'

export function oneOf<const V extends string>(...names: V[]): (text: string) => V | undefined {
  return (text) => names.find((name) => name.toLowerCase() === text.toLowerCase())
}

export function integer(min: number, max: number): (text: string) => number | undefined {
  return (text) => {
    if (!/^\d+$/.test(text)) return undefined
    const value = Number(text)
    return value >= min && value <= max ? value : undefined
  }
}

/** Parses an option with one number, as `--repeat 3`. */
export function parseInteger(
  flag: string,
  text: string | undefined,
  fallback: number,
  min: number,
  max: number,
): number {
  if (text === undefined) return fallback
  const value = integer(min, max)(text.trim())
  if (value === undefined)
    throw wrongValue(flag, text, `a whole number from ${min} to ${max}`, Math.max(min, Math.min(max, fallback)))
  return value
}

/** Parses an option with one positive number, as `--seconds 0.5`. */
export function parseNumber(
  flag: string,
  text: string | undefined,
  fallback: number,
  min: number,
  max: number,
): number {
  if (text === undefined) return fallback
  const value = /^(\d+(\.\d+)?|\.\d+)$/.test(text.trim()) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw wrongValue(flag, text, `a number from ${min} to ${max}`, Math.max(min, Math.min(max, fallback)))
  return value
}
