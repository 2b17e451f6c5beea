/** Tables of the report: all sets, two runs side by side, Δ inline. */

import { escapeHtml, formatBytes, formatCount, formatRate } from '../format.ts'
import type { InlinePair } from '../plots/inline.ts'
import type { Setting } from '../results.ts'
import {
  type Entry,
  groupBy,
  keyOf,
  type LatencyEntry,
  labelOf,
  RUN,
  settingNames,
  settingOf,
  type ThroughputEntry,
} from '../settings.ts'

export interface Cell {
  text: string
  /** For sorting, where it is not the text. */
  value?: number | ''
  number?: boolean
  /** A bar behind the text, of this share of the cell. */
  bar?: { share: number; colour: string }
}

/** A table that its headings sort. */
export function table(
  heads: readonly { text: string; number?: boolean }[],
  rows: readonly Cell[][],
  id: string,
): string {
  const number = (is: boolean | undefined): string => (is ? ' class="number"' : '')
  const head = heads.map(
    (cell) => `<th scope="col"${number(cell.number)}><button>${escapeHtml(cell.text)}</button></th>`,
  )
  const body = rows.map((row) => {
    const cells = row.map((cell) => {
      const value = cell.value === undefined ? '' : ` data-value="${cell.value}"`
      return `<td${number(cell.number)}${value}${barStyle(cell)}>${escapeHtml(cell.text)}</td>`
    })
    return `<tr>${cells.join('')}</tr>`
  })
  return `<div class="scroll" tabindex="0"><table class="sortable" id="${id}">
<thead><tr>${head.join('')}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table></div>`
}

function barStyle({ bar }: Cell): string {
  if (!bar) return ''
  const to = `${(bar.share * 100).toFixed(1)}%`
  return ` style="background: linear-gradient(to right, ${bar.colour}55 ${to}, transparent ${to})"`
}

export const NONE: Cell = { text: '–', value: '', number: true }

export function count(value: number | null): Cell {
  return value === null ? NONE : { text: formatCount(value), value, number: true }
}

export function settingCell(value: Setting | undefined): Cell {
  if (value === undefined) return { text: '–', value: '' }
  if (typeof value === 'number') return { text: String(value), value, number: true }
  return { text: typeof value === 'boolean' ? (value ? 'yes' : 'no') : value }
}

export function settingHeads(entries: readonly Entry[], keys: readonly string[]): { text: string; number: boolean }[] {
  return keys.map((key) => ({ text: key, number: entries.every((entry) => typeof settingOf(entry, key) === 'number') }))
}

/** The settings that all sets share, once. */
export function constantSettings(entries: readonly Entry[]): string {
  const { constant } = settingNames(entries)
  if (constant.size === 0) return ''
  const show = (key: string, value: Setting): string => {
    if (key === 'size' && typeof value === 'number') return formatBytes(value)
    return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
  }
  const items = [...constant].map(
    ([key, value]) => `<span>${escapeHtml(key)} <b>${escapeHtml(show(key, value))}</b></span>`,
  )
  return `<p class="settings faint">The same in all sets: ${items.join(' ')}</p>`
}

const FIGURES = ['min', 'p10', 'median', 'p90', 'p99', 'p999', 'max'] as const
const FIGURE_NAMES: Record<(typeof FIGURES)[number], string> = {
  min: 'min',
  p10: 'p10',
  median: 'median',
  p90: 'p90',
  p99: 'p99',
  p999: 'p99.9',
  max: 'max',
}

export function latencyTable(entries: readonly LatencyEntry[]): string {
  const { varying } = settingNames(entries)
  const withComp = entries.some((entry) => entry.set.comp)
  const number = (text: string) => ({ text, number: true })
  const heads = [
    { text: 'set' },
    ...settingHeads(entries, varying),
    ...['n', 'lost', ...FIGURES.map((key) => FIGURE_NAMES[key])].map(number),
    ...(withComp ? [number('t_comp median')] : []),
  ]
  const rows = entries.map((entry) => {
    const { lat, comp, lost, id } = entry.set
    return [
      { text: id },
      ...varying.map((key) => settingCell(settingOf(entry, key))),
      count(lat.count),
      count(lost),
      ...FIGURES.map((key) => count(lat.count > 0 ? lat[key] : null)),
      ...(withComp ? [count(comp && comp.count > 0 ? comp.median : null)] : []),
    ]
  })
  return table(heads, rows, 'sets-table')
}

export function throughputTable(entries: readonly ThroughputEntry[]): string {
  const { varying } = settingNames(entries)
  const heads = [
    { text: 'set' },
    ...settingHeads(entries, varying),
    ...['messages', 'seconds', 'messages/s', 'bytes/s', 'Gbit/s'].map((text) => ({ text, number: true })),
  ]
  const rows = entries.map((entry) => {
    const { id, messages, seconds, messagesPerSecond, bytesPerSecond } = entry.set
    const gbit = (bytesPerSecond * 8) / 1e9
    return [
      { text: id },
      ...varying.map((key) => settingCell(settingOf(entry, key))),
      count(messages),
      { text: seconds.toFixed(2), value: seconds, number: true },
      count(messagesPerSecond),
      { text: `${formatRate(bytesPerSecond)}B`, value: bytesPerSecond, number: true },
      { text: gbit >= 10 ? gbit.toFixed(1) : gbit.toFixed(3), value: gbit, number: true },
    ]
  })
  return table(heads, rows, 'throughput-sets')
}

/** Sets with equal settings in several runs: one figure for each run, and its ratio to that of the first run. */
export function comparisonTable<E extends Entry>(
  entries: readonly E[],
  figure: (entry: E) => number,
  id: string,
): string {
  const runs = [...new Set(entries.map((entry) => entry.run.label))]
  const { varying } = settingNames(entries)
  const keys = varying.filter((key) => key !== RUN)
  const groups = [...groupBy(entries, (entry) => keyOf(entry, keys)).values()]
  const rows = groups.flatMap((group) => {
    const values = runs.map((run) => {
      const entry = group.find((candidate) => candidate.run.label === run)
      return entry ? figure(entry) : null
    })
    if (values.filter((value) => value !== null && value > 0).length < 2) return []
    const first = values[0]
    const ratios = values.slice(1).map((value): Cell => {
      if (!value || !first) return NONE
      return { text: `× ${(value / first).toFixed(2)}`, value: value / first, number: true }
    })
    return [[{ text: labelOf(group[0]!, keys) || 'all' }, ...values.map((value) => count(value || null)), ...ratios]]
  })
  if (rows.length === 0) return ''
  const heads = [
    { text: 'settings' },
    ...runs.map((text) => ({ text, number: true })),
    ...runs.slice(1).map((run) => ({ text: `${run} / ${runs[0]}`, number: true })),
  ]
  return table(heads, rows, id)
}

export function inlineTable(pairs: readonly InlinePair[]): string {
  const measured = pairs.some((pair) => pair.inline !== null)
  const number = (text: string) => ({ text, number: true })
  const heads = [
    { text: 'settings' },
    ...['median, stamp submit', 'median, stamp send', 'Δt inline'].map(number),
    ...(measured ? [number('median, sent inline'), number('saved in fact')] : []),
  ]
  const rows = pairs.map((pair) => [
    { text: pair.label },
    count(pair.submit),
    count(pair.send),
    count(pair.saved),
    ...(measured ? [count(pair.inline), count(pair.inline === null ? null : pair.submit - pair.inline)] : []),
  ])
  return table(heads, rows, 'inline')
}
