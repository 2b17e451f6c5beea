/** Checks of what a program gives to a verb. */
import { VerbsError } from './errors.ts'

/** A value as an error message names it. */
export function describe(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** Throws EINVAL unless `value` is an object. */
export function checkObject(verb: string, name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null)
    throw new VerbsError('EINVAL', verb, `${name} must be an object, not ${describe(value)}`)
}

/** Throws EINVAL unless `value` is an integer from `min` to `max`. */
export function checkInteger(verb: string, name: string, value: unknown, min: number, max: number): void {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    throw new VerbsError('EINVAL', verb, `${name} must be an integer from ${min} to ${max}, not ${describe(value)}`)
}

/** "1 entry", "2 entries". */
export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
