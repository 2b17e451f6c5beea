/** A gateway as a picture (SVG), for Graphviz (dot), and as text. */

import { type Box, type Edge, layoutOf, type Point } from './layout.ts'
import type { GraphModel } from './model.ts'

export const graphFormats = ['text', 'svg', 'dot', 'json'] as const
export type GraphFormat = (typeof graphFormats)[number]

const margin = 16
const characterWidth = 7.3
const lineHeight = 17

const style = `
    .verbena-graph { color-scheme: light dark; background: var(--back); --back: #fff; --ink: #1c2330; --dim: #5a6474; --line: #7b8698; --node: #e8f0fb; --node-edge: #3a6fb5; --path: #fdf3e0; --path-edge: #b57a1f }
    @media (prefers-color-scheme: dark) { .verbena-graph { --back: #14181f; --ink: #e6eaf0; --dim: #9aa5b5; --line: #8a95a6; --node: #1c2a40; --node-edge: #6ea2e6; --path: #33291a; --path-edge: #d8a24a } }
    .verbena-graph text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--dim); text-anchor: middle }
    .verbena-graph .title { font-weight: 600; fill: var(--ink) }
    .verbena-graph .node { fill: var(--node); stroke: var(--node-edge) }
    .verbena-graph .path { fill: var(--path); stroke: var(--path-edge) }
    .verbena-graph .off { stroke-dasharray: 4 3; fill: none }
    .verbena-graph .edge { fill: none; stroke: var(--line); stroke-width: 1.4 }
    .verbena-graph .masked { stroke-dasharray: 5 4 }
    .verbena-graph .head { fill: var(--line) }`

interface Drawn extends Box {
  readonly kind: 'node' | 'path'
  readonly title: string
  readonly lines: readonly string[]
  readonly enabled: boolean
}

/** Returns all boxes, nodes first, and the edges between them. */
function boxesOf({ nodes, paths }: GraphModel): { boxes: Drawn[]; edges: (Edge & { masked: boolean })[] } {
  const boxes = [
    ...nodes.map(({ name, lines, enabled }) => box('node', name, lines, enabled)),
    ...paths.map(({ title, lines, enabled }) => box('path', title, lines, enabled)),
  ]
  const index = new Map(nodes.map(({ name }, i) => [name, i]))
  const edges = paths.flatMap(({ from, to }, i) => [
    ...from.flatMap(({ node, masked }) => joined(index.get(node), nodes.length + i, masked)),
    ...to.flatMap((node) => joined(nodes.length + i, index.get(node), false)),
  ])
  return { boxes, edges }
}

function box(kind: Drawn['kind'], title: string, lines: readonly string[], enabled: boolean): Drawn {
  const longest = Math.max(...[title, ...lines].map(({ length }) => length))
  return {
    kind,
    title,
    lines,
    enabled,
    width: longest * characterWidth + 24,
    height: (lines.length + 1) * lineHeight + 14,
  }
}

function joined(from: number | undefined, to: number | undefined, masked: boolean): (Edge & { masked: boolean })[] {
  return from === undefined || to === undefined ? [] : [{ from, to, masked }]
}

/** Returns a document of its own, light or dark as its reader is. */
export function graphSvg(model: GraphModel): string {
  const { boxes, edges } = boxesOf(model)
  const { width, height, at, lines } = layoutOf(boxes, edges)
  const [w, h] = [Math.ceil(width + 2 * margin), Math.ceil(height + 2 * margin)]
  const drawnEdges = lines.map((points, i) => {
    const masked = edges[i]!.masked ? ' masked' : ''
    return `  <path class="edge${masked}" marker-end="url(#head)" d="${curve(points)}"/>`
  })
  const drawnBoxes = boxes.map(({ kind, title, lines: text, enabled, width: own, height: high }, i) => {
    const { x, y } = at[i]!
    const [left, top, middle] = [round(x + margin), round(y + margin), round(x + margin + own / 2)]
    const rect = `<rect class="${kind}${enabled ? '' : ' off'}" x="${left}" y="${top}" width="${round(own)}" height="${high}" rx="${kind === 'path' ? 14 : 3}"/>`
    const words = [title, ...text].map((line, j) => {
      const isTitle = j === 0 ? ' class="title"' : ''
      return `<text${isTitle} x="${middle}" y="${round(y + margin + 20 + j * lineHeight)}">${escapeXml(line)}</text>`
    })
    return `  <g>${rect}${words.join('')}</g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" class="verbena-graph" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img" aria-label="${escapeXml(describe(model))}">
  <style>${style}
  </style>
  <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>
${[...drawnEdges, ...drawnBoxes].join('\n')}
</svg>
`
}

/** Returns a curve through all points, level at each of them. */
function curve(points: readonly Point[]): string {
  const [first, ...others] = points.map(({ x, y }) => ({ x: round(x + margin), y: round(y + margin) }))
  let last = first!
  let text = `M${last.x} ${last.y}`
  for (const { x, y } of others) {
    const half = round((last.x + x) / 2)
    text += last.y === y ? ` H${x}` : ` C${half} ${last.y} ${half} ${y} ${x} ${y}`
    last = { x, y }
  }
  return text
}

/** Returns the graph for Graphviz: `dot -Tpdf`. */
export function graphDot(model: GraphModel): string {
  const { boxes, edges } = boxesOf(model)
  const quote = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`
  const names = [...model.nodes.map(({ name }) => quote(name)), ...model.paths.map((_, i) => quote(`path ${i}`))]
  const lines = boxes.map(({ kind, title, lines: text, enabled }, i) => {
    const label = [title, ...text].map((line) => line.replace(/[\\"]/g, '\\$&')).join('\\n')
    const shape = kind === 'path' ? 'shape=box, style="rounded' : 'shape=box, style="solid'
    return `  ${names[i]} [label="${label}", ${shape}${enabled ? '' : ', dashed'}"]`
  })
  const arrows = edges.map(
    ({ from, to, masked }) => `  ${names[from]} -> ${names[to]}${masked ? ' [style=dashed]' : ''}`,
  )
  return `digraph gateway {\n  rankdir=LR\n  node [fontname="monospace", fontsize=10]\n${[...lines, ...arrows].join('\n')}\n}\n`
}

/** Returns a line for each path, and for each node that no path has. */
export function graphText(model: GraphModel): string {
  const type = new Map(model.nodes.map(({ name, lines }) => [name, lines[0]!]))
  const named = (name: string) => `${name} (${type.get(name) ?? '?'})`
  const lines = model.paths.map(({ title, lines: details, from, to }) => {
    const sources = from.map(({ node, masked }) => `${named(node)}${masked ? ' [masked]' : ''}`).join(' + ')
    const inside = details.length === 0 ? '' : `[${details.join('; ')}] `
    return `${title}: ${sources} ─→ ${inside}${inside === '' ? '' : '─→ '}${to.map(named).join(', ') || 'nothing'}`
  })
  const used = new Set(model.paths.flatMap(({ from, to }) => [...from.map(({ node }) => node), ...to]))
  const unused = model.nodes.filter(({ name }) => !used.has(name)).map(({ name }) => `in no path: ${named(name)}`)
  return [...lines, ...unused].map((line) => `${line}\n`).join('')
}

function describe({ nodes, paths }: GraphModel): string {
  return `a gateway of ${nodes.length} nodes and ${paths.length} paths`
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[each]!)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
