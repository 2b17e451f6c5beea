/**
 * Detection of the end of another process of a segment, without polling. Each process holds the write end of a pipe, its life pipe; the
 * others read from it. When the process ends, however that happens, the kernel closes its end, and the readers see the end of the file.
 *
 * Threads that do so, janitors, make such a pipe each, read one of each other process, and note the location of their own pipe in their
 * attachment records. A thread that attaches, and one that becomes a janitor, wakes the existing janitors. As with wake-ups, other processes
 * reach the pipe through /proc/PID/fd.
 */
import { closeSync } from 'node:fs'
import { Socket, type SocketConstructorOpts } from 'node:net'
import type { JanitorKind } from './attachments.ts'
import { becomeJanitor, Followed, openLifePipe } from './life-pipes.ts'
import { noDescriptor } from './loop-wakeups.ts'
import { gated, makeLoopPipe, outOfDescriptors, readAgain } from './native/index.ts'
import type { Segment } from './segment.ts'
import { Header } from './segment-layout.ts'

/** A process is seen to have closed its pipe a little before its threads are seen to be gone. */
const retriesMs: readonly number[] = [0, 1, 2, 4, 8, 16, 32, 64, 128]

// Tests of programs put another in its place for a while.
const { setTimeout } = globalThis

/**
 * A socket that owns the descriptor of a pipe into which nothing is ever written, and closes when its other end does. The constructor
 * takes what its type has for `connect` alone.
 */
function readerOf(fd: number): Socket {
  const onread = { buffer: new Uint8Array(1), callback: () => true }
  return new Socket({ fd, writable: false, onread } as SocketConstructorOpts).on('error', () => undefined).unref()
}

/** Janitor of this thread; it does not keep the thread alive. */
export class Lives {
  readonly #segment: Segment
  readonly #ended: () => void
  readonly #followed: Followed<Socket>

  /**
   * Makes this thread a janitor of its process. `ended` is called in its event loop when another process has ended, `begun` when
   * another thread may have attached or become a janitor: `watch` follows it then.
   */
  constructor(segment: Segment, kind: JanitorKind, ended: () => void, begun: () => void) {
    this.#segment = segment
    this.#ended = ended
    this.#followed = new Followed<Socket>(
      segment,
      (use) => this.#open(use),
      (life) => life.destroy(),
    )
    // Woken from now on, if that is possible.
    const { loop } = segment.parking
    if (loop.usable) loop.listen({ woken: begun, stillWaiting: () => {} })
    gated(() => {
      const own = becomeJanitor(segment, kind, makeLoopPipe)
      // It stays open until the thread ends, and closes then.
      if (own >= 0) readerOf(own)
    })
  }

  /** Number of threads that have attached or become janitors. */
  get begun(): number {
    return Atomics.load(this.#segment.i32, Header.janitors)
  }

  /** Reads the pipes of all other processes. Returns true if the end of every one will be seen there. */
  watch(): boolean {
    return this.#followed.update()
  }

  #open(use: number): Socket | null | undefined {
    const opened = openLifePipe(this.#segment, use)
    if (opened === noDescriptor) return undefined
    if (opened < 0) return null
    let life: Socket
    try {
      // A thread that ended between the two lines would leave the descriptor open.
      life = gated(() => readerOf(readAgain(opened)))
    } catch (error) {
      return outOfDescriptors(error) ? undefined : null
    } finally {
      closeSync(opened)
    }
    return life.on('close', () => {
      if (this.#followed.pipes.get(use) !== life) return
      this.#followed.ended(use)
      this.#retry(use, 0)
    })
  }

  /** Reports the end of the process as soon as other threads, too, can see it. */
  #retry(use: number, n: number): void {
    setTimeout(() => {
      this.#ended()
      if (n + 1 < retriesMs.length && this.#segment.usesAttachment(use)) this.#retry(use, n + 1)
    }, retriesMs[n]!).unref()
  }
}
