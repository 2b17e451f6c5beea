/**
 * The receive that a message takes, from the peer's own receive queue or from its SRQ. Its handle `r` is its first word in the queue; a
 * receive of an SRQ is copied out, and `fromSrq` stands for it.
 */
import {
  Access,
  failureOf,
  type Host,
  layout,
  noReceive,
  QpState,
  receiveTooShort,
  WcOpcode,
  WcStatus,
} from '../../verbs/provider/index.ts'
import type { Failures } from './failures.ts'
import type { Ranges } from './ranges.ts'

const { Qp, Rwqe, Sg, Srq } = layout

/** Handle of a receive that was copied out of an SRQ. */
const fromSrq = -3

export class Receives {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #ranges: Ranges
  readonly #failures: Failures
  readonly #srqCopy = new Int32Array(192)
  readonly #srqCopyF64 = new Float64Array(this.#srqCopy.buffer)

  constructor(host: Host, ranges: Ranges, failures: Failures) {
    this.#host = host
    this.#i32 = host.i32
    this.#f64 = host.f64
    this.#ranges = ranges
    this.#failures = failures
  }

  /**
   * Returns the receive that a message of `bytes` to `d` takes, or `noReceive`, or `receiveTooShort`: then the receive stays for the next
   * message. With 0 bytes any receive will do. The receive lock of `d` is held; an SRQ's lock is taken here.
   */
  take(d: number, bytes: number): number {
    const i32 = this.#i32
    const srqSlot = i32[d + Qp.srq]!
    if (srqSlot < 0) {
      const tail = i32[d + Qp.rqTail]!
      if (tail === i32[d + Qp.rqHead] && tail === Atomics.load(i32, d + Qp.rqHead)) return noReceive
      const r = i32[d + Qp.rqRing]! + (tail & i32[d + Qp.rqMask]!) * i32[d + Qp.rqStride]!
      return this.#host.receiveIsShort(r, bytes) ? receiveTooShort : r
    }
    const taken = this.#host.takeFromSrq(srqSlot, this.#srqCopy, 0, bytes)
    return taken < 0 ? taken : fromSrq
  }

  /** True if `take` would find nothing now. */
  isEmpty(d: number): boolean {
    const i32 = this.#i32
    const srqSlot = i32[d + Qp.srq]!
    if (srqSlot < 0) return i32[d + Qp.rqTail] === Atomics.load(i32, d + Qp.rqHead)
    const srq = this.#host.srqWord(srqSlot)
    return i32[srq + Srq.tail] === Atomics.load(i32, srq + Srq.head)
  }

  /** Returns wr_id of a receive that `take` returned. */
  id(r: number): number {
    return r === fromSrq ? this.#srqCopyF64[Rwqe.wrId >> 1]! : this.#f64[(r + Rwqe.wrId) >> 1]!
  }

  /** True if a receive that `take` returned is not in its queue any more: it came from an SRQ. */
  isTaken(r: number): boolean {
    return r === fromSrq
  }

  /** Marks a receive as used; that of an SRQ is already. */
  consume(d: number, r: number): void {
    if (r === fromSrq) return
    const i32 = this.#i32
    this.#host.segment.publish(d + Qp.rqTail, (i32[d + Qp.rqTail]! + 1) | 0)
  }

  /** Resolves the receive's buffers for `length` bytes to the ranges `to`; returns a status. */
  scatter(d: number, r: number, length: number): number {
    const srq = r === fromSrq
    const i32 = srq ? this.#srqCopy : this.#i32
    const f64 = srq ? this.#srqCopyF64 : this.#f64
    const base = srq ? 0 : r
    const sges = i32[base + Rwqe.sges]!
    const srqSlot = this.#i32[d + Qp.srq]!
    const pd = srq ? this.#i32[this.#host.srqWord(srqSlot) + Srq.pd]! : this.#i32[d + Qp.pd]!
    let room = 0
    for (let i = 0, s = base + Rwqe.data; i < sges; i++, s += Sg.words) {
      const size = i32[s + Sg.length]!
      if (size < 0) return WcStatus.LocProtErr
      room += size
    }
    if (room < length) return WcStatus.LocLenErr
    const ranges = this.#ranges
    let left = length
    let count = 0
    ranges.toAway = false
    for (let s = base + Rwqe.data; left > 0; s += Sg.words) {
      const size = i32[s + Sg.length]!
      if (size === 0) continue
      const used = Math.min(size, left)
      if (!ranges.addTo(count, i32[s + Sg.lkey]!, pd, f64[s >> 1]!, used, Access.LocalWrite)) return WcStatus.LocProtErr
      count++
      left -= used
    }
    ranges.toCount = count
    return WcStatus.Success
  }

  /** Completes a receive of `d` with an error that its owner made, which ends the QP. The receive lock is held. */
  fail(d: number, r: number, status: number, srcQp: number): void {
    const host = this.#host
    const i32 = this.#i32
    this.consume(d, r)
    host.breakQp(d, QpState.Err, failureOf(status))
    host.complete(host.cqWord(i32[d + Qp.recvCq]!), this.id(r), status, WcOpcode.Recv, 0, 0, 0, d, srcQp, false)
    host.flushReceives(d)
    this.#failures.defer(d)
  }
}
