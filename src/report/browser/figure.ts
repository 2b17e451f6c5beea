/**
 * A chart of the page that replaces its picture: values under the pointer, lines that can be hidden, zoom,
 * scales, and the forms of a distribution.
 */

import { button, element, pressed } from '../../page/index.ts'
import { COLOURS, INK } from '../charts/colours.ts'
import {
  type ChartSpec,
  chartOf,
  extentOf,
  type HistogramForm,
  limitsOf,
  logarithmicAxes,
  scales,
  type View,
} from '../charts/index.ts'
import { leastAndMost } from '../charts/lines.ts'
import { FONT } from '../charts/text.ts'
import { swatch } from '../charts/tooltip.ts'
import { escapeHtml } from '../format.ts'
import type { Choice } from './choice.ts'
import { type Instance, init } from './library.ts'
import { dragZoom, type Zoomable } from './zoom.ts'

const FORMS: readonly [HistogramForm, string, string][] = [
  ['histogram', 'Histogram', 'The share of the messages in each bin'],
  ['cdf', 'CDF', 'The share of the messages up to a latency'],
  ['tail', 'Tail', 'The share of the messages above a latency, logarithmic'],
]

export class ChartFigure {
  readonly #spec: ChartSpec
  readonly #choice: Choice
  readonly #plot: HTMLElement
  readonly #legend: HTMLElement
  readonly #empty: HTMLElement
  readonly #instance: Instance
  readonly #hidden = new Set<string>()
  #zoom: [number, number] | undefined
  #form: HistogramForm = 'histogram'
  #logX: boolean
  #logY: boolean
  #width = 0
  /** Point that the keyboard has selected. */
  #at = -1

  constructor(figure: HTMLElement, spec: ChartSpec, choice: Choice) {
    this.#spec = spec
    this.#choice = choice
    const now =
      spec.kind === 'lines' ? scales(spec) : { logX: false, logY: spec.kind === 'histogram' && spec.logY === true }
    this.#logX = now.logX
    this.#logY = now.logY
    const caption = element('figcaption', {}, element('b', {}, spec.title))
    if (spec.subtitle !== '') caption.append(element('span', {}, spec.subtitle))
    this.#plot = element('div')
    this.#plot.className = 'plot'
    this.#plot.tabIndex = 0
    this.#plot.setAttribute('role', 'img')
    this.#plot.setAttribute('aria-label', spec.title)
    this.#legend = element('div')
    this.#legend.className = 'legend'
    this.#empty = element('p', {}, 'Nothing to show with these settings.')
    this.#empty.className = 'faint nothing'
    const card = figure.querySelector<HTMLElement>('.chart')!
    card.removeAttribute('tabindex')
    card.replaceChildren(caption, this.#tools(), this.#plot, this.#empty, this.#legend)
    this.#width = this.#plot.clientWidth
    this.#instance = init(this.#plot, null, { renderer: 'svg', width: this.#width, height: spec.height })
    this.#legendEntries()
    dragZoom(this.#plot, this.#zoomable())
    this.#plot.addEventListener('keydown', (event) => this.#key(event))
    this.#plot.addEventListener('blur', () => this.#hideTip())
    this.draw()
    new ResizeObserver(() => {
      if (this.#plot.clientWidth > 0 && this.#plot.clientWidth !== this.#width) this.draw()
    }).observe(card)
  }

  get #view(): View {
    return {
      width: this.#width,
      hidden: this.#hidden,
      chosen: this.#choice.chosen,
      logX: this.#logX,
      logY: this.#logY,
      form: this.#form,
      ...(this.#zoom ? { zoom: this.#zoom } : {}),
    }
  }

  draw(): void {
    const shown = this.#plot.hidden ? 0 : this.#plot.clientWidth
    if (shown > 0) this.#width = shown
    const { option, width, height } = chartOf(this.#spec, this.#view)
    const empty = ((option.series ?? []) as unknown[]).length === 0
    this.#plot.hidden = empty
    this.#empty.hidden = !empty
    if (empty) return
    this.#at = -1
    this.#instance.resize({ width, height })
    this.#instance.setOption(
      { animation: false, backgroundColor: 'transparent', textStyle: { fontFamily: FONT, color: INK }, ...option },
      { notMerge: true },
    )
  }

  // --- what stands above and below the chart -----------------------------------------------------------------------------

  #tools(): HTMLElement {
    const tools = element('div')
    tools.className = 'tools'
    const spec = this.#spec
    const forms: HTMLButtonElement[] = []
    const toggle = (text: string, title: string, on: boolean, set: (on: boolean) => void): HTMLButtonElement => {
      const made = button(text, title, () => {
        const to = made.getAttribute('aria-pressed') !== 'true'
        pressed(made, to)
        set(to)
        this.draw()
      })
      pressed(made, on)
      return made
    }
    const logX = (): HTMLButtonElement =>
      toggle('log x', 'Logarithmic horizontal axis', this.#logX, (on) => {
        this.#logX = on
        this.#zoom = undefined
      })
    if (spec.kind === 'histogram') {
      const scale = logX()
      for (const [form, text, title] of FORMS) {
        const made = button(text, title, () => {
          this.#form = form
          this.#zoom = undefined
          // A tail reaches far.
          this.#logX = form === 'tail'
          pressed(scale, this.#logX)
          for (const other of forms) pressed(other, other === made)
          this.draw()
        })
        pressed(made, form === 'histogram')
        forms.push(made)
      }
      const shares = toggle('log y', 'Logarithmic shares', this.#logY, (on) => (this.#logY = on))
      tools.append(group('Form', ...forms), group('Scale', scale, shares))
    } else if (spec.kind === 'lines') {
      const can = logarithmicAxes(spec)
      const axes = [
        ...(can.x ? [logX()] : []),
        ...(can.y ? [toggle('log y', 'Logarithmic vertical axis', this.#logY, (on) => (this.#logY = on))] : []),
      ]
      if (axes.length > 0) tools.append(group('Scale', ...axes))
    }
    if (this.#canZoom()) {
      const zoom = [
        button('+', 'Zoom in', () => this.#scale(0.5)),
        button('−', 'Zoom out', () => this.#scale(2)),
        ...(spec.kind === 'histogram'
          ? [button('All', 'From the least value to the largest', () => this.#zoomTo(extentOf(spec)))]
          : []),
        button('Reset', 'Back to the limits of the report', () => this.#zoomTo(undefined)),
      ]
      const hint = element('span', {}, 'Drag to zoom; turn the wheel after a click')
      hint.className = 'faint hint'
      tools.append(group('Zoom', ...zoom), hint)
    }
    return tools
  }

  #legendEntries(): void {
    const labels = labelsOf(this.#spec)
    if (labels.length < 2) return
    for (const [index, label] of labels.entries()) {
      const entry = button('', 'Show or hide', () => {
        if (!this.#hidden.delete(label)) this.#hidden.add(label)
        pressed(entry, !this.#hidden.has(label))
        this.draw()
      })
      entry.innerHTML = `${swatch(COLOURS[index % COLOURS.length]!)}<span>${escapeHtml(label)}</span>`
      pressed(entry, true)
      this.#legend.append(entry)
    }
  }

  // --- zoom --------------------------------------------------------------------------------------------------------------

  #canZoom(): boolean {
    return this.#spec.kind === 'histogram' || (this.#spec.kind === 'lines' && !scales(this.#spec).category)
  }

  #zoomable(): Zoomable {
    return {
      gridAt: (x, y) => {
        if (!this.#canZoom()) return -1
        const grids = this.#spec.kind === 'histogram' ? this.#spec.panels.length : 1
        for (let grid = 0; grid < grids; grid++) if (this.#inGrid(grid, x, y)) return grid
        return -1
      },
      zoomToPixels: (grid, from, to) => {
        const [low, high] = [from, to].map((x) => this.#instance.convertFromPixel({ xAxisIndex: grid }, x))
        if (Number.isFinite(low) && Number.isFinite(high) && low! < high!) this.#zoomTo([low!, high!])
      },
      scaleAt: (grid, factor, x) => this.#scale(factor, this.#instance.convertFromPixel({ xAxisIndex: grid }, x)),
      reset: () => this.#zoomTo(undefined),
    }
  }

  #inGrid(grid: number, x: number, y: number): boolean {
    try {
      return this.#instance.containPixel({ gridIndex: grid }, [x, y])
    } catch {
      return false
    }
  }

  /** Returns the current limits, and the widest that make sense. */
  #limits(): { now: [number, number]; widest: [number, number] } {
    const spec = this.#spec
    if (spec.kind === 'histogram') {
      const [least, most] = extentOf(spec)
      const widest: [number, number] = [
        this.#logX ? Math.max(1, Math.min(least, spec.range[0] || least)) : Math.min(0, spec.range[0]),
        Math.max(most, spec.range[1]),
      ]
      return { now: limitsOf(spec, this.#view), widest }
    }
    const xs = spec.kind === 'lines' ? spec.lines.flatMap(({ points }) => points.map(({ x }) => Number(x))) : [0, 1]
    const [low, high] = leastAndMost(xs)
    const widest: [number, number] = this.#logX ? [low / 1.2, high * 1.2] : [low, high]
    return { now: this.#zoom ?? widest, widest }
  }

  /** Makes the range `factor` times as wide, with the centre staying where it is. */
  #scale(factor: number, about?: number): void {
    const { now, widest } = this.#limits()
    const to = this.#logX ? Math.log : (x: number): number => x
    const back = this.#logX ? Math.exp : (x: number): number => x
    const [low, high] = [to(now[0]), to(now[1])]
    const centre = about === undefined ? (low + high) / 2 : to(about)
    const from = Math.max(to(widest[0]), centre - (centre - low) * factor)
    const until = Math.min(to(widest[1]), centre + (high - centre) * factor)
    if (until - from < 1e-9) return
    this.#zoomTo([back(from), back(until)])
  }

  #zoomTo(limits: [number, number] | undefined): void {
    this.#zoom = limits
    this.draw()
  }

  // --- keyboard ----------------------------------------------------------------------------------------------------------

  #key(event: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step !== undefined) this.#showTip(step)
    else if (event.key === 'Escape') this.#hideTip()
    else if (event.key === '+' || event.key === '=') this.#scale(0.5)
    else if (event.key === '-') this.#scale(2)
    else if (event.key === '0') this.#zoomTo(undefined)
    else return
    event.preventDefault()
  }

  #showTip(step: number): void {
    const { series } = chartOf(this.#spec, this.#view).option as { series: { data: unknown[] }[] }
    const most = (series[0]?.data.length ?? 0) - 1
    this.#at = Math.max(0, Math.min(most, this.#at + step))
    this.#instance.dispatchAction({ type: 'showTip', seriesIndex: 0, dataIndex: this.#at })
  }

  #hideTip(): void {
    this.#at = -1
    this.#instance.dispatchAction({ type: 'hideTip' })
  }
}

function labelsOf(spec: ChartSpec): string[] {
  if (spec.kind === 'lines') return spec.lines.map(({ label }) => label)
  if (spec.kind === 'bars') return spec.names
  return [...new Set(spec.panels.flatMap(({ series }) => series.map(({ label }) => label)))]
}

export function group(name: string, ...buttons: HTMLElement[]): HTMLElement {
  const made = element('div', {}, ...buttons)
  made.className = 'group'
  made.setAttribute('role', 'group')
  made.setAttribute('aria-label', name)
  return made
}
