/** Numbers of each window over time: bits, packets and messages, events. */
import { byId, Chart, type ChartLine, clockText, clockTicks } from '../../page/index.ts'
import { bitText, countText } from '../../text/index.ts'
import type { EventName } from '../index.ts'
import type { Point } from '../view/index.ts'

/** Short names of events. Missing packets include late ones until these are subtracted. */
const words: Readonly<Record<EventName, string>> = {
  retransmission: 'sent again',
  duplicate: 'duplicates',
  missing: 'missing PSNs',
  late: 'came late',
  repeat: 'responses again',
  restart: 'restarts',
  timeout: 'time-outs',
  nakSequence: 'NAKs of sequence',
  nakInvalid: 'NAKs of requests',
  nakAccess: 'NAKs of access',
  nakOperational: 'operational NAKs',
  nakOther: 'other NAKs',
  rnr: 'RNR NAKs',
  cnp: 'CNPs',
  marked: 'ECN marks',
  icrc: 'wrong ICRCs',
  malformed: 'malformed',
}

/** Returns the number of times that an event happened in a window, as shown in the figures of the window. */
function countOf(name: EventName, { events }: Point): number {
  return Math.max(0, (events[name] ?? 0) - (name === 'missing' ? (events.late ?? 0) : 0))
}

/** Maximum number of points; the server keeps more, which would not be visible. */
const mostPoints = 3600
const mostEvents = 6

export class Series {
  #points: Point[] = []
  readonly #bits: Chart
  readonly #packets: Chart
  readonly #events: Chart

  /** @param pick receives the number of the window that was chosen */
  constructor(pick: (window: number) => void) {
    const choose = (at: number): void => {
      const point = this.#points[at]
      if (point !== undefined) pick(point.number)
    }
    this.#bits = new Chart(byId('bits'), 'Bits a second', 170, choose)
    this.#packets = new Chart(byId('packets'), 'Packets and messages a second', 170, choose)
    this.#events = new Chart(byId('events'), 'Events in a window', 170, choose)
  }

  clear(): void {
    this.#points = []
  }

  /** Adds points; after a lost connection, all come again. */
  add(points: readonly Point[]): void {
    const last = this.#points.at(-1)?.number ?? 0
    const isAnew = points.length > 0 && points[0]!.number <= last
    this.#points = [...(isAnew ? [] : this.#points), ...points].slice(-mostPoints)
  }

  /** @param chosen number of the window that is shown */
  show(chosen: number): void {
    const points = this.#points
    const of = (label: string, value: (point: Point) => number): ChartLine => ({ label, values: points.map(value) })
    const at = points.findIndex(({ number }) => number === chosen)
    const common = {
      x: points.map(({ startMs }) => startMs),
      width: (points.at(-1)?.seconds ?? 1) * 1000,
      ...{ xTicks: clockTicks, xText: clockText },
      ...(at >= 0 && { chosen: at }),
    }
    this.#bits.show({ ...common, lines: [of('on the wire', ({ bits }) => bits)], yText: bitText })
    this.#packets.show({
      ...{ ...common, yText: (value: number) => countText(value) },
      lines: [of('packets', ({ packets }) => packets), of('messages', ({ messages }) => messages)],
    })
    const sums = new Map<EventName, number>()
    for (const point of points)
      for (const event of Object.keys(point.events) as EventName[])
        sums.set(event, (sums.get(event) ?? 0) + countOf(event, point))
    const names = [...sums]
      .filter(([, sum]) => sum > 0)
      .sort(([, a], [, b]) => b - a)
      .slice(0, mostEvents)
    const lines = names.map(([name]) => of(words[name], (point) => countOf(name, point)))
    this.#events.show({ ...common, lines, yText: (value: number) => countText(value) })
  }
}
