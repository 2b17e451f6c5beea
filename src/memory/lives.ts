/**
 * Noticing that another process of a segment has ended, without looking again and again. Each process holds the one end of a pipe, its
 * life pipe, that can be written to; the others read from it. When the process ends, however that happens, the kernel
 * closes its end, and the readers see the end of the file.
 *
 * A thread of each process, its janitor, makes the pipe, reads those of the others, and says in its attachment record where its
 * own is. A janitor that begins wakes those that are there already. As with bells, others reach the pipe through
 * /proc/PID/fd.
 */
import { closeSync } from 'node:fs'
import { Socket, type SocketConstructorOpts } from 'node:net'
import { becomeJanitor, Followed, openLifePipe } from './life-pipes.ts'
import { gated, readAgain } from './native/index.ts'
import type { Segment } from './segment.ts'
import { Header } from './segment-layout.ts'

/** A process is seen to have closed its pipe a little before its threads are seen to be gone. */
const retriesMs: readonly number[] = [0, 1, 2, 4, 8, 16, 32, 64, 128]

export class Lives {
  readonly #segment: Segment
  readonly #ended: () => void
  readonly #followed: Followed<Socket>

  /** Makes this thread the janitor of its process; `ended` is called when another process has ended. */
  constructor(segment: Segment, ended: () => void) {
    this.#segment = segment
    this.#ended = ended
    this.#followed = new Followed<Socket>(
      segment,
      (use) => this.#open(use),
      (life) => life.destroy(),
    )
    // The pipe stays open until the process ends.
    becomeJanitor(segment)
  }

  /** How many janitors have begun; `wait` returns when there are more. */
  get begun(): number {
    return Atomics.load(this.#segment.i32, Header.janitors)
  }

  /** Reads the pipes of all that have one. Whether the end of every other process will be seen there. */
  watch(): boolean {
    return this.#followed.update()
  }

  #open(use: number): Socket | null {
    const opened = openLifePipe(this.#segment, use)
    if (opened < 0) return null
    let life: Socket
    try {
      // A thread that ended between the two lines would leave the descriptor open.
      life = gated(() => {
        const fd = readAgain(opened)
        // Nothing is ever written into it. The constructor takes what its type has for `connect` alone.
        const onread = { buffer: new Uint8Array(1), callback: () => true }
        return new Socket({ fd, writable: false, onread } as SocketConstructorOpts)
      })
    } catch {
      return null
    } finally {
      closeSync(opened)
    }
    const over = (): void => {
      if (this.#followed.pipes.get(use) !== life) return
      this.#followed.ended(use)
      this.#retry(use, 0)
    }
    return life.on('error', over).on('close', over)
  }

  /** Tells of the end of the process as soon as others, too, can see it. */
  #retry(use: number, n: number): void {
    setTimeout(() => {
      this.#ended()
      if (n + 1 < retriesMs.length && this.#segment.usesAttachment(use)) this.#retry(use, n + 1)
    }, retriesMs[n]!)
  }

  /** Waits in the event loop until more janitors than `begun` have begun, at most `timeoutMs`. */
  async wait(begun: number, timeoutMs: number): Promise<void> {
    const { parking } = this.#segment
    if (parking.hearsBells) await parking.waitInLoop(Header.janitors, begun, timeoutMs)
    else await new Promise((resolve) => setTimeout(resolve, timeoutMs))
  }
}
