/**
 * Requests that cannot be executed yet. They stay at the front of their send queue, which holds the reason and the deadline; the
 * segment's pending list has the QPs that a thread is to look at again at their deadlines.
 *
 *     pendingOn.receive   the peer has no receive: until one is posted, or for its RNR timer, `rnrRetry` times
 *     pendingOn.peer      the peer does not answer: for the ACK timeout, `retryCnt` times
 *     pendingOn.owner     this thread is to ask the owner of the peer, a hosted QP, for receives: as soon as it has no locks
 *     pendingOn.grace     the window is closed, but threads that had looked before may still use it: for a grace period
 */
import { nowNs } from '../../memory/index.ts'
import { type Host, isOthers, layout, QpType, WcStatus } from '../../verbs/provider/index.ts'
import { rnrTimerNs } from '../../wire/index.ts'

const { PendingList, Qp, qpEngine, Srq } = layout

/** Outcome of a request besides those of `WcStatus`. */
export const waits = -1
/** Outcome: there is a receive after all; it came while the request was suspended. */
export const receiveCame = -2

/** Reasons for which a request stays at the front of its queue. */
const pendingOn = { nothing: 0, receive: 1, peer: 2, grace: 3, owner: 4 } as const

/** RNR retry count that means no limit. */
const rnrRetryForever = 7

/** Interval after which a request whose timeout is 0 (no limit) looks for its peer again. */
const lookAgainNs = 1e6

/** Time after which another thread completes a grace period, or a request to an owner, because the thread that began it may have died. */
const graceIsLateNs = 100e6

/**
 * Minimum time that the thread that hosts a peer may take before the peer counts as one that does not answer: it may have to wait for a
 * processor.
 */
const answerNs = 500e6
/** Minimum of the same time for a message that may be lost: the requests after it in the queue wait meanwhile. */
const lossyAnswerNs = 50e6

/** Request to an owner: receives are to be posted to the QP or SRQ with this slot, and then the request of `q` is to go on. */
interface Ask {
  q: number
  queue: 'qp' | 'srq'
  slot: number
}

const nobody: readonly number[] = []

export class Waiting {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #f64: Float64Array

  /** Requests that `Executor.settle` is to make to the program. */
  readonly asked: Ask[] = []
  /** QP for whose request at the front the program has just been asked, 0 if there is none. */
  hasAsked = 0

  constructor(host: Host) {
    this.#host = host
    this.#i32 = host.i32
    this.#f64 = host.f64
  }

  /**
   * Queues a request to the program of this thread for a receive if there is none at `d` for the message of `q`. True if the program may
   * have one that it has not posted yet: then the message goes on after `settle` has requested it.
   */
  asksOwner(q: number, d: number): boolean {
    const host = this.#host
    if (host.refill === null) return false
    const i32 = this.#i32
    const srqSlot = i32[d + Qp.srq]!
    const srq = host.srqWord(srqSlot)
    const isHosted = srqSlot < 0 ? i32[d + Qp.engine] === qpEngine.hosted : i32[srq + Srq.hosted] === 1
    if (!isHosted || i32[srqSlot < 0 ? d + Qp.owner : srq + Srq.owner] !== host.segment.me) return false
    if (!this.mayAsk(q)) {
      this.hasAsked = 0
      return false
    }
    if (i32[q + Qp.pending] === pendingOn.nothing) this.#suspend(q, pendingOn.owner, nowNs() + graceIsLateNs)
    this.asked.push(srqSlot < 0 ? { q, queue: 'qp', slot: host.qpSlot(d) } : { q, queue: 'srq', slot: srqSlot })
    return true
  }

  /** True if there is a program to request receives from, and it has not just been called for the request at the front of `q`. */
  mayAsk(q: number): boolean {
    return this.#host.refill !== null && this.hasAsked !== q
  }

  // --- requests that one thread alone may execute: see hand-over.ts. The send lock is held in all of these. ---

  /** True if this thread may execute the request at the front of `q`. */
  mayRun(q: number): boolean {
    const executor = this.#i32[q + Qp.executor]!
    const { segment } = this.#host
    if (executor === segment.lockValue) return true
    if (isOthers(this.#host, q)) return false
    return executor === 0 || !segment.usesAttachment(executor) || this.isLate(q)
  }

  /** True if the thread to which the request was handed over has not answered in time. */
  isLate(q: number): boolean {
    const i32 = this.#i32
    const waits = i32[q + Qp.executor] !== 0 && i32[q + Qp.pending] === pendingOn.owner
    return waits && nowNs() >= this.#f64[(q + Qp.deadline) >> 1]!
  }

  /** Leaves the request at the front of `q` to the thread that has to execute it, which is woken. */
  leave(q: number): void {
    const i32 = this.#i32
    if (i32[q + Qp.sqNext] === i32[q + Qp.sqHead]) return
    // The thread that has it knows of it: the requests after it in the queue wait anyway.
    if (i32[q + Qp.executor] !== 0) return
    if (i32[q + Qp.pending] === pendingOn.nothing) this.#suspend(q, pendingOn.owner, 0)
    else this.#f64[(q + Qp.deadline) >> 1] = 0
    this.#wake(i32[q + Qp.owner]!)
  }

  /** Hands the request at the front of `q` over to the thread that hosts `d`. */
  handOver(q: number, d: number): number {
    const i32 = this.#i32
    const { segment } = this.#host
    const timeout = i32[q + Qp.timeout]!
    const isReliable = i32[q + Qp.type] === QpType.RC
    const isForEver = isReliable && timeout === 0
    const patience = isReliable ? Math.max(4096 * 2 ** timeout * (i32[q + Qp.retryCnt]! + 1), answerNs) : lossyAnswerNs
    const owner = i32[d + Qp.owner]!
    const use = segment.useOf(owner)
    // The owner has died, and a thread is cleaning up after it.
    if (use <= 0) return this.unreachable(q)
    this.#suspend(q, pendingOn.owner, isForEver ? Number.POSITIVE_INFINITY : nowNs() + patience)
    i32[q + Qp.executor] = use
    this.#wake(owner)
    return waits
  }

  /** Keeps the request at the front of `q` for this thread alone, which requests a receive from the program and then goes on with it. */
  keep(q: number): number {
    this.#i32[q + Qp.executor] = this.#host.segment.lockValue
    return waits
  }

  /** Returns the status of the request at the front of `q`, which no thread has executed. */
  unanswered(q: number): number {
    const i32 = this.#i32
    if (i32[q + Qp.type] === QpType.RC) return WcStatus.RetryExcErr
    this.#host.count(i32[q + Qp.device]!, 'drops_no_qp')
    return WcStatus.Success
  }

  /** Gives the request of `q` back to its owner, which goes on with it. */
  giveBack(q: number): void {
    const i32 = this.#i32
    const owner = i32[q + Qp.owner]!
    i32[q + Qp.pending] = pendingOn.owner
    this.#f64[(q + Qp.deadline) >> 1] = Number.POSITIVE_INFINITY
    i32[q + Qp.executor] = this.#host.segment.useOf(owner)
    this.#wake(owner)
  }

  /** Wakes the owner of `q`, whose request was handed over to this thread and is done: it looks for completions. */
  tellOwner(q: number): void {
    if (isOthers(this.#host, q)) this.#wake(this.#i32[q + Qp.owner]!)
  }

  #wake(attachment: number): void {
    const { segment } = this.#host
    segment.leaveWork(attachment)
    segment.parking.deferWakes()
    segment.wake(attachment)
  }

  /** Handles a peer of an RC request that does not answer: waits for the ACK timeout, and fails when the retries are used up. */
  unreachable(q: number): number {
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

  /**
   * Handles a peer `d` without a receive for the message of `q`: an RC request waits for the RNR timer, and fails when the retries are
   * used up; a UC message is dropped and counted. Returns `receiveCame` if there is one by now. The receive lock of `d` is held.
   */
  receiverNotReady(q: number, d: number): number {
    const i32 = this.#i32
    if (i32[q + Qp.type] !== QpType.RC) {
      this.#host.count(i32[d + Qp.device]!, 'uc_drops_no_receive')
      return WcStatus.Success
    }
    if (!this.#awaitReceive(q, d)) return receiveCame
    const now = nowNs()
    if (i32[q + Qp.pending] !== pendingOn.receive) i32[q + Qp.rnrLeft] = i32[q + Qp.rnrRetry]!
    else if (now < this.#f64[(q + Qp.deadline) >> 1]!) return waits
    this.#host.count(i32[d + Qp.device]!, 'send_rnr_err')
    this.#host.count(i32[q + Qp.device]!, 'rcvd_rnr_err')
    if (i32[q + Qp.rnrRetry] !== rnrRetryForever) {
      if (i32[q + Qp.rnrLeft] === 0) return WcStatus.RnrRetryExcErr
      i32[q + Qp.rnrLeft] = i32[q + Qp.rnrLeft]! - 1
    }
    this.#suspend(q, pendingOn.receive, now + rnrTimerNs[i32[d + Qp.minRnrTimer]!]!)
    return waits
  }

  /**
   * Marks `q` as waiting, for the thread that posts the next receive to `d`, or to its SRQ. False if a receive was posted since the queue
   * was found empty: its poster has perhaps not seen the mark. Both sides write first, pass a full barrier and look then, so one of them
   * sees the other.
   */
  #awaitReceive(q: number, d: number): boolean {
    const i32 = this.#i32
    const slot = this.#host.qpSlot(q) + 1
    const srqSlot = i32[d + Qp.srq]!
    if (srqSlot < 0) {
      Atomics.store(i32, d + Qp.rqWaiting, slot)
      if (Atomics.load(i32, d + Qp.rqHead) === i32[d + Qp.rqTail]) return true
      Atomics.compareExchange(i32, d + Qp.rqWaiting, slot, 0)
      return false
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
    const none = Atomics.load(i32, srq + Srq.head) === i32[srq + Srq.tail]
    segment.unlock(srq + Srq.lock)
    if (!none) this.#host.stopWaiting(q)
    return none
  }

  /**
   * Waits for a grace period if the request at the front of `q` has closed a window: a thread that resolved its key before may still be
   * copying. True if this thread is to wait for the period, and then to complete the request.
   */
  awaitGrace(q: number): boolean {
    const now = nowNs()
    if (this.inGrace(q) && now < this.#f64[(q + Qp.deadline) >> 1]!) return false
    this.#suspend(q, pendingOn.grace, now + graceIsLateNs)
    return true
  }

  inGrace(q: number): boolean {
    return this.#i32[q + Qp.pending] === pendingOn.grace
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
    segment.lock(at.pending + PendingList.lock)
    const slot = this.#host.qpSlot(q)
    const count = i32[pendingCount]!
    let listed = false
    for (let i = 0; i < count; i++) if (i32[at.pending + PendingList.list + i] === slot) listed = true
    if (!listed) {
      i32[at.pending + PendingList.list + count] = slot
      Atomics.store(i32, pendingCount, count + 1)
    }
    segment.unlock(at.pending + PendingList.lock)
  }

  /** Ends the wait of the request at the front of `q`. Its entry in the pending list is released by `due`. */
  stopPending(q: number): void {
    const i32 = this.#i32
    if (i32[q + Qp.pending] === pendingOn.nothing) return
    i32[q + Qp.pending] = pendingOn.nothing
    i32[q + Qp.executor] = 0
    this.hasAsked = 0
  }

  /** True if this thread keeps the time for the request at the front of `q`: of a queue pair that it hosts, or handed over to it. */
  #isForThis(q: number): boolean {
    const i32 = this.#i32
    const { segment } = this.#host
    if (i32[q + Qp.executor] === segment.lockValue) return true
    return i32[q + Qp.engine] === qpEngine.hosted && i32[q + Qp.owner] === segment.me && this.mayRun(q)
  }

  /** Returns the earliest retry time of the requests that this thread keeps the time for, in ns; Infinity if there is none. */
  nextDeadline(): number {
    const i32 = this.#i32
    const { segment, at, pendingCount } = this.#host
    let first = Number.POSITIVE_INFINITY
    if (i32[pendingCount] === 0) return first
    segment.lock(at.pending + PendingList.lock)
    for (let i = 0; i < i32[pendingCount]!; i++) {
      const q = this.#host.qpWord(i32[at.pending + PendingList.list + i]!)
      if (i32[q + Qp.number]! <= 0 || i32[q + Qp.pending] === pendingOn.nothing || !this.#isForThis(q)) continue
      first = Math.min(first, this.#f64[(q + Qp.deadline) >> 1]!)
    }
    segment.unlock(at.pending + PendingList.lock)
    return first
  }

  #skipped = 0

  /** Returns the slots of the QPs of the segment whose time has come; none while another thread holds the list. */
  due(): readonly number[] {
    const i32 = this.#i32
    const { segment, at, pendingCount } = this.#host
    // Another thread holds the list; but a thread that died with it must not stop the clock for all. A thread that hosts looks once for
    // each time that it is woken.
    const isHost = this.#host.refill !== null
    if (!isHost && Atomics.load(i32, at.pending + PendingList.lock) !== 0 && ++this.#skipped < 1000) return nobody
    this.#skipped = 0
    const now = nowNs()
    const due: number[] = []
    segment.lock(at.pending + PendingList.lock)
    for (let i = 0; i < i32[pendingCount]!; ) {
      const slot = i32[at.pending + PendingList.list + i]!
      const q = this.#host.qpWord(slot)
      if (i32[q + Qp.number]! <= 0 || i32[q + Qp.pending] === pendingOn.nothing) {
        const last = i32[pendingCount]! - 1
        i32[at.pending + PendingList.list + i] = i32[at.pending + PendingList.list + last]!
        i32[pendingCount] = last
        continue
      }
      const isHandedOver = i32[q + Qp.executor] !== 0 && i32[q + Qp.pending] === pendingOn.owner
      if ((isHandedOver || this.#f64[(q + Qp.deadline) >> 1]! <= now) && this.mayRun(q)) due.push(slot)
      i++
    }
    segment.unlock(at.pending + PendingList.lock)
    return due
  }
}
