/**
 * How a thread waits, and how others wake it: one way for each attachment, whatever the thread waits for. A thread that waits
 * says in the record of its attachment how it does so (`Attachment.parked`), and then looks once more at what it waits for; a
 * thread that has changed that takes the word away, and wakes the other one in the way that it said:
 *
 *     futex         it blocks, on that word
 *     descriptors   it blocks in the kernel, on sockets and on the event descriptor of its attachment
 *     loop          it waits in its event loop: see bells.ts
 *
 * So a producer knows a thread by the number of its attachment and nothing else, and makes no system call for one that runs.
 */
import { Bells, hasBell } from './bells.ts'
import {
  type ContextWord,
  drainEventFd,
  makeEventFd,
  nativeAvailable,
  PollRequests,
  signalEventFd,
  waitReadable,
} from './native/index.ts'
import { Attachment, attachmentWord } from './segment-layout.ts'

const parked = { no: 0, futex: 1, descriptors: 2, loop: 3 } as const

/** What parking needs of the segment. */
export interface ParkingSegment {
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly me: number
  /** Not null: other processes share it. */
  readonly name: string | null
  wait(word: number, expected: number, timeoutMs: number): void
  waitAsync(word: number, expected: number, timeoutMs: number): Promise<void>
  notify(word: number): void
}

const ready = new Uint8Array(1)

export class Parking {
  readonly #segment: ParkingSegment
  readonly #i32: Int32Array
  readonly #own: number
  readonly #parked: number
  /** Of this thread's event loop. */
  readonly bells: Bells
  #requests: PollRequests | undefined

  constructor(segment: ParkingSegment) {
    const { i32, f64, me, name } = segment
    this.#segment = segment
    this.#i32 = i32
    this.#own = attachmentWord(me)
    this.#parked = this.#own + Attachment.parked
    this.bells = new Bells(i32, f64, this.#own + Attachment.bell, name === null ? () => this.eventFd : null)
    this.bells.onRing = () => {
      Atomics.store(i32, this.#parked, this.bells.waits ? parked.loop : parked.no)
      if (this.#requests !== undefined) this.#requests.signaled = true
    }
  }

  // --- blocking ----------------------------------------------------------------------------------------------------

  /** Blocks while the word has the expected value and nobody wakes this thread, at most `timeoutMs`. */
  park(word: number, expected: number, timeoutMs: number): void {
    Atomics.store(this.#i32, this.#parked, parked.futex)
    if (Atomics.load(this.#i32, word) === expected) this.#segment.wait(this.#parked, parked.futex, timeoutMs)
    this.#runOn()
  }

  /**
   * Begins to wait for descriptors: whoever changes something from here on wakes this thread. What it waits for has to be
   * looked at after this, and then follows `waitReadable` or not, and `endWait`.
   */
  beginWait(): void {
    Atomics.store(this.#i32, this.#parked, parked.descriptors)
  }

  /** Blocks until one of the descriptors can be read, of which the first is `eventFd`; at most `timeoutMs`. */
  waitReadable(fds: Int32Array, count: number, timeoutMs: number): void {
    waitReadable(fds, count, timeoutMs, ready)
    if (ready[0] === 1) drainEventFd(fds[0]!)
  }

  endWait(): void {
    this.#runOn()
  }

  /**
   * The descriptor that ends this thread's waits in the kernel; of the process's own segment only. It is never closed but
   * left to the next thread with this attachment number, so that a late signal meets nothing else.
   */
  get eventFd(): number {
    const word = this.#own + Attachment.eventFd
    if (this.#i32[word] === 0) this.#i32[word] = makeEventFd() + 1
    return this.#i32[word]! - 1
  }

  // --- in the event loop -------------------------------------------------------------------------------------------

  /** Whether the event loop has a descriptor of its own to be woken by. If not, `waitInLoop` takes more. */
  get hearsBells(): boolean {
    return nativeAvailable && this.bells.usable
  }

  /** Waits in the event loop while the word has the expected value, at most `timeoutMs`; it may end earlier. */
  async waitInLoop(word: number, expected: number, timeoutMs: number): Promise<void> {
    Atomics.store(this.#i32, this.#parked, parked.loop)
    if (this.hearsBells) await this.bells.wait(word, expected, timeoutMs)
    else if (Atomics.load(this.#i32, word) === expected)
      await this.#segment.waitAsync(this.#parked, parked.loop, timeoutMs)
  }

  /**
   * Rings for this thread's event loop once one of the first `count` of `fds` can be read: see native/poll-requests.ts. False where
   * that cannot be had.
   */
  watchInLoop(fds: Int32Array, count: number): boolean {
    const { f64, me, name } = this.#segment
    if (name !== null || !this.hearsBells) return false
    this.#requests ??= new PollRequests(this.eventFd, pollContextOf(f64, me))
    return this.#requests.arm(fds, count)
  }

  /** This thread no longer blocks. A wake-up that ended its wait may have been meant for the event loop. */
  #runOn(): void {
    Atomics.store(this.#i32, this.#parked, parked.no)
    if (this.#requests !== undefined) this.#requests.signaled = true
    this.bells.lookSoon()
  }

  // --- waking ------------------------------------------------------------------------------------------------------

  /** Wakes a thread if it waits. What it waits for must have changed before. */
  wake(attachment: number): void {
    const record = attachmentWord(attachment)
    switch (Atomics.exchange(this.#i32, record + Attachment.parked, parked.no)) {
      case parked.futex:
        this.#segment.notify(record + Attachment.parked)
        return
      case parked.descriptors:
        this.#signal(record)
        return
      case parked.loop:
        this.#ring(attachment, record)
    }
  }

  #signal(record: number): void {
    const fd = this.#i32[record + Attachment.eventFd]! - 1
    if (fd >= 0) signalEventFd(fd)
  }

  #ring(attachment: number, record: number): void {
    const bell = record + Attachment.bell
    if (!hasBell(this.#i32, bell)) this.#segment.notify(record + Attachment.parked)
    else if (attachment === this.#segment.me) this.bells.lookSoon()
    else if (this.#segment.name === null) this.#signal(record)
    else this.bells.ring(bell, this.#i32[record + Attachment.pid]!)
  }
}

/** Where the context of the poll requests of an attachment is. */
export function pollContextOf(f64: Float64Array, attachment: number): ContextWord {
  return { f64, index: (attachmentWord(attachment) + Attachment.pollContext) >> 1 }
}
