/**
 * Payload on its way to memory of another process. The kernel takes 5 µs to copy one packet there and hardly more for sixteen, so those of
 * a message that follow each other are collected in the segment, and copied by one call: with the last packet of the message, one that
 * asks for an ACK, or when the thread gives the adapter's lock back. So nothing is acknowledged to whoever waits for it, and nothing
 * completes, before its bytes are there; and nothing is written once the program may have taken its memory back.
 *
 * Whether there still is memory is then known later than the packet: the next one of that message fails instead.
 */
import type { ProcessMemory } from './process-memory.ts'

/** What is collected at most: the room that there is for it. */
const collectedBytes = 65_536

export class LateWrites {
  readonly #copy: (dst: number, src: number, length: number) => void
  /** Where it goes to, and of which receiver it is. */
  #to = 0
  #pid = 0
  #receiver = 0
  #length = 0
  /** Whose bytes could not be written, of which they do not know yet. */
  readonly #failed = new Set<number>()

  constructor(copy: (dst: number, src: number, length: number) => void) {
    this.#copy = copy
  }

  /** What comes for a receiver has nothing to do with what came before: it is another one by the same number, or its message was lost. */
  begin(processes: ProcessMemory | null, receiver: number): void {
    if (this.#receiver === receiver && processes !== null) this.flush(processes)
    if (this.#failed.size > 0) this.#failed.delete(receiver)
  }

  /**
   * Copies from the segment to a place of a process, its last bytes last: at once, or later if `more` of the same message follows. False if that, or
   * what `receiver` had copied before, could not be written.
   */
  write(
    processes: ProcessMemory,
    receiver: number,
    to: number,
    pid: number,
    from: number,
    length: number,
    more: boolean,
  ): boolean {
    if (this.#length > 0) {
      const follows = this.#receiver === receiver && this.#pid === pid && this.#to + this.#length === to
      if (!follows || this.#length + length > collectedBytes) this.flush(processes)
    }
    if (this.#failed.size > 0 && this.#failed.delete(receiver)) return false
    if (!more && this.#length === 0) return processes.deliverOrdered(to, pid, from, length) === 0
    if (this.#length === 0) {
      this.#to = to
      this.#pid = pid
      this.#receiver = receiver
    }
    this.#copy(processes.collected + this.#length, from, length)
    this.#length += length
    if (more) return true
    this.flush(processes)
    return this.#failed.size === 0 || !this.#failed.delete(receiver)
  }

  /** Writes what is collected. */
  flush(processes: ProcessMemory): void {
    if (this.#length === 0) return
    const { collected } = processes
    // It may have executed another program since its place was looked up.
    const isWritten =
      processes.isThere(this.#pid) && processes.deliverOrdered(this.#to, this.#pid, collected, this.#length) === 0
    this.#length = 0
    if (!isWritten) this.#failed.add(this.#receiver)
  }
}
