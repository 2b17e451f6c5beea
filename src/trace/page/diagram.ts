/**
 * One diagram on a canvas: the worker's picture of the visible window. It moves at once, with the points that are there, and is redrawn
 * exactly when the worker has replied; the page never processes more points than the picture has pixels.
 */
import { button, element } from '../../page/index.ts'
import { timeText, whole } from '../../text/index.ts'
import {
  type DiagramInfo,
  type DiagramName,
  type Picture,
  type Spot,
  shapeCount,
  shapeNames,
  type Window,
} from '../view/index.ts'
import type { Link } from './link.ts'
import { type Frame, frameOf, paint } from './paint.ts'
import { zoomable } from './zoom.ts'

export interface DiagramOptions {
  link: Link
  name: DiagramName
  info: DiagramInfo
  title: string
  /** Window shown at first, nanoseconds since the first packet. */
  fromNs: number
  toNs: number
  choose(found: Spot): void
  /** Handles a move of the user to another time. */
  moved(fromNs: number, toNs: number, by: Diagram): void
}

/** Distance from the pointer, in pixels, within which a point is searched for. */
const near = 12

export class Diagram {
  readonly figure: HTMLElement
  readonly #options: DiagramOptions
  readonly #canvas: HTMLCanvasElement
  readonly #tip: HTMLElement
  readonly #swatches: HTMLElement[] = []
  readonly #size: ResizeObserver
  readonly #home: Window
  #window: Window
  #picture: { picture: Picture; window: Window } | undefined
  #asked = false
  #isStale = false
  #marked: Spot | undefined
  #drawn: (() => void)[] = []
  #lastPick: Spot | null = null
  #pointed = 0

  constructor(options: DiagramOptions) {
    this.#options = options
    const { title, info, name } = options
    this.#home = { ...padded(options, info), width: 0, height: 0 }
    this.#window = this.#home
    const what = `${title}. ${whole(info.count)} points. Arrow keys move, plus and minus zoom, 0 shows all.`
    this.#canvas = element('canvas', { tabindex: '0', role: 'application', 'aria-label': what })
    this.#tip = element('div', { class: 'tip', role: 'status' })
    this.#tip.hidden = true
    const tools = element(
      'span',
      { class: 'tools' },
      button('+', 'Zoom in (+)', () => this.#zoom(0.5)),
      button('−', 'Zoom out (−)', () => this.#zoom(2)),
      button('all', 'Show all (0)', () => this.#show(this.#home)),
    )
    const head = element('figcaption', {}, element('span', {}, title), tools)
    const plot = element('div', { class: 'plot' }, this.#canvas, this.#tip)
    this.figure = element('figure', { class: 'diagram', 'data-diagram': name.diagram }, head, plot, this.#legend())
    zoomable(this.#canvas, {
      pan: (x, y) => this.#pan(x, y),
      zoom: (factor, x, y, both) => this.#zoom(factor, x, y, both),
      home: () => this.#show(this.#home),
      point: (x, y) => void this.#point(x, y),
      leave: () => this.#leave(),
      choose: (x, y) => void this.#choose(x, y),
    })
    this.#size = new ResizeObserver(() => this.#update())
    this.#size.observe(this.#canvas)
  }

  /** Resolves when the diagram has been drawn for the first time. */
  ready(): Promise<void> {
    return this.#picture === undefined ? new Promise((resolve) => this.#drawn.push(resolve)) : Promise.resolve()
  }

  close(): void {
    this.#size.disconnect()
  }

  /** Redraws the diagram after a change of colours. */
  redraw(): void {
    this.#paint()
  }

  /** Shows that time, and the PSNs that it has. */
  async showTime(fromNs: number, toNs: number): Promise<void> {
    this.#window = { ...this.#window, fromNs, toNs }
    this.#update()
    const { link, name } = this.#options
    const extent = await link.ask('extent', { ...name, fromNs, toNs })
    // The user may have moved on.
    if (extent === null || this.#window.fromNs !== fromNs || this.#window.toNs !== toNs) return
    this.#window = { ...this.#window, ...spaced(extent.low, extent.high) }
    this.#update()
  }

  /** Marks a packet, if it is a point of this diagram. */
  async mark(number: number): Promise<void> {
    const { link, name } = this.#options
    const found = await link.ask('find', { ...name, number })
    this.#marked = found ?? undefined
    this.#paint()
  }

  #legend(): HTMLElement {
    const { info } = this.#options
    const list = element('ul', { class: 'legend' })
    for (let shape = 1; shape < shapeCount; shape++) {
      const count = info.shapes[shape]!
      const swatch = element('i', { class: `shape-${shape}` })
      this.#swatches[shape] = swatch
      const name = shapeNames[shape]!
      const press = button('', `Go to the next: ${name}`, () => void this.#goToNext(shape))
      press.append(swatch, ` ${name} `, element('b', {}, whole(count)))
      const item = element('li', {}, press)
      item.hidden = count === 0
      list.append(item)
    }
    return list
  }

  async #goToNext(shape: number): Promise<void> {
    const { link, name, choose } = this.#options
    const found = await link.ask('next', { ...name, shape, after: this.#marked?.number ?? 0 })
    if (found === null) return
    this.#marked = found
    this.#reveal(found)
    choose(found)
  }

  /** Moves the window so that the point is visible, and zooms in if everything is shown. */
  #reveal({ timeNs, psn }: Spot): void {
    const { fromNs, toNs, low, high } = this.#window
    const isAll = toNs - fromNs >= (this.#home.toNs - this.#home.fromNs) * 0.9
    const spanNs = (toNs - fromNs) * (isAll ? 0.1 : 1)
    const span = (high - low) * (isAll ? 0.1 : 1)
    const isInside = timeNs > fromNs && timeNs < toNs && psn > low && psn < high
    if (isInside && !isAll) this.#paint()
    else
      this.#show({
        ...this.#window,
        ...{ fromNs: timeNs - spanNs / 2, toNs: timeNs + spanNs / 2, low: psn - span / 2, high: psn + span / 2 },
      })
  }

  #frame(): Frame {
    return frameOf(this.#canvas.clientWidth, this.#canvas.clientHeight)
  }

  #pan(x: number, y: number): void {
    const { width, height } = this.#frame()
    const { fromNs, toNs, low, high } = this.#window
    const [byNs, by] = [(-x / width) * (toNs - fromNs), (y / height) * (high - low)]
    this.#show({ ...this.#window, fromNs: fromNs + byNs, toNs: toNs + byNs, low: low + by, high: high + by })
  }

  /** Zooms about a point of the canvas; about the middle without one. */
  #zoom(factor: number, x?: number, y?: number, both = true): void {
    const { left, top, width, height } = this.#frame()
    const { fromNs, toNs, low, high } = this.#window
    const across = x === undefined ? 0.5 : (x - left) / width
    const up = y === undefined ? 0.5 : 1 - (y - top) / height
    const spanNs = Math.min((this.#home.toNs - this.#home.fromNs) * 4, Math.max(10, (toNs - fromNs) * factor))
    const most = (this.#home.high - this.#home.low) * 4
    const span = both ? Math.min(most, Math.max(4, (high - low) * factor)) : high - low
    const [atNs, at] = [fromNs + across * (toNs - fromNs), low + up * (high - low)]
    this.#show({
      ...this.#window,
      ...{
        fromNs: atNs - across * spanNs,
        toNs: atNs + (1 - across) * spanNs,
        low: at - up * span,
        high: at + (1 - up) * span,
      },
    })
  }

  #show(window: Window): void {
    this.#window = window
    this.#options.moved(window.fromNs, window.toNs, this)
    this.#update()
  }

  #update(): void {
    this.#paint()
    if (this.#asked) this.#isStale = true
    else void this.#ask()
  }

  async #ask(): Promise<void> {
    const { link, name } = this.#options
    const { width, height } = this.#frame()
    if (width <= 0 || height <= 0) return
    this.#asked = true
    do {
      this.#isStale = false
      const scale = devicePixelRatio
      const frame = this.#frame()
      const window = {
        ...this.#window,
        width: Math.floor(frame.width * scale),
        height: Math.floor(frame.height * scale),
      }
      this.#picture = { picture: await link.ask('picture', { ...name, window }), window }
    } while (this.#isStale)
    this.#asked = false
    this.#paint()
    for (const drawn of this.#drawn.splice(0)) drawn()
  }

  #paint(): void {
    const { info, name } = this.#options
    const colours = this.#swatches.map((swatch) => swatch && getComputedStyle(swatch).color)
    const marked = this.#marked
    paint(this.#canvas, {
      ...{ window: this.#window, drawn: this.#picture, colours, info, diagram: name.diagram },
      ...(marked !== undefined && { marked }),
    })
  }

  async #find(x: number, y: number): Promise<Spot | null> {
    const { link, name } = this.#options
    const { left, top, width, height } = this.#frame()
    const { fromNs, toNs, low, high } = this.#window
    return await link.ask('pick', {
      ...name,
      timeNs: fromNs + ((x - left) / width) * (toNs - fromNs),
      psn: high - ((y - top) / height) * (high - low),
      nearNs: (near / width) * (toNs - fromNs),
      nearPsns: (near / height) * (high - low),
    })
  }

  async #point(x: number, y: number): Promise<void> {
    const turn = ++this.#pointed
    const found = await this.#find(x, y)
    if (turn !== this.#pointed) return
    this.#lastPick = found
    this.#canvas.style.cursor = found === null ? '' : 'pointer'
    this.#tip.hidden = found === null
    if (found === null) return
    this.#tip.textContent = this.#text(found)
    const isRight = x > this.#canvas.clientWidth / 2
    this.#tip.style.left = isRight ? '' : `${x + 14}px`
    this.#tip.style.right = isRight ? `${this.#canvas.clientWidth - x + 14}px` : ''
    this.#tip.style.top = `${Math.max(0, y - 14)}px`
  }

  #leave(): void {
    this.#pointed++
    this.#tip.hidden = true
  }

  async #choose(x: number, y: number): Promise<void> {
    const found = (await this.#find(x, y)) ?? this.#lastPick
    if (found === null) return
    this.#marked = found
    this.#paint()
    this.#options.choose(found)
  }

  #text({ number, timeNs, psn, shape }: Spot): string {
    const { info, name } = this.#options
    const at = `packet ${whole(number)}, ${(timeNs / 1e9).toFixed(6)} s`
    if (name.diagram === 'latency') return `${at}: ${timeText(10 ** (psn / 1000))}, ${shapeNames[shape]}`
    const which = info.restarts === 0 ? `PSN ${(info.firstPsn + psn) & 0xffffff}` : `${whole(psn)} PSNs after the first`
    return `${at}, ${which}: ${shapeNames[shape]}`
  }
}

/** Returns all of the time, and all of the PSNs, with some space around. */
function padded({ fromNs, toNs }: DiagramOptions, { lowest, highest }: DiagramInfo): Omit<Window, 'width' | 'height'> {
  const spaceNs = Math.max(10, (toNs - fromNs) * 0.02)
  return { fromNs: fromNs - spaceNs, toNs: toNs + spaceNs, ...spaced(lowest, highest) }
}

function spaced(low: number, high: number): { low: number; high: number } {
  const space = Math.max(2, (high - low) * 0.04)
  return { low: low - space, high: high + space }
}
