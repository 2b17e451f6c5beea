/**
 * Waiting of a thread, and waking it: one way for each attachment, whatever the thread waits for. A thread that waits notes its way of
 * waiting in the record of its attachment (`Attachment.parked`), and then checks once more what it waits for; a thread that has changed
 * that clears the word, and wakes the waiting thread in the way that it noted:
 *
 *     futex         it blocks, on that word
 *     descriptors   it blocks in the kernel, on sockets and on a descriptor of its own
 *     loop          it waits in its event loop, which watches that descriptor: see loop-wakeups.ts
 *
 * So a producer knows a thread by the number of its attachment and nothing else, and makes no system call for one that runs.
 *
 * In the segment of a process that descriptor is an event descriptor, signalled by its number. In a named segment it is a pipe, whose
 * number means something in one process only; all others, of whatever process, open it by way of /proc and know it by its inode. A pipe
 * costs 0.05 µs more each time.
 */

import { seldomMs, untilLook } from './looks.ts'
import { hasLoopWakeup, LoopWakeups } from './loop-wakeups.ts'
import {
  type ContextWord,
  drainEventFd,
  drainPipe,
  makeEventFd,
  nativeAvailable,
  PollRequests,
  waitReadable as pollReadable,
  signalEventFd,
} from './native/index.ts'
import { Attachment, attachmentWord, ownerMask } from './segment-layout.ts'
import { touch, watchTouches } from './touches.ts'

const parked = { no: 0, futex: 1, descriptors: 2, loop: 3 } as const

/** Part of the segment that parking needs. */
export interface ParkingSegment {
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly me: number
  /** Name of the segment; not null if other processes share it. */
  readonly name: string | null
  readonly buffer: ArrayBuffer | SharedArrayBuffer
  uses(): Iterable<number>
  wait(word: number, expected: number, timeoutMs: number): void
  waitAsync(word: number, expected: number, timeoutMs: number): Promise<void>
  notify(word: number): void
}

/**
 * Longest wait of a thread that has a pipe, before it watches the file of the segment: the first wake-up that cannot reach it is lost.
 * After that, each wait in which nothing came is followed by one twice as long.
 */
const longestReachableMs = untilLook(250)
/** Longest wait of a thread that some threads cannot reach, or that has no pipe: it learns of events only by looking. */
const longestUnreachableMs = 10

export class Parking {
  readonly #segment: ParkingSegment
  readonly #i32: Int32Array
  readonly #own: number
  readonly #parked: number
  /** LoopWakeups of this thread's event loop. */
  readonly loop: LoopWakeups
  #requests: PollRequests | undefined
  /** `LoopWakeups.signalCount` when its requests were looked at last. */
  #signalsTaken = 0
  #descriptor = -1
  #longestWaitMs = longestReachableMs
  #defers = false
  /** The attachments to wake, as far as `#deferredCount`. */
  readonly #deferred: number[] = []
  #deferredCount = 0

  constructor(segment: ParkingSegment) {
    const { i32, f64, me, name } = segment
    this.#segment = segment
    this.#i32 = i32
    this.#own = attachmentWord(me)
    this.#parked = this.#own + Attachment.parked
    this.loop = new LoopWakeups(
      i32,
      f64,
      this.#own + Attachment.loopWakeup,
      name === null ? () => this.#eventFd() : null,
    )
    if (name !== null) this.loop.onUnreachable = () => touch(segment.buffer as ArrayBuffer)
    this.loop.onWake = () => {
      Atomics.store(i32, this.#parked, this.loop.waits ? parked.loop : parked.no)
    }
  }

  // --- blocking ----------------------------------------------------------------------------------------------------

  /** Blocks while the word has the expected value and this thread is not woken, at most `timeoutMs`. */
  park(word: number, expected: number, timeoutMs: number): void {
    Atomics.store(this.#i32, this.#parked, parked.futex)
    if (Atomics.load(this.#i32, word) === expected) this.#segment.wait(this.#parked, parked.futex, timeoutMs)
    this.#runOn()
  }

  /**
   * Begins to wait for descriptors: a thread that changes something from here on wakes this one. What it waits for has to be
   * looked at after this, and then follows `waitReadable` or not, and `endWait`. With several segments that is done for each.
   */
  beginWait(): void {
    this.#descriptor = this.#segment.name === null ? this.#eventFd() : this.loop.pipe
    Atomics.store(this.#i32, this.#parked, parked.descriptors)
    // What is looked at now comes after that store also where a plain load would not: after an atomic one.
    Atomics.load(this.#i32, this.#parked)
  }

  /** Descriptor that ends a wait in the kernel, between `beginWait` and `endWait`; −1 if there is none. */
  get descriptor(): number {
    return this.#descriptor
  }

  /** Longest time of one wait in the kernel, so that a lost wake-up delays and does not stop. */
  get longestMs(): number {
    if (this.#descriptor < 0) return longestUnreachableMs
    if (this.#segment.name === null) return Number.POSITIVE_INFINITY
    return hasLoopWakeup(this.#i32, this.#own + Attachment.loopWakeup) ? this.#longestWaitMs : longestUnreachableMs
  }

  /** Descriptor that ends a wait besides `descriptor`: −1 while this thread looks often enough without. */
  get touches(): number {
    return this.#longestWaitMs > longestReachableMs ? this.#watchTouches() : -1
  }

  /** Returns the same descriptor in any case; −1 if it cannot be made. */
  #watchTouches(): number {
    const { name, buffer } = this.#segment
    return name === null ? -1 : this.loop.watch(() => watchTouches(buffer as ArrayBuffer))
  }

  /** Notes that nothing has come in a wait of the maximum length. */
  rested(): void {
    if (this.#watchTouches() >= 0)
      this.#longestWaitMs = Math.min(2 * this.#longestWaitMs, Math.max(longestReachableMs, seldomMs))
  }

  /** Notes that something has come. */
  stirred(): void {
    this.#longestWaitMs = longestReachableMs
  }

  /** True if a thread that blocks on descriptors is woken also by threads that cannot reach it: it need not look often. */
  get mayRestBlocked(): boolean {
    return this.#segment.name === null || this.#watchTouches() >= 0
  }

  /**
   * True if this thread's event loop is woken also by threads that cannot reach it, and for threads that ended before they woke it: it need
   * not look often.
   */
  get mayRest(): boolean {
    return this.wakesByDescriptor && this.mayRestBlocked
  }

  /** Makes `descriptor` unreadable. */
  drain(): void {
    if (this.#segment.name === null) drainEventFd(this.#descriptor)
    else drainPipe(this.#descriptor)
  }

  endWait(): void {
    this.#runOn()
  }

  /**
   * The descriptor that ends this thread's waits in the segment of its process, −1 if it cannot be had. It is never closed but left to the next thread with
   * this attachment number, so that a late signal meets nothing else.
   */
  #eventFd(): number {
    const word = this.#own + Attachment.eventFd
    if (this.#i32[word] === 0) {
      try {
        this.#i32[word] = makeEventFd() + 1
      } catch {
        // No descriptors left: it waits without one, and tries again.
      }
    }
    return this.#i32[word]! - 1
  }

  // --- in the event loop -------------------------------------------------------------------------------------------

  /** True if the event loop has a descriptor of its own to be woken by. If not, `waitInLoop` costs more. */
  get wakesByDescriptor(): boolean {
    return nativeAvailable && this.loop.usable
  }

  /** Waits in the event loop while the word has the expected value, at most `timeoutMs`; it may end earlier. */
  async waitInLoop(word: number, expected: number, timeoutMs: number): Promise<void> {
    Atomics.store(this.#i32, this.#parked, parked.loop)
    if (this.wakesByDescriptor) await this.loop.wait(word, expected, timeoutMs)
    else if (Atomics.load(this.#i32, word) === expected)
      await this.#segment.waitAsync(this.#parked, parked.loop, timeoutMs)
  }

  /**
   * Has the kernel wake this thread's event loop once one of the first `count` of `fds` can be read: see native/poll-requests.ts. False
   * where that is not possible.
   */
  watchInLoop(fds: Int32Array, count: number): boolean {
    if (!this.wakesByDescriptor) return false
    if (this.#requests === undefined) {
      const eventFd = this.loop.kernelSignals
      if (eventFd < 0) return false
      const { f64, me } = this.#segment
      this.#requests = new PollRequests(eventFd, pollContextOf(f64, me))
    }
    if (this.#signalsTaken !== this.loop.signalCount) {
      this.#signalsTaken = this.loop.signalCount
      this.#requests.signaled = true
    }
    return this.#requests.arm(fds, count)
  }

  /** Changes when a descriptor of `watchInLoop` may have become readable since. */
  get signalCount(): number {
    return this.loop.signalCount
  }

  /** Marks this thread as no longer blocked. A wake-up that ended its wait may have been meant for the event loop. */
  #runOn(): void {
    Atomics.store(this.#i32, this.#parked, parked.no)
    // Of a segment of one process both have the same descriptor.
    if (this.#segment.name === null) this.loop.signalCount++
    this.loop.recheckSoon()
  }

  // --- waking ------------------------------------------------------------------------------------------------------

  /**
   * Makes `wake` only note the threads to wake, until `wakeDeferred`: for a thread that holds locks or is in an operation. The kernel may
   * let the other thread run at once in its place, which then would wait for those locks.
   */
  deferWakes(): void {
    this.#defers = true
  }

  /** Wakes those that were noted, and defers no longer. */
  wakeDeferred(): void {
    this.#defers = false
    while (this.#deferredCount > 0) this.wake(this.#deferred[--this.#deferredCount]!)
  }

  #defer(attachment: number): void {
    const count = this.#deferredCount
    for (let i = 0; i < count; i++) if (this.#deferred[i] === attachment) return
    this.#deferred[count] = attachment
    this.#deferredCount = count + 1
  }

  /** Wakes a thread if it waits. What it waits for must have changed before. */
  wake(attachment: number): void {
    if (this.#defers) {
      this.#defer(attachment)
      return
    }
    const record = attachmentWord(attachment)
    switch (Atomics.exchange(this.#i32, record + Attachment.parked, parked.no)) {
      case parked.futex:
        this.#segment.notify(record + Attachment.parked)
        return
      case parked.descriptors:
        this.#signal(record)
        return
      case parked.loop:
        this.#wakeLoop(attachment, record)
    }
  }

  /** Wakes a thread's event loop even if no call waits there, for its listeners. */
  wakeLoop(attachment: number): void {
    const record = attachmentWord(attachment)
    if (hasLoopWakeup(this.#i32, record + Attachment.loopWakeup)) this.#wakeLoop(attachment, record)
  }

  /** Wakes all other threads, also those that a thread was about to wake when it ended. */
  wakeAll(): void {
    for (const use of this.#segment.uses()) {
      const attachment = use & ownerMask
      if (attachment === this.#segment.me) continue
      const record = attachmentWord(attachment)
      Atomics.store(this.#i32, record + Attachment.parked, parked.no)
      this.#segment.notify(record + Attachment.parked)
      if (hasLoopWakeup(this.#i32, record + Attachment.loopWakeup) || this.#segment.name === null)
        this.#signal(record, false)
    }
  }

  #signal(record: number, needed = true): void {
    if (this.#segment.name !== null) {
      this.loop.wake(record + Attachment.loopWakeup, this.#i32[record + Attachment.pid]!, needed)
      return
    }
    const fd = this.#i32[record + Attachment.eventFd]! - 1
    if (fd >= 0) signalEventFd(fd)
  }

  #wakeLoop(attachment: number, record: number): void {
    const wakeup = record + Attachment.loopWakeup
    if (!hasLoopWakeup(this.#i32, wakeup)) this.#segment.notify(record + Attachment.parked)
    else if (attachment === this.#segment.me) this.loop.recheckSoon()
    else this.#signal(record)
  }
}

/** Readability of each descriptor of a wait. */
let ready = new Uint8Array(64)

/**
 * Blocks until this thread is woken by way of one of `parkings`, of which each has begun to wait, or one of the first `count` of `fds`
 * can be read, at most `timeoutMs`; it may end earlier. Behind those `fds` has room for two more of each parking. Returns how many can be
 * read, with those of the parkings: 0 after the time. `which`, if given, has room for as many and gets 1 for each that
 * can, 2 for one that is closed or broken, else 0.
 */
export function waitReadable(
  parkings: readonly Parking[],
  fds: Int32Array,
  count: number,
  timeoutMs: number,
  which?: Uint8Array,
): number {
  let all = count
  let ms = timeoutMs
  for (const parking of parkings) {
    fds[all++] = parking.descriptor
    ms = Math.min(ms, parking.longestMs)
  }
  // The file is watched before the check whether other threads can reach this one, since those that cannot touch the file.
  const touches = all
  for (const parking of parkings) {
    const fd = parking.touches
    if (fd < 0) continue
    fds[all++] = fd
    ms = Math.min(ms, parking.longestMs)
  }
  if (ready.length < all) ready = new Uint8Array(2 * all)
  const readies = which ?? ready
  const readable = pollReadable(fds, all, ms, readies)
  if (readable > 0) {
    for (let i = 0; i < parkings.length; i++) {
      if (readies[count + i] !== 0) parkings[i]!.drain()
      parkings[i]!.stirred()
    }
    for (let i = touches; i < all; i++) if (readies[i] !== 0) drainPipe(fds[i]!)
  } else if (ms < timeoutMs) for (const parking of parkings) if (parking.longestMs <= ms) parking.rested()
  return readable
}

/** Returns the location of the context of an attachment's poll requests. */
export function pollContextOf(f64: Float64Array, attachment: number): ContextWord {
  return { f64, index: (attachmentWord(attachment) + Attachment.pollContext) >> 1 }
}
