/** Labels in a picture, which neither overlap nor leave the frame: labels that find no place are left out. */
import { escapeHtml } from '../format.ts'
import { PAPER } from './colours.ts'
import { textWidth } from './text.ts'

/** Pixels. */
export interface Box {
  left: number
  right: number
  top: number
  bottom: number
}

export type Anchor = 'start' | 'middle' | 'end'

const FONT_SIZE = 12
const ASCENT = 11
const DESCENT = 4

export class Labels {
  readonly #frame: Box
  readonly #placed: Box[] = []

  constructor(frame: Box) {
    this.#frame = frame
  }

  /** Reserves the place of a label, with `y` at its baseline; returns false if it is occupied. */
  take(text: string, x: number, y: number, anchor: Anchor = 'middle'): boolean {
    const width = textWidth(text, FONT_SIZE)
    const left = x - { start: 0, middle: width / 2, end: width }[anchor]
    const box = { left, right: left + width, top: y - ASCENT, bottom: y + DESCENT }
    const { left: from, right: to, top, bottom } = this.#frame
    if (box.left < from || box.right > to || box.top < top || box.bottom > bottom) return false
    const apart = (other: Box): boolean =>
      box.right <= other.left || other.right <= box.left || box.bottom <= other.top || other.bottom <= box.top
    if (!this.#placed.every(apart)) return false
    this.#placed.push(box)
    return true
  }

  /** Returns the SVG of the label at the first free one of the places; empty if there is none. `halo`: it stands on other objects. */
  place(
    text: string,
    places: readonly (readonly [number, number])[],
    colour: string,
    anchor: Anchor = 'middle',
    halo = false,
  ): string {
    const found = places.find(([x, y]) => this.take(text, x, y, anchor))
    if (found === undefined) return ''
    const [x, y] = found.map((pixels) => pixels.toFixed(1))
    const edge = halo ? ` stroke="${PAPER}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"` : ''
    return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${colour}"${edge}>${escapeHtml(text)}</text>`
  }
}
