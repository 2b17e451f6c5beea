/**
 * Messages of a connected QP: SEND and WRITE, with and without immediate. There is no packet: the bytes go in one copy
 * from the sender's memory to the receiver's, and where the message takes a receive, its completion is written at once.
 */
import {
  Access,
  type Host,
  invalidable,
  isOthers,
  layout,
  maxMessageBytes,
  noReceive,
  Opcode,
  QpType,
  receiveTooShort,
  SendFlag,
  unbindWindow,
  WcFlag,
  WcOpcode,
  WcStatus,
} from '../../verbs/provider/index.ts'
import { noFault, sourceFault, targetFault } from '../process-memory/index.ts'
import type { Failures } from './failures.ts'
import type { HandOver } from './hand-over.ts'
import { canRespond, reach, remoteRange } from './peer.ts'
import type { Ranges } from './ranges.ts'
import type { Receives } from './receives.ts'
import { receiveCame, type Waiting, waits } from './waiting.ts'

const { Qp, Wqe } = layout

/**
 * Maximum length of messages that are copied while the CQ is locked: an atomic operation between the first store of a short copy and the
 * completion would wait until the line with the payload has arrived from the other core.
 */
const copyLockedBytes = 512

/** Outcome that is not a status: the bytes of a WRITE are where they belong. */
const written = -3

export class Messages {
  readonly #host: Host
  readonly #ranges: Ranges
  readonly #receives: Receives
  readonly #waiting: Waiting
  readonly #handOver: HandOver
  readonly #failures: Failures

  constructor(
    host: Host,
    ranges: Ranges,
    receives: Receives,
    waiting: Waiting,
    handOver: HandOver,
    failures: Failures,
  ) {
    this.#host = host
    this.#ranges = ranges
    this.#receives = receives
    this.#waiting = waiting
    this.#handOver = handOver
    this.#failures = failures
  }

  send(q: number, w: number): number {
    const host = this.#host
    const ranges = this.#ranges
    const receives = this.#receives
    const { i32, segment } = host
    const total = ranges.gather(q, w, 0)
    if (total < 0) return WcStatus.LocProtErr
    if (total > maxMessageBytes) return WcStatus.LocLenErr
    const d = reach(host, q)
    if (d < 0) return this.#waiting.unreachable(q)
    if (isOthers(host, d)) return this.#handOver.give(q, w, d, total)
    const rc = i32[q + Qp.type] === QpType.RC
    segment.lock(d + Qp.rqLock)
    if (!canRespond(host, d)) {
      segment.unlock(d + Qp.rqLock)
      return this.#waiting.unreachable(q)
    }
    const opcode = i32[w + Wqe.opcode]!
    let r = receives.take(d, rc ? 0 : total)
    while (r === noReceive) {
      if (this.#waiting.asksOwner(q, d)) {
        segment.unlock(d + Qp.rqLock)
        return waits
      }
      const status = this.#waiting.receiverNotReady(q, d)
      if (status !== receiveCame) {
        segment.unlock(d + Qp.rqLock)
        return status
      }
      r = receives.take(d, rc ? 0 : total)
    }
    if (r === receiveTooShort) {
      segment.unlock(d + Qp.rqLock)
      host.count(i32[d + Qp.device]!, 'uc_drops_length')
      return WcStatus.Success
    }
    const placed = receives.scatter(d, r, total)
    if (placed === WcStatus.LocProtErr && ranges.isGone) return this.#notThere(q, d, r, targetFault)
    if (placed !== WcStatus.Success) {
      receives.fail(d, r, placed, 0)
      segment.unlock(d + Qp.rqLock)
      if (!rc) return WcStatus.Success
      // IBA list-80, list-81: a receive that is too short is an error of the requester, one whose memory may not be written an error of
      // the responder.
      return placed === WcStatus.LocLenErr ? WcStatus.RemInvReqErr : WcStatus.RemOpErr
    }
    let flags = 0
    let window = -1
    if (opcode === Opcode.SendWithImm) flags = WcFlag.WithImm
    else if (opcode === Opcode.SendWithInv) {
      flags = WcFlag.WithInv
      window = invalidable(host, d, i32[w + Wqe.immData]!)
      if (window < 0) {
        segment.unlock(d + Qp.rqLock)
        // IBA 9.9.6.3 deviation: a key that cannot be invalidated is an error of class J, which the requester does not learn of; here it
        // does, as case 85 of the conformance list wants it.
        return this.#failures.refused(d, rc, WcStatus.RemAccessErr)
      }
    }
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    const wrId = receives.id(r)
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    const immData = flags !== 0 ? i32[w + Wqe.immData]! : 0
    const isAway = ranges.fromAway || ranges.toAway
    const fault = isAway ? ranges.copyListsAway() : noFault
    if (fault !== noFault) return this.#notThere(q, d, r, fault)
    if (total > copyLockedBytes && !isAway) ranges.copyLists()
    const e = host.reserve(cq)
    if (e < 0) return this.#noCompletion(d, rc)
    if (total <= copyLockedBytes && !isAway) ranges.copyLists()
    if (window >= 0) unbindWindow(host, window)
    receives.consume(d, r)
    host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.Recv, flags, total, immData, d, 0, solicited)
    segment.unlock(d + Qp.rqLock)
    return WcStatus.Success
  }

  write(q: number, w: number): number {
    const host = this.#host
    const ranges = this.#ranges
    const receives = this.#receives
    const { i32, segment } = host
    const total = ranges.gather(q, w, 0)
    if (total < 0) return WcStatus.LocProtErr
    if (total > maxMessageBytes) return WcStatus.LocLenErr
    const d = reach(host, q)
    if (d < 0) return this.#waiting.unreachable(q)
    if (isOthers(host, d)) return this.#handOver.give(q, w, d, total)
    const rc = i32[q + Qp.type] === QpType.RC
    // IBA list-84: what the QP does not permit is an invalid request; what the region does not, a remote access error.
    if ((i32[d + Qp.accessFlags]! & Access.RemoteWrite) === 0)
      return this.#failures.refused(d, rc, WcStatus.RemInvReqErr)
    let to = 0
    let isWritten = total === 0
    // IBA C9-88: the R_Key of a zero-length WRITE is not checked.
    if (total > 0) {
      to = remoteRange(host, w, d, total, Access.RemoteWrite)
      // Memory of another process may prove to be gone: better before there is a receive that would have to be given back.
      if (to < 0 || ranges.fromAway) {
        const status = this.#writeAway(q, w, d, total, to)
        if (status !== written) return status
        isWritten = true
      }
    }
    // IBA C10-86, C10-87: a WRITE takes a receive if it has immediate data.
    if (i32[w + Wqe.opcode] === Opcode.Write) {
      if (!isWritten) ranges.copyTo(to)
      return WcStatus.Success
    }
    segment.lock(d + Qp.rqLock)
    if (!canRespond(host, d)) {
      segment.unlock(d + Qp.rqLock)
      return this.#waiting.unreachable(q)
    }
    let r = receives.take(d, 0)
    while (r === noReceive) {
      if (this.#waiting.asksOwner(q, d)) {
        segment.unlock(d + Qp.rqLock)
        return waits
      }
      const status = this.#waiting.receiverNotReady(q, d)
      if (status !== receiveCame) {
        segment.unlock(d + Qp.rqLock)
        return status
      }
      r = receives.take(d, 0)
    }
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    if (total > copyLockedBytes && !isWritten) ranges.copyTo(to)
    const e = host.reserve(cq)
    if (e < 0) return this.#noCompletion(d, rc)
    if (total <= copyLockedBytes && !isWritten) ranges.copyTo(to)
    const wrId = receives.id(r)
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    const immData = i32[w + Wqe.immData]!
    const flags = WcFlag.WithImm
    receives.consume(d, r)
    host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.RecvRdmaWithImm, flags, total, immData, d, 0, solicited)
    segment.unlock(d + Qp.rqLock)
    return WcStatus.Success
  }

  /** Writes data that lies in other processes, or goes there; returns `written`, or the status with which the request ends. */
  #writeAway(q: number, w: number, d: number, total: number, at: number): number {
    const ranges = this.#ranges
    const to = ranges.remoteAway(w, d, total, Access.RemoteWrite, at)
    const fault = to === -1 ? targetFault : ranges.copyToAway(to, ranges.remotePid)
    if (fault === targetFault) return this.#failures.notThere(q, d, ranges.isGone)
    return fault === sourceFault ? WcStatus.LocProtErr : written
  }

  /**
   * Ends a message whose bytes, or whose receive's memory, have gone from their process. The receive lock of `d`, held, is released. A
   * receive of an SRQ that cannot be filled goes back to its owner, which ends the QP; one of the QP itself stays for the next message.
   */
  #notThere(q: number, d: number, r: number, fault: number): number {
    const receives = this.#receives
    const isTarget = fault === targetFault
    const isGone = isTarget && this.#ranges.isGone
    if (isTarget && !isGone) receives.fail(d, r, WcStatus.LocProtErr, 0)
    else if (receives.isTaken(r)) receives.fail(d, r, WcStatus.WrFlushErr, 0)
    this.#host.segment.unlock(d + Qp.rqLock)
    if (!isTarget) return WcStatus.LocProtErr
    if (isGone) return this.#failures.notThere(q, d, true)
    return this.#host.i32[q + Qp.type] === QpType.RC ? WcStatus.RemOpErr : WcStatus.Success
  }

  /** Ends a message whose receiver `d` has a full CQ, so that it cannot learn of it; the receive lock, held, is released. */
  #noCompletion(d: number, rc: boolean): number {
    this.#failures.overran(d)
    this.#host.segment.unlock(d + Qp.rqLock)
    return rc ? WcStatus.RemOpErr : WcStatus.Success
  }
}
