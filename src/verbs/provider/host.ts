/**
 * Common part of all adapters of a segment, as one thread sees it: completions, events, key look-up and flushing, so that every device that
 * keeps its queues in the segment shares them.
 *
 * Lock order: send queue, then receive queue or SRQ, then CQ; channel and event locks are taken last, alone. No thread takes the send queue
 * lock of a second QP while holding one: changes to a peer's send queue are deferred.
 */
import { EventType, QpState, SendFlag, WcOpcode, WcStatus } from './constants.ts'
import { EventTables } from './events.ts'
import {
  Cq,
  Cqe,
  cqArmed,
  cqState,
  Journal,
  journalStage,
  Key,
  keyKind,
  keySlots,
  packWhat,
  Qp,
  qpNumberSlots,
  Rwqe,
  recordState,
  Sg,
  Srq,
  solicitedFlag,
  statusPurged,
  Wqe,
} from './layout.ts'
import type { QpFailure } from './news.ts'
import { completionOpcodes } from './operations.ts'
import { slotOf } from './records.ts'

/** Returns the segment address at which the data that a hosted QP's request hands over is staged: whole pages. */
export function stageOf({ i32 }: Host, q: number): number {
  return i32[q + Qp.stage]! * stageUnit
}
/** Bytes per unit of `Qp.stage`. */
export const stageUnit = 4096

/** Results of taking a receive if there is none, or none that is long enough. */
export const noReceive = -1
export const receiveTooShort = -2

export class Host extends EventTables {
  /** First word of the `Journal` in which this thread notes its completions, 0 while it notes them nowhere. */
  journal = 0

  // --- keys --------------------------------------------------------------------------------------------------------

  /** The entry with this key, or −1. */
  findKey(key: number): number {
    const i32 = this.i32
    let slot = (key >>> 8) & (keySlots - 1)
    for (let probes = 0; probes < keySlots; probes++) {
      const entry = this.at.keys + slot * Key.words
      const kind = i32[entry + Key.kind]!
      if (kind === keyKind.free) return -1
      if (i32[entry + Key.key] === key && kind !== keyKind.deleted) return entry
      slot = (slot + 1) & (keySlots - 1)
    }
    return -1
  }

  /**
   * Returns the segment address of `addr` in the region or window with this key, or −1 if key, protection domain, access rights, or bounds
   * forbid it. `qp` is the slot of the QP at which a remote access arrives, −1 for a local access.
   */
  resolve(key: number, pd: number, addr: number, length: number, access: number, qp: number): number {
    const { i32, f64, segment } = this
    const epoch = Atomics.load(i32, segment.epochWord)
    const entry = this.findKey(key)
    // A window is valid last; other words of it are read after that.
    if (entry < 0 || i32[entry + Key.pd] !== pd || Atomics.load(i32, entry + Key.valid) !== 1) return -1
    if ((i32[entry + Key.access]! & access) !== access) return -1
    const kind = i32[entry + Key.kind]!
    // IBA list-40: a type 2 window serves the QP that bound it.
    if (kind !== keyKind.region && (qp < 0 || (kind === keyKind.window2 && i32[entry + Key.qp] !== qp))) return -1
    const offset = addr - f64[(entry + Key.iova) >> 1]!
    if (!(offset >= 0 && length >= 0 && offset + length <= f64[(entry + Key.length) >> 1]!)) return -1
    const at = f64[(entry + Key.addr) >> 1]! + offset
    // A window may have been bound again while it was read: that bumps the epoch first, and opens it to another key.
    if (kind !== keyKind.region) {
      segment.fence()
      if (Atomics.load(i32, segment.epochWord) !== epoch || Atomics.load(i32, entry + Key.key) !== key)
        return this.resolve(key, pd, addr, length, access, qp)
    }
    return at
  }

  /** First word of the QP with this number, or −1. */
  findQp(number: number): number {
    const { i32 } = this
    let at = number & (qpNumberSlots - 1)
    for (let probes = 0; probes < qpNumberSlots; probes++) {
      const entry = i32[this.at.qpNumbers + at]!
      if (entry === 0) return -1
      if (entry > 0) {
        const q = this.qpWord(entry - 1)
        if (i32[q + Qp.number] === number) return q
      }
      at = (at + 1) & (qpNumberSlots - 1)
    }
    return -1
  }

  // --- completions -------------------------------------------------------------------------------------------------

  /** Locks a CQ for one completion and returns where to write it, or −1 if the CQ is full, or was: then it is overrun and not locked. */
  reserve(cq: number): number {
    const { i32, segment } = this
    segment.lock(cq + Cq.lock)
    const head = i32[cq + Cq.head]!
    const cqe = i32[cq + Cq.cqe]!
    let fits = i32[cq + Cq.state] === cqState.live
    if (fits && ((head - i32[cq + Cq.tailSeen]!) | 0) >= cqe) {
      const tail = Atomics.load(i32, cq + Cq.tail)
      i32[cq + Cq.tailSeen] = tail
      fits = ((head - tail) | 0) < cqe
    }
    if (!fits) {
      segment.unlock(cq + Cq.lock)
      this.#overrun(cq)
      return -1
    }
    const e = i32[cq + Cq.ring]! + (head & i32[cq + Cq.mask]!) * Cqe.words
    if (i32[e + Cqe.sequence] !== ((head + 1) | 0)) return e
    this.countPublished(cq)
    segment.unlock(cq + Cq.lock)
    return this.reserve(cq)
  }

  /** True if the next entry of a CQ to which no thread is writing is published already: its publisher died before it could count it. */
  isUncounted(cq: number): boolean {
    const { i32 } = this
    const head = i32[cq + Cq.head]!
    const e = i32[cq + Cq.ring]! + (head & i32[cq + Cq.mask]!) * Cqe.words
    return i32[e + Cqe.sequence] === ((head + 1) | 0)
  }

  /** Counts a completion whose publisher died before it could count it; the lock of the CQ is held. */
  countPublished(cq: number): void {
    const { i32 } = this
    if (this.isUncounted(cq)) i32[cq + Cq.head] = (i32[cq + Cq.head]! + 1) | 0
  }

  /** Writes the completion at `e` from `reserve`, publishes it, unlocks the CQ and fires its event if it is armed. */
  commit(
    cq: number,
    e: number,
    wrId: number,
    status: number,
    opcode: number,
    flags: number,
    byteLen: number,
    immData: number,
    qp: number,
    srcQpOrReleases: number,
    solicited: boolean,
  ): void {
    const { i32, segment } = this
    const head = i32[cq + Cq.head]!
    i32[e + Cqe.what] = packWhat(status, opcode, solicited ? flags | solicitedFlag : flags)
    this.f64[(e + Cqe.wrId) >> 1] = wrId
    i32[e + Cqe.byteLen] = byteLen
    i32[e + Cqe.immData] = immData
    i32[e + Cqe.qpNum] = i32[qp + Qp.number]!
    i32[e + Cqe.srcQpOrReleases] = srcQpOrReleases
    i32[e + Cqe.qpSlot] = this.qpSlot(qp)
    if (opcode >= WcOpcode.Recv) i32[e + Cqe.rqTail] = i32[qp + Qp.rqTail]!
    segment.publish(e + Cqe.sequence, (head + 1) | 0)
    i32[cq + Cq.head] = (head + 1) | 0
    if (i32[cq + Cq.channel]! < 0) segment.unlock(cq + Cq.lock)
    else {
      // Two atomics, this store and the load that follows: either this sees the arming, or the thread that armed sees the completion when it polls again.
      Atomics.store(i32, cq + Cq.lock, 0)
      this.fireIfArmed(cq, solicited || status !== WcStatus.Success)
    }
  }

  /** Makes the event for which the CQ is armed, if it is; called after a completion was published, and an atomic store. */
  fireIfArmed(cq: number, solicited: boolean): void {
    const { i32 } = this
    // Atomic: elsewhere than on x86 a plain load may come before that store is seen.
    const armed = Atomics.load(i32, cq + Cq.armed)
    // IBA list-51: an event for any completion, or for solicited ones and errors.
    if (
      (armed === cqArmed.any || (armed === cqArmed.solicited && solicited)) &&
      Atomics.compareExchange(i32, cq + Cq.armed, armed, cqArmed.due) === armed
    )
      this.fire(cq)
  }

  /** Makes one completion from start to end; false if the CQ overran. */
  complete(
    cq: number,
    wrId: number,
    status: number,
    opcode: number,
    flags: number,
    byteLen: number,
    immData: number,
    qp: number,
    srcQpOrReleases: number,
    solicited: boolean,
  ): boolean {
    const e = this.reserve(cq)
    if (e < 0) return false
    this.commit(cq, e, wrId, status, opcode, flags, byteLen, immData, qp, srcQpOrReleases, solicited)
    return true
  }

  /**
   * Notes in the journal that a completion is about to be published, in the CQ that is reserved, and that the queue of `q` is
   * advanced to `queue`.
   */
  #note(
    stage: number,
    cq: number,
    wrId: number,
    what: number,
    byteLen: number,
    immData: number,
    q: number,
    srcQpOrReleases: number,
    solicited: boolean,
    queue: number,
  ): void {
    const { i32, journal } = this
    i32[journal + Journal.qp] = i32[q + Qp.ref]!
    i32[journal + Journal.queue] = queue
    i32[journal + Journal.sequence] = (i32[cq + Cq.head]! + 1) | 0
    i32[journal + Journal.what] = what
    i32[journal + Journal.byteLen] = byteLen
    i32[journal + Journal.immData] = immData
    i32[journal + Journal.srcQpOrReleases] = srcQpOrReleases
    this.f64[(journal + Journal.wrId) >> 1] = wrId
    i32[journal + Journal.solicited] = solicited ? 1 : 0
    i32[journal + Journal.stage] = stage
  }

  /** Notes in the journal that the window `entry` is about to be bound or invalidated. */
  noteWindow(entry: number): void {
    const { i32, journal } = this
    if (journal === 0) return
    i32[journal + Journal.window] = entry
    i32[journal + Journal.windowKey] = i32[entry + Key.key]!
    i32[journal + Journal.windowRegion] = i32[entry + Key.region]!
    i32[journal + Journal.stage] = journalStage.window
  }

  /** Marks the operation in the journal as done. */
  #noted(): void {
    if (this.journal !== 0) this.i32[this.journal + Journal.stage] = journalStage.none
  }

  /** Completes a receive of `q`, the one before `tail` if it is in a queue of its own; false if the CQ overran. */
  completeReceive(
    q: number,
    tail: number,
    wrId: number,
    status: number,
    opcode: number,
    flags: number,
    byteLen: number,
    immData: number,
    srcQp: number,
    solicited: boolean,
  ): boolean {
    const { i32 } = this
    const cq = this.cqWord(i32[q + Qp.recvCq]!)
    const e = this.reserve(cq)
    if (e >= 0 && this.journal !== 0) {
      const what = packWhat(status, opcode, solicited ? flags | solicitedFlag : flags)
      this.#note(journalStage.receive, cq, wrId, what, byteLen, immData, q, srcQp, solicited, tail)
    }
    // Before the completion is published: the program may post to its place then.
    if (i32[q + Qp.srq]! < 0) this.segment.publish(q + Qp.rqTail, tail)
    if (e < 0) return false
    this.commit(cq, e, wrId, status, opcode, flags, byteLen, immData, q, srcQp, solicited)
    this.#noted()
    return true
  }

  #overrun(cq: number): void {
    const { i32 } = this
    // IBA C11-37: a CQ that is full takes no more completions, and makes an asynchronous error.
    if (Atomics.compareExchange(i32, cq + Cq.state, cqState.live, cqState.overrun) !== cqState.live) return
    // Threads that write to it without its lock are to look again.
    this.segment.bumpEpoch()
    this.count(i32[cq + Cq.device]!, 'cq_overruns')
    this.cqEvent(cq, EventType.CqErr)
    this.wakeChannel(cq)
  }

  /** Marks the completions of a QP that is reset or destroyed, so that polling passes over them. */
  purgeCompletions(cq: number, qpNum: number): void {
    const { i32, segment } = this
    segment.lock(cq + Cq.pollLock)
    segment.lock(cq + Cq.lock)
    const ended = i32[cq + Cq.state] === cqState.dead
    if (!ended) this.countPublished(cq)
    for (let at = i32[cq + Cq.tail]!; !ended && at !== i32[cq + Cq.head]!; at = (at + 1) | 0) {
      const e = i32[cq + Cq.ring]! + (at & i32[cq + Cq.mask]!) * Cqe.words
      if (i32[e + Cqe.qpNum] === qpNum) i32[e + Cqe.what] = statusPurged
    }
    segment.unlock(cq + Cq.lock)
    segment.unlock(cq + Cq.pollLock)
  }

  // --- waiting senders ---------------------------------------------------------------------------------------------

  /** Takes a QP off the list of those that wait for a receive of an SRQ. */
  stopWaiting(q: number): void {
    const { i32, segment } = this
    const srqSlot = i32[q + Qp.waitingOn]! - 1
    if (srqSlot < 0) return
    const srq = this.srqWord(srqSlot)
    segment.lock(srq + Srq.lock)
    const slot = this.qpSlot(q) + 1
    for (let at = srq + Srq.waiting; i32[at] !== 0; at = this.qpWord(i32[at]! - 1) + Qp.nextWaiting) {
      if (i32[at] !== slot) continue
      i32[at] = i32[q + Qp.nextWaiting]!
      break
    }
    i32[q + Qp.nextWaiting] = 0
    i32[q + Qp.waitingOn] = 0
    segment.unlock(srq + Srq.lock)
  }

  // --- receives ----------------------------------------------------------------------------------------------------

  /**
   * Takes the next receive of an SRQ and copies it to `to[at]`, since its entry may be used again at once: `at`, or `noReceive`,
   * or `receiveTooShort` if it holds less than `bytes`; then it stays. Makes the event for which a limit was set.
   */
  takeFromSrq(srqSlot: number, to: Int32Array, at: number, bytes: number): number {
    const { i32, segment } = this
    const srq = this.srqWord(srqSlot)
    segment.lock(srq + Srq.lock)
    const tail = i32[srq + Srq.tail]!
    const head = Atomics.load(i32, srq + Srq.head)
    if (tail === head || i32[srq + Srq.state] !== recordState.live) {
      segment.unlock(srq + Srq.lock)
      return noReceive
    }
    const stride = i32[srq + Srq.stride]!
    const r = i32[srq + Srq.ring]! + (tail & i32[srq + Srq.mask]!) * stride
    if (this.receiveIsShort(r, bytes)) {
      segment.unlock(srq + Srq.lock)
      return receiveTooShort
    }
    for (let i = 0; i < stride; i++) to[at + i] = i32[r + i]!
    Atomics.store(i32, srq + Srq.tail, (tail + 1) | 0)
    const limit = i32[srq + Srq.limit]!
    // IBA list-103: the limit event of an SRQ comes once.
    if (limit > 0 && ((head - tail - 1) | 0) < limit) {
      i32[srq + Srq.limit] = 0
      this.srqEvent(srq, EventType.SrqLimitReached)
    }
    segment.unlock(srq + Srq.lock)
    return at
  }

  /** Returns true if the elements of the receive at `r` hold less than `bytes`. */
  receiveIsShort(r: number, bytes: number): boolean {
    if (bytes === 0) return false
    const { i32 } = this
    let room = 0
    // A length above 2^31 is rejected where it is written to.
    for (let i = 0, s = r + Rwqe.data; i < i32[r + Rwqe.sges]!; i++, s += Sg.words) room += i32[s + Sg.length]! >>> 0
    return room < bytes
  }

  /** Makes the event, once in SQD, that all requests posted before are done. */
  drained(q: number): void {
    const { i32 } = this
    if (i32[q + Qp.sqDraining] !== 1 || ((i32[q + Qp.sqNext]! - i32[q + Qp.sqDrainAt]!) | 0) < 0) return
    i32[q + Qp.sqDraining] = 0
    // IBA list-59: in SQD, requests posted before are completed, and an event reports it.
    if (i32[q + Qp.sqDrainNotify] === 1) this.qpEvent(q, EventType.SqDrained)
  }

  // --- flushing ----------------------------------------------------------------------------------------------------

  /** Flushes the receive queue; the receive lock is held. */
  flushReceives(q: number): void {
    const { i32, f64 } = this
    if (i32[q + Qp.srq]! >= 0) {
      // IBA list-107: the receives of an SRQ stay; the event reports that this QP takes no more of them.
      if (i32[q + Qp.lastWqe] === 0) {
        i32[q + Qp.lastWqe] = 1
        this.qpEvent(q, EventType.QpLastWqeReached)
      }
      return
    }
    const { WrFlushErr } = WcStatus
    for (;;) {
      const tail = i32[q + Qp.rqTail]!
      if (tail === Atomics.load(i32, q + Qp.rqHead)) return
      const r = i32[q + Qp.rqRing]! + (tail & i32[q + Qp.rqMask]!) * i32[q + Qp.rqStride]!
      this.completeReceive(q, (tail + 1) | 0, f64[(r + Rwqe.wrId) >> 1]!, WrFlushErr, WcOpcode.Recv, 0, 0, 0, 0, false)
    }
  }

  /** Flushes what is in the send queue; the send lock is held. */
  flushSends(q: number): void {
    const { i32 } = this
    // IBA list-68: outstanding requests are flushed in order.
    while (i32[q + Qp.sqNext] !== i32[q + Qp.sqHead]) this.completeSend(q, WcStatus.WrFlushErr, 0)
  }

  /**
   * Ends the request at the front of the send queue with this status; a completion is made if it is an error or signaled.
   * False if the CQ overran: then the QP is in ERR, with the event QP_FATAL, and its receives are still to be flushed.
   */
  completeSend(q: number, status: number, byteLen: number): boolean {
    const { i32, f64 } = this
    const next = i32[q + Qp.sqNext]!
    const w = i32[q + Qp.sqRing]! + (next & i32[q + Qp.sqMask]!) * i32[q + Qp.sqStride]!
    const after = (next + 1) | 0
    // IBA 10.7.3.1: a request that is not signaled completes without a completion, unless it fails.
    if (status === WcStatus.Success && (i32[w + Wqe.flags]! & SendFlag.Signaled) === 0 && i32[q + Qp.sqSigAll] === 0) {
      i32[q + Qp.sqNext] = after
      return true
    }
    const cq = this.cqWord(i32[q + Qp.sendCq]!)
    const opcode = completionOpcodes[i32[w + Wqe.opcode]!]!
    const wrId = f64[(w + Wqe.wrId) >> 1]!
    const e = this.reserve(cq)
    if (e >= 0 && this.journal !== 0)
      this.#note(journalStage.send, cq, wrId, packWhat(status, opcode, 0), byteLen, 0, q, after, false, after)
    i32[q + Qp.sqNext] = after
    if (e < 0) {
      // IBA C9-218: a request that cannot complete, since the CQ is full, ends its QP.
      if (this.breakQp(q, QpState.Err, 'CqOverrun')) this.qpEvent(q, EventType.QpFatal)
      return false
    }
    this.commit(cq, e, wrId, status, opcode, 0, byteLen, 0, q, after, false)
    this.#noted()
    return true
  }

  setState(q: number, state: QpState): void {
    Atomics.store(this.i32, q + Qp.state, state)
    this.segment.bumpEpoch()
  }

  /** Moves a QP to an error state because of what happened, unless its owner has reset it meanwhile. */
  breakQp(q: number, state: typeof QpState.Err | typeof QpState.Sqe, reason: QpFailure): boolean {
    const { i32 } = this
    for (;;) {
      const from = Atomics.load(i32, q + Qp.state)
      if (from === QpState.Reset || from === QpState.Err) return false
      if (Atomics.compareExchange(i32, q + Qp.state, from, state) === from) break
    }
    this.segment.bumpEpoch()
    const { news } = this.platform
    if (news?.wantsErrors)
      news.qpError(i32[q + Qp.device]!, i32[q + Qp.number]!, state === QpState.Err ? 'ERR' : 'SQE', reason)
    return true
  }

  /**
   * Locks a send queue against all threads, also against the thread that may use it without the lock: after a second thread has come, no
   * thread may do so any more. This thread may not be in an operation.
   */
  lockSends(q: number): void {
    const { i32, segment } = this
    segment.lock(q + Qp.sqLock)
    const bias = i32[q + Qp.bias]!
    if (bias > 0 && bias !== segment.me) {
      i32[q + Qp.bias] = -1
      segment.bumpEpoch()
      segment.quiesce()
    }
  }

  /**
   * Flushes both queues of a QP that is in ERR, receives first, in order; no lock may be held, and a grace period must
   * have passed since the state changed. A repeated call flushes what was posted meanwhile. Nothing is done if the QP that
   * `ref` names is gone, or not in ERR.
   */
  flushBroken(ref: number): void {
    const { i32, segment } = this
    const q = this.qpWord(slotOf(ref))
    segment.lock(q + Qp.rqLock)
    const broken = i32[q + Qp.ref] === ref && i32[q + Qp.state] === QpState.Err
    if (broken) this.flushReceives(q)
    segment.unlock(q + Qp.rqLock)
    if (!broken) return
    this.lockSends(q)
    if (i32[q + Qp.ref] === ref && i32[q + Qp.state] === QpState.Err) {
      this.flushSends(q)
      i32[q + Qp.pending] = 0
      i32[q + Qp.executor] = 0
    }
    segment.unlock(q + Qp.sqLock)
  }
}
