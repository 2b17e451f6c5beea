/**
 * Layout of a graph, from left to right: a box is right of all that leads to it, boxes of a column are ordered so that few lines cross, and
 * lines that lead back run below everything. After Sugiyama, Tagawa and Toda (1981), in short.
 */
export interface Box {
  readonly width: number
  readonly height: number
}

export interface Edge {
  readonly from: number
  readonly to: number
}

export interface Layout {
  readonly width: number
  readonly height: number
  /** Upper left corners, by box. */
  readonly at: readonly { readonly x: number; readonly y: number }[]
  /** Points of each edge, from the right side of its first box to the left side of its last; a line that leads back turns at both. */
  readonly lines: readonly (readonly { readonly x: number; readonly y: number }[])[]
}

const columnGap = 70
const rowGap = 22
/** Distance between lines that lead back, and distance that these go out to turn. */
const backGap = 16
const turn = 32

interface Vertex {
  readonly width: number
  readonly height: number
  readonly rank: number
  y: number
  readonly before: Vertex[]
  readonly after: Vertex[]
}

export function layoutOf(boxes: readonly Box[], edges: readonly Edge[]): Layout {
  const isBack = backEdges(boxes.length, edges)
  const forward = edges.filter((_, i) => !isBack[i])
  const ranks = ranksOf(boxes.length, forward)
  const vertices: Vertex[] = boxes.map(({ width, height }, i) => newVertex(width, height, ranks[i]!))
  const columns: Vertex[][] = Array.from({ length: Math.max(0, ...ranks) + 1 }, () => [])
  for (const vertex of vertices) columns[vertex.rank]!.push(vertex)
  // A line that skips columns has a place in each of them, so that it crosses no box.
  const chains = edges.map(({ from, to }, i) => (isBack[i] ? [] : chain(vertices[from]!, vertices[to]!, columns)))
  order(columns)
  place(columns)
  const left: number[] = []
  // Lines that lead back turn outside of all boxes.
  const side = isBack.includes(true) ? turn : 0
  let x = side
  for (const column of columns) {
    left.push(x)
    x += Math.max(0, ...column.map(({ width }) => width)) + columnGap
  }
  const bottom = Math.max(0, ...columns.flat().map(({ y, height }) => y + height))
  const widthOf = (rank: number) => Math.max(...columns[rank]!.map(({ width }) => width))
  const xOf = ({ rank, width }: Vertex) => left[rank]! + (widthOf(rank) - width) / 2
  const middle = ({ y, height }: Vertex) => y + height / 2
  let backs = 0
  const lines = edges.map(({ from, to }, i) => {
    const [a, b] = [vertices[from]!, vertices[to]!]
    const begin = { x: xOf(a) + a.width, y: middle(a) }
    const end = { x: xOf(b), y: middle(b) }
    if (!isBack[i]) {
      const between = chains[i]!.flatMap((vertex) => [
        { x: left[vertex.rank]!, y: middle(vertex) },
        { x: left[vertex.rank]! + widthOf(vertex.rank), y: middle(vertex) },
      ])
      return [begin, ...between, end]
    }
    const y = bottom + ++backs * backGap
    return [begin, { x: begin.x, y }, { x: end.x, y }, end]
  })
  return {
    width: Math.max(0, x - columnGap + side),
    height: bottom + backs * backGap,
    at: vertices.map((vertex) => ({ x: xOf(vertex), y: vertex.y })),
    lines,
  }
}

function newVertex(width: number, height: number, rank: number): Vertex {
  return { width, height, rank, y: 0, before: [], after: [] }
}

/** Returns a flag for each edge: it leads back to a box on the path to its start, in the order of the boxes. */
function backEdges(count: number, edges: readonly Edge[]): boolean[] {
  const leaving: number[][] = Array.from({ length: count }, () => [])
  for (const [i, { from }] of edges.entries()) leaving[from]!.push(i)
  const isBack = edges.map(() => false)
  const state: ('open' | 'done' | undefined)[] = []
  const visit = (box: number): void => {
    state[box] = 'open'
    for (const i of leaving[box]!) {
      const { to } = edges[i]!
      if (state[to] === 'open') isBack[i] = true
      else if (state[to] === undefined) visit(to)
    }
    state[box] = 'done'
  }
  // Boxes without incoming edges come first, so that lines lead back to them and not from them.
  const reached = new Set(edges.map(({ to }) => to))
  for (let box = 0; box < count; box++) if (!reached.has(box)) visit(box)
  for (let box = 0; box < count; box++) if (state[box] === undefined) visit(box)
  return isBack
}

/** Returns the number of edges on the longest path to each box. */
function ranksOf(count: number, edges: readonly Edge[]): number[] {
  const ranks = Array.from({ length: count }, () => 0)
  for (let changed = true; changed; ) {
    changed = false
    for (const { from, to } of edges)
      if (ranks[to]! <= ranks[from]!) {
        ranks[to] = ranks[from]! + 1
        changed = true
      }
  }
  return ranks
}

/** Joins two boxes; returns the vertices of the line in the columns between them. */
function chain(from: Vertex, to: Vertex, columns: Vertex[][]): Vertex[] {
  const between: Vertex[] = []
  let last = from
  const join = (next: Vertex): void => {
    last.after.push(next)
    next.before.push(last)
    last = next
  }
  for (let rank = from.rank + 1; rank < to.rank; rank++) {
    const vertex = newVertex(0, 4, rank)
    columns[rank]!.push(vertex)
    between.push(vertex)
    join(vertex)
  }
  join(to)
  return between
}

/** Orders the boxes of each column by the mean of their neighbours, in sweeps to and fro. */
function order(columns: readonly Vertex[][]): void {
  for (let sweep = 0; sweep < 8; sweep++) {
    const isForth = sweep % 2 === 0
    for (const column of isForth ? columns : columns.toReversed()) {
      const means = new Map(
        column.map((vertex, i) => {
          const near = isForth ? vertex.before : vertex.after
          const places = near.map((each) => columns[each.rank]!.indexOf(each))
          return [vertex, places.length === 0 ? i : places.reduce((a, b) => a + b, 0) / places.length]
        }),
      )
      column.sort((a, b) => means.get(a)! - means.get(b)!)
    }
  }
}

/** Sets the heights: each box is as near to the mean of its neighbours as the order and the gaps allow. */
function place(columns: readonly Vertex[][]): void {
  const middle = ({ y, height }: Vertex) => y + height / 2
  const stack = (column: Vertex[], wanted: (vertex: Vertex) => number): void => {
    let y = Number.NEGATIVE_INFINITY
    for (const vertex of column) {
      vertex.y = Math.max(y, wanted(vertex))
      y = vertex.y + vertex.height + rowGap
    }
    // As much too low as too high, so that the order does not push everything down.
    const off = column.map((vertex) => vertex.y - wanted(vertex))
    const shift = off.reduce((a, b) => a + b, 0) / Math.max(1, column.length)
    for (const vertex of column) vertex.y -= shift
  }
  for (const column of columns) stack(column, () => 0)
  for (let sweep = 0; sweep < 6; sweep++)
    for (const column of sweep % 2 === 0 ? columns : columns.toReversed()) {
      const wishes = new Map(
        column.map((vertex) => {
          const near = [...vertex.before, ...vertex.after]
          const mean = near.reduce((sum, each) => sum + middle(each), 0) / Math.max(1, near.length)
          return [vertex, near.length === 0 ? vertex.y : mean - vertex.height / 2]
        }),
      )
      stack(column, (vertex) => wishes.get(vertex)!)
    }
  const top = Math.min(0, ...columns.flat().map(({ y }) => y))
  for (const vertex of columns.flat()) vertex.y -= top
  const least = Math.min(...columns.flat().map(({ y }) => y))
  if (Number.isFinite(least)) for (const vertex of columns.flat()) vertex.y -= least
}
