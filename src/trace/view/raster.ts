/** Picture of a window of a diagram: single points while there are few, else vertical runs of pixels of one shape. */
import { firstFrom, type Level, levelFor } from './levels.ts'
import type { Points } from './sequence.ts'
import { Shape, shapeCount } from './shape.ts'

/** Visible part of the diagram, and its size in pixels. */
export interface Window {
  fromNs: number
  toNs: number
  low: number
  high: number
  width: number
  height: number
}

export type Picture =
  | { kind: 'points'; points: Points }
  /** Four numbers for each run: column, first and last row from the top, shape; shapes in the order of drawing. */
  | { kind: 'runs'; runs: Uint16Array; count: number }

/** Maximum number of points that are drawn one by one. */
const mostPoints = 4000
const largestSide = 8192
/** Maximum number of points before and after a window among which an ACK is searched for. */
const farthestAck = 20_000

export function pictureOf(levels: readonly Level[], window: Window): Picture {
  const width = Math.min(largestSide, Math.max(1, Math.floor(window.width)))
  const height = Math.min(largestSide, Math.max(1, Math.floor(window.height)))
  const { fromNs, toNs, low, high } = window
  const all = levels[0]!.points
  const exact = within(all, window, mostPoints)
  if (exact !== undefined) return { kind: 'points', points: exact }
  const nsPerPixel = (toNs - fromNs) / width
  const psnsPerPixel = (high - low) / height
  const { points } = levelFor(levels, nsPerPixel, psnsPerPixel)
  const grid = new Uint16Array(width * height)
  const end = firstFrom(points, toNs)
  for (let i = firstFrom(points, fromNs); i < end; i++) {
    const psn = points.psn[i]!
    if (psn < low || psn > high) continue
    const column = Math.min(width - 1, Math.floor((points.time[i]! - fromNs) / nsPerPixel))
    const row = Math.min(height - 1, Math.floor((high - psn) / psnsPerPixel))
    grid[column * height + row]! |= 1 << points.shape[i]!
  }
  return runsOf(grid, width, height)
}

/** Returns the points in the window and those on each side of it, for lines that lead out; undefined if there are more than `most`. */
function within(points: Points, { fromNs, toNs, low, high }: Window, most: number): Points | undefined {
  const start = Math.max(0, firstFrom(points, fromNs) - 1)
  const end = Math.min(points.count, firstFrom(points, toNs) + 1)
  if (end - start > most * 16) return undefined
  // ACKs make a line, which crosses the window although they lie outside of it.
  const before = nextAck(points, start - 1, -1)
  const behind = nextAck(points, end, 1)
  const chosen: number[] = before < 0 ? [] : [before]
  for (let i = start; i < end; i++) {
    const psn = points.psn[i]!
    if ((psn < low || psn > high) && points.shape[i] !== Shape.Ack) continue
    chosen.push(i)
    if (chosen.length > most) return undefined
  }
  if (behind >= 0) chosen.push(behind)
  return {
    count: chosen.length,
    time: Float64Array.from(chosen, (i) => points.time[i]!),
    psn: Int32Array.from(chosen, (i) => points.psn[i]!),
    shape: Uint8Array.from(chosen, (i) => points.shape[i]!),
    packet: Uint32Array.from(chosen, (i) => points.packet[i]!),
  }
}

/** Returns the nearest ACK from `at` on, in steps of 1 or -1; -1 if there is none near. */
function nextAck({ shape, count }: Points, at: number, step: number): number {
  for (let i = at; i >= 0 && i < count && Math.abs(i - at) < farthestAck; i += step)
    if (shape[i] === Shape.Ack) return i
  return -1
}

/** Returns the lowest and the highest PSN within this time; undefined if it has none. */
export function extentOf(
  levels: readonly Level[],
  fromNs: number,
  toNs: number,
): { low: number; high: number } | undefined {
  const { points } = levelFor(levels, (toNs - fromNs) / 1000, Number.POSITIVE_INFINITY)
  const end = firstFrom(points, toNs)
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let i = firstFrom(points, fromNs); i < end; i++) {
    const psn = points.psn[i]!
    if (psn < low) low = psn
    if (psn > high) high = psn
  }
  return low > high ? undefined : { low, high }
}

function runsOf(grid: Uint16Array, width: number, height: number): Picture {
  const runs: number[] = []
  for (let shape = 1; shape < shapeCount; shape++) {
    const bit = 1 << shape
    for (let column = 0; column < width; column++) {
      const start = column * height
      for (let row = 0; row < height; row++) {
        if ((grid[start + row]! & bit) === 0) continue
        const first = row
        while (row + 1 < height && (grid[start + row + 1]! & bit) !== 0) row++
        runs.push(column, first, row, shape)
      }
    }
  }
  return { kind: 'runs', runs: Uint16Array.from(runs), count: runs.length / 4 }
}

/** Returns the point nearest to a position, at most `nearNs` and `nearPsns` away; -1 if there is none. The one drawn on top wins. */
export function nearest(
  points: Points,
  { timeNs, psn, nearNs, nearPsns }: { timeNs: number; psn: number; nearNs: number; nearPsns: number },
): number {
  let best = -1
  let least = 1
  const end = firstFrom(points, timeNs + nearNs)
  for (let i = firstFrom(points, timeNs - nearNs); i < end; i++) {
    const x = (points.time[i]! - timeNs) / nearNs
    const y = (points.psn[i]! - psn) / nearPsns
    const distance = x * x + y * y - (points.shape[i]! >= Shape.Repeat ? 0.2 : 0)
    if (distance > least) continue
    least = distance
    best = i
  }
  return best
}
