/** Signals over time: the last ten seconds, a plot for each unit (or for each signal), which share the axis of time. */
import { element, multiples, roundStep } from '../../page/index.ts'

export interface PlottedSignal {
  readonly name: string
  readonly unit: string
}

interface Sample {
  ts?: { origin?: [number, number]; received?: [number, number] }
  data?: (number | boolean | null | { real: number })[]
}

const shownSeconds = 10
const font = '12px system-ui, sans-serif'
const mostPoints = 20_000
const mostSignals = 64
/** Number of signals that are chosen at first. */
const usualSignals = 8
/** Colours that differ for readers with a colour vision deficiency, too, on both backgrounds (after Okabe and Ito). */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6bb1', '#7f7f7f']

/** Plot: its canvas, and its signals. */
interface Panel {
  readonly canvas: HTMLCanvasElement
  readonly signals: readonly number[]
}

export class Plot {
  readonly #place: HTMLElement
  readonly #legend: HTMLElement
  readonly #each: HTMLInputElement
  #points: { at: number; values: number[] }[] = []
  #signals: readonly PlottedSignal[] = []
  #chosen: HTMLInputElement[] = []
  #values: HTMLElement[] = []
  #panels: Panel[] = []
  #isDrawing = false

  /** Makes a plot. `each`: whether each signal has a plot of its own. */
  constructor(place: HTMLElement, legend: HTMLElement, each: HTMLInputElement) {
    this.#place = place
    this.#legend = legend
    this.#each = each
    each.addEventListener('change', () => this.#arrange())
    new ResizeObserver(() => this.#soon()).observe(place)
  }

  begin(signals: readonly PlottedSignal[]): void {
    this.#points = []
    this.#signals = signals.slice(0, mostSignals)
    const rest = signals.length - this.#signals.length
    this.#chosen = this.#signals.map((_, i) => {
      const box = element('input', { type: 'checkbox' })
      box.checked = i < usualSignals
      box.addEventListener('change', () => this.#arrange())
      return box
    })
    this.#values = this.#signals.map(() => element('b'))
    const items = this.#signals.map(({ name, unit }, i) => {
      const mark = element('i')
      mark.style.background = colourOf(i)
      const text = unit === '' ? `${name} ` : `${name} [${unit}] `
      return element('li', {}, element('label', {}, this.#chosen[i]!, mark, text, this.#values[i]!))
    })
    this.#legend.replaceChildren(...items, ...(rest > 0 ? [element('li', {}, `and ${rest} more`)] : []))
    this.#arrange()
  }

  add({ ts, data = [] }: Sample): void {
    const [sec, nsec] = ts?.origin ?? ts?.received ?? [Date.now() / 1000, 0]
    const values = data
      .slice(0, mostSignals)
      .map((value) => (typeof value === 'object' ? (value?.real ?? Number.NaN) : Number(value)))
    this.#points.push({ at: sec + nsec * 1e-9, values })
    if (this.#points.length > mostPoints) this.#points = this.#points.slice(-mostPoints / 2)
    this.#soon()
  }

  #soon(): void {
    if (this.#isDrawing) return
    this.#isDrawing = true
    requestAnimationFrame(() => {
      this.#isDrawing = false
      this.#draw()
    })
  }

  /** Arranges the panels: signals of different units cannot share an axis. */
  #arrange(): void {
    const isAlone = this.#each.checked
    const groups = new Map<string, { title: string; signals: number[] }>()
    for (const [i, { name, unit }] of this.#signals.entries()) {
      if (!this.#chosen[i]!.checked) continue
      const title = isAlone ? (unit === '' ? name : `${name} [${unit}]`) : unit === '' ? 'without a unit' : unit
      const key = isAlone ? String(i) : unit
      const group = groups.get(key) ?? { title, signals: [] }
      group.signals.push(i)
      groups.set(key, group)
    }
    const figures = [...groups.values()].map(({ title, signals }) => {
      const names = signals.map((i) => this.#signals[i]!.name).join(', ')
      const canvas = element('canvas', { role: 'img', 'aria-label': `${names}: values of the last seconds` })
      return { figure: element('figure', {}, element('figcaption', {}, title), canvas), panel: { canvas, signals } }
    })
    this.#panels = figures.map(({ panel }) => panel)
    this.#place.replaceChildren(...figures.map(({ figure }) => figure))
    this.#soon()
  }

  #draw(): void {
    const last = this.#points.at(-1)
    if (last === undefined) return
    const points = this.#points.filter(({ at }) => at > last.at - shownSeconds)
    for (const [i, shown] of this.#values.entries())
      shown.textContent = Number((last.values[i] ?? Number.NaN).toPrecision(6)).toString()
    const all = this.#panels.map((panel) => ({ panel, axis: axisOf(...rangeOf(points, panel.signals)) }))
    // One margin, so that the same time is at the same place.
    const widths = all.flatMap(({ panel, axis }) => axis.ticks.map(({ text }) => widthOf(panel.canvas, text)))
    const left = Math.ceil(Math.max(0, ...widths)) + 12
    for (const { panel, axis } of all) draw(panel, axis, left, points, last.at)
  }
}

type Points = readonly { at: number; values: number[] }[]

function colourOf(signal: number): string {
  return colours[signal % colours.length]!
}

function widthOf(canvas: HTMLCanvasElement, text: string): number {
  const pen = canvas.getContext('2d')!
  pen.font = font
  return pen.measureText(text).width
}

/** Returns the lowest and the highest value of some signals. */
function rangeOf(points: Points, signals: readonly number[]): [number, number] {
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { values } of points)
    for (const i of signals) {
      const value = values[i] ?? Number.NaN
      if (!Number.isFinite(value)) continue
      if (value < lowest) lowest = value
      if (value > highest) highest = value
    }
  return [lowest, highest]
}

function draw(
  { canvas, signals }: Panel,
  { low, high, ticks }: ReturnType<typeof axisOf>,
  left: number,
  points: Points,
  last: number,
): void {
  const pen = canvas.getContext('2d')
  const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio]
  if (pen === null || width === 0) return
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale)
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale)
  pen.setTransform(scale, 0, 0, scale, 0, 0)
  pen.clearRect(0, 0, width, height)
  const style = getComputedStyle(canvas)
  pen.font = font
  const bottom = height - 26
  const x = (at: number) => left + ((at - last + shownSeconds) / shownSeconds) * (width - left - 4)
  const y = (value: number) => 8 + ((high - value) / (high - low)) * (bottom - 8)
  pen.fillStyle = style.getPropertyValue('--dim')
  pen.strokeStyle = style.getPropertyValue('--line')
  pen.lineWidth = 1
  pen.textAlign = 'right'
  for (const { value, text } of ticks) {
    pen.beginPath()
    pen.moveTo(left, y(value))
    pen.lineTo(width, y(value))
    pen.stroke()
    pen.fillText(text, left - 8, y(value) + 4)
  }
  pen.textAlign = 'center'
  for (let s = 0; s <= shownSeconds; s += 2) {
    const text = s === shownSeconds ? 'now' : `−${shownSeconds - s} s`
    pen.fillText(text, Math.min(x(last - shownSeconds + s), width - 14), height - 4)
  }
  for (const i of signals) {
    pen.strokeStyle = colourOf(i)
    pen.lineWidth = 1.6
    pen.beginPath()
    let isDown = false
    for (const { at, values } of points) {
      const value = values[i]
      if (value === undefined || !Number.isFinite(value)) isDown = false
      else if (isDown) pen.lineTo(x(at), y(value))
      else {
        pen.moveTo(x(at), y(value))
        isDown = true
      }
    }
    pen.stroke()
  }
}

/** Returns a range that has a height and ends at round numbers, and about four of them. */
export function axisOf(
  lowest: number,
  highest: number,
): { low: number; high: number; ticks: { value: number; text: string }[] } {
  const isEmpty = !Number.isFinite(lowest) || !Number.isFinite(highest)
  const [from, to] = isEmpty ? [0, 1] : [lowest, highest]
  // A constant signal is in the middle.
  const room = to - from > Math.max(Math.abs(from), Math.abs(to)) * 1e-9 ? 0 : Math.max(1, Math.abs(to)) * 0.1
  const step = roundStep((to - from + 2 * room) / 4)
  const low = Math.floor((from - room) / step + 1e-6) * step
  const high = Math.ceil((to + room) / step - 1e-6) * step
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))
  const most = Math.max(Math.abs(low), Math.abs(high))
  const text = (value: number) =>
    most >= 1e7 || digits > 6
      ? Number(value.toPrecision(6)).toExponential()
      : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return { low, high, ticks: multiples(low, high, step).map((value) => ({ value, text: text(value || 0) })) }
}
