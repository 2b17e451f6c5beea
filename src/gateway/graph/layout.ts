/** Layout of a graph by dagre, from left to right: a box is right of all that leads to it. */
import { Graph, layout } from '@dagrejs/dagre'

export interface Box {
  readonly width: number
  readonly height: number
}

export interface Edge {
  readonly from: number
  readonly to: number
}

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Layout {
  readonly width: number
  readonly height: number
  /** Upper left corners, by box. */
  readonly at: readonly Point[]
  /** Points of each edge, from a side of its first box to a side of its last. A line that leads back goes from a left side to a right one. */
  readonly lines: readonly (readonly Point[])[]
}

const columnGap = 70
const rowGap = 22

export function layoutOf(boxes: readonly Box[], edges: readonly Edge[]): Layout {
  // Two boxes may be joined by several edges.
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', ranksep: columnGap, nodesep: rowGap, edgesep: rowGap })
  for (const [i, { width, height }] of boxes.entries()) graph.setNode(String(i), { width, height })
  for (const [i, { from, to }] of edges.entries()) graph.setEdge(String(from), String(to), {}, String(i))
  layout(graph)
  const at = boxes.map(({ width, height }, i) => {
    const { x, y } = graph.node(String(i)) as Point
    return { x: x - width / 2, y: y - height / 2 }
  })
  const lines = edges.map(({ from, to }, i) => {
    const { points } = graph.edge(String(from), String(to), String(i)) as { points: Point[] }
    const isBack = at[to]!.x < at[from]!.x
    // Between neighbours one curve is enough.
    const between = points.length > 3 ? points.slice(1, -1) : []
    return [side(at[from]!, boxes[from]!, !isBack), ...between, side(at[to]!, boxes[to]!, isBack)]
  })
  // Lines may pass outside of all boxes.
  const [left, top] = [least(at, lines, 'x'), least(at, lines, 'y')]
  const moved = ({ x, y }: Point): Point => ({ x: x - left, y: y - top })
  const corners = [
    ...boxes.map(({ width, height }, i) => ({ x: at[i]!.x + width, y: at[i]!.y + height })),
    ...lines.flat(),
  ]
  return {
    width: Math.max(0, ...corners.map(({ x }) => x - left)),
    height: Math.max(0, ...corners.map(({ y }) => y - top)),
    at: at.map(moved),
    lines: lines.map((points) => points.map(moved)),
  }
}

/** Returns the middle of the right or the left side of a box. */
function side({ x, y }: Point, { width, height }: Box, isRight: boolean): Point {
  return { x: isRight ? x + width : x, y: y + height / 2 }
}

function least(at: readonly Point[], lines: readonly Point[][], axis: 'x' | 'y'): number {
  const all = [...at, ...lines.flat()].map((point) => point[axis])
  return all.length === 0 ? 0 : Math.min(...all)
}
