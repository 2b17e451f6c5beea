/** Host, or a queue pair of it, in the window that is shown: its traffic in both directions, down to messages. */
import { byId, clockText, element } from '../../page/index.ts'
import { byteText, timeText, whole } from '../../text/index.ts'
import type { MessageAnswer } from '../index.ts'
import type { CurveView, DetailView, WindowView } from '../view/index.ts'
import { drawCurve } from './bursts.ts'
import type { Connection } from './connection.ts'
import { quantileText } from './format.ts'
import { link, type Place, placeText, plainTable, replace, rowsTable } from './tables.ts'

const mostMessages = 10

export class Detail {
  readonly #connection: Connection
  #place: Place | undefined
  /** Number of the window; undefined before the first one. */
  #window: number | undefined
  /** Start of the window. */
  #startMs = 0
  #isAsking = false

  constructor(connection: Connection) {
    this.#connection = connection
    addEventListener('hashchange', () => this.#read())
    this.#read()
  }

  /** Opens a host or a queue pair; the browser's "back" closes it. */
  readonly open = ({ host, qp }: Place): void => {
    location.hash = new URLSearchParams({ host, ...(qp !== null && { qp: String(qp) }) }).toString()
    byId('detail').scrollIntoView({ block: 'start', behavior: 'smooth' })
  }

  clear(): void {
    this.#window = undefined
  }

  /** Shows another window. */
  show({ number, answer }: WindowView): void {
    this.#window = number
    this.#startMs = answer.startMs
    void this.#ask()
  }

  #read(): void {
    const given = new URLSearchParams(location.hash.slice(1))
    const [host, qp] = [given.get('host'), given.get('qp')]
    this.#place = host === null ? undefined : { host, qp: qp !== null && /^\d+$/.test(qp) ? Number(qp) : null }
    const section = byId('detail')
    section.hidden = this.#place === undefined
    if (this.#place === undefined) section.replaceChildren()
    else void this.#ask()
  }

  async #ask(): Promise<void> {
    const [place, window, startMs] = [this.#place, this.#window, this.#startMs]
    if (place === undefined || window === undefined || this.#isAsking) return
    this.#isAsking = true
    try {
      const detail = await this.#connection.ask({ ask: 'detail', window, ...place })
      const curve = await this.#connection.ask({
        ask: 'curve',
        window,
        ...place,
        fromNs: 0,
        toNs: Number.MAX_SAFE_INTEGER,
      })
      if (this.#place === place) this.#draw(detail, curve, startMs)
    } catch (error) {
      replace(byId('detail'), this.#head(place), element('p', { class: 'bad' }, (error as Error).message))
    } finally {
      this.#isAsking = false
    }
    if (this.#place !== place || this.#window !== window) void this.#ask()
  }

  #head({ host, qp }: Place): HTMLElement {
    const close = link('close', 'close', () => {
      location.hash = ''
    })
    const hosts = qp === null ? host : link(host, 'host', () => this.open({ host, qp: null }))
    const title = element('h2', {}, hosts, qp === null ? '' : ` › QP 0x${qp.toString(16)}`)
    return element('div', { class: 'row' }, title, close)
  }

  #draw(
    { tables, largest, slowest, latencies, ...detail }: DetailView,
    curve: CurveView | null,
    startMs: number,
  ): void {
    const { host, qp, hasAllLatencies } = detail
    const place = { host, qp }
    const parts: HTMLElement[] = [this.#head(place)]
    const figure = element('figure')
    if (curve !== null) parts.push(figure)
    const two = element('div', { class: 'two' })
    for (const { title, by, of, rows, rest, found } of tables) {
      const more = found > rows.length ? ` (${rows.length} of ${whole(found)})` : ''
      const table = rowsTable({ by, measure: of, rows, rest, open: this.open })
      two.append(element('section', {}, element('h3', {}, `${title}${more}`), table))
    }
    for (const [title, messages] of [
      ['largest messages', largest],
      ['slowest messages', slowest],
    ] as const)
      if (messages.length > 0) {
        const shown = messages.slice(0, mostMessages)
        const more = messages.length > shown.length ? ` (${shown.length} of ${messages.length})` : ''
        two.append(element('section', {}, element('h3', {}, title + more), messageTable(shown)))
      }
    if (latencies.length > 0) {
      const rows = latencies.map(({ flow, latency }) => [
        ...[
          flow,
          whole(latency.count),
          quantileText(latency.p50),
          quantileText(latency.p99),
          quantileText(latency.max),
        ],
      ])
      const table = plainTable(['flow', 'measured', '50 %', '99 %', 'longest'], rows)
      two.append(element('section', {}, element('h3', {}, 'latencies'), table))
    }
    if (!hasAllLatencies) {
      const text = 'Latencies are of the flows that had some first in this time: others may have some, too.'
      two.append(element('p', { class: 'faint' }, text))
    }
    if (tables.length === 0)
      two.append(element('p', { class: 'faint' }, `Nothing of it was found in the time from ${clockText(startMs)}.`))
    replace(byId('detail'), ...parts, two)
    if (curve !== null)
      drawCurve(figure, `Bits a second to ${placeText(place)} in the window of ${clockText(startMs)}`, curve, 0)
  }
}

function messageTable(messages: readonly MessageAnswer[]): HTMLElement {
  const rows = messages.map(({ flow, operation, psn, bytes, packets, ns }) => [
    ...[`${operation} ${flow}`, String(psn), byteText(bytes), whole(packets), timeText(ns)],
  ])
  return plainTable(['message', 'PSN', 'bytes', 'packets', 'time'], rows)
}
