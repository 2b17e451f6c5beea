/**
 * Lines over time as SVG: values, and around them the band in which the true ones lie. The values under the pointer, or chosen by the arrow
 * keys, are in the legend; else those that were chosen, the last ones, or the highest of a line that has a level to compare with.
 */
import { roundStep, type Tick } from './axis.ts'
import { element } from './dom.ts'

export interface ChartLine {
  label: string
  values: readonly number[]
  /** Bounds of the values; without them, they are exact. */
  lower?: readonly number[]
  upper?: readonly number[]
}

export interface ChartData {
  /** Position of each value; ascending. */
  x: readonly number[]
  lines: readonly ChartLine[]
  /** Common width of the values, which hold from their place to the next one. Lines are interrupted where places are further apart. */
  width: number
  xTicks(from: number, to: number, most: number): Tick[]
  /** Formats a value of x in full, and one of y. */
  xText(x: number): string
  yText(y: number): string
  /** Level to compare with. */
  level?: { label: string; value: number }
  /** Index of the place that is marked as chosen. */
  chosen?: number
}

const [left, right, top, bottom] = [76, 8, 8, 20]

export class Chart {
  readonly #svg = svg('svg', { tabindex: '0', role: 'img' })
  readonly #legend = element('ul', { class: 'legend' })
  readonly #height: number
  #data: ChartData | undefined
  #at = -1

  /** @param pick called with the number of the place that was clicked */
  constructor(place: HTMLElement, title: string, height: number, pick?: (at: number) => void) {
    this.#height = height
    this.#svg.setAttribute('aria-label', title)
    place.replaceChildren(element('figcaption', {}, title), this.#svg, this.#legend)
    this.#svg.addEventListener('pointermove', ({ offsetX }) => this.#point(this.#nearest(offsetX)))
    this.#svg.addEventListener('pointerleave', () => this.#point(-1))
    this.#svg.addEventListener('blur', () => this.#point(-1))
    this.#svg.addEventListener('click', ({ offsetX }) => pick?.(this.#nearest(offsetX)))
    this.#svg.addEventListener('keydown', (event) => {
      const last = (this.#data?.x.length ?? 0) - 1
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (step !== undefined) this.#point(Math.max(0, Math.min(last, (this.#at < 0 ? last + 1 : this.#at) + step)))
      else if (event.key === 'Enter' && this.#at >= 0) pick?.(this.#at)
      else return
      event.preventDefault()
    })
    new ResizeObserver(() => this.#draw()).observe(place)
  }

  show(data: ChartData): void {
    this.#data = data
    if (this.#at >= data.x.length) this.#at = -1
    this.#draw()
  }

  #point(at: number): void {
    if (at === this.#at) return
    this.#at = at
    this.#draw()
  }

  #range(): [number, number] {
    const { x, width } = this.#data!
    return [x[0] ?? 0, (x.at(-1) ?? 0) + width]
  }

  #nearest(pixel: number): number {
    const data = this.#data
    if (data === undefined || data.x.length === 0) return -1
    const [from, to] = this.#range()
    const x = from + ((pixel - left) / Math.max(1, this.#svg.clientWidth - left - right)) * (to - from)
    let at = data.x.findLastIndex((one) => one <= x)
    if (at < 0) at = 0
    return at
  }

  #draw(): void {
    const data = this.#data
    const width = this.#svg.clientWidth
    if (data === undefined || width === 0) return
    const [from, to] = this.#range()
    const height = this.#height
    const all = [...data.lines.flatMap(({ values, upper }) => upper ?? values), data.level?.value ?? 0]
    const largest = all.reduce((a, b) => Math.max(a, b), 0) || 1
    const step = roundStep(largest / 4)
    // The axis ends at a tick, so that the highest value can be read.
    const most = Math.ceil(largest / step - 1e-9) * step
    const x = (value: number): number => left + ((value - from) / (to - from || 1)) * (width - left - right)
    const y = (value: number): number => height - bottom - (value / most) * (height - top - bottom)
    const parts: SVGElement[] = []
    const { chosen } = data
    if (chosen !== undefined && data.x[chosen] !== undefined) {
      const [begin, end] = [x(data.x[chosen]), x(data.x[chosen] + data.width)]
      const size = { y: `${top}`, width: `${Math.max(2, end - begin)}`, height: `${height - top - bottom}` }
      parts.push(svg('rect', { class: 'chosen', x: `${begin}`, ...size }))
    }
    for (let value = 0; value <= most * (1 + 1e-9); value += step) {
      parts.push(
        svg('line', { class: 'grid', x1: `${left}`, x2: `${width - right}`, y1: `${y(value)}`, y2: `${y(value)}` }),
      )
      parts.push(label(left - 6, y(value) + 4, 'end', data.yText(value)))
    }
    for (const { value, text } of data.xTicks(from, to, Math.max(1, Math.floor((width - left) / 110)))) {
      const place = Math.min(Math.max(x(value), left), width - right)
      const anchor = place > width - 40 ? 'end' : place < left + 30 ? 'start' : 'middle'
      parts.push(label(place, height - 5, anchor, text))
    }
    for (const [i, { values, lower, upper }] of data.lines.entries()) {
      const name = `c${i % 6}`
      if (lower !== undefined && upper !== undefined)
        parts.push(svg('path', { class: `band ${name}`, d: this.#band(lower, upper, x, y) }))
      parts.push(svg('path', { class: `line ${name}`, d: this.#line(values, x, y) }))
    }
    if (data.level !== undefined) {
      const at = `${y(data.level.value)}`
      parts.push(svg('line', { class: 'level', x1: `${left}`, x2: `${width - right}`, y1: at, y2: at }))
    }
    if (this.#at >= 0) {
      const place = `${x(data.x[this.#at]! + data.width / 2)}`
      parts.push(svg('line', { class: 'at', x1: place, x2: place, y1: `${top}`, y2: `${height - bottom}` }))
    }
    this.#svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
    this.#svg.setAttribute('height', `${height}`)
    this.#svg.replaceChildren(...parts)
    this.#figures(data)
  }

  /** Returns the runs of places without a gap, as pairs of the first and the last. */
  #runs(): [number, number][] {
    const { x, width } = this.#data!
    const runs: [number, number][] = []
    for (let i = 0; i < x.length; i++)
      if (i > 0 && x[i]! - x[i - 1]! < 1.5 * width) runs.at(-1)![1] = i
      else runs.push([i, i])
    return runs
  }

  #steps(values: readonly number[], [first, last]: [number, number], x: Scale, y: Scale): string[] {
    const { x: places, width } = this.#data!
    const points: string[] = []
    for (let i = first; i <= last; i++) {
      const height = y(values[i]!).toFixed(1)
      const end = i < last ? places[i + 1]! : places[i]! + width
      points.push(`${x(places[i]!).toFixed(1)},${height}`, `${x(end).toFixed(1)},${height}`)
    }
    return points
  }

  #line(values: readonly number[], x: Scale, y: Scale): string {
    return this.#runs()
      .map((run) => `M${this.#steps(values, run, x, y).join('L')}`)
      .join('')
  }

  #band(lower: readonly number[], upper: readonly number[], x: Scale, y: Scale): string {
    return this.#runs()
      .map((run) => [...this.#steps(upper, run, x, y), ...this.#steps(lower, run, x, y).reverse()])
      .map((points) => `M${points.join('L')}Z`)
      .join('')
  }

  #figures({ x, lines, level, chosen, xText, yText }: ChartData): void {
    const highest = lines.length === 1 && level !== undefined
    const usual = highest ? lines[0]!.values.indexOf(Math.max(...lines[0]!.values)) : (chosen ?? x.length - 1)
    const at = this.#at < 0 ? usual : this.#at
    const entries = lines.map(({ label, values, lower, upper }, i) => {
      const bounds =
        lower === undefined || upper === undefined || at < 0 ? '' : ` (${yText(lower[at]!)} to ${yText(upper[at]!)})`
      const text = at < 0 ? label : `${label} ${yText(values[at]!)}${bounds}`
      return element('li', { class: `c${i % 6}` }, element('i'), element('span', {}, text))
    })
    if (level !== undefined) entries.push(element('li', {}, `${level.label} ${yText(level.value)}`))
    if (at >= 0) entries.unshift(element('li', { class: 'faint' }, xText(x[at]!)))
    this.#legend.replaceChildren(...entries)
  }
}

type Scale = (value: number) => number

function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>>,
): SVGElementTagNameMap[K] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  return made
}

function label(x: number, y: number, anchor: string, text: string): SVGElement {
  const made = svg('text', { x: `${x}`, y: `${y}`, 'text-anchor': anchor })
  made.textContent = text
  return made
}
