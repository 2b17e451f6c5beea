/**
 * What became of requests: counts and times by server, type, verb and size, from which every other grouping follows. Recording allocates
 * only for the first request of a kind.
 */
import { LogHistogram } from '../../stats/index.ts'
import { qpTypes, verbs } from '../index.ts'

/** Upper limits of size classes, bytes; what is larger is the last class. */
export const sizeLimits: readonly number[] = [1024, 16 * 1024, 128 * 1024, 2 ** 20, 10 * 2 ** 20]
export const sizeClasses = ['≤ 1 KiB', '≤ 16 KiB', '≤ 128 KiB', '≤ 1 MiB', '≤ 10 MiB', '> 10 MiB'] as const

const precision = 8
const bits = 44

export interface Cell {
  server: number
  type: number
  verb: number
  sizeClass: number
  /** Flows that are complete, and their bytes. */
  done: number
  bytes: number
  /** UC and UD: flows of which something did not come. */
  lost: number
  /** Flows whose server was not there, or died, or that were not complete at the end. */
  failed: number
  /** From when a flow was due until it was complete, nanoseconds. */
  fct: LogHistogram
  /** That over the least time that its size takes, in thousandths. */
  slowdown: LogHistogram
}

export class Tally {
  readonly #cells: (Cell | null)[]
  readonly #bandwidthBps: number
  /** Nanoseconds of the fastest small request to each server. */
  readonly bases: Float64Array
  done = 0
  lost = 0
  failed = 0
  bytes = 0

  constructor(servers: number, bandwidthBps: number) {
    this.#cells = new Array(servers * qpTypes.length * verbs.length * sizeClasses.length).fill(null)
    this.#bandwidthBps = bandwidthBps
    this.bases = new Float64Array(servers)
  }

  complete(server: number, type: number, verb: number, size: number, ns: number): void {
    const cell = this.#cell(server, type, verb, size)
    cell.done++
    cell.bytes += size
    cell.fct.add(ns)
    cell.slowdown.add((1000 * ns) / Math.max(1, this.bases[server]! + (size * 8e9) / this.#bandwidthBps))
    this.done++
    this.bytes += size
  }

  lose(server: number, type: number, verb: number, size: number): void {
    this.#cell(server, type, verb, size).lost++
    this.lost++
  }

  fail(server: number, type: number, verb: number, size: number): void {
    this.#cell(server, type, verb, size).failed++
    this.failed++
  }

  #cell(server: number, type: number, verb: number, size: number): Cell {
    let sizeClass = 0
    while (sizeClass < sizeLimits.length && size > sizeLimits[sizeClass]!) sizeClass++
    const index = ((server * qpTypes.length + type) * verbs.length + verb) * sizeClasses.length + sizeClass
    return this.#cells[index] ?? this.#made(index, server, type, verb, sizeClass)
  }

  #made(index: number, server: number, type: number, verb: number, sizeClass: number): Cell {
    const histogram = (): LogHistogram => new LogHistogram({ precision, bits })
    const counts = { done: 0, bytes: 0, lost: 0, failed: 0 }
    const cell = { server, type, verb, sizeClass, ...counts, fct: histogram(), slowdown: histogram() }
    this.#cells[index] = cell
    return cell
  }

  /** Cells that have requests, merged by what `keyOf` gives for them, in the order of their first ones. */
  by<K>(keyOf: (cell: Cell) => K): Map<K, Figures> {
    const groups = new Map<K, { cells: Cell[] }>()
    for (const cell of this.#cells) {
      if (cell === null) continue
      const key = keyOf(cell)
      const group = groups.get(key)
      if (group) group.cells.push(cell)
      else groups.set(key, { cells: [cell] })
    }
    return new Map([...groups].map(([key, { cells }]) => [key, figuresOf(cells)]))
  }
}

export interface Times {
  mean: number
  min: number
  p50: number
  p90: number
  p99: number
  p999: number
  max: number
}

export interface Figures {
  done: number
  bytes: number
  lost: number
  failed: number
  /** Nanoseconds; null if nothing is complete. */
  fct: Times | null
  /** 1 is as fast as the size allows; null likewise. */
  slowdown: Times | null
}

function figuresOf(cells: readonly Cell[]): Figures {
  const fct = new LogHistogram({ precision, bits })
  const slowdown = new LogHistogram({ precision, bits })
  const sum = { done: 0, bytes: 0, lost: 0, failed: 0 }
  for (const cell of cells) {
    for (const key of ['done', 'bytes', 'lost', 'failed'] as const) sum[key] += cell[key]
    fct.merge(cell.fct)
    slowdown.merge(cell.slowdown)
  }
  return { ...sum, fct: timesOf(fct, 1), slowdown: timesOf(slowdown, 1000) }
}

function timesOf(histogram: LogHistogram, unit: number): Times | null {
  if (histogram.count === 0) return null
  const at = (percent: number): number => histogram.percentile(percent) / unit
  return {
    ...{ mean: histogram.mean / unit, min: histogram.min / unit },
    ...{ p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: histogram.max / unit },
  }
}
