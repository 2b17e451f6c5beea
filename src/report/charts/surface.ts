/**
 * A surface over two settings, seen from an angle: medians over rate and number of values, as VILLASnode's benchmark draws them. It is
 * drawn as SVG here, because the chart library has no surfaces: the patches of the surface and the walls behind it are projected (parallel,
 * so that lengths can be compared) and painted from the back to the front.
 */
import { escapeHtml, formatNs, formatShare, formatTick } from '../format.ts'
import { BOX_LINE, FAINT, GRID, INK, PAPER } from './colours.ts'
import { type Anchor, Labels } from './labels.ts'
import type { SurfacePoint, SurfaceSpec } from './spec.ts'
import { FONT, wrapped } from './text.ts'
import { decadeTicks, evenTicks } from './ticks.ts'

/** Viewing angle, degrees: around the vertical axis, and above the floor. */
export interface Angle {
  turn: number
  tilt: number
}
export const usualAngle: Angle = { turn: -52, tilt: 24 }

/** Share of missed steps from which on it is written at the point. */
const MANY_MISSED = 0.05
/** Number of patches between two points of the grid, in each direction. */
const PATCHES = 4
const LEGEND = 58
/** Ratio of the largest to the smallest value above which the vertical axis is logarithmic. */
const WIDE = 20

/** Colours from dark to bright in even steps, also for readers who see no red or no green (cividis). */
const RAMP: readonly (readonly [number, number, number])[] = [
  [0, 34, 78],
  [53, 69, 108],
  [102, 105, 112],
  [148, 142, 119],
  [200, 184, 102],
  [254, 232, 56],
]

export interface SurfaceView {
  width: number
  angle: Angle
}

export interface SurfacePicture {
  svg: string
  /** Positions of the points, pixels. */
  places: { x: number; y: number; point: SurfacePoint }[]
}

interface Corner {
  x: number
  y: number
  /** Depth; smaller is nearer. */
  depth: number
}

/** Draws the surface. With a view it is one of the page, which has the title above it. */
export function surfacePicture(spec: SurfaceSpec, view?: SurfaceView): SurfacePicture {
  const width = view?.width ?? spec.width
  const titleLines = view ? [] : wrapped(spec.title, (width - 32) / 1.12, 15)
  const subtitleLines = view || spec.subtitle === '' ? [] : wrapped(spec.subtitle, width - 32)
  const top = view ? 0 : 10 + titleLines.length * 20 + subtitleLines.length * 17
  const height = Math.round(Math.min(spec.height, width * 0.86)) + 40
  const scene = new Scene(spec, view?.angle ?? usualAngle, { width, top, height: height - LEGEND })
  const text = (lines: readonly string[], from: number, step: number, style: string): string =>
    lines.map((line, i) => `<text x="16" y="${from + i * step}" ${style}>${escapeHtml(line)}</text>`).join('')
  const heading =
    text(titleLines, 24, 20, `font-size="15" font-weight="bold" fill="${INK}"`) +
    text(subtitleLines, 24 + titleLines.length * 20, 17, `font-size="12" fill="${FAINT}"`)
  const legend = scene.legend(top + height - LEGEND)
  const paper = view ? '' : `<rect width="${width}" height="${top + height}" fill="${PAPER}"/>`
  const svg =
    `<svg role="img" aria-label="${escapeHtml(spec.title)}" class="surface" xmlns="http://www.w3.org/2000/svg" ` +
    `width="${width}" height="${top + height}" viewBox="0 0 ${width} ${top + height}" font-family="${FONT}" font-size="12">` +
    `${paper}${heading}${scene.draw()}${legend}</svg>`
  return { svg, places: scene.places }
}

class Scene {
  readonly places: SurfacePicture['places'] = []
  readonly #spec: SurfaceSpec
  readonly #xs: number[]
  readonly #ys: number[]
  readonly #least: SurfacePoint
  readonly #most: SurfacePoint
  readonly #zTicks: readonly number[]
  readonly #zScale: (z: number) => number
  readonly #project: (u: number, v: number, w: number) => Corner
  readonly #labels: Labels
  readonly #width: number
  /** Sides of the floor that are in front: 0 or 1 in each direction. */
  readonly #frontX: number
  readonly #frontY: number

  constructor(spec: SurfaceSpec, angle: Angle, frame: { width: number; top: number; height: number }) {
    const { points } = spec
    this.#spec = spec
    this.#width = frame.width
    const byZ = points.toSorted((a, b) => a.z - b.z)
    this.#least = byZ[0]!
    this.#most = byZ.at(-1)!
    const sorted = (values: number[]): number[] => [...new Set(values)].sort((a, b) => a - b)
    this.#xs = sorted(points.map(({ x }) => x))
    this.#ys = sorted(points.map(({ y }) => y))
    const [low, high] = [this.#least.z, this.#most.z]
    const isWide = low > 0 && high / low > WIDE
    const { min, max, ticks } = isWide ? decadeTicks(low, high) : evenTicks(high)
    this.#zTicks = ticks
    this.#zScale = (z) => (isWide ? Math.log(z / min) / Math.log(max / min) : z / max)
    this.#project = projection(angle, frame)
    this.#labels = new Labels({ left: 4, right: frame.width - 4, top: frame.top + 2, bottom: frame.top + frame.height })
    const floor = (u: number, v: number): number => this.#project(u, v, 0).depth
    this.#frontX = floor(0.5, 0) < floor(0.5, 1) ? 0 : 1
    this.#frontY = floor(0, 0.5) < floor(1, 0.5) ? 0 : 1
    for (const point of points) {
      const { x, y } = this.#at(point)
      this.places.push({ x, y, point })
    }
  }

  draw(): string {
    // Labels of points first: where there is not space for all, those of ticks are left out.
    const walls = this.#walls()
    const surface = this.#surface()
    const marks = this.#marks()
    const axes = this.#axes()
    return walls + axes + surface + marks
  }

  // --- the box ---------------------------------------------------------------------------------------------------------

  /** Draws the floor and the two walls behind the surface, with a line for each tick. */
  #walls(): string {
    const [backX, backY] = [1 - this.#frontX, 1 - this.#frontY]
    const lines: string[] = []
    const line = (from: [number, number, number], to: [number, number, number], colour = GRID): void => {
      const [a, b] = [this.#project(...from), this.#project(...to)]
      lines.push(`<path d="M${px(a)}L${px(b)}" stroke="${colour}" fill="none"/>`)
    }
    for (const x of this.#xs) {
      const u = position(x, this.#xs)
      line([u, 0, 0], [u, 1, 0])
      line([u, backX, 0], [u, backX, 1])
    }
    for (const y of this.#ys) {
      const v = position(y, this.#ys)
      line([0, v, 0], [1, v, 0])
      line([backY, v, 0], [backY, v, 1])
    }
    for (const tick of this.#zTicks) {
      const w = this.#zScale(tick)
      line([0, backX, w], [1, backX, w])
      line([backY, 0, w], [backY, 1, w])
    }
    for (const w of [0, 1]) {
      line([0, backX, w], [1, backX, w], BOX_LINE)
      line([backY, 0, w], [backY, 1, w], BOX_LINE)
    }
    line([0, this.#frontX, 0], [1, this.#frontX, 0], BOX_LINE)
    line([this.#frontY, 0, 0], [this.#frontY, 1, 0], BOX_LINE)
    line([backY, backX, 0], [backY, backX, 1], BOX_LINE)
    return lines.join('')
  }

  /** Draws ticks and names of the three axes, outside of the box. */
  #axes(): string {
    const spec = this.#spec
    const centre = this.#project(0.5, 0.5, 0)
    const outwards = (from: Corner, by: number): { x: number; y: number } => {
      const [dx, dy] = [from.x - centre.x, from.y - centre.y]
      const length = Math.hypot(dx, dy) || 1
      return { x: from.x + (dx / length) * by, y: from.y + (dy / length) * by + 4 }
    }
    const parts: string[] = []
    const put = (text: string, from: Corner, by: readonly number[], colour: string): void => {
      const places = by.map((distance): [number, number] => {
        const { x, y } = outwards(from, distance)
        return [x, y]
      })
      parts.push(this.#labels.place(text, places, colour))
    }
    const side = (u: number, v: number): Corner => this.#project(u, v, 0)
    // Names stand farther away where a label of a point already stands.
    const names = [44, 60, 76]
    put(spec.xName, side(0.5, this.#frontX + (this.#frontX ? 0.04 : -0.04)), names, INK)
    put(spec.yName, side(this.#frontY + (this.#frontY ? 0.04 : -0.04), 0.5), names, INK)
    for (const x of this.#xs) put(formatTick(spec.x, x), side(position(x, this.#xs), this.#frontX), [20], FAINT)
    for (const y of this.#ys) put(formatTick(spec.y, y), side(this.#frontY, position(y, this.#ys)), [20], FAINT)
    // The vertical axis stands at the side of the picture, where nothing is in front of it.
    const corners = [0, 1].flatMap((u) => [0, 1].map((v) => [u, v] as const))
    const [u, v] = corners.toSorted((a, b) => side(...a).x - side(...b).x)[0]!
    for (const tick of this.#zTicks) {
      const { x, y } = this.#project(u, v, this.#zScale(tick))
      const text = formatTick(spec.z, tick)
      parts.push(this.#labels.place(text, [[x - 8, y + 4]], FAINT, 'end'))
    }
    const { x, y } = this.#project(u, v, 1)
    parts.push(
      this.#labels.place(
        spec.zName,
        [
          [x, y - 14],
          [x + 30, y - 14],
          [x, y - 26],
        ],
        INK,
      ),
    )
    return parts.join('')
  }

  // --- the surface -----------------------------------------------------------------------------------------------------

  #point(i: number, j: number): SurfacePoint | undefined {
    return this.#spec.points.find(({ x, y }) => x === this.#xs[i] && y === this.#ys[j])
  }

  #at({ x, y, z }: SurfacePoint): Corner {
    return this.#project(position(x, this.#xs), position(y, this.#ys), this.#zScale(z))
  }

  #surface(): string {
    const patches: { depth: number; svg: string }[] = []
    for (let i = 0; i + 1 < this.#xs.length; i++)
      for (let j = 0; j + 1 < this.#ys.length; j++) {
        const corners = [this.#point(i, j), this.#point(i + 1, j), this.#point(i, j + 1), this.#point(i + 1, j + 1)]
        // A point that was not measured leaves a hole.
        if (corners.every((corner) => corner !== undefined)) patches.push(...this.#cell(corners))
      }
    return patches
      .sort((a, b) => b.depth - a.depth)
      .map(({ svg }) => svg)
      .join('')
  }

  /** Returns the patches between four points, in the order (0, 0), (1, 0), (0, 1), (1, 1): heights in between are bilinear. */
  #cell(corners: readonly SurfacePoint[]): { depth: number; svg: string }[] {
    const [a, b, c, d] = corners.map(({ z }) => this.#zScale(z)) as [number, number, number, number]
    const [u0, u1] = [position(corners[0]!.x, this.#xs), position(corners[1]!.x, this.#xs)]
    const [v0, v1] = [position(corners[0]!.y, this.#ys), position(corners[2]!.y, this.#ys)]
    const height = (s: number, t: number): number => (1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * c + s * d)
    const place = (s: number, t: number): Corner => this.#project(u0 + (u1 - u0) * s, v0 + (v1 - v0) * t, height(s, t))
    const patches: { depth: number; svg: string }[] = []
    for (let i = 0; i < PATCHES; i++)
      for (let j = 0; j < PATCHES; j++) {
        const [s0, s1, t0, t1] = [i, i + 1, j, j + 1].map((n) => n / PATCHES) as [number, number, number, number]
        const around = [place(s0, t0), place(s1, t0), place(s1, t1), place(s0, t1)]
        const colour = this.#colour(height((s0 + s1) / 2, (t0 + t1) / 2))
        patches.push({
          depth: around.reduce((sum, { depth }) => sum + depth, 0) / 4,
          svg: `<path d="M${around.map(px).join('L')}Z" fill="${colour}" stroke="${colour}" stroke-width="0.6"/>`,
        })
      }
    return patches
  }

  /** Returns the colour at `share` of the height of the box, of which the surface may fill only a part. */
  #colour(share: number): string {
    const [low, high] = [this.#zScale(this.#least.z), this.#zScale(this.#most.z)]
    return rampColour(high > low ? (share - low) / (high - low) : 0)
  }

  /** Marks the points, the smallest and the largest one, and those where many steps were missed. */
  #marks(): string {
    const { points, z } = this.#spec
    const dots = points.map((point) => {
      const { x, y } = this.#at(point)
      return `<circle cx="${round(x)}" cy="${round(y)}" r="2.6" fill="${INK}" stroke="${PAPER}"/>`
    })
    const missedText = ({ missed }: SurfacePoint): string => `${formatShare(missed)} missed`
    const special = (point: SurfacePoint, name: string, up: boolean): string => {
      const { x, y } = this.#at(point)
      const to = up ? -9 : 9
      const mark = `<path d="M${round(x - 6)} ${round(y + to)}h12l-6 ${up ? 9 : -9}Z" fill="${INK}" stroke="${PAPER}"/>`
      const value = `${name} ${z === 'ns' ? formatNs(point.z) : formatTick(z, point.z)}`
      // One label with all texts of a point.
      const text = point.missed > MANY_MISSED ? `${value}, ${missedText(point)}` : value
      const near = up ? [y - 14, y + 20] : [y + 22, y - 12]
      return mark + this.#labels.place(text, around(x, near as [number, number]), INK, 'middle', true)
    }
    const ends =
      this.#most === this.#least ? '' : special(this.#most, 'max.', true) + special(this.#least, 'min.', false)
    const isSaid = (point: SurfacePoint): boolean =>
      this.#most !== this.#least && (point === this.#most || point === this.#least)
    const missed = points
      .filter((point) => point.missed > MANY_MISSED && !isSaid(point))
      .toSorted((a, b) => b.missed - a.missed)
      .map((point) => this.#besides(point, missedText(point)))
    return dots.join('') + ends + missed.join('')
  }

  /** Places a label of a point: outside of the surface if the point is at its edge, otherwise above or below the point. */
  #besides(point: SurfacePoint, text: string): string {
    const { x, y } = this.#at(point)
    const all = this.places.map((place) => place.x)
    const outside: [number, Anchor][] = [
      ...(x >= Math.max(...all) - 1 ? ([[x + 9, 'start']] as [number, Anchor][]) : []),
      ...(x <= Math.min(...all) + 1 ? ([[x - 9, 'end']] as [number, Anchor][]) : []),
    ]
    for (const [at, anchor] of outside) {
      const placed = this.#labels.place(text, [[at, y + 4]], INK, anchor, true)
      if (placed !== '') return placed
    }
    const isFront = !this.places.some((place) => place.y > y + 1 && Math.abs(place.x - x) < 40)
    const near: [number, number] = isFront ? [y + 17, y - 8] : [y - 8, y + 17]
    return this.#labels.place(text, around(x, near), INK, 'middle', true)
  }

  /** Draws the legend of the colours. */
  legend(top: number): string {
    const [low, high] = [this.#least.z, this.#most.z]
    const width = Math.min(320, this.#width - 80)
    const left = (this.#width - width) / 2
    const steps = 32
    const strips = Array.from({ length: steps }, (_, i) => {
      const x = left + (i * width) / steps
      return `<rect x="${round(x)}" y="${top + 14}" width="${round(width / steps + 0.5)}" height="11" fill="${rampColour((i + 0.5) / steps)}"/>`
    })
    const text = (x: number, value: number, anchor: string): string => {
      const shown = this.#spec.z === 'ns' ? formatNs(value) : formatTick(this.#spec.z, value)
      return `<text x="${round(x)}" y="${top + 41}" text-anchor="${anchor}" fill="${FAINT}">${escapeHtml(shown)}</text>`
    }
    return strips.join('') + text(left, low, 'start') + text(left + width, high, 'end')
  }
}

/** Returns the parallel projection of a box of 1 × 1 × 1, the third axis upwards, into a frame. */
function projection(
  { turn, tilt }: Angle,
  frame: { width: number; top: number; height: number },
): (u: number, v: number, w: number) => Corner {
  const [a, b] = [(turn * Math.PI) / 180, (tilt * Math.PI) / 180]
  const [sa, ca, sb, cb] = [Math.sin(a), Math.cos(a), Math.sin(b), Math.cos(b)]
  // As large as fits whatever the angle is, so that turning does not change the size.
  const scale = Math.min((frame.width - 130) / 1.42, (frame.height - 96) / 1.28)
  const [cx, cy] = [frame.width / 2 + 14, frame.top + frame.height / 2 - 6]
  const tall = 0.8
  return (u, v, w) => {
    const [x, y, z] = [u - 0.5, v - 0.5, (w - 0.5) * tall]
    const [right, away] = [x * ca - y * sa, x * sa + y * ca]
    return { x: cx + right * scale, y: cy - (z * cb + away * sb) * scale, depth: away * cb - z * sb }
  }
}

/** Returns the position of a value between the smallest and the largest, logarithmic if all are positive. */
function position(value: number, all: readonly number[]): number {
  const to = all[0]! > 0 ? Math.log : (x: number): number => x
  const [low, high] = [to(all[0]!), to(all.at(-1)!)]
  return high > low ? (to(value) - low) / (high - low) : 0.5
}

function rampColour(share: number): string {
  const at = Math.max(0, Math.min(1, share)) * (RAMP.length - 1)
  const i = Math.min(RAMP.length - 2, Math.floor(at))
  const mix = RAMP[i]!.map((from, part) => Math.round(from + (RAMP[i + 1]![part]! - from) * (at - i)))
  return `#${mix.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

/** Returns the positions of a label near a point, the best first. */
function around(x: number, ys: readonly [number, number]): [number, number][] {
  return ys.flatMap((y) => [0, 36, -36, 70, -70].map((dx): [number, number] => [x + dx, y]))
}

const round = (value: number): string => String(Number(value.toFixed(1)))
const px = ({ x, y }: { x: number; y: number }): string => `${round(x)} ${round(y)}`
