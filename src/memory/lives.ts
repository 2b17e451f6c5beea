/**
 * Noticing that another process of a segment has ended, without looking again and again. Each process holds the one end of a pipe, its
 * life pipe, that can be written to; the others read from it. When the process ends, however that happens, the kernel
 * closes its end, and the readers see the end of the file.
 *
 * A thread of each process, its janitor, makes the pipe, reads those of the others, and says in its attachment record where its
 * own is. A janitor that begins wakes those that are there already. As with bells, others reach the pipe through
 * /proc/PID/fd.
 */
import { closeSync, fstatSync } from 'node:fs'
import { Socket, type SocketConstructorOpts } from 'node:net'
import { openPipe, readsPipe } from './bells.ts'
import { gated, makeLoopPipe, readAgain } from './native/index.ts'
import type { Segment } from './segment.ts'
import { Attachment, attachmentWord, Header, isUse } from './segment-layout.ts'

/** A process is seen to have closed its pipe a little before its threads are seen to be gone. */
const retriesMs: readonly number[] = [0, 1, 2, 4, 8, 16, 32, 64, 128]

export class Lives {
  readonly #segment: Segment
  readonly #ended: () => void
  /** By a janitor's use of its attachment: its process's pipe, null if that cannot be reached or has ended. */
  readonly #known = new Map<number, Socket | null>()

  /** Makes this thread the janitor of its process; `ended` is called when another process has ended. */
  constructor(segment: Segment, ended: () => void) {
    this.#segment = segment
    this.#ended = ended
    let fd = -1
    try {
      // It stays open until the process ends.
      fd = gated(makeLoopPipe)
    } catch {
      // Without one, others find out by looking.
    }
    segment.becomeJanitor(fd, fd < 0 ? 0 : fstatSync(fd).ino)
    for (const id of this.#others()) segment.wake(id)
  }

  /** The attachments of all janitors but this one. */
  *#others(): Generator<number> {
    const { i32, me } = this.#segment
    for (let id = 1; id <= i32[Header.attachmentsHigh]!; id++) {
      const a = attachmentWord(id)
      if (id !== me && isUse(i32[a + Attachment.state]!) && Atomics.load(i32, a + Attachment.janitor) !== 0) yield id
    }
  }

  /** How many janitors have begun; `wait` returns when there are more. */
  get begun(): number {
    return Atomics.load(this.#segment.i32, Header.janitors)
  }

  /** Reads the pipes of all that have one. Whether the end of every other process will be seen there. */
  watch(): boolean {
    const { i32, f64 } = this.#segment
    const uses = new Set<number>()
    const pids = new Set([process.pid])
    for (const id of this.#others()) {
      const a = attachmentWord(id)
      const [use, pid] = [i32[a + Attachment.state]!, i32[a + Attachment.pid]!]
      if (pid === process.pid) continue
      uses.add(use)
      let life = this.#known.get(use)
      if (life === undefined) {
        life = this.#open(use, pid, i32[a + Attachment.janitor]! - 1, f64[(a + Attachment.lifeInode) >> 1]!)
        this.#known.set(use, life)
      }
      if (life !== null) pids.add(pid)
    }
    for (const [use, life] of this.#known) {
      if (uses.has(use)) continue
      life?.destroy()
      this.#known.delete(use)
    }
    return this.#segment.attachedPids().every((pid) => pids.has(pid))
  }

  #open(use: number, pid: number, pipe: number, inode: number): Socket | null {
    const opened = pipe < 0 ? -1 : openPipe(pid, pipe, inode, readsPipe)
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
      if (this.#known.get(use) !== life) return
      this.#known.set(use, null)
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
