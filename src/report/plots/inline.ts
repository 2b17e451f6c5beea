/**
 * Δt_inline: time that inline sending would save, from sets that differ only in the position of the timestamp.
 *
 * Δt_inline ≈ median(t_lat with t_send) − median(t_lat with t_subm). t_lat is t_recv minus the timestamp, and
 * t_send is later than t_subm, so the first median is the smaller one; the time saved is the difference the other way.
 */

import type { BarSpec, Settings } from '../charts/spec.ts'
import type { PlotSettings } from '../results.ts'
import { groupBy, keyOf, labelOf, RUN, settingNames, settingsOf, type TimedEntry } from '../settings.ts'

export interface InlinePair {
  label: string
  settings: Settings
  /** Median latencies, nanoseconds. */
  submit: number
  send: number
  /** Difference submit − send: the time that inline sending saves, as estimated from the two. */
  saved: number
  /** Median of the set that was sent inline, with all else equal; null when there is none. */
  inline: number | null
}

export function inlinePairs(entries: readonly TimedEntry[]): InlinePair[] {
  const measured = entries.filter((entry) => entry.set.lat.count > 0)
  const keys = [...new Set(measured.flatMap((entry) => Object.keys(entry.set.settings)))]
  const same = [...keys.filter((key) => key !== 'stamp'), RUN]
  const withoutInline = same.filter((key) => key !== 'inline')
  const found = [...groupBy(measured, (entry) => keyOf(entry, same)).values()].flatMap((group) => {
    const submit = group.find((entry) => entry.set.settings.stamp === 'submit')
    const send = group.find((entry) => entry.set.settings.stamp === 'send')
    return submit && send ? [{ submit, send }] : []
  })
  // Only the settings that distinguish these pairs: sets without a partner vary in more.
  const { varying } = settingNames(found.length > 1 ? found.map(({ submit }) => submit) : measured)
  const named = varying.filter((key) => key !== 'stamp')
  return found.map(({ submit, send }) => {
    const inline =
      submit.set.settings.inline === false
        ? measured.find(
            ({ run, set }) =>
              set.settings.inline === true &&
              set.settings.stamp === 'submit' &&
              keyOf({ run, set }, withoutInline) === keyOf(submit, withoutInline),
          )
        : undefined
    return {
      label: labelOf(submit, named) || 'this set',
      settings: settingsOf(submit, named),
      submit: submit.set.lat.median,
      send: send.set.lat.median,
      saved: submit.set.lat.median - send.set.lat.median,
      inline: inline?.set.lat.median ?? null,
    }
  })
}

/** Maximum number of rows of a picture that is still readable; the table has all. */
const MAX_BARS = 16

export function inlineChart(pairs: readonly InlinePair[], plot: PlotSettings): BarSpec {
  const left = pairs.length > MAX_BARS ? `The first ${MAX_BARS} of ${pairs.length} pairs; the table has all` : ''
  return {
    kind: 'bars',
    name: 'inline',
    title: 'Median latency with the timestamp taken at submission and at sending',
    subtitle: left,
    width: plot.figure.width,
    height: plot.figure.height,
    xName: 'median latency',
    x: 'ns',
    names: ['stamp submit', 'stamp send'],
    rows: pairs
      .slice(0, MAX_BARS)
      .map(({ label, settings, submit, send }) => ({ label, settings, values: [submit, send] })),
  }
}
