/**
 * File on which a program waits for events by `poll` and receives them by calls that stop: a pipe with room for one message. A byte in it
 * means that an event is waiting; the data of calls never pass through it. Once no process has the program's end open any more, the other
 * end reports an error, which the front detects.
 *
 * A call that has no event to return yet blocks in the pipe itself: a read while it is empty, a write while it is full. So the pipe of a
 * file whose events are requested by `write` is full, and polls readable, while a thread is blocked in the call; the pipe of a file that is
 * read from is empty for as long. Neither changes before the last such call has been restarted.
 *
 * An event descriptor (eventfd) would do for `poll`, but all of them have one inode, and none reports that it was closed.
 */
import { closeFd, drainPipe, loopAgain, makeSlotPipe, readAgain, writeByte } from '../memory/index.ts'
import type { BlockedCall, Call } from './door.ts'

export class EventFile {
  /** Descriptor for the program, with a description of its own. */
  readonly descriptor: number
  readonly otherEnd: number
  readonly #blocksFull: boolean
  readonly #blocked = new Set<BlockedCall>()
  #readable = false
  #isFull = false

  /** The second argument is the call that requests an event, and blocks if there is none. */
  constructor(nonBlocking: boolean, asks: 'read' | 'write') {
    this.#blocksFull = asks === 'write'
    const [read, write] = makeSlotPipe()
    try {
      this.descriptor = this.#blocksFull ? loopAgain(read, nonBlocking) : readAgain(read, nonBlocking)
      this.otherEnd = write
    } catch (error) {
      closeFd(write)
      throw error
    } finally {
      closeFd(read)
    }
  }

  /** True if an event is waiting. */
  get readable(): boolean {
    return this.#readable
  }

  set readable(is: boolean) {
    this.#readable = is
    if (is) this.#again()
    this.#show()
  }

  /** Blocks a call that requests an event while there is none: it is restarted when there is one. */
  block(call: Call): BlockedCall {
    // Blocked calls whose threads were interrupted by signals, or have ended, are dropped here.
    for (const other of this.#blocked) other.look()
    const blocked: BlockedCall = call.block(() => {
      this.#blocked.delete(blocked)
      this.#show()
    })
    this.#blocked.add(blocked)
    this.#show()
    return blocked
  }

  /** Restarts all blocked calls: they compete for the event, and those that do not get one block once more. */
  #again(): void {
    for (const blocked of [...this.#blocked]) blocked.again()
  }

  #show(): void {
    const isFull = this.#blocksFull
      ? this.#readable || this.#blocked.size > 0
      : this.#readable && this.#blocked.size === 0
    if (isFull === this.#isFull) return
    this.#isFull = isFull
    if (isFull) writeByte(this.otherEnd)
    else this.#drain()
  }

  #drain(): void {
    const reading = readAgain(this.otherEnd, true)
    try {
      drainPipe(reading)
    } finally {
      closeFd(reading)
    }
  }

  close(): void {
    for (const blocked of this.#blocked) blocked.forget()
    this.#blocked.clear()
    closeFd(this.otherEnd)
  }
}
