/**
 * Threads that use a segment, and their liveness. A thread attaches with its process, thread ID and start time, so that other threads can
 * recognise a dead one; the thread that claims a dead one cleans up after it.
 */
import { isMainThread } from 'node:worker_threads'
import { LoopWakeup } from './loop-wakeups.ts'
import { SegmentError } from './segment-errors.ts'
import {
  Attachment,
  attachmentState,
  attachmentWord,
  generationMask,
  Header,
  isUse,
  maxAttachments,
  ownerBits,
  ownerMask,
} from './segment-layout.ts'
import { osThreadId, pidNamespace, processStartTime, threadAlive, threadStartTime } from './threads.ts'

/** A thread that is a janitor and nothing else, or one that is so in its event loop. */
export type JanitorKind = 'thread' | 'loop'

/** A segment as the threads that are attached to it. */
export abstract class Attachments {
  readonly i32: Int32Array
  readonly f64: Float64Array
  /** Attachment number of this thread. */
  readonly me: number
  /** Value that this thread writes into locks: its attachment number, and the generation of that use of the number. */
  readonly lockValue: number

  /** Attaches this thread. ENOMEM if too many are. */
  constructor(i32: Int32Array, f64: Float64Array) {
    this.i32 = i32
    this.f64 = f64
    this.lockValue = this.#attach()
    this.me = this.lockValue & ownerMask
  }

  /** Returns the use that this thread makes of an attachment from now on. */
  #attach(): number {
    const i32 = this.i32
    const tid = osThreadId()
    for (let id = 1; id < maxAttachments; id++) {
      const a = attachmentWord(id)
      const { free, taken } = attachmentState
      if (
        i32[a + Attachment.state] === free &&
        Atomics.compareExchange(i32, a + Attachment.state, free, taken) === free
      ) {
        if (!this.#forgetPolls(id)) {
          Atomics.store(i32, a + Attachment.state, free)
          continue
        }
        i32[a + Attachment.pid] = process.pid
        this.f64[(a + Attachment.processStart) >> 1] = processStartTime()
        i32[a + Attachment.tid] = tid
        this.f64[(a + Attachment.startTime) >> 1] = threadStartTime(process.pid, tid)
        i32[a + Attachment.operation] = 0
        i32[a + Attachment.janitor] = 0
        i32[a + Attachment.janitorThread] = 0
        i32[a + Attachment.stopped] = 0
        i32[a + Attachment.parked] = 0
        i32[a + Attachment.grace] = 0
        i32[a + Attachment.work] = 0
        i32[a + Attachment.pidNamespace] = pidNamespace()
        i32.fill(0, a + Attachment.loopWakeup, a + Attachment.loopWakeup + LoopWakeup.words)
        i32[a + Attachment.generation] = (i32[a + Attachment.generation]! + 1) & generationMask
        const use = id | (i32[a + Attachment.generation]! << ownerBits)
        Atomics.store(i32, a + Attachment.state, use)
        for (let high = i32[Header.attachmentsHigh]!; high < id; high = i32[Header.attachmentsHigh]!)
          Atomics.compareExchange(i32, Header.attachmentsHigh, high, id)
        return use
      }
    }
    throw new SegmentError('ENOMEM', `more than ${maxAttachments - 1} threads use this segment`)
  }

  /**
   * Forgets the poll requests of a free record that this process takes, unless they are its own: a context is a number that means
   * something else here. False if their process lives: it still has to end them, and finds them in this record.
   */
  #forgetPolls(id: number): boolean {
    const a = attachmentWord(id)
    const { f64 } = this
    const context = (a + Attachment.pollContext) >> 1
    if (f64[context] === 0 || this.isOwn(id)) return true
    const pid = this.i32[a + Attachment.pid]!
    if (threadAlive(pid, pid, f64[(a + Attachment.processStart) >> 1]!)) return false
    f64[context] = 0
    return true
  }

  /**
   * Returns true if this process made the last use of an attachment (given by its number, or by a use of it), rather than an earlier
   * process with the same process ID.
   */
  isOwn(attachment: number): boolean {
    const a = attachmentWord(attachment & ownerMask)
    return (
      this.i32[a + Attachment.pid] === process.pid &&
      this.f64[(a + Attachment.processStart) >> 1] === processStartTime()
    )
  }

  /** Returns true if the thread of an attachment still runs; reads /proc, so it is not for the data path. */
  attachmentAlive(id: number): boolean {
    if (id === this.me) return true
    const a = attachmentWord(id)
    return isUse(this.i32[a + Attachment.state]!) && threadRuns(this.i32, this.f64, a)
  }

  /** Word that counts the work that other threads have left to this thread. */
  get workWord(): number {
    return attachmentWord(this.me) + Attachment.work
  }

  /** Counts that something is left to the thread with this attachment, before it is woken. */
  leaveWork(attachment: number): void {
    Atomics.add(this.i32, attachmentWord(attachment) + Attachment.work, 1)
  }

  /** The uses that threads make of attachments. */
  *uses(): Generator<number> {
    for (let id = 1; id <= this.i32[Header.attachmentsHigh]!; id++) {
      const use = Atomics.load(this.i32, attachmentWord(id) + Attachment.state)
      if (isUse(use)) yield use
    }
  }

  /** The processes whose threads use this segment. */
  attachedPids(): Set<number> {
    const pids = new Set<number>()
    for (const use of this.uses()) pids.add(this.i32[attachmentWord(use & ownerMask) + Attachment.pid]!)
    return pids
  }

  /** Number of threads of this process that use this segment. */
  get ownThreads(): number {
    return this.#usesOfProcess().length
  }

  /** The uses that threads of this process make. */
  #usesOfProcess(): number[] {
    return [...this.uses()].filter((use) => this.i32[attachmentWord(use & ownerMask) + Attachment.pid] === process.pid)
  }

  /** The use that is made of an attachment now. */
  useOf(id: number): number {
    return Atomics.load(this.i32, attachmentWord(id) + Attachment.state)
  }

  /** Returns true if an attachment is still in that use: no thread has cleaned up after its thread. */
  usesAttachment(use: number): boolean {
    return Atomics.load(this.i32, attachmentWord(use & ownerMask) + Attachment.state) === use
  }

  /** The uses of attachments whose threads ended without cleaning up. */
  deadAttachments(): number[] {
    const dead: number[] = []
    for (let id = 1; id <= this.i32[Header.attachmentsHigh]!; id++) {
      const a = attachmentWord(id)
      this.#unclaim(id)
      const use = Atomics.load(this.i32, a + Attachment.state)
      if (isUse(use) && id !== this.me && !threadRuns(this.i32, this.f64, a)) dead.push(use)
    }
    return dead
  }

  /** Records that this thread cleans up after dead processes, and the location of its life pipe (`fd` −1: it has none). */
  becomeJanitor(kind: JanitorKind, fd: number, inode: number): void {
    const a = attachmentWord(this.me)
    this.i32[a + Attachment.janitorThread] = kind === 'thread' ? 1 : 0
    this.f64[(a + Attachment.lifeInode) >> 1] = inode
    Atomics.store(this.i32, a + Attachment.janitor, fd < 0 ? -1 : fd + 1)
  }

  /** The uses of attachments by all janitors but this thread. */
  *otherJanitors(): Generator<number> {
    for (const use of this.uses())
      if (use !== this.lockValue && Atomics.load(this.i32, attachmentWord(use & ownerMask) + Attachment.janitor) !== 0)
        yield use
  }

  /** Returns true if this process has a thread that cleans up after dead processes, and does nothing else. */
  hasJanitorThread(): boolean {
    for (const use of this.uses()) {
      const a = attachmentWord(use & ownerMask)
      if (
        this.i32[a + Attachment.janitorThread] !== 0 &&
        this.i32[a + Attachment.pid] === process.pid &&
        this.attachmentAlive(use & ownerMask)
      )
        return true
    }
    return false
  }

  /**
   * Claims the clean-up after a use of an attachment whose thread is gone: returns the attachment's number to the one thread that may clean
   * up, 0 to all other threads.
   */
  claim(use: number): number {
    const id = use & ownerMask
    // A living thread is never taken for dead, and the locks that it takes while it cleans up must stay its own.
    if (use === this.lockValue) return id
    const taken = attachmentState.taken | this.lockValue
    return Atomics.compareExchange(this.i32, attachmentWord(id) + Attachment.state, use, taken) === use ? id : 0
  }

  /** Gives up the claim of a thread that ended while it cleaned up, so that another one does it. */
  #unclaim(id: number): void {
    const { i32 } = this
    const a = attachmentWord(id)
    const state = Atomics.load(i32, a + Attachment.state)
    const reaper = state & ~attachmentState.taken
    if (state >= 0 || reaper === 0 || reaper === this.lockValue || this.ownerAlive(reaper)) return
    Atomics.compareExchange(i32, a + Attachment.state, state, id | (i32[a + Attachment.generation]! << ownerBits))
  }

  /**
   * The uses that this process makes of attachments: of this thread, and in the main thread of all, since they end with it.
   * This thread's is the last: it is needed while it cleans up, since locks of a thread without one are free for all.
   */
  ownAttachments(): number[] {
    if (!isMainThread) return [this.lockValue]
    return [...this.#usesOfProcess().filter((use) => use !== this.lockValue), this.lockValue]
  }

  /** Returns true if the thread that wrote its `lockValue` somewhere, into a lock for example, still has its attachment and runs. */
  ownerAlive(owner: number): boolean {
    const id = owner & ownerMask
    return this.i32[attachmentWord(id) + Attachment.state] === owner && this.attachmentAlive(id)
  }
}

/** Returns true if a process of another PID namespace has attached. */
export function usedElsewhere(i32: Int32Array): boolean {
  const own = pidNamespace()
  for (let id = 1; id < maxAttachments; id++) {
    const a = attachmentWord(id)
    if (isUse(i32[a + Attachment.state]!) && isForeign(i32[a + Attachment.pidNamespace]!, own)) return true
  }
  return false
}

function isForeign(namespace: number, own: number): boolean {
  return namespace !== own && namespace !== 0 && own !== 0
}

function threadRuns(i32: Int32Array, f64: Float64Array, a: number): boolean {
  if (i32[a + Attachment.stopped] === 1) return false
  // The process ID of another container has no meaning here.
  if (isForeign(i32[a + Attachment.pidNamespace]!, pidNamespace())) return true
  return threadAlive(i32[a + Attachment.pid]!, i32[a + Attachment.tid]!, f64[(a + Attachment.startTime) >> 1]!)
}

/** Returns true if any thread that uses the segment lives. */
export function anyoneAlive(i32: Int32Array): boolean {
  const f64 = new Float64Array(i32.buffer)
  for (let id = 1; id < maxAttachments; id++) {
    const a = attachmentWord(id)
    if (isUse(i32[a + Attachment.state]!) && threadRuns(i32, f64, a)) return true
  }
  return false
}
