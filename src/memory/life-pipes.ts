/**
 * The life pipes of a segment's processes, as a thread that blocks on descriptors follows them; see lives.ts, which does the
 * same in an event loop.
 */
import { closeSync, fstatSync } from 'node:fs'
import type { JanitorKind } from './attachments.ts'
import { noDescriptor, openPipe, readsPipe } from './loop-wakeups.ts'
import { makeLoopPipe, ownedByThread, waitReadable } from './native/index.ts'
import type { Segment } from './segment.ts'
import { Attachment, attachmentWord, Header, ownerMask } from './segment-layout.ts'

/**
 * Makes this thread a janitor of the segment, with a life pipe that `make` makes; returns its descriptor, −1 if there can be none: then
 * other threads detect its end by looking.
 */
export function becomeJanitor(segment: Segment, kind: JanitorKind, make: () => number): number {
  let fd = -1
  try {
    fd = make()
  } catch {
    // Too many open files.
  }
  segment.becomeJanitor(kind, fd, fd < 0 ? 0 : fstatSync(fd).ino)
  segment.wakeJanitors()
  return fd
}

/** The life pipe of a janitor, opened for reading; −1 if it has none or that cannot be reached, `noDescriptor` as of `openPipe`. */
export function openLifePipe(segment: Segment, use: number): number {
  const a = attachmentWord(use & ownerMask)
  const pipe = segment.i32[a + Attachment.janitor]! - 1
  return pipe < 0
    ? -1
    : openPipe(segment.i32[a + Attachment.pid]!, pipe, segment.f64[(a + Attachment.lifeInode) >> 1]!, readsPipe)
}

/** The life pipes that a janitor follows, each by its janitor's use of its attachment; null for one that cannot be reached or has ended. */
export class Followed<Pipe> {
  readonly pipes: Map<number, Pipe | null> = new Map()
  readonly #segment: Segment
  readonly #open: (use: number) => Pipe | null | undefined
  readonly #close: (pipe: Pipe) => void

  /** `open` returns undefined for a pipe that is to be tried again at the next update. */
  constructor(segment: Segment, open: (use: number) => Pipe | null | undefined, close: (pipe: Pipe) => void) {
    this.#segment = segment
    this.#open = open
    this.#close = close
  }

  /** Opens the life pipes of all other processes. Returns true if the end of each of these will be seen there. */
  update(): boolean {
    const segment = this.#segment
    const pids = new Set([process.pid])
    const uses = new Set<number>()
    for (const use of segment.otherJanitors()) {
      const pid = segment.i32[attachmentWord(use & ownerMask) + Attachment.pid]!
      if (pid === process.pid) continue
      uses.add(use)
      // One of each process is enough.
      if (pids.has(pid)) continue
      let pipe = this.pipes.get(use)
      if (pipe === undefined) {
        pipe = this.#open(use)
        if (pipe === undefined) continue
        this.pipes.set(use, pipe)
      }
      if (pipe !== null) pids.add(pid)
    }
    for (const use of this.pipes.keys()) if (!uses.has(use)) this.#forget(use)
    for (const pid of segment.attachedPids()) if (!pids.has(pid)) return false
    return true
  }

  /** Notes that its process has ended. */
  ended(use: number): void {
    this.pipes.set(use, null)
  }

  #forget(use: number): void {
    const pipe = this.pipes.get(use)!
    this.pipes.delete(use)
    if (pipe !== null) this.#close(pipe)
  }

  clear(): void {
    for (const use of [...this.pipes.keys()]) this.#forget(use)
  }
}

export class LifePipes {
  readonly #segment: Segment
  readonly #own: number
  readonly #followed: Followed<number>
  #begun = -1
  #fds = new Int32Array(16)
  #ready = new Uint8Array(16)

  /** Makes this thread a janitor of its process in this segment. */
  constructor(segment: Segment) {
    this.#segment = segment
    this.#own = becomeJanitor(segment, 'thread', () => ownedByThread(makeLoopPipe))
    const open = (use: number): number | null | undefined => {
      const fd = openLifePipe(segment, use)
      if (fd === noDescriptor) return undefined
      return fd < 0 ? null : fd
    }
    this.#followed = new Followed(segment, open, closeSync)
  }

  /** True if other threads have attached or become janitors since `follow`. */
  get outdated(): boolean {
    return Atomics.load(this.#segment.i32, Header.janitors) !== this.#begun
  }

  /** Opens the pipes of all that have one. Returns true if the end of every other process will be seen there. */
  follow(): boolean {
    this.#begun = Atomics.load(this.#segment.i32, Header.janitors)
    return this.#followed.update()
  }

  /** Writes the descriptors that become readable when a process ends into `into`, from index `from` on; returns their number. */
  descriptors(into: Int32Array, from: number): number {
    let count = 0
    for (const fd of this.#followed.pipes.values()) if (fd !== null) into[from + count++] = fd
    return count
  }

  /** Returns true if a process has ended since the last call. */
  ended(): boolean {
    const { pipes } = this.#followed
    if (pipes.size === 0) return false
    if (pipes.size > this.#fds.length) {
      this.#fds = new Int32Array(2 * pipes.size)
      this.#ready = new Uint8Array(2 * pipes.size)
    }
    const count = this.descriptors(this.#fds, 0)
    if (count === 0 || waitReadable(this.#fds, count, 0, this.#ready) === 0) return false
    for (let i = 0; i < count; i++) {
      if (this.#ready[i] === 0) continue
      for (const [use, fd] of pipes)
        if (fd === this.#fds[i]) {
          closeSync(fd!)
          this.#followed.ended(use)
        }
    }
    return true
  }

  /** Ends this thread's service as a janitor. */
  close(): void {
    this.#followed.clear()
    Atomics.store(this.#segment.i32, attachmentWord(this.#segment.me) + Attachment.janitor, 0)
    if (this.#own >= 0) closeSync(this.#own)
  }
}
