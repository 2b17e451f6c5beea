/** Settings, as VILLASnode spells them; strict: an unknown one is an error that names the nearest known one. */
import { didYouMean, expectation, notValid } from '../spelling/index.ts'
import { GatewayError } from './errors.ts'

export type Settings = Record<string, unknown>

/** Returns the place of a group of settings, or of one of them, in a file: "gateway.conf:12"; undefined if it is unknown. */
export type PlaceOf = (group: Settings, key?: string) => string | undefined

/** Keys of groups, by the key of the group, that are read elsewhere. */
export type TakenInside = Readonly<Record<string, readonly string[]>>

/** Reads settings one by one; `done` rejects those that were not read. A key that is missing, or null, has its fallback. */
export class SettingsReader {
  readonly settings: Settings
  /** Owner of the settings, for messages. */
  readonly of: string
  readonly #known: string[]
  readonly #placeOf: PlaceOf | undefined
  readonly #takenInside: TakenInside
  /** Groups of `#takenInside` that have not been read. */
  readonly #unread: Set<string>

  /**
   * Makes a reader. `taken`: keys that are read elsewhere; `takenInside`: those of groups in these; such a group may be left unread as a
   * whole.
   */
  constructor(
    of: string,
    settings: Settings,
    taken: readonly string[] = ['type'],
    placeOf?: PlaceOf,
    takenInside: TakenInside = {},
  ) {
    this.of = of
    this.settings = settings
    this.#known = [...taken]
    this.#placeOf = placeOf
    this.#takenInside = takenInside
    this.#unread = new Set(Object.keys(takenInside))
  }

  has(key: string): boolean {
    return this.any(key) !== undefined
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.any(key) ?? fallback
    if (typeof value !== 'boolean') this.refuse(key, 'true or false', 'true')
    return value as boolean
  }

  integer(key: string, fallback: number, min: number, max: number): number {
    const value = this.any(key) ?? fallback
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
      this.refuse(key, `a whole number from ${min} to ${max}`, String(fallback))
    return value as number
  }

  number(key: string, fallback: number, min: number, max: number): number {
    const value = this.any(key) ?? fallback
    if (typeof value !== 'number' || !(value >= min && value <= max)) {
      const range = Number.isFinite(max) ? ` from ${min} to ${max}` : Number.isFinite(min) ? ` of at least ${min}` : ''
      this.refuse(key, `a number${range}`, String(fallback))
    }
    return value as number
  }

  /** Reads a string. `fallback` null: it must be there. `example`: one that is valid. */
  string(key: string, fallback: string | null, example: string): string {
    const value = this.any(key) ?? fallback
    if (typeof value !== 'string') this.refuse(key, 'a string', JSON.stringify(example))
    return value as string
  }

  /** Reads a string, or a list of strings. */
  strings(key: string, fallback: readonly string[], example: string): readonly string[] {
    const value = this.any(key) ?? fallback
    const list = (typeof value === 'string' ? [value] : value) as readonly string[]
    if (!Array.isArray(list) || list.some((each) => typeof each !== 'string'))
      this.refuse(key, 'a string, or a list of strings', JSON.stringify([example]))
    return list
  }

  choice<const T>(key: string, fallback: T, values: readonly T[]): T {
    const value = this.any(key) ?? fallback
    const names = values.map((each) => JSON.stringify(each))
    if (!values.includes(value as T)) this.refuse(key, `one of ${names.join(', ')}`, names[0]!)
    return value as T
  }

  /** Reads a single character, as its code. Letters, digits, signs and points would be taken for parts of numbers. */
  character(key: string, fallback: string): number {
    const value = this.any(key) ?? fallback
    if (typeof value !== 'string' || !/^[\t-\x7f]$/.test(value) || /[\w+.-]/.test(value))
      this.refuse(key, 'a single ASCII character that is no part of a number', JSON.stringify(fallback))
    return (value as string).charCodeAt(0)
  }

  /** Returns the reader of a group of settings in these; an empty one if the key is missing. The caller has to call its `done`. */
  group(key: string, taken: readonly string[] = []): SettingsReader {
    const value = this.any(key) ?? {}
    if (!isGroup(value)) this.refuse(key, 'a group of settings', '{}')
    // The place of a setting that is missing in a group that is missing itself is the place of the group's key here.
    const placeOf: PlaceOf = (group, inside) => this.#placeOf?.(group, inside) ?? this.#placeOf?.(this.settings, key)
    this.#unread.delete(key)
    const all = [...taken, ...(Object.hasOwn(this.#takenInside, key) ? this.#takenInside[key]! : [])]
    return new SettingsReader(`${this.of}.${key}`, value, all, placeOf)
  }

  /** Returns the readers of a list of groups; a single group is a list of one. */
  groups(key: string, taken: readonly string[] = []): SettingsReader[] {
    const value = this.any(key) ?? []
    const list = Array.isArray(value) ? value : [value]
    if (!list.every(isGroup)) this.refuse(key, 'a list of groups of settings', '[{}]')
    return list.map((each, i) => new SettingsReader(`${this.of}.${key}[${i}]`, each, taken, this.#placeOf))
  }

  /** Returns the value of a key of any type; undefined if it is missing, or null. */
  any(key: string): unknown {
    if (!this.#known.includes(key)) this.#known.push(key)
    return Object.hasOwn(this.settings, key) ? (this.settings[key] ?? undefined) : undefined
  }

  /** Returns all keys that there are, for groups whose keys are names. */
  keys(): string[] {
    return Object.keys(this.settings)
  }

  /** Throws an error that names all keys that have not been read. */
  done(): void {
    for (const key of this.#unread) this.group(key).done()
    const unknown = this.keys().filter((key) => !this.#known.includes(key))
    const [first, ...others] = unknown
    if (first === undefined) return
    const has = this.#known.length === 0 ? '' : ` It has: ${this.#known.join(', ')}`
    if (others.length === 0)
      this.fail(`${this.of} has no setting '${first}'.${didYouMean(first, this.#known)}${has}`, first)
    const at = (key: string): string => (this.placeOf(key) === this.placeOf(first) ? '' : ` (${this.placeOf(key)})`)
    const near = (key: string): string =>
      didYouMean(key, this.#known).replace('Did you mean', `For '${key}', did you mean`)
    const names = unknown.map((key) => `'${key}'${at(key)}`).join(', ')
    this.fail(`${this.of} has no settings ${names}.${unknown.map(near).join('')}${has}`, first)
  }

  /** Returns the place of a key in a file, or of the settings without one; undefined if it is unknown. */
  placeOf(key?: string): string | undefined {
    return this.#placeOf?.(this.settings, key)
  }

  /** Throws an error: the value of a key is not valid; `expected` is. */
  refuse(key: string, expected: string, example: string): never {
    const value = JSON.stringify(this.settings[key] ?? null)
    const type = typeof this.settings.type === 'string' ? `"type":"${this.settings.type}",` : ''
    const whole = `{${type}"${key}":${example}}`
    const what = this.has(key) ? notValid(value, expected, whole) : `is missing. ${expectation(expected, whole)}`
    this.fail(`${this.of}: ${key}: ${what}`, key)
  }

  /** Throws an error about these settings, with their place. */
  fail(message: string, key?: string): never {
    const place = this.placeOf(key)
    throw new GatewayError('ERR_GATEWAY_SETTING', place === undefined ? message : `${place}: ${message}`)
  }
}

export function isGroup(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
