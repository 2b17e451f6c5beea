/**
 * Waking event loops: each thread that waits in its event loop for words of a segment has a descriptor that its loop watches, and a thread
 * that has changed such a word writes to it. A futex would need a thread of the pool to wait on it, and two more wake-ups.
 *
 * In the segment of a process the descriptor is the event descriptor of the thread's attachment, which the kernel can signal as well. In a
 * named segment it is a pipe: the thread's attachment record identifies it by process, descriptor, and inode, so that no thread writes to
 * another file. Other processes of the same user open it through /proc/PID/fd. Threads of the same process do so, too: the inode proves
 * that the number has not passed to another file, as it may when the thread ends. The kernel signals a second descriptor there, which no
 * other thread knows.
 *
 * A thread that cannot reach a pipe (its process belongs to another user, or to a user who has dropped privileges since, or /proc hides it)
 * notes that in the record (`unreachable`), and touches the segment's file, which the owner of the pipe watches if it does not look now and
 * then by itself; from then on the owner waits in another way, or looks often: see parking.ts. A thread that only has no descriptor left
 * touches the file, too, and tries again the next time.
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync } from 'node:fs'
import { Socket, type SocketConstructorOpts } from 'node:net'
import {
  becomeDescriptor,
  closeFd,
  gated,
  makeEventFd,
  makeLoopPipe,
  outOfDescriptors,
  writeByte,
} from './native/index.ts'

/** Words of a thread's pipe in its record, zero while it has none. */
export const LoopWakeup = { state: 0, fd: 1, inode: 2 /* f64 */, words: 4 } as const
const wakeupState = { none: 0, there: 1, unreachable: 2 }

/** Listener that works in the event loop of this thread when the thread is woken. */
export interface Listener {
  /** Runs when the loop is woken. */
  woken(): void
  /** Runs when no waiting call has ended: the loop will wait again without any call to it. */
  stillWaiting(): void
}

/** Returns true if the event loop of the thread with this record watches a descriptor. */
export function hasLoopWakeup(i32: Int32Array, record: number): boolean {
  return Atomics.load(i32, record + LoopWakeup.state) === wakeupState.there
}

interface Wait {
  readonly word: number
  readonly expected: number
  readonly timer: NodeJS.Timeout
  readonly resolve: () => void
}

export class LoopWakeups {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #own: number
  readonly #eventFd: (() => number) | null
  /** The pipe of this thread; −1 if it has none. */
  #pipe = -1
  /** Descriptor that the kernel signals in a named segment; −1 until it is first requested. */
  #kernelSignals = -1
  readonly #waits = new Set<Wait>()
  readonly #listeners = new Set<Listener>()
  #rechecksSoon = false
  /** Number of times that the descriptor for the kernel has been signalled, from any source. */
  signalCount = 0
  /** Called when a thread cannot be reached for the first time, and whenever it cannot be now: it may not look for long. */
  onUnreachable: () => void = () => {}
  /** Result of `watch`. */
  #watched: number | undefined
  /** Number of times that waiting calls ended. Such callers call again when they wait again. */
  resumedCount = 0
  /** Pipes of other threads, by their record: with the inode that they belong to, −1 for one that cannot be reached. */
  readonly #known = new Map<number, { inode: number; fd: number }>()

  /** `own`: the first word of this thread's record. With `eventFd` the loop watches that event descriptor, else a pipe. */
  constructor(i32: Int32Array, f64: Float64Array, own: number, eventFd: (() => number) | null = null) {
    this.#eventFd = eventFd
    this.#i32 = i32
    this.#f64 = f64
    this.#own = own
  }

  /** True if this thread can be woken by its descriptor; makes its pipe. */
  get usable(): boolean {
    const state = this.#i32[this.#own + LoopWakeup.state]!
    if (state === wakeupState.none) this.#make()
    return this.#i32[this.#own + LoopWakeup.state] === wakeupState.there
  }

  #make(): void {
    try {
      if (this.#eventFd !== null) this.#watch(this.#eventFd())
      else {
        this.#pipe = this.#watch()
        this.#i32[this.#own + LoopWakeup.fd] = this.#pipe
        this.#f64[(this.#own + LoopWakeup.inode) >> 1] = fstatSync(this.#pipe).ino
      }
    } catch {
      this.#giveUp()
      return
    }
    Atomics.store(this.#i32, this.#own + LoopWakeup.state, wakeupState.there)
  }

  /**
   * Makes a descriptor that this event loop watches: a pipe, or one more of an event descriptor. It belongs to a socket of Node's, and
   * closes when the thread ends.
   */
  #watch(eventFd?: number, byKernel = eventFd !== undefined): number {
    // A thread that ended before the socket has the descriptor would leave it open.
    return gated(() => {
      const fd = makeLoopPipe()
      // The constructor takes what its type has for `connect` alone.
      const callback = (): boolean => {
        if (byKernel) this.signalCount++
        return this.#woken()
      }
      const onread = { buffer: new Uint8Array(64), callback }
      const socket = new Socket({ fd, writable: false, onread } as SocketConstructorOpts)
      // What waits keeps the process alive, not what wakes it.
      socket.on('error', () => this.#giveUp()).unref()
      // Node watches no event descriptor, but what it took for a pipe may become one: reading is the same.
      if (eventFd !== undefined) becomeDescriptor(fd, eventFd)
      return fd
    })
  }

  /** Gives up the descriptors: from now on this thread waits in another way. */
  #giveUp(): void {
    this.#pipe = -1
    this.#kernelSignals = -1
    Atomics.store(this.#i32, this.#own + LoopWakeup.state, wakeupState.unreachable)
    this.#woken()
  }

  /** Pipe, in a named segment, by which other threads end this thread's waits in the kernel; makes it. −1 if that is not possible. */
  get pipe(): number {
    return this.usable || this.#pipe >= 0 ? this.#pipe : -1
  }

  /**
   * Makes a descriptor with `make`; from the first call on this event loop is also woken when that can be read. Returns its number in this
   * thread, with which it is closed; −1 if `make` gives none, or it cannot be made.
   */
  watch(make: () => number): number {
    if (this.#watched !== undefined) return this.#watched
    try {
      this.#watched = gated(() => {
        const fd = make()
        if (fd < 0) return -1
        try {
          return this.#watch(fd, false)
        } finally {
          closeFd(fd)
        }
      })
    } catch {
      // No descriptors left.
      this.#watched = -1
    }
    return this.#watched
  }

  /** The event descriptor that the kernel can signal for this event loop; makes it. −1 if it cannot be had. */
  get kernelSignals(): number {
    if (!this.usable) return -1
    if (this.#eventFd !== null) return this.#eventFd()
    if (this.#kernelSignals < 0) {
      try {
        this.#kernelSignals = gated(() => {
          const eventFd = makeEventFd()
          try {
            return this.#watch(eventFd)
          } finally {
            closeFd(eventFd)
          }
        })
      } catch {
        // Without the descriptor the kernel signals nothing, and other threads have to.
      }
    }
    return this.#kernelSignals
  }

  /**
   * Waits in the event loop until the word differs from `expected` and another thread has woken this one, at most `timeoutMs`. A thread
   * that changes the word must be able to see that this thread waits before this is called.
   */
  wait(word: number, expected: number, timeoutMs: number): Promise<void> {
    if (Atomics.load(this.#i32, word) !== expected) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waits.delete(wait)
        resolve()
      }, timeoutMs)
      const wait: Wait = { word, expected, timer, resolve }
      this.#waits.add(wait)
    })
  }

  /** Adds a listener that works when this thread is woken. */
  listen(listener: Listener): void {
    this.#listeners.add(listener)
  }

  /** True if any call waits. */
  get waits(): boolean {
    return this.#waits.size > 0
  }

  #woken(): boolean {
    this.onWake()
    for (const listener of this.#listeners) listener.woken()
    this.#resumeReady()
    return true
  }

  /** Called when the loop is woken, before anything is looked at. */
  onWake: () => void = () => {}

  /** Ends the waits whose words have changed; returns true if there were any. */
  #endReady(): boolean {
    let any = false
    for (const wait of this.#waits) {
      if (Atomics.load(this.#i32, wait.word) === wait.expected) continue
      any = true
      this.#waits.delete(wait)
      clearTimeout(wait.timer)
      wait.resolve()
    }
    return any
  }

  /** Looks in a moment: this thread has itself changed a word on which it waits. */
  recheckSoon(): void {
    if (this.#rechecksSoon || this.#waits.size === 0) return
    this.#rechecksSoon = true
    queueMicrotask(() => {
      this.#rechecksSoon = false
      this.onWake()
      this.#resumeReady()
    })
  }

  #resumeReady(): void {
    if (this.#endReady()) this.resumedCount++
    else if (this.#waits.size > 0) for (const listener of this.#listeners) listener.stillWaiting()
  }

  /** Wakes the thread with this record, of process `pid`. `needed`: it may be that nothing else does. */
  wake(record: number, pid: number, needed = true): void {
    if (record === this.#own) {
      this.recheckSoon()
      return
    }
    const inode = this.#f64[(record + LoopWakeup.inode) >> 1]!
    let known = this.#known.get(record)
    if (known === undefined || known.inode !== inode) {
      if (known !== undefined && known.fd >= 0) closeSync(known.fd)
      this.#known.delete(record)
      const fd = openPipe(pid, this.#i32[record + LoopWakeup.fd]!, inode, writesPipe)
      if (fd === noDescriptor) {
        // The fault is this thread's, and it tries again: the other one can be reached.
        this.onUnreachable()
        return
      }
      known = { inode, fd }
      // The record has passed to another thread meanwhile: the one that was to wake has ended.
      if (known.fd < 0 && this.#f64[(record + LoopWakeup.inode) >> 1] !== inode) return
      this.#known.set(record, known)
    }
    if (known.fd >= 0) writeByte(known.fd)
    else this.#touch(record, needed)
  }

  /** Notifies the thread with this record in another way; if the wake-up was needed, that thread waits in another way from then on. */
  #touch(record: number, needed: boolean): void {
    const { there, unreachable } = wakeupState
    if (!needed) this.onUnreachable()
    else if (Atomics.compareExchange(this.#i32, record + LoopWakeup.state, there, unreachable) === there)
      this.onUnreachable()
  }
}

export const readsPipe: number = constants.O_RDONLY | constants.O_NONBLOCK
const writesPipe = constants.O_WRONLY | constants.O_NONBLOCK

/** Result of `openPipe` where this process has no descriptor left: later it may have. */
export const noDescriptor = -2

/**
 * A pipe of another process, opened for reading or for writing; −1 if it cannot be had, `noDescriptor` if that may be so for a while only.
 * Node owns this descriptor: it closes it when the thread ends, or when the caller does.
 */
export function openPipe(pid: number, fd: number, inode: number, flags: number): number {
  const path = `/proc/${pid}/fd/${fd}`
  let opened = -1
  try {
    // Looked at before, because opening another kind of file may have effects, and after, because it may have changed.
    if (readlinkSync(path) !== `pipe:[${inode}]`) return -1
    opened = openSync(path, flags)
    const facts = fstatSync(opened)
    if (facts.isFIFO() && facts.ino === inode) return opened
  } catch (error) {
    // Otherwise it has gone, or belongs to another user.
    if (outOfDescriptors(error)) return noDescriptor
  }
  if (opened >= 0) closeSync(opened)
  return -1
}
