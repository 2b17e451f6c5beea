/** The settings of a format, as VILLASnode spells them; strict: an unknown one is an error that names the nearest known one. */
import { GatewayError } from '../errors.ts'

export type Settings = Record<string, unknown>

/** Reads settings one by one; `done` complains about what nobody asked for. */
export class SettingsReader {
  readonly #settings: Settings
  readonly #format: string
  readonly #known = ['type']

  constructor(format: string, settings: Settings) {
    this.#format = format
    this.#settings = settings
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.#take(key) ?? fallback
    if (typeof value !== 'boolean') this.#refuse(key, value, 'true or false', 'true')
    return value as boolean
  }

  integer(key: string, fallback: number, min: number, max: number): number {
    const value = this.#take(key) ?? fallback
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
      this.#refuse(key, value, `a whole number from ${min} to ${max}`, String(fallback))
    return value as number
  }

  choice<const T>(key: string, fallback: T, values: readonly T[]): T {
    const value = this.#take(key) ?? fallback
    const names = values.map((each) => JSON.stringify(each))
    if (!values.includes(value as T)) this.#refuse(key, value, `one of ${names.join(', ')}`, names[0]!)
    return value as T
  }

  /** A single character, as its code. Letters, digits, signs and points would be taken for parts of numbers. */
  character(key: string, fallback: string): number {
    const value = this.#take(key) ?? fallback
    if (typeof value !== 'string' || !/^[\t-\x7f]$/.test(value) || /[\w+.-]/.test(value))
      this.#refuse(key, value, 'a single ASCII character that is no part of a number', JSON.stringify(fallback))
    return (value as string).charCodeAt(0)
  }

  done(): void {
    for (const key of Object.keys(this.#settings)) {
      if (this.#known.includes(key)) continue
      const nearest = this.#known.toSorted((a, b) => distance(key, a) - distance(key, b))[0]!
      throw new GatewayError(
        'ERR_GATEWAY_SETTING',
        `${this.#format} has no setting '${key}'. Did you mean '${nearest}'? It has: ${this.#known.join(', ')}`,
      )
    }
  }

  #take(key: string): unknown {
    this.#known.push(key)
    return this.#settings[key]
  }

  #refuse(key: string, value: unknown, expected: string, example: string): never {
    throw new GatewayError(
      'ERR_GATEWAY_SETTING',
      `${this.#format}: ${key}: ${JSON.stringify(value)} is not valid. Expected ${expected}, for example: {"type":"${this.#format}","${key}":${example}}`,
    )
  }
}

/** Insertions, deletions and replacements that make one word of the other. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}
