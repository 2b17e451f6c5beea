/** Root of a broadcast by multicast: sends windows, requests reports, and repairs the losses that they contain. */
import { elsewhere, lengths } from './call.ts'
import { CollectiveError } from './error.ts'
import type { Lane } from './lane.ts'
import type { Memory } from './memory.ts'
import { Kind } from './message.ts'
import type { Datagrams, Taker } from './multicast-datagrams.ts'
import { readReport, reportBytes } from './multicast-report.ts'
import { lowest, type Window } from './multicast-window.ts'

/** Nanoseconds after which no datagram is still in transit that a Query has overtaken. */
export const graceNs = 1e6

export class MulticastRoot implements Taker {
  readonly #datagrams: Datagrams
  readonly #window: Window
  readonly #memory: Memory
  readonly #lanes: readonly (Lane | null)[]
  /** Flag: the window was posted. `#sending`: its last chunk has not completed. */
  #sent = false
  #sending = false
  /** Time of this rank's first check after that, nanoseconds; 0: none yet. */
  #sentNs = 0
  /** State of each rank: has the whole window; was queried; chunks to send again, a bit for each. */
  readonly #complete: Uint8Array
  readonly #queried: Uint8Array
  readonly #repairs: Uint32Array
  #incomplete = 0

  constructor(datagrams: Datagrams, window: Window, memory: Memory, lanes: readonly (Lane | null)[]) {
    this.#datagrams = datagrams
    this.#window = window
    this.#memory = memory
    this.#lanes = lanes
    this.#complete = new Uint8Array(lanes.length)
    this.#queried = new Uint8Array(lanes.length)
    this.#repairs = new Uint32Array(lanes.length)
  }

  /** Begins a window. */
  open(): void {
    this.#sent = this.#sending = false
    this.#sentNs = 0
    this.#complete.fill(0)
    this.#queried.fill(0)
    this.#repairs.fill(0)
    this.#incomplete = this.#lanes.length - 1
  }

  /** Ignores a chunk: the root's own chunks may be looped back. */
  offer(): void {}

  /** Lanes of the ranks that do not have the window yet. */
  get awaited(): Lane[] {
    return this.#lanes.filter((lane): lane is Lane => lane !== null && this.#complete[lane.rank] === 0)
  }

  /** Sends and repairs. Returns true if all ranks have the window. */
  step(): boolean {
    this.#datagrams.take(this.#window, this)
    if (!this.#sent) {
      this.#datagrams.send(this.#window)
      this.#sent = this.#sending = true
    }
    if (this.#sending) this.#sending = !this.#datagrams.sent()
    if (this.#incomplete > 0) for (const lane of this.#lanes) if (lane !== null) this.#serve(lane)
    if (this.#incomplete > 0 || this.#sending) return false
    let quiet = true
    for (const lane of this.#lanes) if (lane !== null && !lane.isQuiet()) quiet = false
    return quiet
  }

  /** Takes the reports of a rank, and sends the missing chunks to it. */
  #serve(lane: Lane): void {
    const { rank } = lane
    if (this.#complete[rank] === 1) return
    while (this.#complete[rank] === 0 && lane.hasMessage()) this.#receive(lane)
    if (lane.arrived.count === 0 && lane.readies.count > 0 && this.#complete[rank] === 0)
      throw elsewhere(this.#window.broadcast.call, rank, lane.readies.tag)
    while (this.#repairs[rank] !== 0 && lane.hasRoom()) this.#repair(lane)
  }

  #receive(lane: Lane): void {
    const window = this.#window
    const { call, bytes } = window.broadcast
    const { rank } = lane
    if (lane.arrived.tag !== call.tag) throw elsewhere(call, rank, lane.arrived.tag)
    if (lane.arrived.kind !== Kind.Data || lane.arrived.bytes !== reportBytes)
      throw lengths(call, rank, lane.arrived.bytes, bytes)
    const report = readReport(this.#memory, lane.arrived.at)
    if (report.bytes !== bytes || report.first !== window.first) throw lengths(call, rank, report.bytes, bytes)
    if ((report.missing & ~window.all) !== 0)
      throw new CollectiveError('EPEER', `rank ${rank} lacks chunks that there are not`, rank)
    lane.take()
    window.moves++
    if (report.missing === 0) {
      this.#complete[rank] = 1
      this.#incomplete--
    } else this.#repairs[rank] = report.missing
  }

  /** Sends the first chunk that a rank lacks. */
  #repair(lane: Lane): void {
    const { place, call } = this.#window.broadcast
    const missing = this.#repairs[lane.rank]!
    const i = lowest(missing)
    const length = this.#window.lengthOf(i)
    const kind = length > 0 ? Kind.Data : Kind.Empty
    lane.send(kind, call.tag, place, this.#window.offsetOf(i), length)
    this.#repairs[lane.rank] = missing & (missing - 1)
  }

  /** Requests the missing reports. Time and result as for `Multicast.urge`. */
  urge(now: number): number {
    if (this.#sending) return Number.POSITIVE_INFINITY
    if (this.#sentNs === 0) this.#sentNs = now
    if (now - this.#sentNs < graceNs) return graceNs / 1e6
    let againMs = Number.POSITIVE_INFINITY
    for (const lane of this.#lanes) {
      if (lane === null || this.#complete[lane.rank] === 1 || this.#queried[lane.rank] === 1) continue
      if (lane.mayPost) {
        this.#queried[lane.rank] = 1
        lane.query(this.#window.broadcast.call.tag, this.#window.first)
      } else againMs = graceNs / 1e6
    }
    return againMs
  }

  /** Arms the queues; result as for `Multicast.arm`. */
  arm(now: number): number {
    if (this.#sending) this.#datagrams.armSends()
    const againMs = this.urge(now)
    for (const lane of this.#lanes) {
      if (lane === null) continue
      if (lane.lost !== null) throw lane.lost
      lane.arm()
    }
    return againMs
  }
}
