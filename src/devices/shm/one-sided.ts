/**
 * Requests of RC that the responder's program does not notice: READ, the atomics, ATOMIC_WRITE and FLUSH. The requester's
 * thread does them on the responder's memory itself, within the rights of the responder's QP and key.
 */
import {
  Access,
  FlushPlacement,
  FlushSelectivity,
  type Host,
  isOthers,
  layout,
  maxMessageBytes,
  Opcode,
  WcStatus,
} from '../../verbs/provider/index.ts'
import { noFault, type ProcessBytes, sourceFault, targetFault } from '../process-memory/index.ts'
import type { Failures } from './failures.ts'
import type { HandOver } from './hand-over.ts'
import { reach, remoteRange } from './peer.ts'
import type { Ranges } from './ranges.ts'
import type { Waiting } from './waiting.ts'

const { Key, Qp, Wqe } = layout

export class OneSided {
  readonly #host: Host
  readonly #processes: ProcessBytes
  readonly #ranges: Ranges
  readonly #waiting: Waiting
  readonly #handOver: HandOver
  readonly #failures: Failures
  /** Number of bytes that a READ or atomic brought, for its completion. */
  byteLen = 0

  constructor(
    host: Host,
    processes: ProcessBytes,
    ranges: Ranges,
    waiting: Waiting,
    handOver: HandOver,
    failures: Failures,
  ) {
    this.#host = host
    this.#processes = processes
    this.#ranges = ranges
    this.#waiting = waiting
    this.#handOver = handOver
    this.#failures = failures
  }

  read(q: number, w: number): number {
    const host = this.#host
    const { i32 } = host
    const total = this.#ranges.gather(q, w, Access.LocalWrite)
    if (total < 0) return WcStatus.LocProtErr
    if (total > maxMessageBytes) return WcStatus.LocLenErr
    if (i32[q + Qp.maxRdAtomic] === 0) return WcStatus.LocQpOpErr
    const d = reach(host, q)
    if (d < 0) return this.#waiting.unreachable(q)
    if (isOthers(host, d)) return this.#handOver.give(q, w, d, total)
    // IBA list-84, list-91: a QP that does not permit READs, or agreed to none, rejects them.
    if ((i32[d + Qp.accessFlags]! & Access.RemoteRead) === 0 || i32[d + Qp.maxDestRdAtomic] === 0)
      return this.#failures.refused(d, true, WcStatus.RemInvReqErr)
    // IBA C9-88: the R_Key of a zero-length READ is not checked.
    if (total > 0) {
      const at = remoteRange(host, w, d, total, Access.RemoteRead)
      if (at < 0 || this.#ranges.fromAway) {
        const status = this.#readAway(q, w, d, total, at)
        if (status !== WcStatus.Success) return status
      } else this.#ranges.copyBack(at, total)
    }
    this.byteLen = total
    return WcStatus.Success
  }

  /** Reads data that lies in other processes, or goes there. */
  #readAway(q: number, w: number, d: number, total: number, remote: number): number {
    const ranges = this.#ranges
    const at = ranges.remoteAway(w, d, total, Access.RemoteRead, remote)
    const fault = at === -1 ? sourceFault : ranges.copyBackAway(at, ranges.remotePid, total)
    if (fault === sourceFault) return this.#failures.notThere(q, d, ranges.isGone)
    return fault === targetFault ? WcStatus.LocProtErr : WcStatus.Success
  }

  /** Executes ATOMIC_CMP_AND_SWP and ATOMIC_FETCH_AND_ADD. */
  atomic(q: number, w: number): number {
    const host = this.#host
    const { i32 } = host
    const { b64 } = host.segment
    const total = this.#ranges.gather(q, w, Access.LocalWrite)
    if (total < 0) return WcStatus.LocProtErr
    if (total !== 8) return WcStatus.LocLenErr
    if (i32[q + Qp.maxRdAtomic] === 0) return WcStatus.LocQpOpErr
    const d = reach(host, q)
    if (d < 0) return this.#waiting.unreachable(q)
    if (isOthers(host, d)) return this.#handOver.give(q, w, d, total)
    if (
      // IBA list-87: the address of an atomic is a multiple of 8.
      (i32[d + Qp.accessFlags]! & Access.RemoteAtomic) === 0 ||
      i32[d + Qp.maxDestRdAtomic] === 0 ||
      host.f64[(w + Wqe.remoteAddr) >> 1]! % 8 !== 0
    )
      return this.#failures.refused(d, true, WcStatus.RemInvReqErr)
    const ranges = this.#ranges
    const at = ranges.remoteAway(w, d, 8, Access.RemoteAtomic, remoteRange(host, w, d, 8, Access.RemoteAtomic))
    if (at === -1) return this.#failures.notThere(q, d, ranges.isGone)
    if (at % 8 !== 0) return this.#failures.refused(d, true, WcStatus.RemInvReqErr)
    const compareAdd = b64[(w + Wqe.compareAdd) >> 1]!
    const swap = b64[(w + Wqe.swap) >> 1]!
    const swaps = i32[w + Wqe.opcode] === Opcode.AtomicCmpAndSwp
    let old: bigint
    if (ranges.remotePid !== 0) {
      const processes = this.#processes
      if (processes.atomic(at, ranges.remotePid, swaps, compareAdd, swap) !== noFault)
        return this.#failures.notThere(q, d, ranges.isGone)
      old = b64[processes.word / 8]!
    } else if (swaps) old = Atomics.compareExchange(b64, at / 8, compareAdd, swap)
    else old = Atomics.add(b64, at / 8, compareAdd)
    // The operand's words in the queue are free now: the old value goes through it to the caller's buffers.
    b64[(w + Wqe.compareAdd) >> 1] = old
    const from = (w + Wqe.compareAdd) * 4
    if (!ranges.fromAway) ranges.copyBack(from, 8)
    else if (ranges.copyBackAway(from, 0, 8) !== noFault) return WcStatus.LocProtErr
    this.byteLen = 8
    return WcStatus.Success
  }

  atomicWrite(q: number, w: number): number {
    const host = this.#host
    const { i32 } = host
    const { b64 } = host.segment
    const total = this.#ranges.gather(q, w, 0)
    if (total < 0) return WcStatus.LocProtErr
    if (total !== 8) return WcStatus.LocLenErr
    const d = reach(host, q)
    if (d < 0) return this.#waiting.unreachable(q)
    if (isOthers(host, d)) return this.#handOver.give(q, w, d, total)
    // IBA A19.4.2: the address of an ATOMIC_WRITE is a multiple of 8.
    if ((i32[d + Qp.accessFlags]! & Access.RemoteWrite) === 0 || host.f64[(w + Wqe.remoteAddr) >> 1]! % 8 !== 0)
      return this.#failures.refused(d, true, WcStatus.RemInvReqErr)
    const remote = remoteRange(host, w, d, 8, Access.RemoteWrite)
    const at = this.#ranges.remoteAway(w, d, 8, Access.RemoteWrite, remote)
    if (at === -1) return this.#failures.notThere(q, d, this.#ranges.isGone)
    if (at % 8 !== 0) return this.#failures.refused(d, true, WcStatus.RemInvReqErr)
    // The value is put together in the queue first, since it may come from several elements.
    const scratch = (w + Wqe.compareAdd) * 4
    this.#ranges.copyTo(scratch)
    if (this.#ranges.remotePid !== 0) {
      const fault = this.#processes.move(at, this.#ranges.remotePid, scratch, 0, 8)
      return fault === noFault ? WcStatus.Success : this.#failures.notThere(q, d, this.#ranges.isGone)
    }
    Atomics.store(b64, at / 8, b64[scratch / 8]!)
    return WcStatus.Success
  }

  flush(q: number, w: number): number {
    const host = this.#host
    const { i32, f64 } = host
    const d = reach(host, q)
    if (d < 0) return this.#waiting.unreachable(q)
    if (isOthers(host, d)) return this.#handOver.give(q, w, d, 0)
    const bits = i32[w + Wqe.access]!
    const needs =
      ((bits & FlushPlacement.Global) !== 0 ? Access.FlushGlobal : 0) |
      ((bits & FlushPlacement.Persistent) !== 0 ? Access.FlushPersistent : 0)
    // IBA A19.4.1.1: the placement types of a FLUSH: visible to all, or persistent.
    if ((i32[d + Qp.accessFlags]! & needs) !== needs) return this.#failures.refused(d, true, WcStatus.RemInvReqErr)
    // IBA A19.4.1.2: a FLUSH covers a range, or the whole region.
    const wholeRegion = bits >> 4 === FlushSelectivity.Mr
    const rkey = i32[w + Wqe.rkey]!
    const entry = host.findKey(rkey)
    const addr = wholeRegion && entry >= 0 ? f64[(entry + Key.iova) >> 1]! : f64[(w + Wqe.remoteAddr) >> 1]!
    const length = wholeRegion ? 0 : f64[(w + Wqe.length) >> 1]!
    // Copied data is visible in another process, too.
    // IBA oA19-13: a placement type that the region does not permit is a remote access error.
    if (host.resolve(rkey, i32[d + Qp.pd]!, addr, length, needs, host.qpSlot(d)) === -1)
      return this.#failures.refused(d, true, WcStatus.RemAccessErr)
    // Stores of this thread are visible to all other threads after a full barrier; that is global placement.
    Atomics.add(i32, q + Qp.sqNext, 0)
    return WcStatus.Success
  }
}
