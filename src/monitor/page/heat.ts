/** Map of hosts × hosts: the amounts that each pair exchanges. */
import { byId, element } from '../../page/index.ts'
import { whole } from '../../text/index.ts'
import type { HeatCell, HeatView } from '../view/index.ts'
import { amountText, boundedText } from './format.ts'
import { link, type Open, replace } from './tables.ts'

/** Hosts of the cell under the pointer: its numbers are shown anew for each window. */
let pointed: string | undefined

export function showHeat({ measure, hosts, cells, others, rest }: HeatView, open: Open): void {
  const place = byId('heat')
  if (hosts.length === 0) {
    replace(place, element('p', { class: 'faint' }, `No ${measure} in this time.`))
    return
  }
  const amount = (value: number): string => amountText(value, measure)
  const known = new Map(cells.map((cell) => [`${cell.from} ${cell.to}`, cell]))
  const [least, most] = [Math.min(...cells.map(({ value }) => value)), Math.max(...cells.map(({ value }) => value))]
  const usual =
    'Rows send, columns receive; the stronger the colour, the more. Point at a cell for its bounds, press it for the receiver.'
  const said = element('p', { class: 'faint', role: 'status' }, usual)
  const cellOf = (from: number, to: number): HTMLElement => {
    const cell = known.get(`${from} ${to}`)
    const name = `${hosts[from]} → ${hosts[to]}`
    const what = `${name}: ${cell === undefined ? `nothing found, at most ${amount(rest)}` : `${boundedText(cell, amount)} ${measure === 'bytes' ? '' : measure}`}`
    const made = element('button', { type: 'button', 'data-key': name, 'aria-label': what })
    made.disabled = cell === undefined
    if (cell !== undefined) made.style.background = shade(cell, least, most)
    const say = (): void => {
      pointed = name
      said.textContent = what
    }
    if (name === pointed) say()
    made.addEventListener('pointerenter', say)
    made.addEventListener('focus', say)
    made.addEventListener('click', () => open({ host: hosts[to]!, qp: null }))
    return element('td', {}, made)
  }
  const host = (name: string, side: string): HTMLElement =>
    link(name, `${side} ${name}`, () => open({ host: name, qp: null }))
  const head = element('tr', {}, element('td'), ...hosts.map((name) => element('th', {}, host(name, 'to'))))
  const rows = hosts.map((name, from) =>
    element('tr', {}, element('th', { scope: 'row' }, host(name, 'from')), ...hosts.map((_, to) => cellOf(from, to))),
  )
  const table = element('table', { class: 'heat' }, element('thead', {}, head), element('tbody', {}, ...rows))
  table.addEventListener('pointerleave', () => {
    pointed = undefined
    said.textContent = usual
  })
  const more = `${whole(others.pairs)} more pairs of hosts have ${amount(others.value)} together.`
  replace(place, element('div', { class: 'scroll', tabindex: '-1' }, table), said, ...(others.pairs > 0 ? [more] : []))
}

/** Returns the shade by the logarithm of the value: pairs differ by powers of ten. */
function shade({ value }: HeatCell, least: number, most: number): string {
  const share = most > least ? Math.log(value / least) / Math.log(most / least) : 1
  return `color-mix(in srgb, var(--heat) ${(12 + 88 * share).toFixed(0)}%, var(--card))`
}
