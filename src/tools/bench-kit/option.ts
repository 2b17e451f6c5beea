/**
 * One table row for each setting of a benchmark: how the command line spells it, its legal values, and its default.
 * Parsing, help and error messages all come from the row, so that they cannot disagree.
 *
 * A setting may be a list (`--size 8,64`), and an option may be repeated, which makes the list longer. Where one value
 * has a comma in it (`--device shm0,shm1`, `--pin 0,1`), only repetition makes a list.
 */
import { integer, wrongValue } from '../kit/index.ts'

export interface SettingOption<V> {
  /** Name of the option: `--size`, or `--inline` for one that also stands alone. */
  flag: string
  /** Argument of the option: `<bytes>`, or `[on|off]` for one that also stands alone. */
  argument: string
  description: string
  /** Description of a legal value, to complete "expected …", or the list of all values. */
  expected: string | readonly string[]
  example: string
  fallback: readonly V[]
  /** Returns the value, or undefined if `text` is not a valid one. */
  parse(text: string): V | undefined
  /** True if a comma belongs to the value. */
  whole?: boolean
}

/** Returns the values that an option was given, in order and without duplicates; `fallback` when it was not given. */
export function parseList<V>(option: SettingOption<V>, texts: readonly (string | true)[] | undefined): V[] {
  if (texts === undefined || texts.length === 0) return [...option.fallback]
  const values: V[] = []
  for (const given of texts) {
    const text = given === true ? 'on' : given
    for (const part of option.whole ? [text] : text.split(',')) {
      const value = option.parse(part.trim())
      if (value === undefined) throw wrongValue(option.flag, part, option.expected, option.example)
      if (!values.includes(value)) values.push(value)
    }
  }
  return values
}

/** Returns the values of each option of a table. `instead`: values of options that were not given. */
export function parseLists<L extends object>(
  table: { readonly [K in keyof L]: SettingOption<L[K]> },
  given: GivenOptions,
  instead: { [K in keyof L]?: L[K][] } = {},
): { [K in keyof L]: L[K][] } {
  const lists = Object.entries<SettingOption<unknown>>(table).map(([key, option]) => {
    const known = instead[key as keyof L]
    return [key, parseList(known === undefined ? option : { ...option, fallback: known }, given[key])] as const
  })
  return Object.fromEntries(lists) as { [K in keyof L]: L[K][] }
}

export function onOff(text: string): boolean | undefined {
  return { on: true, true: true, yes: true, off: false, false: false, no: false }[text.toLowerCase()]
}

/** Returns the pair of adapters between which a message travels: `shm0` stands for shm0 and its neighbour shm1. */
export function devicePair(text: string): string | undefined {
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '') || names.length > 2) return undefined
  return names.length === 2 ? names.join(',') : `${names[0]},${partnerOf(names[0]!)}`
}

/**
 * Returns the other adapter of the same host: shm0 ↔ shm1, shm:lab ↔ shm:lab/1, roce:127.0.0.1 ↔ roce:127.0.0.2. An
 * adapter without a neighbour is its own partner.
 */
function partnerOf(name: string): string {
  if (name === 'shm0') return 'shm1'
  if (name === 'shm1') return 'shm0'
  const segment = /^(shm:[^/]+)(?:\/([01]))?$/.exec(name)
  if (segment) return segment[2] === '1' ? segment[1]! : `${segment[1]}/1`
  const loopback = /^(roce:127\.\d+\.\d+\.)([12])$/.exec(name)
  if (loopback) return `${loopback[1]}${loopback[2] === '1' ? 2 : 1}`
  return name
}

/** Returns a valid value of `--pin`: `auto`, `none`, or cores: `0,1`. */
export function coreList(text: string): string | undefined {
  if (text === 'auto' || text === 'none') return text
  const cores = text.split(',').map((core) => integer(0, 8191)(core.trim()))
  return cores.includes(undefined) ? undefined : cores.join(',')
}

/** Result of the command line parser: the texts of each option, `true` for one that stands alone. */
export type GivenOptions = Record<string, readonly (string | true)[] | undefined>
