/** Microbursts of the last windows, and one of them in detail: its rates, with their bounds. */
import { byId, Chart, clockText, element, timeTicks } from '../../page/index.ts'
import { bitText, percentText, timeText } from '../../text/index.ts'
import type { BurstAt, CurveView } from '../view/index.ts'
import type { Connection } from './connection.ts'
import { amountText, boundedText } from './format.ts'
import { link, placeText, plainTable, replace } from './tables.ts'

const mostSeen = 24
/** Time shown before and after a burst, as a multiple of its length, which is at least one bin. */
const around = 8

export class Bursts {
  readonly #connection: Connection
  /** Bursts of the newest window first; in each, the highest first. */
  #seen: BurstAt[] = []
  #oldest = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  clear(): void {
    this.#seen = []
    byId('burst').hidden = true
  }

  /** Adds bursts; after a lost connection, all come again. */
  add(bursts: readonly BurstAt[]): void {
    const again = new Set(bursts.map(({ window }) => window))
    this.#seen = [...bursts, ...this.#seen.filter(({ window }) => !again.has(window))].slice(0, mostSeen)
  }

  /** @param oldest first window that can be queried */
  show(oldest: number): void {
    this.#oldest = oldest
    const place = byId('burst-rows')
    if (this.#seen.length === 0) {
      const text =
        'None so far: times of microseconds in which four times as much goes to a host or a queue pair as on average, and 1 Gbit/s at least.'
      replace(place, element('p', { class: 'faint' }, text))
      return
    }
    const rows = this.#seen.map((one) => {
      const { name, startMs, microseconds, bytes, peak, mean } = one.burst
      const cell =
        one.window < this.#oldest
          ? name
          : link(name, `${name} ${startMs}`, () => void this.#open(one).catch(this.#failed))
      const text = boundedText(bytes, (value) => amountText(value, 'bytes'))
      return [cell, clockText(Math.floor(startMs)), timeText(microseconds * 1000), text, bitText(peak), bitText(mean)]
    })
    replace(place, plainTable(['onto', 'at', 'for', 'bytes', 'at its peak', 'on average'], rows))
  }

  async #open({ window, startMs, burst }: BurstAt): Promise<void> {
    const { destination, destinationQp } = burst.fields
    const place = { host: destination!, qp: destinationQp ?? null }
    const beginNs = (burst.startMs - startMs) * 1e6
    const lengthNs = burst.microseconds * 1000
    const [fromNs, toNs] = [Math.max(0, beginNs - around * lengthNs), beginNs + (around + 1) * lengthNs]
    const curve = await this.#connection.ask({ ask: 'curve', window, ...place, fromNs, toNs })
    const box = byId('burst')
    box.hidden = false
    if (curve === null) return replace(box, element('p', { class: 'faint' }, 'The rates of that window are not there.'))
    const figure = element('figure')
    replace(box, figure)
    drawCurve(figure, `Onto ${placeText(place)}, from ${clockText(Math.floor(burst.startMs))}`, curve, beginNs)
    box.scrollIntoView({ block: 'nearest', behavior: 'smooth' })
  }

  readonly #failed = ({ message }: Error): void => {
    byId('burst').hidden = false
    replace(byId('burst'), element('p', { class: 'bad' }, message))
  }
}

/** Draws a curve. `zeroNs`: origin of the times, in the window. */
export function drawCurve(figure: HTMLElement, title: string, curve: CurveView, zeroNs: number): void {
  const { startNs, binNs, together, values, lower, upper, mean, confidence } = curve
  const sign = (ns: number): string => `${ns < 0 ? '−' : '+'}${timeText(Math.abs(ns))}`
  const chart = new Chart(figure, title, 240)
  chart.show({
    x: values.map((_, t) => startNs + t * binNs - zeroNs),
    width: binNs,
    lines: [{ label: 'rate', values, lower, upper }],
    level: { label: 'average of the window', value: mean },
    xTicks: timeTicks,
    xText: (ns) => `${sign(ns)}, for ${timeText(binNs)}:`,
    yText: bitText,
  })
  figure.append(
    element(
      'p',
      { class: 'faint' },
      `The upper edge is no less than the true rate of any bin; the lower one is no more than it for each bin of the sketch, at a confidence of ${percentText(confidence)}.${together > 1 ? ` A bin here is ${together} of the sketch: each line has the highest of these.` : ''}`,
    ),
  )
}
