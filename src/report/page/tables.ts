/** Tables of the report: all sets, two runs side by side, Δ inline. */

import type { Settings } from '../charts/spec.ts'
import { escapeHtml, formatBytes, formatCount, formatRate } from '../format.ts'
import type { InlinePair } from '../plots/inline.ts'
import type { LatencySummary, Setting } from '../results.ts'
import {
  type Entry,
  groupBy,
  keyOf,
  type LatencyEntry,
  labelOf,
  type Names,
  namesOf,
  RUN,
  settingNames,
  settingOf,
  settingsOf,
  type ThroughputEntry,
} from '../settings.ts'

export interface Cell {
  text: string
  /** Sort value, where it is not the text. */
  value?: number | ''
  number?: boolean
  /** Note after the text, less prominent. */
  note?: string
  /** Bar behind the text, of this share of the cell. */
  bar?: { share: number; colour: string }
}

export interface Head {
  text: string
  number?: boolean
  /** Flag: shown only with all columns. */
  extra?: boolean
}

export interface Row {
  cells: Cell[]
  /** Settings by which the reader of the page may choose rows. */
  settings?: Settings
}

/** Returns a table that sorts by its headings; its first column stays in sight. */
export function table(heads: readonly Head[], rows: readonly (Row | Cell[])[], id: string): string {
  const classes = ({ number, extra }: Head, isNumber = number): string => {
    const names = [...(isNumber ? ['number'] : []), ...(extra ? ['extra'] : [])]
    return names.length > 0 ? ` class="${names.join(' ')}"` : ''
  }
  const head = heads.map((cell) => `<th scope="col"${classes(cell)}><button>${escapeHtml(cell.text)}</button></th>`)
  const body = rows.map((row) => {
    const { cells, settings } = 'cells' in row ? row : { cells: row, settings: undefined }
    const parts = cells.map((cell, column) => {
      const value = cell.value === undefined ? '' : ` data-value="${cell.value}"`
      const note = cell.note ? ` <span class="faint">${escapeHtml(cell.note)}</span>` : ''
      return `<td${classes(heads[column]!, cell.number)}${value}${barStyle(cell)}>${escapeHtml(cell.text)}${note}</td>`
    })
    // In single quotes, because JSON is full of double ones.
    const chosenBy = settings
      ? ` data-settings='${escapeHtml(JSON.stringify(settings)).replaceAll('&quot;', '"')}'`
      : ''
    return `<tr${chosenBy}>${parts.join('')}</tr>`
  })
  const more = heads.some(({ extra }) => extra)
    ? '<label class="more"><input type="checkbox"> All columns</label>\n'
    : ''
  return `<div class="table">${more}<div class="scroll" tabindex="0"><table class="sortable" id="${id}">
<thead><tr>${head.join('')}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table></div></div>`
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

/** Returns columns of settings for readers who sort by them; the first column has the settings in words. */
export function settingHeads(entries: readonly Entry[], keys: readonly string[]): Head[] {
  return keys.map((key) => ({
    text: key,
    number: entries.every((entry) => typeof settingOf(entry, key) === 'number'),
    extra: true,
  }))
}

/** Returns the set's number, and its difference from the others. */
export function setCell(entry: Entry, names: Names): Cell {
  return { text: entry.set.id, value: Number(entry.set.id), note: names.of(entry) }
}

/** Returns the settings that all sets share, once, and the values that most sets share, which the sets' names leave out. */
export function constantSettings(entries: readonly Entry[]): string {
  const { constant, varying } = settingNames(entries)
  const { usual } = namesOf(entries, varying)
  const unless = usual === '' ? '' : `<p class="settings faint">Unless named: ${escapeHtml(usual)}</p>`
  if (constant.size === 0) return unless
  const show = (key: string, value: Setting): string => {
    if (key === 'size' && typeof value === 'number') return formatBytes(value)
    return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
  }
  const items = [...constant].map(
    ([key, value]) => `<span>${escapeHtml(key)} <b>${escapeHtml(show(key, value))}</b></span>`,
  )
  const what = entries.length === 1 ? 'Settings' : 'The same in all sets'
  return `<p class="settings faint">${what}: ${items.join(' ')}</p>${unless}`
}

const FIGURES = { median: 'median', p90: 'p90', p99: 'p99', p999: 'p99.9', max: 'max' } as const
const MORE_FIGURES = { min: 'min', p10: 'p10' } as const

export function latencyTable(entries: readonly LatencyEntry[]): string {
  const { varying } = settingNames(entries)
  const names = namesOf(entries, varying)
  const withComp = entries.some((entry) => entry.set.comp)
  const number = (text: string): Head => ({ text, number: true })
  const extra = (text: string): Head => ({ text, number: true, extra: true })
  const heads = [
    { text: 'set' },
    ...[...Object.values(FIGURES), 'lost'].map(number),
    ...settingHeads(entries, varying),
    ...['n', ...Object.values(MORE_FIGURES)].map(extra),
    ...(withComp ? [extra('t_comp median')] : []),
  ]
  const rows = entries.map((entry): Row => {
    const { lat, comp, lost } = entry.set
    const figures = (names: object): Cell[] =>
      Object.keys(names).map((key) => count(lat.count > 0 ? lat[key as keyof LatencySummary] : null))
    return {
      settings: settingsOf(entry, varying),
      cells: [
        setCell(entry, names),
        ...figures(FIGURES),
        count(lost),
        ...varying.map((key) => settingCell(settingOf(entry, key))),
        count(lat.count),
        ...figures(MORE_FIGURES),
        ...(withComp ? [count(comp && comp.count > 0 ? comp.median : null)] : []),
      ],
    }
  })
  return table(heads, rows, 'sets-table')
}

export function throughputTable(entries: readonly ThroughputEntry[]): string {
  const { varying } = settingNames(entries)
  const names = namesOf(entries, varying)
  const heads: Head[] = [
    { text: 'set' },
    ...['messages/s', 'bytes/s', 'Gbit/s'].map((text) => ({ text, number: true })),
    ...settingHeads(entries, varying),
    ...['messages', 'seconds'].map((text) => ({ text, number: true, extra: true })),
  ]
  const rows = entries.map((entry): Row => {
    const { messages, seconds, messagesPerSecond, bytesPerSecond } = entry.set
    const gbit = (bytesPerSecond * 8) / 1e9
    return {
      settings: settingsOf(entry, varying),
      cells: [
        setCell(entry, names),
        count(messagesPerSecond),
        { text: formatRate(bytesPerSecond, 'B'), value: bytesPerSecond, number: true },
        { text: gbit >= 10 ? gbit.toFixed(1) : gbit.toFixed(3), value: gbit, number: true },
        ...varying.map((key) => settingCell(settingOf(entry, key))),
        count(messages),
        { text: seconds.toFixed(2), value: seconds, number: true },
      ],
    }
  })
  return table(heads, rows, 'throughput-sets')
}

/** Tabulates sets with equal settings in several runs: one figure for each run, and its ratio to that of the first run. */
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
    const cells = [
      { text: labelOf(group[0]!, keys) || 'all' },
      ...values.map((value) => count(value || null)),
      ...ratios,
    ]
    return [{ cells, settings: settingsOf(group[0]!, keys) }]
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
  const rows = pairs.map((pair) => ({
    settings: pair.settings,
    cells: [
      { text: pair.label },
      count(pair.submit),
      count(pair.send),
      count(pair.saved),
      ...(measured ? [count(pair.inline), count(pair.inline === null ? null : pair.submit - pair.inline)] : []),
    ],
  }))
  return table(heads, rows, 'inline')
}
