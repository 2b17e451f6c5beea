/**
 * Payload to be written to memory of another process. The kernel takes 5 µs to copy one packet there and hardly more for sixteen, so the
 * packets of a message that follow each other are collected in the segment, and copied by one call: with the last packet of the message,
 * with one that requests an ACK, or when the thread releases the adapter's lock. So nothing is acknowledged to a waiting requester, and
 * nothing completes, before its bytes are there; and nothing is written once the program may have taken its memory back.
 *
 * The absence of the memory is then noticed later than the packet: the next one of that message fails instead.
 */
import type { ProcessMemory } from './process-memory.ts'

/** Maximum bytes that are collected: the room for them. */
const collectedBytes = 65_536

export class LateWrites {
  readonly #copy: (dst: number, src: number, length: number) => void
  /** Location that the collected bytes go to, and their receiver. */
  #to = 0
  #pid = 0
  #receiver = 0
  #length = 0
  /** Receivers whose bytes could not be written, and that do not know of that yet. */
  readonly #failed = new Set<number>()

  constructor(copy: (dst: number, src: number, length: number) => void) {
    this.#copy = copy
  }

  /**
   * Begins a message of a receiver that is unrelated to earlier ones: the same number stands for another receiver, or its message was
   * lost.
   */
  begin(processes: ProcessMemory | null, receiver: number): void {
    if (this.#receiver === receiver && processes !== null) this.flush(processes)
    if (this.#failed.size > 0) this.#failed.delete(receiver)
  }

  /**
   * Copies from the segment to a location in a process, its last bytes last: at once, or later if `more` of the same message follows.
   * False if that, or an earlier copy for `receiver`, could not be written.
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

  /** Writes the collected bytes. */
  flush(processes: ProcessMemory): void {
    if (this.#length === 0) return
    const { collected } = processes
    // The process may have executed another program since the location was looked up.
    const isWritten =
      processes.isThere(this.#pid) && processes.deliverOrdered(this.#to, this.#pid, collected, this.#length) === 0
    this.#length = 0
    if (!isWritten) this.#failed.add(this.#receiver)
  }
}
