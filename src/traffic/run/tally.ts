/**
 * Outcomes of requests: counts and times by server, type, verb and size, from which every other grouping follows. Recording allocates only
 * for the first request of a kind.
 */
import { LogHistogram } from '../../stats/index.ts'
import { qpTypes, type RecordedCell, sizeClasses, sizeLimits, verbs } from '../index.ts'

const precision = 8
const bits = 44

interface Cell {
  server: number
  type: number
  verb: number
  sizeClass: number
  done: number
  bytes: number
  lost: number
  failed: number
  fct: LogHistogram
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

  /** Returns the nanoseconds of the fastest flow; 0 if none is complete. */
  get fastestNs(): number {
    const fastest = Math.min(...this.#cells.map((cell) => cell?.fct.min ?? Number.POSITIVE_INFINITY))
    return Number.isFinite(fastest) ? fastest : 0
  }

  /** Returns all kinds that have requests. `servers`: their names. */
  toPlain(servers: readonly string[]): RecordedCell[] {
    return this.#cells.flatMap((cell) =>
      cell === null
        ? []
        : [
            {
              ...{ server: servers[cell.server]!, type: qpTypes[cell.type]!, verb: verbs[cell.verb]! },
              sizeClass: sizeClasses[cell.sizeClass]!,
              ...{ done: cell.done, bytes: cell.bytes, lost: cell.lost, failed: cell.failed },
              ...{ fct: cell.fct.toPlain(), slowdown: cell.slowdown.toPlain() },
            },
          ],
    )
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
}
