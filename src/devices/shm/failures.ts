/**
 * Failures of requests: their effects on the requester and on the responder.
 *
 * The thread that finds the failure holds the requester's send lock and must not take that of a second QP. So it changes states, makes
 * the completion and the event, and flushes only a queue whose lock it holds; the rest is for `settle`.
 */
import {
  EventType,
  failureOf,
  failureOfEvent,
  type Host,
  layout,
  QpState,
  QpType,
  WcStatus,
} from '../../verbs/provider/index.ts'
import { canRespond } from './peer.ts'
import type { Waiting } from './waiting.ts'

const { Qp } = layout

export class Failures {
  readonly #host: Host
  readonly #waiting: Waiting
  /** References to QPs whose queues are to be flushed once no send lock is held. */
  readonly #deferred: number[] = []

  constructor(host: Host, waiting: Waiting) {
    this.#host = host
    this.#waiting = waiting
  }

  /** Fails the request at the front: it completes with the error, the rest is flushed. */
  fail(q: number, status: number): void {
    const host = this.#host
    const { i32 } = host
    const device = i32[q + Qp.device]!
    if (status === WcStatus.RetryExcErr) host.count(device, 'retry_exceeded_err')
    else if (status === WcStatus.RnrRetryExcErr) host.count(device, 'retry_rnr_exceeded_err')
    else if (status === WcStatus.RemAccessErr) host.count(device, 'remote_access_errors')
    else if (status === WcStatus.RemInvReqErr) host.count(device, 'remote_invalid_requests')
    else host.count(device, 'local_errors')
    const rc = i32[q + Qp.type] === QpType.RC
    host.breakQp(q, rc ? QpState.Err : QpState.Sqe, failureOf(status))
    host.completeSend(q, status, 0)
    host.flushSends(q)
    if (rc) this.defer(q)
  }

  /** Moves the responder `d`, which rejects a request, to ERR with an asynchronous event. The receive lock is not held. */
  failResponder(d: number, event: EventType): void {
    const host = this.#host
    const { i32 } = host
    if (i32[d + Qp.type] !== QpType.RC || !canRespond(host, d)) return
    if (!host.breakQp(d, QpState.Err, failureOfEvent(event))) return
    host.qpEvent(d, event)
    this.defer(d)
  }

  /** Ends a QP of any type whose receive CQ is full, so that its owner cannot learn of a message. */
  overran(d: number): void {
    const host = this.#host
    // IBA C11-37: a full CQ is an error of the QP that completes to it.
    if (!host.breakQp(d, QpState.Err, 'CqOverrun')) return
    host.qpEvent(d, EventType.QpFatal)
    this.defer(d)
  }

  /** Handles a request for memory that the responder rejects; returns the status that the requester sees. */
  refused(d: number, rc: boolean, status: WcStatus): number {
    const host = this.#host
    const device = host.i32[d + Qp.device]!
    if (status === WcStatus.RemAccessErr) host.count(device, 'resp_remote_access_errors')
    if (!rc) {
      host.count(device, 'uc_drops_access')
      return WcStatus.Success
    }
    this.failResponder(d, status === WcStatus.RemAccessErr ? EventType.QpAccessErr : EventType.QpReqErr)
    return status
  }

  /**
   * Handles a request of `q` whose memory at the responder `d` is not there; `isGone`: because the program has ended. Then `d` goes with
   * it, without an event, and does not answer. The receive lock is not held.
   */
  notThere(q: number, d: number, isGone: boolean): number {
    const host = this.#host
    const { i32 } = host
    const rc = i32[q + Qp.type] === QpType.RC
    if (!isGone) return this.refused(d, rc, WcStatus.RemAccessErr)
    host.count(i32[d + Qp.device]!, 'drops_qp_state')
    if (rc && host.breakQp(d, QpState.Err, 'ProgramGone')) this.defer(d)
    return this.#waiting.unreachable(q)
  }

  /** Leaves the queues of a QP that is in ERR to be flushed by `settle`. */
  defer(q: number): void {
    this.#deferred.push(this.#host.i32[q + Qp.ref]!)
  }

  /** Flushes the deferred queues after a send lock was released. */
  settle(): void {
    while (this.#deferred.length > 0) {
      const ref = this.#deferred.pop()!
      // The threads that had begun before the state changed are done with the queue; then it can be flushed.
      this.#host.segment.quiesce()
      this.#host.flushBroken(ref)
    }
  }
}
