/**
 * Messages of a connected QP: SEND and WRITE, with and without immediate. There is no packet: the bytes go in one copy
 * from the sender's memory to the receiver's, and where the message takes a receive, its completion is written at once.
 */
import {
  Access,
  type Host,
  invalidable,
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
import type { Failures } from './failures.ts'
import { canRespond, reach, remoteRange } from './peer.ts'
import type { Ranges } from './ranges.ts'
import type { Receives } from './receives.ts'
import { receiveCame, type Waiting } from './waiting.ts'

const { Qp, Wqe } = layout

/**
 * Messages up to this many bytes are copied while the CQ is locked: an atomic operation between the first store of a
 * short copy and the completion would wait until the line with the payload has arrived from the other core.
 */
const copyLockedBytes = 512

export class Messages {
  readonly #host: Host
  readonly #ranges: Ranges
  readonly #receives: Receives
  readonly #waiting: Waiting
  readonly #failures: Failures

  constructor(host: Host, ranges: Ranges, receives: Receives, waiting: Waiting, failures: Failures) {
    this.#host = host
    this.#ranges = ranges
    this.#receives = receives
    this.#waiting = waiting
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
    const rc = i32[q + Qp.type] === QpType.RC
    segment.lock(d + Qp.rqLock)
    if (!canRespond(host, d)) {
      segment.unlock(d + Qp.rqLock)
      return this.#waiting.unreachable(q)
    }
    const opcode = i32[w + Wqe.opcode]!
    let r = receives.take(d, rc ? 0 : total)
    while (r === noReceive) {
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
    if (placed !== WcStatus.Success) {
      receives.fail(d, r, placed, 0)
      segment.unlock(d + Qp.rqLock)
      if (!rc) return WcStatus.Success
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
        return this.#failures.refused(d, rc, WcStatus.RemAccessErr)
      }
    }
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    const wrId = receives.id(r)
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    const immData = flags !== 0 ? i32[w + Wqe.immData]! : 0
    if (total > copyLockedBytes) ranges.copyLists()
    const e = host.reserve(cq)
    if (e < 0) return this.#noCompletion(d, rc)
    if (total <= copyLockedBytes) ranges.copyLists()
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
    const rc = i32[q + Qp.type] === QpType.RC
    if ((i32[d + Qp.accessFlags]! & Access.RemoteWrite) === 0)
      return this.#failures.refused(d, rc, WcStatus.RemInvReqErr)
    let to = 0
    if (total > 0) {
      to = remoteRange(host, w, d, total, Access.RemoteWrite)
      if (to < 0) return this.#failures.refused(d, rc, WcStatus.RemAccessErr)
    }
    if (i32[w + Wqe.opcode] === Opcode.Write) {
      if (total > 0) ranges.copyTo(to)
      return WcStatus.Success
    }
    segment.lock(d + Qp.rqLock)
    if (!canRespond(host, d)) {
      segment.unlock(d + Qp.rqLock)
      return this.#waiting.unreachable(q)
    }
    let r = receives.take(d, 0)
    while (r === noReceive) {
      const status = this.#waiting.receiverNotReady(q, d)
      if (status !== receiveCame) {
        segment.unlock(d + Qp.rqLock)
        return status
      }
      r = receives.take(d, 0)
    }
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    if (total > copyLockedBytes) ranges.copyTo(to)
    const e = host.reserve(cq)
    if (e < 0) return this.#noCompletion(d, rc)
    if (total > 0 && total <= copyLockedBytes) ranges.copyTo(to)
    const wrId = receives.id(r)
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    const immData = i32[w + Wqe.immData]!
    const flags = WcFlag.WithImm
    receives.consume(d, r)
    host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.RecvRdmaWithImm, flags, total, immData, d, 0, solicited)
    segment.unlock(d + Qp.rqLock)
    return WcStatus.Success
  }

  /** The CQ of the receiver `d` is full, so that it cannot learn of the message; its receive lock, held, is given back. */
  #noCompletion(d: number, rc: boolean): number {
    this.#failures.overran(d)
    this.#host.segment.unlock(d + Qp.rqLock)
    return rc ? WcStatus.RemOpErr : WcStatus.Success
  }
}
