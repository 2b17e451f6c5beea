/** Differences between sets: the settings that vary, and the names of sets by them. */

import { formatHz, formatNsExact } from './format.ts'
import type { Run, SavedSet, Setting, TimedSet } from './results.ts'

/** A set with the run it belongs to. */
export interface Entry<S extends SavedSet = SavedSet> {
  run: Run
  set: S
}

/** Entry that has a latency. */
export type TimedEntry = Entry<TimedSet>

/** Pseudo-setting that names the run where several are compared. */
export const RUN = 'run'

/** Settings whose value is clear without their name, in the order in which they are named. */
const PLAIN = ['test', 'transport', 'collective', 'algorithm', 'node', 'mode', 'device', 'service', 'op', 'technique']

/** Order in which settings are named; all others follow as they come. */
const ORDER = [
  ...PLAIN,
  ...['size', 'poll', 'pollComp', 'inline', 'unsignaled', 'stamp'],
  ...[
    'values',
    'rate',
    'timer',
    'ends',
    'concurrent',
    'batch',
    'burst',
    'pause',
    'engine',
    'buffer',
    'extensions',
    'direct',
    'pin',
    'repeat',
    RUN,
  ],
]

const SELF_EXPLANATORY = new Set([...PLAIN, RUN])

/** Settings that a reader looks for in every name, if they vary. */
const ALWAYS_NAMED = new Set([...SELF_EXPLANATORY, 'size', 'values', 'rate', 'repeat'])

/** Settings that mostly follow from others: the first to be dropped where a name needs fewer. */
const LEAST_TELLING: readonly string[] = ['pin', 'burst', 'pause', 'unsignaled', 'pollComp', 'buffer', 'ends']

export function settingOf(entry: Entry, key: string): Setting | undefined {
  return key === RUN ? entry.run.label : entry.set.settings[key]
}

export interface SettingNames {
  /** Settings with more than one value among the sets (absence counts as a value); RUN is one when there are several runs. */
  varying: string[]
  /** Settings that all sets share, with their values. */
  constant: Map<string, Setting>
}

export function settingNames(entries: readonly Entry[]): SettingNames {
  const keys = new Set(entries.flatMap((entry) => Object.keys(entry.set.settings)))
  keys.add(RUN)
  const ordered = [...ORDER.filter((key) => keys.has(key)), ...[...keys].filter((key) => !ORDER.includes(key))]
  const varying: string[] = []
  const constant = new Map<string, Setting>()
  for (const key of ordered) {
    const values = new Set(entries.map((entry) => settingOf(entry, key)))
    const [first] = values
    if (values.size > 1) varying.push(key)
    else if (first !== undefined && key !== RUN) constant.set(key, first)
  }
  return { varying, constant }
}

/** Returns "RC send, size 8, poll busy, no inline". */
export function labelOf(entry: Entry, keys: readonly string[]): string {
  const words: string[] = []
  const parts: string[] = []
  for (const key of keys) {
    const value = settingOf(entry, key)
    if (value === undefined) continue
    const text = settingText(key, value)
    if (SELF_EXPLANATORY.has(key) && key !== RUN) words.push(text)
    else parts.push(text)
  }
  return [words.join(' '), ...parts].filter((part) => part !== '').join(', ')
}

/** Returns "RC", "poll busy", "no inline", "pause 2,000 ns". */
function settingText(key: string, value: Setting): string {
  if (SELF_EXPLANATORY.has(key) || key === 'ends') return String(value)
  if (key === 'rate' && typeof value === 'number') return formatHz(value)
  if (key === 'values') return value === 1 ? 'one value' : `${value} values`
  if (key === 'unsignaled' && value === false) return 'each signaled'
  if (typeof value === 'boolean') return value ? key : `no ${key}`
  return `${key === 'pollComp' ? 'completions poll' : key} ${key === 'pause' && typeof value === 'number' ? formatNsExact(value) : value}`
}

/** Short names for entries that differ in some settings. */
export interface Names {
  of(entry: Entry): string
  /** Returns the settings in the name of an entry; none for an entry with all usual values. */
  keysOf(entry: Entry): string[]
  /** Values that names leave out because most entries have them; empty when none are left out. */
  usual: string
}

/**
 * Makes names from those of these settings that are needed to distinguish the entries: not from a setting that follows from the others, and
 * not from the value that most entries have.
 */
export function namesOf(entries: readonly Entry[], keys: readonly string[]): Names {
  const distinct = (some: readonly string[]): number => new Set(entries.map((entry) => keyOf(entry, some))).size
  const all = distinct(keys)
  let needed = [...keys]
  const least = LEAST_TELLING.filter((key) => keys.includes(key))
  for (const key of [...least, ...keys.filter((key) => !least.includes(key)).reverse()]) {
    const without = needed.filter((other) => other !== key)
    if (!ALWAYS_NAMED.has(key) && distinct(without) === all) needed = without
  }
  const usual = new Map<string, Setting>()
  for (const key of needed) {
    if (ALWAYS_NAMED.has(key)) continue
    for (const [, alike] of groupBy(entries, (entry) => keyOf(entry, [key]))) {
      const value = settingOf(alike[0]!, key)
      if (alike.length * 2 > entries.length && value !== undefined) usual.set(key, value)
    }
  }
  const named = (entry: Entry): string[] => needed.filter((key) => settingOf(entry, key) !== usual.get(key))
  return {
    // An entry with all usual values has no other name than these.
    keysOf: named,
    of: (entry) => labelOf(entry, named(entry)) || labelOf(entry, needed),
    usual: [...usual].map(([key, value]) => settingText(key, value)).join(', '),
  }
}

/** Returns the settings that all entries share, in words; settings that are off are not named. */
export function sharedLabel(entries: readonly Entry[], except: readonly string[] = []): string {
  const [first] = entries
  if (!first) return ''
  const { constant } = settingNames(entries)
  const keys = [...constant].filter(([key, value]) => value !== false && key !== 'repeat' && !except.includes(key))
  return labelOf(
    first,
    keys.map(([key]) => key),
  )
}

/** Returns the values of these settings, as far as the entry has them. */
export function settingsOf(entry: Entry, keys: readonly string[]): Record<string, Setting> {
  return Object.fromEntries(
    keys.flatMap((key) => {
      const value = settingOf(entry, key)
      return value === undefined ? [] : [[key, value]]
    }),
  )
}

/** Returns a key that is equal for entries that agree in these settings. */
export function keyOf(entry: Entry, keys: readonly string[]): string {
  return JSON.stringify(keys.map((key) => settingOf(entry, key) ?? null))
}

/** Groups items in the order in which the groups first occur. */
export function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(key(item))
    if (group) group.push(item)
    else groups.set(key(item), [item])
  }
  return groups
}

/** Compares numbers by size, all other values as text. */
export function compareSettings(a: Setting, b: Setting): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0
}
