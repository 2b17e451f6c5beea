/**
 * What a program gets where it waits for events by `poll`, and asks for them by calls that stop: a pipe of which it has an end for
 * reading. A byte in it means that something waits; calls never reach the pipe itself. Once nobody has that end any more, the other
 * one has an error, which the front sees.
 *
 * An event descriptor (eventfd) would do for `poll`, but all of them have one inode, and none says when it was closed.
 */
import { closeFd, drainPipe, makePipe, readAgain, writeByte } from '../memory/index.ts'

export class EventFile {
  /** For the program, with a description of its own. */
  readonly descriptor: number
  readonly otherEnd: number
  #readable = false

  constructor(nonBlocking: boolean) {
    const [read, write] = makePipe()
    try {
      this.descriptor = readAgain(read, nonBlocking)
      this.otherEnd = write
    } catch (error) {
      closeFd(write)
      throw error
    } finally {
      closeFd(read)
    }
  }

  /** Whether `poll` finds it readable. */
  get readable(): boolean {
    return this.#readable
  }

  set readable(is: boolean) {
    if (is === this.#readable) return
    this.#readable = is
    if (is) writeByte(this.otherEnd)
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
    closeFd(this.otherEnd)
  }
}
