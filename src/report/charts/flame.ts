/**
 * A flame graph: callers above their callees, each as wide as its share of the samples, coloured by component. Each
 * frame is an SVG of its own, with its position in per cent: that cuts its text off where it ends, and lets the page's
 * script enlarge a frame by changing two numbers.
 */
import { escapeHtml, formatShare } from '../format.ts'
import type { FlameNode } from '../results.ts'
import { COLOURS, FAINT, INK, PAPER } from './colours.ts'
import { FONT } from './text.ts'

export interface FlameGraph {
  name: string
  title: string
  width: number
  root: FlameNode
}

const ROW = 19
const TOP = 62
const SIDE = 16
/** Minimum width of a frame that is drawn, per cent. */
const NARROWEST = 0.08

/** Components in the order of their colours; the same in all pictures. */
const KNOWN: readonly string[] = ['rsocket', 'copies', 'verbs', 'shm', 'roce', 'transport', 'system calls', 'CRC']
const PALE: Readonly<Record<string, string>> = {
  waiting: '#d4d9df',
  benchmark: '#eef0f2',
  'Node.js': '#e3d8c8',
  'garbage collection': '#f2b8b5',
  clock: '#c9b8d9',
  memory: '#b5d3c0',
  cm: '#f3e3a1',
}

export function componentColour(component: string): string {
  const at = KNOWN.indexOf(component)
  if (at >= 0) return COLOURS[at]!
  return PALE[component] ?? '#c4c8cc'
}

/** Returns white for text on a dark colour. */
function textColour(colour: string): string {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  return 0.299 * r + 0.587 * g + 0.114 * b < 140 ? '#ffffff' : INK
}

export function flameSvg({ name, title, width, root }: FlameGraph): string {
  const frames: string[] = []
  const found = new Set<string>()
  let depth = 0
  const draw = (frame: FlameNode, left: number, level: number): void => {
    const share = frame.samples / root.samples
    if (share * 100 < NARROWEST) return
    depth = Math.max(depth, level + 1)
    found.add(frame.component)
    const colour = componentColour(frame.component)
    const where = frame.module === '' ? '' : ` (${frame.module})`
    const tip = `${frame.name}${where}: ${formatShare(share)}, ${frame.component}`
    frames.push(
      `<svg class="frame" x="${percent(left)}" y="${TOP + level * ROW}" width="${percent(share)}" height="${ROW - 1}">` +
        `<title>${escapeHtml(tip)}</title>` +
        `<rect width="100%" height="100%" fill="${colour}" stroke="#ffffff" stroke-width="0.6"/>` +
        `<text x="4" y="13" fill="${textColour(colour)}">${escapeHtml(frame.name)}</text></svg>`,
    )
    let at = left
    for (const callee of frame.children) {
      draw(callee, at, level + 1)
      at += callee.samples / root.samples
    }
  }
  if (root.samples > 0) draw(root, 0, 0)
  const height = TOP + depth * ROW + 12
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" id="${escapeHtml(name)}" class="flame" role="img" aria-label="${escapeHtml(title)}" ` +
    `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${FONT}" font-size="12">` +
    `<rect width="${width}" height="${height}" fill="${PAPER}"/>` +
    `<text x="${SIDE}" y="24" font-size="15" font-weight="bold" fill="${INK}">${escapeHtml(title)}</text>` +
    legend([...KNOWN, ...Object.keys(PALE), ...found].filter((c, i, all) => found.has(c) && all.indexOf(c) === i)) +
    `<svg class="frames" x="${SIDE}" width="${width - 2 * SIDE}" height="${height}">${frames.join('')}</svg></svg>`
  )
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`
}

function legend(components: readonly string[]): string {
  let x = SIDE
  return components
    .map((component) => {
      const at = x
      x += 30 + component.length * 6.6
      return (
        `<rect x="${at}" y="36" width="12" height="12" fill="${componentColour(component)}" stroke="#b8bec5" stroke-width="0.5"/>` +
        `<text x="${at + 17}" y="46" fill="${FAINT}">${escapeHtml(component)}</text>`
      )
    })
    .join('')
}
