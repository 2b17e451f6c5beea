/** Tables of the report: all sets, two runs side by side, Δ inline. */

import type { Settings } from '../charts/spec.ts'
import { escapeHtml, formatBytes, formatCount } from '../format.ts'
import type { Setting } from '../results.ts'
import {
  type Entry,
  groupBy,
  keyOf,
  labelOf,
  type Names,
  namesOf,
  RUN,
  settingNames,
  settingOf,
  settingsOf,
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

/** Maximum length of an open table: a longer one would hide the content below it. */
export const MOST_OPEN = 60

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
