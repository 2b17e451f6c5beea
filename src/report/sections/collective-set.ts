/** Sets of `verbena bench collective`: their form, and their names. */
import { z } from 'zod'
import type { LatencySummary, ResultsOf, Schema, Setting } from '../results.ts'
import { count, error, figure, id, settings, summary } from '../schema-parts.ts'
import { type Entry, RUN } from '../settings.ts'

/** One set of `verbena bench collective`. */
export interface CollectiveSet {
  id: string
  /** device, transport, mode, measure, repetitions, size (bytes), processes (remote ones); of scenario 1 posts. */
  settings: Record<string, Setting>
  /** Time of the repetitions in which nothing was lost; each is in `${id}.csv`. */
  time: LatencySummary
  /** Mean, nanoseconds. */
  mean: number
  /** Messages, both ways: a multicast counts for each rank to which it is addressed. */
  sent: number
  received: number
  /** Share that did not arrive, 0 to 1. */
  lost: number
  error?: string
}

export type CollectiveResults = ResultsOf<'collective', 'ns', CollectiveSet>

export type CollectiveEntry = Entry<CollectiveSet>

export const collectiveSetSchema: Schema<CollectiveSet> = z.object({
  id,
  settings,
  time: summary,
  mean: figure,
  sent: count,
  received: count,
  lost: z.number().min(0).max(1),
  error: error,
})

export function numberOf(entry: CollectiveEntry, key: 'size' | 'processes' | 'posts'): number {
  return Number(entry.set.settings[key])
}

/** True if the set is of comparable round trips: those of READ have other parts. */
export function isRoundTrip({ set }: CollectiveEntry): boolean {
  return set.settings.measure === 'MEA_RTT_TIME' && set.settings.mode !== 'READ'
}

/** Returns comparable round trips that have a time. */
export function roundTrips(entries: readonly CollectiveEntry[]): CollectiveEntry[] {
  return entries.filter((entry) => isRoundTrip(entry) && entry.set.time.count > 0)
}

/** Returns "RC SEND", and the settings that distinguish sets besides size and processes. */
export function kindOf(entry: CollectiveEntry, keys: readonly string[]): string {
  const { transport, mode } = entry.set.settings
  const rest = keys.filter((key) => !['transport', 'mode', 'measure', 'size', 'processes', 'posts'].includes(key))
  const others = rest.map((key) =>
    key === RUN ? entry.run.label : `${key === 'device' ? '' : `${key} `}${entry.set.settings[key]}`,
  )
  return [`${transport} ${mode}`, ...others].join(', ')
}
