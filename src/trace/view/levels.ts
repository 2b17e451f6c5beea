/**
 * Points in several degrees of detail. A picture needs no more points than it has pixels: each level is a grid, of which every
 * cell keeps the first point of each shape, so that a NAK among millions of requests is there on every level.
 */
import type { Points } from './sequence.ts'
import { shapeCount } from './shape.ts'

/** Number of points below which no coarser level is made. */
const enough = 50_000
/** Columns of the finest grid; each coarser one has a quarter of them. */
const finest = 16_384

export interface Level {
  points: Points
  /** Width of a cell in nanoseconds, and its height in PSNs: 0 for all points. */
  cellNs: number
  cellPsns: number
}

/** Returns levels from all points to the coarsest. */
export function levelsOf(points: Points): Level[] {
  const levels: Level[] = [{ points, cellNs: 0, cellPsns: 0 }]
  if (points.count <= enough) return levels
  let [low, high] = [points.psn[0]!, points.psn[0]!]
  for (const psn of points.psn) {
    if (psn < low) low = psn
    if (psn > high) high = psn
  }
  const from = points.time[0]!
  const spanNs = Math.max(1, points.time[points.count - 1]! - from)
  let finer = points
  for (let columns = finest; finer.count > enough && columns >= 1024; columns /= 4) {
    const cellNs = spanNs / columns
    const cellPsns = Math.max(1, (high - low) / (columns / 2))
    const coarser = thinned(finer, from, low, cellNs, cellPsns)
    if (coarser.count > finer.count * 0.8) continue
    levels.push({ points: coarser, cellNs, cellPsns })
    finer = coarser
  }
  return levels
}

/** Returns the coarsest level whose cells are no larger than this. */
export function levelFor(levels: readonly Level[], nsPerPixel: number, psnsPerPixel: number): Level {
  return levels.findLast(({ cellNs, cellPsns }) => cellNs <= nsPerPixel && cellPsns <= Math.max(1, psnsPerPixel))!
}

function thinned(points: Points, from: number, low: number, cellNs: number, cellPsns: number): Points {
  const kept = new Uint32Array(points.count)
  let count = 0
  let column = -1
  const seen = new Set<number>()
  const last = new Int32Array(shapeCount)
  for (let i = 0; i < points.count; i++) {
    const its = Math.floor((points.time[i]! - from) / cellNs)
    if (its !== column) {
      column = its
      seen.clear()
      last.fill(-1)
    }
    const shape = points.shape[i]!
    const row = Math.floor((points.psn[i]! - low) / cellPsns)
    if (last[shape] === row) continue
    last[shape] = row
    const key = row * shapeCount + shape
    if (seen.has(key)) continue
    seen.add(key)
    kept[count++] = i
  }
  const chosen = kept.subarray(0, count)
  return {
    count,
    time: Float64Array.from(chosen, (i) => points.time[i]!),
    psn: Int32Array.from(chosen, (i) => points.psn[i]!),
    shape: Uint8Array.from(chosen, (i) => points.shape[i]!),
    packet: Uint32Array.from(chosen, (i) => points.packet[i]!),
  }
}

/** Returns the index of the first of `points` that is not before `time`. */
export function firstFrom({ time, count }: Points, from: number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (time[middle]! < from) low = middle + 1
    else high = middle
  }
  return low
}
