/** A surface of the page: it turns by dragging, keys or buttons; the point under the pointer shows its values. */

import { button, element } from '../../page/index.ts'
import type { SurfacePoint, SurfaceSpec } from '../charts/spec.ts'
import { type SurfacePicture, surfacePicture, usualAngle } from '../charts/surface.ts'
import { escapeHtml, formatExact, formatShare } from '../format.ts'
import type { Choice } from './choice.ts'
import { group } from './figure.ts'

/** Degrees for a pixel, and for a key or a press of a button. */
const PER_PIXEL = 0.5
const STEP = 10
const TILT = [0, 88] as const
/** Maximum distance in pixels at which the pointer selects a point. */
const NEAR = 28

export class SurfaceFigure {
  readonly #spec: SurfaceSpec
  readonly #choice: Choice
  readonly #plot: HTMLElement
  readonly #picture: HTMLElement
  readonly #tip: HTMLElement
  readonly #empty: HTMLElement
  #angle = usualAngle
  #places: SurfacePicture['places'] = []
  #width = 0

  constructor(figure: HTMLElement, spec: SurfaceSpec, choice: Choice) {
    this.#spec = spec
    this.#choice = choice
    const caption = element('figcaption', {}, element('b', {}, spec.title))
    if (spec.subtitle !== '') caption.append(element('span', {}, spec.subtitle))
    this.#picture = element('div')
    this.#tip = element('div')
    this.#tip.className = 'tip floating'
    this.#tip.hidden = true
    this.#plot = element('div', {}, this.#picture, this.#tip)
    this.#plot.className = 'plot turning'
    this.#plot.tabIndex = 0
    this.#plot.setAttribute('role', 'img')
    this.#plot.setAttribute('aria-label', `${spec.title}. Arrow keys turn it.`)
    this.#empty = element('p', {}, 'Nothing to show with these settings.')
    this.#empty.className = 'faint nothing'
    const card = figure.querySelector<HTMLElement>('.chart')!
    card.removeAttribute('tabindex')
    card.replaceChildren(caption, this.#tools(), this.#plot, this.#empty)
    figure.dataset.live = ''
    this.#plot.addEventListener('pointerdown', (event) => this.#drag(event))
    this.#plot.addEventListener('pointermove', (event) => this.#point(event))
    this.#plot.addEventListener('pointerleave', () => {
      this.#tip.hidden = true
    })
    this.#plot.addEventListener('keydown', (event) => this.#key(event))
    this.draw()
    new ResizeObserver(() => {
      if (this.#plot.clientWidth > 0 && this.#plot.clientWidth !== this.#width) this.draw()
    }).observe(card)
  }

  draw(): void {
    const { over, settings, points } = this.#spec
    const [x, y] = over
    const shown = this.#choice.chosen(settings)
      ? points.filter((point) => this.#choice.chosen({ [x]: point.x, [y]: point.y }))
      : []
    this.#plot.hidden = shown.length === 0
    this.#empty.hidden = shown.length > 0
    this.#tip.hidden = true
    if (shown.length === 0) return
    this.#width = this.#plot.clientWidth
    const picture = surfacePicture({ ...this.#spec, points: shown }, { width: this.#width, angle: this.#angle })
    this.#picture.innerHTML = picture.svg
    this.#places = picture.places
  }

  #tools(): HTMLElement {
    const tools = element('div')
    tools.className = 'tools'
    const hint = element('span', {}, 'Drag it, or use the arrow keys')
    hint.className = 'faint hint'
    tools.append(
      group(
        'Turn',
        button('←', 'Turn left', () => this.#turn(STEP, 0)),
        button('→', 'Turn right', () => this.#turn(-STEP, 0)),
        button('↑', 'From further above', () => this.#turn(0, STEP)),
        button('↓', 'From further below', () => this.#turn(0, -STEP)),
        button('From above', 'As a map', () => this.#turnTo({ turn: 0, tilt: TILT[1] })),
        button('Reset', 'Back to how it was', () => this.#turnTo(usualAngle)),
      ),
      hint,
    )
    return tools
  }

  #turn(by: number, up: number): void {
    const { turn, tilt } = this.#angle
    this.#turnTo({ turn: turn + by, tilt: Math.max(TILT[0], Math.min(TILT[1], tilt + up)) })
  }

  #turnTo(angle: typeof usualAngle): void {
    this.#angle = angle
    this.draw()
  }

  #drag(event: PointerEvent): void {
    if (event.button !== 0) return
    let [x, y] = [event.clientX, event.clientY]
    const move = (moved: PointerEvent): void => {
      this.#turn((x - moved.clientX) * PER_PIXEL, (moved.clientY - y) * PER_PIXEL)
      ;[x, y] = [moved.clientX, moved.clientY]
    }
    const done = (): void => {
      window.removeEventListener('pointermove', move)
      window.removeEventListener('pointerup', done)
      window.removeEventListener('pointercancel', done)
    }
    window.addEventListener('pointermove', move)
    window.addEventListener('pointerup', done)
    window.addEventListener('pointercancel', done)
  }

  #key(event: KeyboardEvent): void {
    const steps: Record<string, readonly [number, number]> = {
      ArrowLeft: [STEP, 0],
      ArrowRight: [-STEP, 0],
      ArrowUp: [0, STEP],
      ArrowDown: [0, -STEP],
    }
    const step = steps[event.key]
    if (step !== undefined) this.#turn(...step)
    else if (event.key === '0' || event.key === 'Home') this.#turnTo(usualAngle)
    else return
    event.preventDefault()
  }

  #point(event: PointerEvent): void {
    const { left, top } = this.#plot.getBoundingClientRect()
    const [x, y] = [event.clientX - left, event.clientY - top]
    const distance = (place: { x: number; y: number }): number => Math.hypot(place.x - x, place.y - y)
    const [nearest] = this.#places.toSorted((a, b) => distance(a) - distance(b))
    const isNear = event.buttons === 0 && nearest !== undefined && distance(nearest) < NEAR
    this.#tip.hidden = !isNear
    if (!isNear) return
    this.#tip.innerHTML = this.#textOf(nearest.point)
    const room = this.#plot.clientWidth - this.#tip.offsetWidth - 8
    this.#tip.style.left = `${Math.max(8, Math.min(room, nearest.x + 14))}px`
    this.#tip.style.top = `${Math.max(4, nearest.y - this.#tip.offsetHeight - 10)}px`
  }

  #textOf(point: SurfacePoint): string {
    const { xName, yName, zName, x, y, z } = this.#spec
    const rows: [string, string][] = [
      [xName, formatExact(x, point.x)],
      [yName, formatExact(y, point.y)],
      [zName, formatExact(z, point.z)],
      ['missed steps', formatShare(point.missed)],
    ]
    return rows
      .map(([name, text]) => `<div class="tip-row"><span>${escapeHtml(name)}</span><b>${escapeHtml(text)}</b></div>`)
      .join('')
  }
}
