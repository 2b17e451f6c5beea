/** Repetitions: sets that differ in nothing else represent one setting, whose figure is the middle one. */
import { rankOf } from '../stats/index.ts'
import { formatCount } from './format.ts'
import type { Setting } from './results.ts'

/** Returns the middle one of equivalent items, by a figure (the lower one of two). */
function middleOf<T>(alike: readonly T[], figure: (one: T) => number): T {
  return alike.toSorted((a, b) => figure(a) - figure(b))[rankOf(alike.length, 50) - 1]!
}

/** Returns the settings as one text, which is the same for all repetitions. */
function settingKey(settings: Readonly<Record<string, Setting>>): string {
  return JSON.stringify({ ...settings, repeat: 0 })
}

/**
 * Returns the set with the middle figure for each setting (of each run): on a busy machine some repetitions lose a core for a while, and
 * the best one is as little representative as the worst.
 */
export function middleSets<E extends { run: { label: string }; set: { settings: Readonly<Record<string, Setting>> } }>(
  entries: readonly E[],
  figure: (entry: E) => number,
): E[] {
  const groups = new Map<string, E[]>()
  for (const entry of entries) {
    const key = `${entry.run.label}\n${settingKey(entry.set.settings)}`
    groups.set(key, [...(groups.get(key) ?? []), entry])
  }
  return [...groups.values()].map((group) => middleOf(group, figure))
}

/** Returns "22 settings (the median of 3 repetitions of each)"; with as many settings as sets "22 sets". */
export function countText(settings: number, sets: number, what = 'sets'): string {
  if (settings === sets) return `${formatCount(settings)} ${what}`
  const repeats = sets / settings
  const many = Number.isInteger(repeats) ? `${repeats} repetitions` : 'the repetitions'
  return `${formatCount(settings)} ${settings === 1 ? 'setting' : 'settings'} (the median of ${many} of each)`
}
