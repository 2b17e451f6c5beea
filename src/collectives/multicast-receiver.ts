/** Receiver of a broadcast by multicast: takes chunks, and reports the missing ones. */
import { elsewhere, lengths } from './call.ts'
import type { Lane } from './lane.ts'
import { emptyRange, type Memory, point, type Range } from './memory.ts'
import { Kind } from './message.ts'
import type { Datagrams, Taker } from './multicast-datagrams.ts'
import { reportBytes, writeReport } from './multicast-report.ts'
import { graceNs } from './multicast-root.ts'
import { lowest, type Window } from './multicast-window.ts'

export class MulticastReceiver implements Taker {
  readonly #datagrams: Datagrams
  readonly #window: Window
  readonly #memory: Memory
  readonly #lanes: readonly (Lane | null)[]
  readonly #report: Range = emptyRange()
  /** Chunks that have not arrived, and chunks that the root will send on the lane. */
  #missing = 0
  #awaited = 0
  #reported = false
  /** Time after the Query at which the last chunk had arrived (nanoseconds), and the window's `moves` then. */
  #quietNs = 0
  #movesSeen = -1

  constructor(datagrams: Datagrams, window: Window, memory: Memory, lanes: readonly (Lane | null)[]) {
    this.#datagrams = datagrams
    this.#window = window
    this.#memory = memory
    this.#lanes = lanes
    point(this.#report, memory.region(reportBytes), 0, reportBytes)
  }

  /** Begins a window. */
  open(): void {
    this.#missing = this.#window.all
    this.#awaited = 0
    this.#reported = false
    this.#movesSeen = -1
  }

  /** Copies a chunk if the window lacks it. */
  offer(i: number, at: number, bytes: number): void {
    if (((this.#missing >>> i) & 1) === 1 && bytes === this.#window.lengthOf(i)) this.#keep(i, at)
  }

  /** Lane to the root. */
  get lane(): Lane {
    return this.#lanes[this.#window.broadcast.root]!
  }

  /** Takes chunks and repairs. Returns true if this rank has the window, and has reported it. */
  step(): boolean {
    const { lane } = this
    this.#datagrams.take(this.#window, this)
    lane.poll()
    while (this.#awaited !== 0 && lane.hasMessage()) this.#takeRepair(lane)
    if (this.#awaited === 0 && lane.arrived.count > 0)
      throw elsewhere(this.#window.broadcast.call, lane.rank, lane.arrived.tag)
    if (this.#missing !== 0 || this.#awaited !== 0 || !lane.hasRoom()) return false
    this.#sendReport(lane)
    return true
  }

  /**
   * Answers a Query; time and result as for `Multicast.urge`. A Query may overtake datagrams, also within this host, where they arrive at
   * another socket that another thread may read: chunks count as missing if none has arrived for some time after the Query.
   */
  urge(now: number): number {
    const { lane } = this
    const { first, moves } = this.#window
    if (lane.asked !== first || this.#missing === 0 || this.#reported) return Number.POSITIVE_INFINITY
    if (moves !== this.#movesSeen) {
      this.#movesSeen = moves
      this.#quietNs = now
    }
    if (now - this.#quietNs >= graceNs) this.#ask(lane)
    return graceNs / 1e6
  }

  /** Arms the lane; result as for `Multicast.arm`. */
  arm(now: number): number {
    const { lane } = this
    // The last chunk has arrived.
    if (this.#missing >>> (this.#window.count - 1) === 0) this.#ask(lane)
    const againMs = this.urge(now)
    lane.arm()
    return againMs
  }

  /** Requests the missing chunks from the root, once. */
  #ask(lane: Lane): void {
    if (this.#missing !== 0 && !this.#reported && lane.mayPost) this.#sendReport(lane)
  }

  /** Reports the missing chunks to the root. */
  #sendReport(lane: Lane): void {
    const { first, broadcast } = this.#window
    writeReport(this.#memory, this.#report.at, { first, missing: this.#missing, bytes: broadcast.bytes })
    // The report is copied into the request.
    lane.send(Kind.Data, broadcast.call.tag, this.#report, 0, reportBytes)
    this.#reported = true
    this.#awaited = this.#missing
  }

  #takeRepair(lane: Lane): void {
    const { call } = this.#window.broadcast
    const i = lowest(this.#awaited)
    const length = this.#window.lengthOf(i)
    if (lane.arrived.tag !== call.tag) throw elsewhere(call, lane.rank, lane.arrived.tag)
    if ((lane.arrived.kind !== Kind.Data && lane.arrived.kind !== Kind.Empty) || lane.arrived.bytes !== length)
      throw lengths(call, lane.rank, lane.arrived.bytes, length)
    this.#keep(i, lane.arrived.at)
    lane.take()
    this.#awaited = (this.#awaited & (this.#awaited - 1)) >>> 0
  }

  /** Copies chunk `i`, which is at `at`. */
  #keep(i: number, at: number): void {
    const window = this.#window
    const length = window.lengthOf(i)
    const to = window.broadcast.place.at + window.offsetOf(i)
    if (length > 0) this.#memory.copy(to, at, length)
    this.#missing = (this.#missing & ~(1 << i)) >>> 0
    window.moves++
  }
}
