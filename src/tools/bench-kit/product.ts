/** From lists of settings to the sets that are measured: their product, without the combinations that cannot be measured. */

import { Random } from './random.ts'

/** Limits of the adapters. */
export interface Limits {
  /** Largest UD message, bytes. */
  mtu: number
  maxInlineData: number
}

export interface PlannedSet<S> {
  /** Identifier of three digits or more; it names the file of the timestamps. */
  id: string
  settings: S
  /** Number of the measurement of these settings: 1 for the first, 2 for the second, … */
  repeat: number
}

export interface LeftOut {
  reason: string
  combinations: number
}

export interface Plan<S> {
  /** Sets in the order of the product, as they are shown. */
  sets: PlannedSet<S>[]
  /** Indices into `sets` as they are measured: shuffled, so that a drift of the machine does not look like a setting. */
  order: number[]
  leftOut: LeftOut[]
}

/** Returns every combination of the lists, the last key varying fastest. */
export function combinations<S extends object>(lists: { [K in keyof S]: readonly S[K][] }): S[] {
  let all: object[] = [{}]
  for (const [key, values] of Object.entries<readonly unknown[]>(lists)) {
    all = all.flatMap((settings) => values.map((value) => ({ ...settings, [key]: value })))
  }
  return all as S[]
}

/** Puts the combinations that can be measured into a plan and counts those that cannot. */
export function makePlan<S extends object>(
  all: readonly S[],
  excluded: (settings: S) => string | null,
  repeat: number,
  seed: number,
): Plan<S> {
  const leftOut = new Map<string, number>()
  const possible: S[] = []
  for (const settings of all) {
    const reason = excluded(settings)
    if (reason === null) possible.push(settings)
    else leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1)
  }
  const sets: PlannedSet<S>[] = []
  for (const settings of possible) {
    for (let r = 1; r <= repeat; r++) sets.push({ id: String(sets.length + 1).padStart(3, '0'), settings, repeat: r })
  }
  const order = new Random(seed).shuffle(sets.map((_, i) => i))
  return { sets, order, leftOut: [...leftOut].map(([reason, combinations]) => ({ reason, combinations })) }
}

/** Returns the keys that have more than one value in these settings. */
export function varying(all: readonly object[]): string[] {
  const seen = new Map<string, Set<unknown>>()
  for (const settings of all) {
    for (const [key, value] of Object.entries(settings)) {
      const values = seen.get(key) ?? new Set()
      seen.set(key, values.add(value))
    }
  }
  return [...seen].filter(([, values]) => values.size > 1).map(([key]) => key)
}
