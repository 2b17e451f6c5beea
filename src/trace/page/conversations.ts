/** Table of conversations: both directions of each in one row, sortable, one of them chosen. */
import { byId, element } from '../../page/index.ts'
import { byteText, timeText, whole } from '../../text/index.ts'
import type { ConversationInfo, DirectionInfo } from '../index.ts'

const mostRows = 200

interface Column {
  name: string
  title: string
  /** Returns the sort key: largest number first, text in ascending order. */
  value(conversation: ConversationInfo): number | string
  text(conversation: ConversationInfo): string
  isBad?: boolean
}

const sum = ({ directions }: ConversationInfo, get: (direction: DirectionInfo) => number): number =>
  directions.reduce((total, direction) => total + get(direction), 0)

const counted = (name: string, title: string, get: (direction: DirectionInfo) => number, isBad = false): Column => ({
  ...{ name, title, isBad },
  value: (conversation) => sum(conversation, get),
  text: (conversation) => whole(sum(conversation, get)) || '0',
})

/** Latency of the slower direction; -1 without any. */
const latency = ({ directions }: ConversationInfo, key: 'p50Ns' | 'p99Ns'): number =>
  Math.max(-1, ...directions.map((direction) => direction.latency?.[key] ?? -1))

const timed = (name: string, title: string, key: 'p50Ns' | 'p99Ns'): Column => ({
  ...{ name, title },
  value: (conversation) => latency(conversation, key),
  text: (conversation) => (latency(conversation, key) < 0 ? '–' : timeText(latency(conversation, key))),
})

const naks = ({ naks: counts }: DirectionInfo): number => Object.values(counts).reduce((a, b) => a + b, 0)

const columns: readonly Column[] = [
  {
    name: 'conversation',
    title: 'number, service, and its two ends',
    value: ({ number }) => -number,
    text: (conversation) => `#${conversation.number} ${conversation.service} ${endsText(conversation)}`,
  },
  counted('packets', 'packets of both directions', ({ packets }) => packets),
  counted('messages', 'messages of both directions', ({ messages }) => messages.total),
  {
    name: 'payload',
    title: 'payload of requests and of READ responses, each byte once',
    value: (conversation) => sum(conversation, ({ bytes, readBytes }) => bytes + readBytes),
    text: (conversation) => byteText(sum(conversation, ({ bytes, readBytes }) => bytes + readBytes)),
  },
  counted('again', 'request packets sent again', ({ retransmissions }) => retransmissions, true),
  counted('gaps', 'places where PSNs are left out', ({ gaps }) => gaps, true),
  counted('NAKs', 'NAKs other than RNR NAKs', naks, true),
  counted('RNR', 'RNR NAKs: no receive was posted', ({ rnrNaks }) => rnrNaks, true),
  counted('CNP', 'congestion notifications', ({ cnps }) => cnps, true),
  counted('ICRC', 'packets with a wrong ICRC', ({ icrcInvalid }) => icrcInvalid, true),
  timed('50 %', 'median latency, from a request to its response; of the slower direction', 'p50Ns'),
  timed('99 %', '99th percentile of latency; of the slower direction', 'p99Ns'),
]

export function endsText({ directions }: ConversationInfo): string {
  const { source, sourceQp, destination, destinationQp } = directions[0]!
  const arrow = directions.length > 1 ? '↔' : '→'
  return `${source}${qpText(sourceQp)} ${arrow} ${destination}${qpText(destinationQp)}`
}

function qpText(qp: number | null): string {
  return qp === null ? '' : ` QP 0x${qp.toString(16)}`
}

export class Conversations {
  readonly #choose: (number: number) => void
  #all: readonly ConversationInfo[] = []
  #total = 0
  #sort = 1
  #descending = true
  #chosen = 0

  constructor(choose: (number: number) => void) {
    this.#choose = choose
    const head = byId<HTMLTableElement>('conversations').tHead!.rows[0]!
    for (const [i, { name, title }] of columns.entries()) {
      const sort = element('button', { type: 'button', title }, name)
      sort.addEventListener('click', () => this.#sortBy(i))
      head.append(element('th', i === 0 ? { scope: 'col' } : { scope: 'col', class: 'number' }, sort))
    }
  }

  show(conversations: readonly ConversationInfo[], total: number): void {
    this.#all = conversations
    this.#total = total
    this.#draw()
  }

  /** Marks the conversation that is shown below. */
  choose(number: number): void {
    this.#chosen = number
    this.#draw()
  }

  #sortBy(column: number): void {
    this.#descending = this.#sort === column ? !this.#descending : true
    this.#sort = column
    this.#draw()
  }

  #draw(): void {
    const table = byId<HTMLTableElement>('conversations')
    const { value } = columns[this.#sort]!
    const turn = this.#descending ? -1 : 1
    const sorted = this.#all.toSorted((a, b) => {
      const [x, y] = [value(a), value(b)]
      return (x < y ? -1 : x > y ? 1 : b.number - a.number) * turn
    })
    for (const [i, cell] of [...table.tHead!.rows[0]!.cells].entries()) {
      if (i === this.#sort) cell.setAttribute('aria-sort', this.#descending ? 'descending' : 'ascending')
      else cell.removeAttribute('aria-sort')
    }
    const focused = document.activeElement?.closest<HTMLElement>('#conversations tbody tr')?.dataset.number
    table.tBodies[0]!.replaceChildren(...sorted.slice(0, mostRows).map((one) => this.#row(one)))
    // The focus of a keyboard user stays on the same row.
    if (focused !== undefined)
      table.querySelector<HTMLElement>(`tbody tr[data-number="${focused}"] button`)?.focus({ preventScroll: true })
    const shown = Math.min(sorted.length, mostRows)
    const rest = this.#total - shown
    const more = byId('more-conversations')
    more.hidden = rest <= 0
    more.textContent = `… and ${whole(rest)} more: sort by another column, or save all as JSON`
  }

  #row(conversation: ConversationInfo): HTMLTableRowElement {
    const { number, service } = conversation
    const row = element('tr', { 'data-number': String(number) })
    if (number === this.#chosen) row.setAttribute('aria-current', 'true')
    const open = element(
      'button',
      { type: 'button' },
      element('b', {}, `#${number} ${service}`),
      ` ${endsText(conversation)}`,
    )
    open.addEventListener('click', () => this.#choose(number))
    row.append(element('th', { scope: 'row' }, open))
    for (const { text, value, isBad } of columns.slice(1)) {
      const worth = isBad && Number(value(conversation)) > 0
      row.append(element('td', { class: worth ? 'number bad' : 'number' }, isBad && !worth ? '–' : text(conversation)))
    }
    row.addEventListener('click', (event) => {
      if (!(event.target as Element).closest('button')) this.#choose(number)
    })
    return row
  }
}
