/**
 * Requests between hosted queue pairs of different threads, or from any queue pair to one that another thread hosts. Only that thread
 * reaches the memory of its peer and knows its receives, so the request is handed over to that thread, which executes it, as any attached
 * thread can, and completes it.
 *
 *     requester hosted too     what it sends is staged: copied into pages of the segment that belong to its owner
 *     READ and atomics of it   the other thread fills those pages and gives the request back; its owner copies and completes
 *
 * A request has one executor at a time, `Qp.executor`, and that is a use of an attachment: when the thread has died and was cleaned up,
 * any thread may execute the request again, which finds its peer gone. A thread that stops without dying is a peer that does not answer.
 */
import {
  fillingOpcodes,
  type Host,
  hasOpcode,
  isOthers,
  layout,
  SendFlag,
  stageOf,
  stageUnit,
  WcStatus,
} from '../../verbs/provider/index.ts'
import { noFault } from '../process-memory/index.ts'
import type { Ranges } from './ranges.ts'
import type { Waiting } from './waiting.ts'

const { Qp, qpEngine, Wqe } = layout

export class HandOver {
  readonly #host: Host
  readonly #ranges: Ranges
  readonly #waiting: Waiting

  constructor(host: Host, ranges: Ranges, waiting: Waiting) {
    this.#host = host
    this.#ranges = ranges
    this.#waiting = waiting
  }

  /** Hands the request of `q` at `w`, whose data `gather` has resolved, over to the thread that hosts `d`; returns `waits`, or a status. */
  give(q: number, w: number, d: number, total: number): number {
    return this.#waiting.isLate(q) ? this.#waiting.unanswered(q) : this.pass(q, w, d, total)
  }

  /** Does the same whether or not a thread that had the request before has answered. */
  pass(q: number, w: number, d: number, total: number): number {
    const { i32 } = this.#host
    if (i32[q + Qp.engine] === qpEngine.hosted && !isOthers(this.#host, q)) {
      const status = this.#stage(q, w, total)
      if (status !== WcStatus.Success) return status
    }
    return this.#waiting.handOver(q, d)
  }

  #stage(q: number, w: number, total: number): number {
    const { i32, segment } = this.#host
    i32[q + Qp.stageFilled] = 0
    i32[q + Qp.staged] = total
    if (total === 0 || (i32[w + Wqe.flags]! & SendFlag.Inline) !== 0) return WcStatus.Success
    const before = stageOf(this.#host, q)
    if (before === 0 || segment.allocatedBytes(before) < total) {
      try {
        i32[q + Qp.stage] = segment.allocate(total) / stageUnit
      } catch {
        return WcStatus.LocQpOpErr
      }
      // No thread uses the old pages: this request is handed over only now, and the one before is done.
      if (before !== 0) segment.free(before)
    }
    if (hasOpcode(fillingOpcodes, i32[w + Wqe.opcode]!)) return WcStatus.Success
    const ranges = this.#ranges
    const to = stageOf(this.#host, q)
    if (!ranges.fromAway) ranges.copyTo(to)
    else if (ranges.copyToAway(to, 0) !== noFault) return WcStatus.LocProtErr
    return WcStatus.Success
  }

  /** Ends a request of `q` that succeeded here. True if it brought bytes for an owner in another thread, which has to go on with it. */
  givesBack(q: number, w: number): boolean {
    const { i32 } = this.#host
    if (!isOthers(this.#host, q) || !hasOpcode(fillingOpcodes, i32[w + Wqe.opcode]!)) return false
    i32[q + Qp.stageFilled] = 1
    this.#waiting.giveBack(q)
    return true
  }

  /** True if another thread has brought the bytes for the request at the front of `q`. */
  isFilled(q: number): boolean {
    const { i32, segment } = this.#host
    return (
      i32[q + Qp.executor] === segment.lockValue && i32[q + Qp.stageFilled] === 1 && i32[q + Qp.owner] === segment.me
    )
  }

  /** Copies the bytes that were brought to the buffers of the request at `w`. */
  finish(q: number, w: number, access: number): number {
    const { i32 } = this.#host
    const ranges = this.#ranges
    i32[q + Qp.stageFilled] = 0
    const total = ranges.gather(q, w, access)
    if (total < 0) return WcStatus.LocProtErr
    if (!ranges.fromAway) ranges.copyBack(stageOf(this.#host, q), total)
    else if (ranges.copyBackAway(stageOf(this.#host, q), 0, total) !== noFault) return WcStatus.LocProtErr
    return WcStatus.Success
  }
}
