/** Changes from one window to the next, as far as the bounds of both are apart: a difference within the bounds is not a change. */
import type { Key, KeyFields } from './key.ts'
import { type Measure, query } from './query.ts'
import type { Window } from './window.ts'

/** Key whose amount differs from that of the window before. */
export interface Change {
  name: string
  fields: Partial<KeyFields>
  before: number
  now: number
  /** Minimum of the change, with the confidence of both estimates; negative if the amount fell. */
  least: number
}

/** Number of the largest keys of each window that are compared. */
const compared = 200

/** Returns the heavy changers, the largest first. None unless `before` ends where the window begins, and is as long. */
export function changesOf(window: Window, before: Window, by: Key, of: Measure): Change[] {
  const isBefore = before.index + before.span === window.index && before.span === window.span
  if (!isBefore || window.late || before.late) return []
  const nows = query(window, { by, of, top: compared })
  const thens = query(before, { by, of, top: compared })
  const all = new Map([...thens.rows, ...nows.rows].map((row) => [row.name, row]))
  const newer = new Map(nows.rows.map((row) => [row.name, row]))
  const old = new Map(thens.rows.map((row) => [row.name, row]))
  const changes: Change[] = []
  for (const [name, { fields }] of all) {
    const [now, then] = [newer.get(name), old.get(name)]
    const up = (now?.lower ?? 0) - (then?.upper ?? thens.rest)
    const down = (then?.lower ?? 0) - (now?.upper ?? nows.rest)
    const least = up > 0 ? up : down > 0 ? -down : 0
    if (least !== 0) changes.push({ name, fields, before: then?.value ?? 0, now: now?.value ?? 0, least })
  }
  return changes.sort((a, b) => Math.abs(b.least) - Math.abs(a.least))
}
