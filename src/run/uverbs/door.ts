/**
 * The door of one uverbs device: opened files, and the work between the queues of all programs and the adapter.
 *
 * Completion queues are polled while completions arrive. Before the supervisor sleeps they are armed, so that a completion, from whichever
 * thread, ends its wait; an event on the channel of this thread then identifies the queue to poll again.
 */

import { nowNs, type Parking } from '../../memory/index.ts'
import {
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  type QueuePair,
  VerbsError,
  type WorkCompletion,
  workCompletions,
} from '../../verbs/index.ts'
import { layout } from '../../verbs/provider/index.ts'
import type { Call, Door, QueueFile } from '../door.ts'
import type { AdapterWatch } from './device-watch.ts'
import type { EventPipe } from './event-pipe.ts'
import { OpenedDevice } from './opened-device.ts'
import type { ProgramCq } from './program-cq.ts'
import type { ProgramQp } from './program-qp.ts'
import { type ProgramSrq, srqNumbers } from './program-srq.ts'
import { Slots } from './slots.ts'
import type { Station } from './station.ts'
import { Translation } from './translation.ts'
import type { Waist } from './waist.ts'
import { WatchedTranslation } from './watched.ts'
import type { Broken, Taken } from './work.ts'

const { Qp } = layout

const completionsAtOnce = 32
/** Number of requests since the previous call of `gathers` from which the door gathers. */
const manyPosted = 8
/** Turns of polling one queue before the other queues have theirs. */
const pollTurns = 32
/** Interval of attempts, in milliseconds, while events wait for room in a pipe: it holds thousands, so its program does not read them. */
const blockedPipesMs = 20

/**
 * Time, in milliseconds, that a program may leave completions in a queue with a channel that it has not armed, before the door checks
 * whether it waits, and reminds it. While a program does other work, the interval doubles after each check, up to `longestNoticeMs`.
 */
const noticeMs = 20
const longestNoticeMs = 20_000

/** Major number of uverbs devices, and the minor number of the first. */
const major = 231
const firstMinor = 192

export interface DoorOptions {
  /** Observer of the programs' use of the device. */
  readonly watch?: AdapterWatch | null
  /** Called for programs whose library sends commands by write(2), as before rdma-core 22. */
  readonly onOldLibrary?: (pid: number) => void
  /** The time, in nanoseconds. */
  readonly now?: () => number
}

const nobody = (): void => {}

export class UverbsDoor implements Door, Station {
  readonly path: string
  readonly device: readonly [number, number]
  readonly hasQueues = true
  readonly parkings: readonly Parking[]
  readonly explains = true
  readonly waist: Waist
  readonly watch: AdapterWatch | null
  readonly onOldLibrary: (pid: number) => void
  readonly translation: Translation
  readonly blockedPipes: Set<EventPipe> = new Set()
  readonly #context: Context
  readonly #wakes: CompletionChannel
  readonly #qps = new Slots<ProgramQp>()
  readonly #srqs = new Slots<ProgramSrq>()
  readonly #qpsByNumber = new Map<number, ProgramQp>()
  readonly #files = new Set<OpenedDevice>()
  readonly #completions: WorkCompletion[] = workCompletions(completionsAtOnce)
  /** Queues that are polled. */
  readonly #active: ProgramCq[] = []
  readonly #pending: Taken[] = []
  readonly #broken: Broken[] = []
  /** Queues whose programs may not have noticed completions, and the time of the next check. */
  readonly #unnoticed: ProgramCq[] = []
  #noticeDueNs = Number.POSITIVE_INFINITY
  readonly #now: () => number
  #polling = false
  #postedBefore = 0
  /** Queue pair whose requests were posted last, and their number in a row, for none of which its program has waited. */
  #lastTaken: QueuePair | null = null
  #streak = 0
  /** Value of `Segment.workWord`, the count of work that other threads leave to this one, at the last check. */
  #seenWork = 0

  /** `number`: that of `/dev/infiniband/uverbsN`. */
  constructor(waist: Waist, number: number, { watch = null, onOldLibrary = nobody, now = nowNs }: DoorOptions = {}) {
    this.#now = now
    this.watch = watch
    this.onOldLibrary = onOldLibrary
    this.path = `/dev/infiniband/uverbs${number}`
    this.device = [major, firstMinor + number]
    this.waist = waist
    this.#context = waist.context
    this.parkings = [waist.context.device.host.segment.parking]
    this.#wakes = waist.context.createCompChannel()
    this.translation = watch === null ? new Translation(waist.context) : new WatchedTranslation(waist.context)
  }

  open(call: Call): QueueFile {
    const file = new OpenedDevice(this, this, call.process.pid)
    this.#files.add(file)
    return file
  }

  closed(file: OpenedDevice): void {
    this.#files.delete(file)
  }

  // --- turns ---------------------------------------------------------------------------------------------------------

  progress(): boolean {
    const { device } = this.#context
    device.endSleep?.()
    let moved = this.#takeOver()
    moved = this.#takeEvents() || moved
    // Queues for which other threads have produced completions come after those whose programs have rung a doorbell. The programs of the
    // former are notified first, since they sleep until the message is there, while the others wait for its completion only.
    for (let i = this.#active.length - 1; i >= 0; i--) moved = this.poll(this.#active[i]!) || moved
    moved = this.takeAsyncEvents() || moved
    if (this.#pending.length > 0) moved = this.#takePending() || moved
    while (this.#broken.length > 0) this.#broken.pop()!.fatal()
    if (this.#unnoticed.length > 0 && this.#now() >= this.#noticeDueNs) this.#remind()
    if (this.blockedPipes.size > 0) for (const pipe of this.blockedPipes) moved = pipe.flush() || moved
    return moved
  }

  /** Takes over requests of other threads of the segment to queue pairs of programs, and those of programs whose time has come. */
  #takeOver(): boolean {
    const { device } = this.#context
    const { i32, pendingCount } = device.host
    const work = Atomics.load(i32, device.host.segment.workWord)
    const isNew = work !== this.#seenWork
    this.#seenWork = work
    // On a network, packets arrive without a notification.
    if (device.look !== undefined) return device.look() > 0 || isNew
    if (isNew || i32[pendingCount] !== 0) device.progress()
    return isNew
  }

  /** Polls the queues again for which the channel has events. */
  #takeEvents(): boolean {
    let any = false
    for (;;) {
      const cq = this.#wakes.tryGetEvent()
      if (cq === null) return any
      cq.ackEvents(1)
      this.activate(cq.cqContext as ProgramCq)
      any = true
    }
  }

  #takePending(): boolean {
    let any = false
    for (const queue of this.#pending.splice(0)) {
      queue.pending = false
      any = this.takeFrom(queue) || any
    }
    return any
  }

  arm(): boolean {
    for (const { cq } of this.#active) cq.reqNotify()
    let found = false
    for (const cq of this.#active) found = this.poll(cq) || found
    if (found || this.#wakes.hasEvent || this.takeAsyncEvents()) return false
    const { i32, segment } = this.#context.device.host
    if (Atomics.load(i32, segment.workWord) !== this.#seenWork) return false
    for (const cq of this.#active) cq.active = false
    this.#active.length = 0
    return true
  }

  gathers(): boolean {
    const { posted } = this.translation
    const count = posted - this.#postedBefore
    this.#postedBefore = posted
    return count >= manyPosted || (count > 0 && this.#isStream())
  }

  /**
   * True if one program posts a stream, and no peer answers: a peer that did would have posted in between. On a network, or if another
   * process drives the peer, this cannot be determined. If each of such requests woke this thread, it would take the poster's processor
   * every time.
   */
  #isStream(): boolean {
    const qp = this.#lastTaken
    const { device } = this.#context
    if (qp === null || this.#streak < manyPosted || device.look !== undefined) return false
    const { host } = device
    return this.#qpsByNumber.has(host.i32[host.qpWord(qp.slot) + Qp.destQpNum]!)
  }

  descriptors(into: Int32Array, from: number): number {
    return this.#context.device.beginSleep?.(into, from) ?? 0
  }

  restMs(): number {
    let dueMs = Math.ceil(this.#context.device.dueInMs?.() ?? Number.POSITIVE_INFINITY)
    if (this.#unnoticed.length > 0)
      dueMs = Math.min(dueMs, Math.max(0, Math.ceil((this.#noticeDueNs - this.#now()) / 1e6)))
    return this.blockedPipes.size > 0 ? Math.min(dueMs, blockedPipesMs) : dueMs
  }

  // --- completions ---------------------------------------------------------------------------------------------------

  activate(cq: ProgramCq): void {
    if (cq.active) return
    cq.active = true
    this.#active.push(cq)
  }

  poll(cq: ProgramCq): boolean {
    // A completion that ends a queue pair must not poll into the completions that are being processed.
    if (this.#polling) return false
    this.#polling = true
    let any = false
    try {
      for (let turn = 0; turn < pollTurns; turn++) {
        const count = cq.cq.poll(this.#completions)
        for (let i = 0; i < count; i++) this.#complete(this.#completions[i]!)
        any = any || count > 0
        if (count < completionsAtOnce) break
      }
    } finally {
      this.#polling = false
    }
    // One that had been left for long, and was taken since, is new again.
    if (any && cq.noticeMs !== noticeMs && cq.isUnnoticed && (cq.noticeMs === 0 || cq.goesOn)) this.#watch(cq)
    return any
  }

  #watch(cq: ProgramCq): void {
    if (cq.noticeMs === 0) this.#unnoticed.push(cq)
    this.#lookIn(cq, noticeMs)
  }

  #lookIn(cq: ProgramCq, ms: number): void {
    cq.noticeMs = ms
    cq.noticeDueNs = this.#now() + ms * 1e6
    this.#noticeDueNs = Math.min(this.#noticeDueNs, cq.noticeDueNs)
  }

  /** Checks the queues whose time has come. */
  #remind(): void {
    const now = this.#now()
    this.#noticeDueNs = Number.POSITIVE_INFINITY
    for (const cq of this.#unnoticed.splice(0)) {
      const isDue = now >= cq.noticeDueNs
      if (isDue && (!cq.isUnnoticed || cq.remind())) {
        cq.noticeMs = 0
        continue
      }
      this.#unnoticed.push(cq)
      if (isDue) this.#lookIn(cq, cq.goesOn ? noticeMs : Math.min(2 * cq.noticeMs, longestNoticeMs))
      else this.#noticeDueNs = Math.min(this.#noticeDueNs, cq.noticeDueNs)
    }
  }

  /**
   * Delivers a completion to its queue. The low two bits of `wrId` give the kind: request of a queue pair (0), its receive (1), receive of
   * an SRQ (2); the bits above them give the slot of the queue pair, or the number of the receive.
   */
  #complete(wc: WorkCompletion): void {
    const { wrId } = wc
    const at = wrId >>> 2
    if ((wrId & 3) === 2) {
      const srq = this.#srqs.at((at / srqNumbers) | 0)
      srq?.received(wc, at % srqNumbers, this.#qpsByNumber.get(wc.qpNum))
      return
    }
    const qp = this.#qps.at(at)
    if (qp === undefined || qp.qp.qpNum !== wc.qpNum) return
    if ((wrId & 3) === 0) qp.sent(wc)
    else qp.received(wc)
  }

  takeAsyncEvents(): boolean {
    let any = false
    for (;;) {
      const event = this.#context.pollAsyncEvent()
      if (event === null) return any
      any = true
      const { type } = event
      if (event.qp) this.#qpsByNumber.get(event.qp.qpNum)?.raise(type)
      else if (event.cq) (event.cq as CompletionQueue & { cqContext: ProgramCq }).cqContext.raise(type)
      else if (event.srq) this.#srqOf(event.srq.ref)?.raise(type)
      else for (const { context } of this.#files) context.raise(BigInt(event.portNum ?? 0), type)
    }
  }

  #srqOf(ref: number): ProgramSrq | undefined {
    for (const srq of this.#srqs) if (srq.srq.ref === ref) return srq
    return undefined
  }

  // --- queues --------------------------------------------------------------------------------------------------------

  takeFrom(queue: Taken): boolean {
    try {
      return queue.take()
    } catch (error) {
      // The adapter has rejected what was checked: it is of this queue pair, and ends with it.
      if (!(error instanceof VerbsError)) throw error
      queue.fatal?.()
      return true
    }
  }

  takeLater(queue: Taken): void {
    if (queue.pending) return
    queue.pending = true
    this.#pending.push(queue)
  }

  took(qp: QueuePair, count: number, hasWaited: boolean): void {
    if (qp !== this.#lastTaken || hasWaited) this.#streak = 0
    this.#lastTaken = qp
    this.#streak += count
  }

  broke(qp: Broken): void {
    if (!this.#broken.includes(qp)) this.#broken.push(qp)
  }

  addCq(make: (context: Context, wakes: CompletionChannel) => ProgramCq): ProgramCq {
    const cq = make(this.#context, this.#wakes)
    // From now on a completion is seen: it is polled until the supervisor sleeps, and then armed.
    this.activate(cq)
    return cq
  }

  forgetCq(cq: ProgramCq): void {
    const at = this.#active.indexOf(cq)
    if (at >= 0) this.#active.splice(at, 1)
    cq.active = false
    const watched = this.#unnoticed.indexOf(cq)
    if (watched >= 0) this.#unnoticed.splice(watched, 1)
  }

  addQp(make: (slot: number) => ProgramQp): ProgramQp {
    const qp = this.#qps.add(make)
    this.#qpsByNumber.set(qp.qp.qpNum, qp)
    return qp
  }

  forgetQp(slot: number): void {
    const qp = this.#qps.remove(slot)
    if (qp === undefined) return
    this.#qpsByNumber.delete(qp.qp.qpNum)
    if (this.#lastTaken === qp.qp) this.#lastTaken = null
    this.waist.forget(qp.qp)
    this.#forget(qp)
  }

  addSrq(make: (slot: number) => ProgramSrq): ProgramSrq {
    return this.#srqs.add(make)
  }

  forgetSrq(slot: number): void {
    const srq = this.#srqs.remove(slot)
    if (srq === undefined) return
    this.waist.forget(srq.srq)
    this.#forget(srq)
  }

  #forget(queue: ProgramQp | ProgramSrq): void {
    const pending = this.#pending.indexOf(queue)
    if (pending >= 0) this.#pending.splice(pending, 1)
    const broken = queue.kind === 'qp' ? this.#broken.indexOf(queue) : -1
    if (broken >= 0) this.#broken.splice(broken, 1)
  }

  close(): void {
    for (const file of [...this.#files]) file.closed()
    this.#wakes.close()
  }
}
