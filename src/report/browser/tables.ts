/** Tables: headings sort, and rows follow the choice of settings. */

import type { Settings } from '../charts/index.ts'
import type { Choice } from './choice.ts'

/** Sorts by the column whose heading is pressed, and reverses the order if it is pressed again; figures by value, empty cells last. */
export function sortable(table: HTMLTableElement): void {
  const heads = [...table.tHead!.rows[0]!.cells]
  for (const [column, head] of heads.entries()) {
    head.querySelector('button')!.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') !== 'ascending'
      for (const other of heads) other.removeAttribute('aria-sort')
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending')
      const key = (row: HTMLTableRowElement): string => {
        const cell = row.cells[column]!
        return cell.dataset.value ?? cell.textContent
      }
      const compare = (a: string, b: string): number => {
        if (a === '' || b === '') return Number(a === '') - Number(b === '')
        const [x, y] = [Number(a), Number(b)]
        const order = Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y
        return up ? order : -order
      }
      const body = table.tBodies[0]!
      body.append(...[...body.rows].sort((a, b) => compare(key(a), key(b))))
    })
  }
}

export function chooseRows(table: HTMLTableElement, choice: Choice): void {
  for (const row of table.tBodies[0]!.rows) {
    const { settings } = row.dataset
    if (settings !== undefined) row.hidden = !choice.chosen(JSON.parse(settings) as Settings)
  }
}
