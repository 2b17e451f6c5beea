/** Tables of keys with their bounds, whose hosts and queue pairs can be opened. */
import { element } from '../../page/index.ts'
import { percentText } from '../../text/index.ts'
import type { KeyFields, Row } from '../index.ts'
import { amountText } from './format.ts'

/** Host, or a queue pair of it. */
export interface Place {
  host: string
  qp: number | null
}

export type Open = (place: Place) => void

export function placeText({ host, qp }: Place): string {
  return qp === null ? host : `${host} QP 0x${qp.toString(16)}`
}

export interface RowsOptions {
  /** Name of the key of the rows. */
  by: string
  measure: string
  rows: readonly Row[]
  /** Total for the calculation of shares. */
  total?: number
  rest: number
  open: Open
}

/** Returns a table, or a sentence if there are no rows. */
export function rowsTable({ by, measure, rows, total, rest, open }: RowsOptions): HTMLElement {
  if (rows.length === 0) return element('p', { class: 'faint' }, `No ${measure} in this time.`)
  const heads = [
    by,
    by === 'event' ? 'count' : measure,
    ...(total === undefined ? [] : ['share']),
    'at least',
    'at most',
  ]
  const body = rows.map(({ name, fields, value, lower, upper }) => [
    keyCell(name, fields, by, open),
    amountText(value, measure),
    ...(total === undefined ? [] : [shareCell(value, total)]),
    amountText(lower, measure),
    amountText(upper, measure),
  ])
  const all = plainTable(heads, body)
  if (rest === 0) return all
  const note = element('p', { class: 'faint' }, `Any other ${by}: at most ${amountText(rest, measure)}.`)
  return element('div', {}, all, note)
}

/** Returns a table whose first column is the subject of the row; the other columns are figures. */
export function plainTable(heads: readonly string[], rows: readonly (readonly (string | Node)[])[]): HTMLElement {
  const head = element('tr', {}, ...heads.map((text, i) => element('th', i === 0 ? {} : { class: 'number' }, text)))
  const body = rows.map((cells) =>
    element(
      'tr',
      {},
      ...cells.map((cell, i) =>
        i === 0 ? element('th', { scope: 'row' }, cell) : element('td', { class: 'number' }, cell),
      ),
    ),
  )
  const made = element('table', {}, element('thead', {}, head), element('tbody', {}, ...body))
  return element('div', { class: 'scroll', tabindex: '-1' }, made)
}

/** Returns a button that looks like a link; `key` identifies it when the table is made anew. */
export function link(text: string, key: string, press: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', class: 'link', 'data-key': key }, text)
  made.addEventListener('click', press)
  return made
}

function keyCell(name: string, fields: Partial<KeyFields>, by: string, open: Open): Node | string {
  const ends: Place[] = []
  const texts: string[] = []
  const { source, sourceQp, destination, destinationQp } = fields
  for (const [host, qp] of [
    [source, sourceQp],
    [destination, destinationQp],
  ] as const) {
    if (host === undefined) continue
    const place = { host, qp: qp ?? null }
    ends.push(place)
    texts.push(placeText(place) + (qp === null ? ' QP ?' : ''))
  }
  const arrow = by === 'connection' ? ' ↔ ' : ' → '
  const joined = texts.join(arrow)
  if (ends.length === 0 || !name.startsWith(joined)) return name
  const cell = element('span')
  for (const [i, place] of ends.entries())
    cell.append(
      i > 0 ? arrow : '',
      link(texts[i]!, `${by} ${name} ${i}`, () => open(place)),
    )
  cell.append(name.slice(joined.length))
  return cell
}

function shareCell(value: number, total: number): Node {
  const share = total === 0 ? 0 : Math.min(1, value / total)
  const filled = element('i')
  filled.style.width = `${(share * 100).toFixed(1)}%`
  return element(
    'span',
    {},
    element('span', { class: 'bar' }, filled),
    element('span', { class: 'part' }, percentText(share)),
  )
}

/** Replaces the contents of a place; the keyboard focus and the scroll position stay. */
export function replace(place: HTMLElement, ...content: readonly (string | Node)[]): void {
  const active = document.activeElement
  const key = active instanceof HTMLElement && place.contains(active) ? active.dataset.key : undefined
  const scrolled = [...place.querySelectorAll('.scroll')].map(({ scrollLeft }) => scrollLeft)
  place.replaceChildren(...content)
  for (const [i, box] of [...place.querySelectorAll('.scroll')].entries()) box.scrollLeft = scrolled[i] ?? 0
  if (key === undefined) return
  for (const one of place.querySelectorAll<HTMLElement>('[data-key]')) if (one.dataset.key === key) one.focus()
}
