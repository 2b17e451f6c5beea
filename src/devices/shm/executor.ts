/**
 * The work of an adapter in shared memory: whoever has a request at the front of a send queue carries it out, as
 * requester and as responder at once. There is no packet; a SEND is one copy from the sender's memory to the receiver's.
 * Every check of a real adapter is made, and a failed one ends as it would there: with completions, QP states and
 * asynchronous events on both sides.
 *
 *     RC error in a request   requester completes with an error, both QPs go to ERR where the responder refused
 *     UC, UD                  the requester sees only local errors (and goes to SQE); what cannot be delivered is counted
 */

import { nowNs } from '../../memory/index.ts'
import {
  Access,
  EventType,
  elementKind,
  FlushPlacement,
  FlushSelectivity,
  grhLength,
  type Host,
  layout,
  Opcode,
  QpState,
  QpType,
  SendFlag,
  unbind,
  WcFlag,
  WcOpcode,
  WcStatus,
} from '../../verbs/index.ts'

const { Av, avGlobal, avMulticast, Key, keyKind, Mcast, Meta, Pend, Qp, Rwqe, Sg, Srq, Wqe } = layout

/** Outcomes of a request besides those of `WcStatus`. */
const waits = -1

/** Why a request stands at the front of its queue. */
const pendingOn = { nothing: 0, receive: 1, peer: 2, time: 3 } as const

/** Longest message, bytes: the standard's 2^31. */
const maxMessageBytes = 0x80000000

/** RNR timer codes in nanoseconds; InfiniBand Architecture volume 1, table 45. */
const rnrTimerNs = Float64Array.from(
  [
    655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92, 2.56, 3.84, 5.12,
    7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
  ],
  (ms) => Math.round(ms * 1e6),
)

/** How long a request whose timeout is 0 (for ever) waits before it looks for its peer again. */
const lookAgainNs = 1e6

const maxSges = 64

export class Executor {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #mtu: number

  // Scratch: the ranges that a scatter/gather list resolved to.
  readonly #from = new Float64Array(maxSges)
  readonly #fromLength = new Float64Array(maxSges)
  #fromCount = 0
  readonly #to = new Float64Array(maxSges)
  readonly #toLength = new Float64Array(maxSges)
  #toCount = 0

  /** QPs whose queues are to be flushed once no send lock is held. */
  readonly #deferred: number[] = []
  #progressing = false
  /** Where GRHs are put together. */
  readonly #grh: number

  constructor(host: Host, mtu: number) {
    this.#host = host
    this.#grh = host.segment.allocate(grhLength)
    this.#i32 = host.i32
    this.#f64 = host.f64
    this.#mtu = mtu
  }

  // --- the send queue ----------------------------------------------------------------------------------------------

  /** Carries out what stands in a send queue, in order, until it is empty or must wait. Its send lock is held. */
  run(q: number): void {
    const i32 = this.#i32
    const host = this.#host
    for (;;) {
      const next = i32[q + Qp.sqNext]!
      const state = i32[q + Qp.state]!
      if (state === QpState.Sqd && i32[q + Qp.sqDraining] === 1 && ((next - i32[q + Qp.sqDrainAt]!) | 0) >= 0)
        this.#drained(q)
      if (next === i32[q + Qp.sqHead]) return
      if (state !== QpState.Rts) {
        if (state === QpState.Err || state === QpState.Sqe) host.flushSends(q)
        else if (state === QpState.Sqd && i32[q + Qp.sqDraining] === 1) {
          if (!this.#step(q, next)) return
          continue
        }
        return
      }
      if (!this.#step(q, next)) return
    }
  }

  /** Carries out the request at `next`; false if it has to wait. */
  #step(q: number, next: number): boolean {
    const i32 = this.#i32
    const w = i32[q + Qp.sqRing]! + (next & i32[q + Qp.sqMask]!) * i32[q + Qp.sqStride]!
    const status = this.#execute(q, w)
    if (status === waits) return false
    if (i32[q + Qp.pending] !== pendingOn.nothing) i32[q + Qp.pending] = pendingOn.nothing
    if (status === WcStatus.Success) this.#host.completeSend(q, WcStatus.Success, this.#byteLen)
    else this.#fail(q, status)
    return true
  }

  /** Bytes that a READ or atomic brought, for its completion. */
  #byteLen = 0

  #drained(q: number): void {
    const i32 = this.#i32
    i32[q + Qp.sqDraining] = 0
    if (i32[q + Qp.sqDrainNotify] === 1)
      this.#host.pushEvent(i32[q + Qp.context]!, EventType.SqDrained, elementKind.qp, this.#host.qpSlot(q))
  }

  /** The request at the front failed: it completes with the error, the rest is flushed. */
  #fail(q: number, status: number): void {
    const host = this.#host
    const device = this.#i32[q + Qp.device]!
    if (status === WcStatus.RetryExcErr) host.count(device, 'retry_exceeded')
    else if (status === WcStatus.RnrRetryExcErr) host.count(device, 'rnr_retry_exceeded')
    else if (status === WcStatus.RemAccessErr) host.count(device, 'remote_access_errors')
    else if (status === WcStatus.RemInvReqErr) host.count(device, 'remote_invalid_requests')
    else host.count(device, 'local_errors')
    const rc = this.#i32[q + Qp.type] === QpType.RC
    host.setState(q, rc ? QpState.Err : QpState.Sqe)
    host.completeSend(q, status, 0)
    host.flushSends(q)
    if (rc) this.#deferred.push(q)
  }

  /** After a send lock was released: queues that errors on the way left to be flushed. */
  settle(): void {
    while (this.#deferred.length > 0) this.#host.toError(this.#deferred.pop()!)
  }

  #execute(q: number, w: number): number {
    const i32 = this.#i32
    this.#byteLen = 0
    if (i32[q + Qp.type] === QpType.UD) return this.#datagram(q, w)
    switch (i32[w + Wqe.opcode]) {
      case Opcode.Send:
      case Opcode.SendWithImm:
      case Opcode.SendWithInv:
        return this.#send(q, w)
      case Opcode.Write:
      case Opcode.WriteWithImm:
        return this.#write(q, w)
      case Opcode.Read:
        return this.#read(q, w)
      case Opcode.AtomicCmpAndSwp:
      case Opcode.AtomicFetchAndAdd:
        return this.#atomic(q, w)
      case Opcode.AtomicWrite:
        return this.#atomicWrite(q, w)
      case Opcode.Flush:
        return this.#flush(q, w)
      case Opcode.LocalInv:
        return this.#localInvalidate(q, w)
      case Opcode.BindMw:
        return this.#bind(q, w)
      default:
        return WcStatus.LocQpOpErr
    }
  }

  // --- local memory ------------------------------------------------------------------------------------------------

  /** Resolves the request's data to `#from` (or, for what comes back, with LocalWrite); its length, or −1 for a protection error. */
  #gather(q: number, w: number, access: number): number {
    const i32 = this.#i32
    if ((i32[w + Wqe.flags]! & SendFlag.Inline) !== 0) {
      this.#from[0] = (w + Wqe.data) * 4
      const length = i32[w + Wqe.inlineLength]!
      this.#fromLength[0] = length
      this.#fromCount = 1
      return length
    }
    const f64 = this.#f64
    const pd = i32[q + Qp.pd]!
    const sges = i32[w + Wqe.sges]!
    let total = 0
    let count = 0
    for (let i = 0, s = w + Wqe.data; i < sges; i++, s += Sg.words) {
      const length = i32[s + Sg.length]!
      if (length === 0) continue
      const at = this.#host.resolve(i32[s + Sg.lkey]!, pd, f64[s >> 1]!, length, access, -1)
      if (at < 0) return -1
      this.#from[count] = at
      this.#fromLength[count] = length
      count++
      total += length
    }
    this.#fromCount = count
    return total
  }

  /** Copies `#from` to one range; ordered, so that its last byte appears last. */
  #copyTo(to: number): void {
    const { segment } = this.#host
    const count = this.#fromCount
    for (let i = 0; i < count - 1; i++) {
      segment.copy(to, this.#from[i]!, this.#fromLength[i]!)
      to += this.#fromLength[i]!
    }
    if (count > 0) segment.copyOrdered(to, this.#from[count - 1]!, this.#fromLength[count - 1]!)
  }

  /** Copies `#from` to `#to`, both lists. */
  #copyLists(): void {
    const { segment } = this.#host
    if (this.#fromCount === 1 && this.#toCount === 1) {
      segment.copy(this.#to[0]!, this.#from[0]!, this.#fromLength[0]!)
      return
    }
    let t = 0
    let into = 0
    for (let f = 0; f < this.#fromCount; f++) {
      let done = 0
      const length = this.#fromLength[f]!
      while (done < length) {
        const room = this.#toLength[t]! - into
        const piece = Math.min(length - done, room)
        segment.copy(this.#to[t]! + into, this.#from[f]! + done, piece)
        done += piece
        into += piece
        if (piece === room) {
          t++
          into = 0
        }
      }
    }
  }

  /** Copies one range into the request's own buffers, which `#gather` has resolved to `#from`. */
  #copyBack(source: number, length: number): void {
    const { segment } = this.#host
    for (let i = 0; i < this.#fromCount && length > 0; i++) {
      const piece = Math.min(length, this.#fromLength[i]!)
      segment.copy(this.#from[i]!, source, piece)
      source += piece
      length -= piece
    }
  }

  // --- the peer ----------------------------------------------------------------------------------------------------

  /** The connected peer if it can take requests, or −1. */
  peer(q: number): number {
    const i32 = this.#i32
    const host = this.#host
    const number = i32[q + Qp.destQpNum]!
    let d = host.qpWord(i32[q + Qp.destSlot]!)
    if (i32[d + Qp.number] !== number) {
      d = host.findQp(number)
      if (d < 0) return -1
      i32[q + Qp.destSlot] = host.qpSlot(d)
    }
    const state = i32[d + Qp.state]!
    if (state < QpState.Rtr || state === QpState.Err) return -1
    if (
      i32[d + Qp.type] !== i32[q + Qp.type] ||
      i32[d + Qp.device] !== i32[q + Qp.destDevice] ||
      i32[d + Qp.destQpNum] !== i32[q + Qp.number]
    )
      return -1
    return d
  }

  /** The peer of an RC request does not answer: waits for the ACK timeout, and fails when the retries are used up. */
  #unreachable(q: number): number {
    const i32 = this.#i32
    if (i32[q + Qp.type] !== QpType.RC) return WcStatus.Success
    const timeout = i32[q + Qp.timeout]!
    const now = nowNs()
    const wait = timeout === 0 ? lookAgainNs : 4096 * 2 ** timeout
    if (i32[q + Qp.pending] !== pendingOn.peer) i32[q + Qp.retriesLeft] = i32[q + Qp.retryCnt]!
    else if (now < this.#f64[(q + Qp.deadline) >> 1]!) return waits
    else if (timeout !== 0) {
      if (i32[q + Qp.retriesLeft] === 0) return WcStatus.RetryExcErr
      i32[q + Qp.retriesLeft] = i32[q + Qp.retriesLeft]! - 1
    }
    this.#suspend(q, pendingOn.peer, now + wait)
    return waits
  }

  /** The peer `d` has no receive for an RC request. Its receive lock is held. */
  #receiverNotReady(q: number, d: number): number {
    const i32 = this.#i32
    const now = nowNs()
    if (i32[q + Qp.pending] !== pendingOn.receive) i32[q + Qp.rnrLeft] = i32[q + Qp.rnrRetry]!
    else if (now < this.#f64[(q + Qp.deadline) >> 1]!) {
      this.#awaitReceive(q, d)
      return waits
    }
    this.#host.count(i32[q + Qp.device]!, 'rnr_nak')
    if (i32[q + Qp.rnrRetry] !== 7) {
      if (i32[q + Qp.rnrLeft] === 0) return WcStatus.RnrRetryExcErr
      i32[q + Qp.rnrLeft] = i32[q + Qp.rnrLeft]! - 1
    }
    this.#suspend(q, pendingOn.receive, now + rnrTimerNs[i32[d + Qp.minRnrTimer]!]!)
    this.#awaitReceive(q, d)
    return waits
  }

  /** Lets whoever posts the next receive to `d`, or to its SRQ, know that `q` waits. */
  #awaitReceive(q: number, d: number): void {
    const i32 = this.#i32
    const slot = this.#host.qpSlot(q) + 1
    const srqSlot = i32[d + Qp.srq]!
    if (srqSlot < 0) {
      Atomics.store(i32, d + Qp.rqWaiting, slot)
      return
    }
    const srq = this.#host.srqWord(srqSlot)
    const { segment } = this.#host
    segment.lock(srq + Srq.lock)
    if (i32[q + Qp.waitingOn] === 0) {
      i32[q + Qp.waitingOn] = srqSlot + 1
      i32[q + Qp.nextWaiting] = 0
      let at = srq + Srq.waiting
      while (i32[at] !== 0) at = this.#host.qpWord(i32[at]! - 1) + Qp.nextWaiting
      Atomics.store(i32, at, slot)
    }
    segment.unlock(srq + Srq.lock)
  }

  #suspend(q: number, why: number, deadline: number): void {
    const i32 = this.#i32
    this.#f64[(q + Qp.deadline) >> 1] = deadline
    if (i32[q + Qp.pending] !== pendingOn.nothing) {
      i32[q + Qp.pending] = why
      return
    }
    i32[q + Qp.pending] = why
    const { segment, at, pendingCount } = this.#host
    segment.lock(at.pending + Pend.lock)
    const slot = this.#host.qpSlot(q)
    const count = i32[pendingCount]!
    let listed = false
    for (let i = 0; i < count; i++) if (i32[at.pending + Pend.list + i] === slot) listed = true
    if (!listed) {
      i32[at.pending + Pend.list + count] = slot
      Atomics.store(i32, pendingCount, count + 1)
    }
    segment.unlock(at.pending + Pend.lock)
  }

  /** Tries again the requests whose time has come, of any QP of the segment. */
  progress(): void {
    const i32 = this.#i32
    const { segment, at, pendingCount } = this.#host
    if (this.#progressing || Atomics.load(i32, at.pending + Pend.lock) !== 0) return
    this.#progressing = true
    const now = nowNs()
    const due: number[] = []
    segment.lock(at.pending + Pend.lock)
    for (let i = 0; i < i32[pendingCount]!; ) {
      const slot = i32[at.pending + Pend.list + i]!
      const q = this.#host.qpWord(slot)
      if (i32[q + Qp.number] === 0 || i32[q + Qp.pending] === pendingOn.nothing) {
        const last = i32[pendingCount]! - 1
        i32[at.pending + Pend.list + i] = i32[at.pending + Pend.list + last]!
        i32[pendingCount] = last
        continue
      }
      if (this.#f64[(q + Qp.deadline) >> 1]! <= now) due.push(slot)
      i++
    }
    segment.unlock(at.pending + Pend.lock)
    for (const slot of due) this.kick(slot)
    this.#progressing = false
  }

  /** Lets the send queue of a QP go on, from any thread. */
  kick(slot: number): void {
    const i32 = this.#i32
    const { segment } = this.#host
    const q = this.#host.qpWord(slot)
    this.#host.lockSends(q)
    segment.enter()
    if (i32[q + Qp.number] !== 0) this.run(q)
    segment.unlock(q + Qp.sqLock)
    segment.leave()
    this.settle()
  }

  /** The responder `d` refuses: it goes to ERR with an asynchronous event. The receive lock is not held. */
  #refuse(d: number, event: EventType): void {
    const i32 = this.#i32
    if (i32[d + Qp.type] !== QpType.RC) return
    const state = i32[d + Qp.state]!
    if (state < QpState.Rtr || state === QpState.Err) return
    this.#host.setState(d, QpState.Err)
    this.#host.pushEvent(i32[d + Qp.context]!, event, elementKind.qp, this.#host.qpSlot(d))
    this.#deferred.push(d)
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  /** The receive that a message to `d` takes, or −1. The receive lock of `d` is held; an SRQ's lock is taken here. */
  #takeReceive(d: number): number {
    const i32 = this.#i32
    const srqSlot = i32[d + Qp.srq]!
    if (srqSlot < 0) {
      const tail = i32[d + Qp.rqTail]!
      if (tail === i32[d + Qp.rqHead] && tail === Atomics.load(i32, d + Qp.rqHead)) return -1
      return i32[d + Qp.rqRing]! + (tail & i32[d + Qp.rqMask]!) * i32[d + Qp.rqStride]!
    }
    const { segment } = this.#host
    const srq = this.#host.srqWord(srqSlot)
    segment.lock(srq + Srq.lock)
    const tail = i32[srq + Srq.tail]!
    const head = Atomics.load(i32, srq + Srq.head)
    if (tail === head) {
      segment.unlock(srq + Srq.lock)
      return -1
    }
    const r = i32[srq + Srq.ring]! + (tail & i32[srq + Srq.mask]!) * i32[srq + Srq.stride]!
    // The request is copied out, since the place may be used again once the tail has moved.
    const mine = this.#srqCopy
    for (let i = 0; i < i32[srq + Srq.stride]!; i++) mine[i] = i32[r + i]!
    Atomics.store(i32, srq + Srq.tail, (tail + 1) | 0)
    const limit = i32[srq + Srq.limit]!
    if (limit > 0 && ((head - tail - 1) | 0) < limit) {
      i32[srq + Srq.limit] = 0
      this.#host.pushEvent(i32[srq + Srq.context]!, EventType.SrqLimitReached, elementKind.srq, srqSlot)
    }
    segment.unlock(srq + Srq.lock)
    return fromSrq
  }
  readonly #srqCopy = new Int32Array(192)
  readonly #srqCopyF64 = new Float64Array(this.#srqCopy.buffer)

  /** wr_id of a receive that `#takeReceive` gave. */
  #receiveId(r: number): number {
    return r === fromSrq ? this.#srqCopyF64[Rwqe.wrId >> 1]! : this.#f64[(r + Rwqe.wrId) >> 1]!
  }

  /** Marks a receive as used; that of an SRQ is already. */
  #consume(d: number, r: number): void {
    if (r === fromSrq) return
    const i32 = this.#i32
    this.#host.segment.publish(d + Qp.rqTail, (i32[d + Qp.rqTail]! + 1) | 0)
  }

  /** Resolves the receive's buffers for `length` bytes to `#to`; a status. */
  #scatter(d: number, r: number, length: number): number {
    const srq = r === fromSrq
    const i32 = srq ? this.#srqCopy : this.#i32
    const f64 = srq ? this.#srqCopyF64 : this.#f64
    const base = srq ? 0 : r
    const sges = i32[base + Rwqe.sges]!
    const srqSlot = this.#i32[d + Qp.srq]!
    const pd = srq ? this.#i32[this.#host.srqWord(srqSlot) + Srq.pd]! : this.#i32[d + Qp.pd]!
    let room = 0
    for (let i = 0, s = base + Rwqe.data; i < sges; i++, s += Sg.words) room += i32[s + Sg.length]!
    if (room < length) return WcStatus.LocLenErr
    let left = length
    let count = 0
    for (let s = base + Rwqe.data; left > 0; s += Sg.words) {
      const size = i32[s + Sg.length]!
      if (size === 0) continue
      const used = Math.min(size, left)
      const at = this.#host.resolve(i32[s + Sg.lkey]!, pd, f64[s >> 1]!, used, Access.LocalWrite, -1)
      if (at < 0) return WcStatus.LocProtErr
      this.#to[count] = at
      this.#toLength[count] = used
      count++
      left -= used
    }
    this.#toCount = count
    return WcStatus.Success
  }

  /** Completes a receive of `d` with an error that its owner made, which ends the QP. The receive lock is held. */
  #receiveFails(d: number, r: number, status: number, srcQp: number): void {
    const host = this.#host
    const i32 = this.#i32
    this.#consume(d, r)
    host.setState(d, QpState.Err)
    host.complete(host.cqWord(i32[d + Qp.recvCq]!), this.#receiveId(r), status, WcOpcode.Recv, 0, 0, 0, d, srcQp, false)
    host.flushReceives(d)
    this.#deferred.push(d)
  }

  // --- SEND and WRITE ----------------------------------------------------------------------------------------------

  #send(q: number, w: number): number {
    const i32 = this.#i32
    const host = this.#host
    const { segment } = host
    const total = this.#gather(q, w, 0)
    if (total < 0) return WcStatus.LocProtErr
    if (total > maxMessageBytes) return WcStatus.LocLenErr
    const d = this.peer(q)
    if (d < 0) return this.#unreachable(q)
    const rc = i32[q + Qp.type] === QpType.RC
    segment.lock(d + Qp.rqLock)
    if (i32[d + Qp.state]! < QpState.Rtr || i32[d + Qp.state] === QpState.Err) {
      segment.unlock(d + Qp.rqLock)
      return this.#unreachable(q)
    }
    const opcode = i32[w + Wqe.opcode]!
    let flags = 0
    let window = -1
    if (opcode !== Opcode.Send) {
      if (opcode === Opcode.SendWithImm) flags = WcFlag.WithImm
      else {
        window = this.#invalidable(d, i32[w + Wqe.immData]!)
        if (window < 0) {
          segment.unlock(d + Qp.rqLock)
          return this.#refused(d, rc, WcStatus.RemAccessErr)
        }
        flags = WcFlag.WithInv
      }
    }
    const r = this.#takeReceive(d)
    if (r === -1) {
      let status: number = WcStatus.Success
      if (rc) status = this.#receiverNotReady(q, d)
      else host.count(i32[d + Qp.device]!, 'uc_drops_no_receive')
      segment.unlock(d + Qp.rqLock)
      return status
    }
    const placed = this.#scatter(d, r, total)
    if (placed !== WcStatus.Success) {
      this.#receiveFails(d, r, placed, 0)
      segment.unlock(d + Qp.rqLock)
      if (!rc) return WcStatus.Success
      return placed === WcStatus.LocLenErr ? WcStatus.RemInvReqErr : WcStatus.RemOpErr
    }
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    const wrId = this.#receiveId(r)
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    const immData = flags !== 0 ? i32[w + Wqe.immData]! : 0
    // A short message is copied with the CQ already locked: an atomic operation between its first store and the
    // completion would wait until the line with the payload has arrived from the other core.
    if (total > copyUnlockedBytes) this.#copyLists()
    const e = host.reserve(cq)
    if (e < 0) {
      segment.unlock(d + Qp.rqLock)
      this.#refuse(d, EventType.QpFatal)
      return rc ? WcStatus.RemOpErr : WcStatus.Success
    }
    if (total <= copyUnlockedBytes) this.#copyLists()
    if (window >= 0) unbind(host, window)
    host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.Recv, flags, total, immData, d, 0, solicited)
    this.#consume(d, r)
    segment.unlock(d + Qp.rqLock)
    return WcStatus.Success
  }

  #write(q: number, w: number): number {
    const i32 = this.#i32
    const host = this.#host
    const { segment } = host
    const total = this.#gather(q, w, 0)
    if (total < 0) return WcStatus.LocProtErr
    if (total > maxMessageBytes) return WcStatus.LocLenErr
    const d = this.peer(q)
    if (d < 0) return this.#unreachable(q)
    const rc = i32[q + Qp.type] === QpType.RC
    if ((i32[d + Qp.accessFlags]! & Access.RemoteWrite) === 0) return this.#refused(d, rc, WcStatus.RemInvReqErr)
    let to = 0
    if (total > 0) {
      to = host.resolve(
        i32[w + Wqe.rkey]!,
        i32[d + Qp.pd]!,
        this.#f64[(w + Wqe.remoteAddr) >> 1]!,
        total,
        Access.RemoteWrite,
        host.qpSlot(d),
      )
      if (to < 0) return this.#refused(d, rc, WcStatus.RemAccessErr)
    }
    if (i32[w + Wqe.opcode] === Opcode.Write) {
      if (total > 0) this.#copyTo(to)
      return WcStatus.Success
    }
    segment.lock(d + Qp.rqLock)
    if (i32[d + Qp.state]! < QpState.Rtr || i32[d + Qp.state] === QpState.Err) {
      segment.unlock(d + Qp.rqLock)
      return this.#unreachable(q)
    }
    const r = this.#takeReceive(d)
    if (r === -1) {
      let status: number = WcStatus.Success
      if (rc) status = this.#receiverNotReady(q, d)
      else host.count(i32[d + Qp.device]!, 'uc_drops_no_receive')
      segment.unlock(d + Qp.rqLock)
      return status
    }
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    if (total > copyUnlockedBytes) this.#copyTo(to)
    const e = host.reserve(cq)
    if (e < 0) {
      segment.unlock(d + Qp.rqLock)
      this.#refuse(d, EventType.QpFatal)
      return rc ? WcStatus.RemOpErr : WcStatus.Success
    }
    if (total > 0 && total <= copyUnlockedBytes) this.#copyTo(to)
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    host.commit(
      cq,
      e,
      this.#receiveId(r),
      WcStatus.Success,
      WcOpcode.RecvRdmaWithImm,
      WcFlag.WithImm,
      total,
      i32[w + Wqe.immData]!,
      d,
      0,
      solicited,
    )
    this.#consume(d, r)
    segment.unlock(d + Qp.rqLock)
    return WcStatus.Success
  }

  /** The responder refuses a one-sided request; what the requester sees. */
  #refused(d: number, rc: boolean, status: WcStatus): number {
    if (!rc) {
      this.#host.count(this.#i32[d + Qp.device]!, 'uc_drops_access')
      return WcStatus.Success
    }
    this.#refuse(d, status === WcStatus.RemAccessErr ? EventType.QpAccessErr : EventType.QpReqErr)
    return status
  }

  // --- READ, atomics, FLUSH ----------------------------------------------------------------------------------------

  #read(q: number, w: number): number {
    const i32 = this.#i32
    const host = this.#host
    const total = this.#gather(q, w, Access.LocalWrite)
    if (total < 0) return WcStatus.LocProtErr
    if (total > maxMessageBytes) return WcStatus.LocLenErr
    if (i32[q + Qp.maxRdAtomic] === 0) return WcStatus.LocQpOpErr
    const d = this.peer(q)
    if (d < 0) return this.#unreachable(q)
    if ((i32[d + Qp.accessFlags]! & Access.RemoteRead) === 0 || i32[d + Qp.maxDestRdAtomic] === 0)
      return this.#refused(d, true, WcStatus.RemInvReqErr)
    if (total > 0) {
      const at = host.resolve(
        i32[w + Wqe.rkey]!,
        i32[d + Qp.pd]!,
        this.#f64[(w + Wqe.remoteAddr) >> 1]!,
        total,
        Access.RemoteRead,
        host.qpSlot(d),
      )
      if (at < 0) return this.#refused(d, true, WcStatus.RemAccessErr)
      this.#copyBack(at, total)
    }
    this.#byteLen = total
    return WcStatus.Success
  }

  #atomic(q: number, w: number): number {
    const i32 = this.#i32
    const host = this.#host
    const { segment } = host
    const total = this.#gather(q, w, Access.LocalWrite)
    if (total < 0) return WcStatus.LocProtErr
    if (total !== 8) return WcStatus.LocLenErr
    if (i32[q + Qp.maxRdAtomic] === 0) return WcStatus.LocQpOpErr
    const d = this.peer(q)
    if (d < 0) return this.#unreachable(q)
    const remoteAddr = this.#f64[(w + Wqe.remoteAddr) >> 1]!
    if (
      (i32[d + Qp.accessFlags]! & Access.RemoteAtomic) === 0 ||
      i32[d + Qp.maxDestRdAtomic] === 0 ||
      remoteAddr % 8 !== 0
    )
      return this.#refused(d, true, WcStatus.RemInvReqErr)
    const at = host.resolve(i32[w + Wqe.rkey]!, i32[d + Qp.pd]!, remoteAddr, 8, Access.RemoteAtomic, host.qpSlot(d))
    if (at < 0) return this.#refused(d, true, WcStatus.RemAccessErr)
    if (at % 8 !== 0) return this.#refused(d, true, WcStatus.RemInvReqErr)
    const { b64 } = segment
    const compareAdd = b64[(w + Wqe.compareAdd) >> 1]!
    const old =
      i32[w + Wqe.opcode] === Opcode.AtomicCmpAndSwp
        ? Atomics.compareExchange(b64, at / 8, compareAdd, b64[(w + Wqe.swap) >> 1]!)
        : Atomics.add(b64, at / 8, compareAdd)
    // The place of the operand in the queue is free now: the old value goes through it to the caller's buffers.
    b64[(w + Wqe.compareAdd) >> 1] = old
    this.#copyBack((w + Wqe.compareAdd) * 4, 8)
    this.#byteLen = 8
    return WcStatus.Success
  }

  #atomicWrite(q: number, w: number): number {
    const i32 = this.#i32
    const host = this.#host
    const { segment } = host
    const total = this.#gather(q, w, 0)
    if (total < 0) return WcStatus.LocProtErr
    if (total !== 8) return WcStatus.LocLenErr
    const d = this.peer(q)
    if (d < 0) return this.#unreachable(q)
    const remoteAddr = this.#f64[(w + Wqe.remoteAddr) >> 1]!
    if ((i32[d + Qp.accessFlags]! & Access.RemoteWrite) === 0 || remoteAddr % 8 !== 0)
      return this.#refused(d, true, WcStatus.RemInvReqErr)
    const at = host.resolve(i32[w + Wqe.rkey]!, i32[d + Qp.pd]!, remoteAddr, 8, Access.RemoteWrite, host.qpSlot(d))
    if (at < 0) return this.#refused(d, true, WcStatus.RemAccessErr)
    if (at % 8 !== 0) return this.#refused(d, true, WcStatus.RemInvReqErr)
    // The value is put together in the queue first, since it may come from several elements.
    const scratch = (w + Wqe.compareAdd) * 4
    this.#copyTo(scratch)
    Atomics.store(segment.b64, at / 8, segment.b64[scratch / 8]!)
    return WcStatus.Success
  }

  #flush(q: number, w: number): number {
    const i32 = this.#i32
    const host = this.#host
    const d = this.peer(q)
    if (d < 0) return this.#unreachable(q)
    const bits = i32[w + Wqe.access]!
    const needs =
      ((bits & FlushPlacement.Global) !== 0 ? Access.FlushGlobal : 0) |
      ((bits & FlushPlacement.Persistent) !== 0 ? Access.FlushPersistent : 0)
    if ((i32[d + Qp.accessFlags]! & needs) !== needs) return this.#refused(d, true, WcStatus.RemInvReqErr)
    const wholeRegion = bits >> 4 === FlushSelectivity.Mr
    const rkey = i32[w + Wqe.rkey]!
    const entry = host.findKey(rkey)
    const addr = wholeRegion && entry >= 0 ? this.#f64[(entry + Key.iova) >> 1]! : this.#f64[(w + Wqe.remoteAddr) >> 1]!
    const length = wholeRegion ? 0 : this.#f64[(w + Wqe.length) >> 1]!
    if (host.resolve(rkey, i32[d + Qp.pd]!, addr, length, needs, host.qpSlot(d)) < 0)
      return this.#refused(d, true, WcStatus.RemAccessErr)
    // Stores of this thread are visible to all others after a full barrier; that is global placement.
    Atomics.add(i32, q + Qp.sqNext, 0)
    return WcStatus.Success
  }

  // --- windows -----------------------------------------------------------------------------------------------------

  /** The window that a peer's SEND_WITH_INV may invalidate: only a bound one of type 2 of this very QP; else −1. */
  #invalidable(d: number, rkey: number): number {
    const i32 = this.#i32
    const host = this.#host
    const entry = host.findKey(rkey)
    const permitted =
      entry >= 0 &&
      i32[entry + Key.kind] === keyKind.window2 &&
      i32[entry + Key.valid] === 1 &&
      i32[entry + Key.pd] === i32[d + Qp.pd] &&
      i32[entry + Key.qp] === host.qpSlot(d)
    return permitted ? entry : -1
  }

  #localInvalidate(q: number, w: number): number {
    const i32 = this.#i32
    const host = this.#host
    const entry = host.findKey(i32[w + Wqe.immData]!)
    if (
      entry < 0 ||
      i32[entry + Key.kind] !== keyKind.window2 ||
      i32[entry + Key.valid] !== 1 ||
      i32[entry + Key.pd] !== i32[q + Qp.pd]
    )
      return WcStatus.LocQpOpErr
    unbind(host, entry)
    return WcStatus.Success
  }

  #bind(q: number, w: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const host = this.#host
    const window = host.findKey(i32[w + Wqe.rkey]!)
    if (window < 0 || i32[window + Key.pd] !== i32[q + Qp.pd]) return WcStatus.MwBindErr
    const kind = i32[window + Key.kind]
    if (kind !== keyKind.window1 && kind !== keyKind.window2) return WcStatus.MwBindErr
    const newKey = i32[w + Wqe.immData]!
    const access = i32[w + Wqe.access]!
    const length = f64[(w + Wqe.length) >> 1]!
    if (newKey >>> 8 !== i32[window + Key.key]! >>> 8) return WcStatus.MwBindErr
    if (kind === keyKind.window2) {
      // A type 2 window is bound once; then it must be invalidated. The new key must differ from the old.
      if (i32[window + Key.valid] === 1 || newKey === i32[window + Key.key] || length === 0) return WcStatus.MwBindErr
    } else {
      if ((access & Access.ZeroBased) !== 0) return WcStatus.MwBindErr
      if (length === 0) {
        unbind(host, window)
        i32[window + Key.key] = newKey
        return WcStatus.Success
      }
    }
    const region = host.findKey(i32[w + Wqe.mrKey]!)
    if (
      region < 0 ||
      i32[region + Key.kind] !== keyKind.region ||
      i32[region + Key.pd] !== i32[q + Qp.pd] ||
      i32[region + Key.valid] !== 1
    )
      return WcStatus.MwBindErr
    const rights = i32[region + Key.access]!
    if ((rights & Access.MwBind) === 0 || (rights & Access.ZeroBased) !== 0) return WcStatus.MwBindErr
    if ((access & (Access.RemoteWrite | Access.RemoteAtomic)) !== 0 && (rights & Access.LocalWrite) === 0)
      return WcStatus.MwBindErr
    const addr = f64[(w + Wqe.remoteAddr) >> 1]!
    const offset = addr - f64[(region + Key.iova) >> 1]!
    if (!(offset >= 0 && offset + length <= f64[(region + Key.length) >> 1]!)) return WcStatus.MwBindErr
    unbind(host, window)
    f64[(window + Key.addr) >> 1] = f64[(region + Key.addr) >> 1]! + offset
    f64[(window + Key.length) >> 1] = length
    f64[(window + Key.iova) >> 1] = (access & Access.ZeroBased) !== 0 ? 0 : addr
    i32[window + Key.access] = access
    i32[window + Key.qp] = kind === keyKind.window2 ? host.qpSlot(q) : -1
    i32[window + Key.region] = (region - host.at.keys) / Key.words
    Atomics.add(i32, region + Key.region, 1)
    i32[window + Key.key] = newKey
    Atomics.store(i32, window + Key.valid, 1)
    return WcStatus.Success
  }

  // --- UD ----------------------------------------------------------------------------------------------------------

  #datagram(q: number, w: number): number {
    const i32 = this.#i32
    const host = this.#host
    const total = this.#gather(q, w, 0)
    if (total < 0) return WcStatus.LocProtErr
    if (total > this.#mtu) return WcStatus.LocLenErr
    const av = w + Wqe.av
    if ((i32[av + Av.flags]! & avMulticast) !== 0) {
      this.#multicast(q, w, total)
      return WcStatus.Success
    }
    const d = host.findQp(i32[w + Wqe.remoteQpn]!)
    if (d < 0 || i32[d + Qp.device] !== i32[av + Av.device]) host.count(i32[q + Qp.device]!, 'ud_drops_no_qp')
    else this.#deliver(q, w, d, total)
    return WcStatus.Success
  }

  #multicast(q: number, w: number, total: number): void {
    const i32 = this.#i32
    const host = this.#host
    const gid = w + Wqe.av + Av.gid
    const high = i32[host.at.meta + Meta.mcastHigh]!
    let delivered = 0
    for (let i = 0; i < high; i++) {
      const m = host.at.mcast + i * Mcast.words
      if (i32[m + Mcast.state] !== 1) continue
      const g = m + Mcast.gid
      if (
        i32[g] !== i32[gid] ||
        i32[g + 1] !== i32[gid + 1] ||
        i32[g + 2] !== i32[gid + 2] ||
        i32[g + 3] !== i32[gid + 3]
      )
        continue
      const d = host.qpWord(i32[m + Mcast.qpSlot]!)
      if (i32[d + Qp.number] !== i32[m + Mcast.qpNum]) continue
      this.#deliver(q, w, d, total)
      delivered++
    }
    if (delivered === 0) host.count(i32[q + Qp.device]!, 'ud_drops_no_qp')
  }

  /** One datagram to one QP: what cannot be delivered is dropped and counted at the receiver. */
  #deliver(q: number, w: number, d: number, total: number): void {
    const i32 = this.#i32
    const host = this.#host
    const { segment } = host
    const device = i32[d + Qp.device]!
    segment.lock(d + Qp.rqLock)
    const state = i32[d + Qp.state]!
    if (i32[d + Qp.type] !== QpType.UD || state < QpState.Rtr || state === QpState.Err) {
      host.count(device, 'ud_drops_no_qp')
      segment.unlock(d + Qp.rqLock)
      return
    }
    // A Q_Key with its highest bit set stands for the sender's own.
    const qkey = i32[w + Wqe.remoteQkey]!
    if ((qkey < 0 ? i32[q + Qp.qkey] : qkey) !== i32[d + Qp.qkey]) {
      host.count(device, 'ud_drops_qkey')
      Atomics.add(i32, host.deviceWord(device) + layout.Dev.qkeyViolations, 1)
      segment.unlock(d + Qp.rqLock)
      return
    }
    const r = this.#takeReceive(d)
    if (r === -1) {
      host.count(device, 'ud_drops_no_receive')
      segment.unlock(d + Qp.rqLock)
      return
    }
    const placed = this.#scatter(d, r, grhLength + total)
    if (placed !== WcStatus.Success) {
      if (placed === WcStatus.LocLenErr) host.count(device, 'ud_drops_length')
      this.#receiveFails(d, r, placed, i32[q + Qp.number]!)
      segment.unlock(d + Qp.rqLock)
      return
    }
    const withGrh = (i32[w + Wqe.av + Av.flags]! & avGlobal) !== 0
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    const e = host.reserve(cq)
    if (e < 0) {
      segment.unlock(d + Qp.rqLock)
      host.setState(d, QpState.Err)
      this.#deferred.push(d)
      return
    }
    this.#placeDatagram(q, w, withGrh, total)
    let flags = withGrh ? WcFlag.Grh : 0
    let immData = 0
    if (i32[w + Wqe.opcode] === Opcode.SendWithImm) {
      flags |= WcFlag.WithImm
      immData = i32[w + Wqe.immData]!
    }
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    i32[e + layout.Cqe.slid] =
      i32[host.deviceWord(i32[q + Qp.device]!) + layout.Dev.lid]! | (i32[w + Wqe.av + Av.sl]! << 16)
    host.commit(
      cq,
      e,
      this.#receiveId(r),
      WcStatus.Success,
      WcOpcode.Recv,
      flags,
      grhLength + total,
      immData,
      d,
      i32[q + Qp.number]!,
      solicited,
    )
    this.#consume(d, r)
    segment.unlock(d + Qp.rqLock)
  }

  /** Copies GRH and payload to `#to`. */
  #placeDatagram(q: number, w: number, withGrh: boolean, total: number): void {
    const { segment } = this.#host
    const grh = this.#grh
    if (withGrh) this.#writeGrh(q, w, grh, total)
    if (this.#toCount === 1 && this.#fromCount <= 1) {
      const to = this.#to[0]!
      if (withGrh) segment.copy(to, grh, grhLength)
      if (total > 0) segment.copy(to + grhLength, this.#from[0]!, total)
      return
    }
    // Several elements: the GRH becomes the first piece of what is copied.
    for (let i = this.#fromCount; i > 0; i--) {
      this.#from[i] = this.#from[i - 1]!
      this.#fromLength[i] = this.#fromLength[i - 1]!
    }
    if (!withGrh) this.#host.u8.fill(0, grh, grh + grhLength)
    this.#from[0] = grh
    this.#fromLength[0] = grhLength
    this.#fromCount++
    this.#copyLists()
    this.#fromCount--
    for (let i = 0; i < this.#fromCount; i++) {
      this.#from[i] = this.#from[i + 1]!
      this.#fromLength[i] = this.#fromLength[i + 1]!
    }
  }

  /** The global route header that the receiver sees before the payload; InfiniBand Architecture volume 1, 8.3. */
  #writeGrh(q: number, w: number, at: number, total: number): void {
    const i32 = this.#i32
    const { u8 } = this.#host
    const av = w + Wqe.av
    const trafficClass = i32[av + Av.trafficClass]!
    const flowLabel = i32[av + Av.flowLabel]!
    u8[at] = 0x60 | (trafficClass >> 4)
    u8[at + 1] = ((trafficClass & 15) << 4) | (flowLabel >> 16)
    u8[at + 2] = flowLabel >> 8
    u8[at + 3] = flowLabel
    // Payload length: BTH 12, DETH 8, immediate, payload with padding, ICRC 4.
    const length = 24 + (i32[w + Wqe.opcode] === Opcode.SendWithImm ? 4 : 0) + ((total + 3) & ~3)
    u8[at + 4] = length >> 8
    u8[at + 5] = length
    u8[at + 6] = 0x1b
    u8[at + 7] = i32[av + Av.hopLimit]!
    const dev = this.#host.deviceWord(i32[q + Qp.device]!)
    i32[(at + 8) / 4] = 0x000080fe
    i32[(at + 12) / 4] = 0
    writeBigEndian(u8, at + 16, i32[dev + layout.Dev.guidHigh]!)
    writeBigEndian(u8, at + 20, i32[dev + layout.Dev.guidLow]!)
    for (let i = 0; i < 4; i++) i32[(at + 24) / 4 + i] = i32[av + Av.gid + i]!
  }
}

/** Stands for a receive that was copied out of an SRQ. */
const fromSrq = -2

/** Messages up to this many bytes are copied while the CQ is locked. */
const copyUnlockedBytes = 512

function writeBigEndian(u8: Uint8Array, at: number, word: number): void {
  u8[at] = word >>> 24
  u8[at + 1] = word >>> 16
  u8[at + 2] = word >>> 8
  u8[at + 3] = word
}
