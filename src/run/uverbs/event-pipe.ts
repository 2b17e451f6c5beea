/**
 * A pipe from which a program reads events: those of a completion channel, 8 bytes each, or asynchronous ones, 16 bytes. A pipe behaves as
 * such a descriptor does: one write of an event is one event for a reader of its size, `poll` reports whether there is one, and the program
 * controls O_NONBLOCK.
 *
 * This process keeps the write end. Events that the program has not read are still in the pipe; `takeBack` removes those of an object that
 * is destroyed, since the program waits until it has acknowledged as many as were read.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs'
import { closeFd, errnos, makePipe, sleepMs, thisProcessor, writeEvent } from '../../memory/index.ts'
import type { Call } from '../door.ts'
import { fail } from './errors.ts'

/**
 * Number of checks of a thread that is running, as in the handler of a signal that has interrupted its call, and the time that it may run
 * between two checks, in ms: it may wait for this processor.
 */
const looks = 4
const runsMs = 0.05
/** Content of /proc/…/syscall for a thread that is in no call. */
const running = 'running'

/**
 * Maximum number of events that wait here because the pipe is full, which takes thousands that no thread reads; further ones are dropped.
 */
const maxWaiting = 65_536
const maxTakenBytes = 2 ** 20

export class EventPipe {
  readonly eventBytes: number
  /** Inode that identifies the pipe among descriptors of a program. */
  readonly inode: number
  /** Objects whose events come here. */
  users = 0
  /** Number of these objects that are armed for an event that has not come yet. */
  armed = 0
  /** Process id of the program that made it. */
  readonly #pid: number
  readonly #write: number
  /** Pipes of a door with events that wait. */
  readonly #blocked: Set<EventPipe>
  readonly #waiting: Uint8Array[] = []
  #broken = false

  /** Makes a pipe and gives the read end to the program: its number there is `descriptor`. While events wait it is in `blocked`. */
  static give(call: Call, eventBytes: number, blocked: Set<EventPipe>): { pipe: EventPipe; descriptor: number } {
    const [read, write] = makePipe()
    let blocking = -1
    try {
      // What the program gets blocks, so that it has a description of its own.
      blocking = openSync(`/proc/self/fd/${read}`, constants.O_RDONLY)
      const descriptor = call.addDescriptor(blocking, true)
      return { pipe: new EventPipe(call.process.pid, write, eventBytes, blocked), descriptor }
    } catch (error) {
      closeFd(write)
      throw error
    } finally {
      closeFd(read)
      if (blocking >= 0) closeSync(blocking)
    }
  }

  private constructor(pid: number, write: number, eventBytes: number, blocked: Set<EventPipe>) {
    this.#pid = pid
    this.#write = write
    this.#blocked = blocked
    this.eventBytes = eventBytes
    this.inode = fstatSync(write).ino
  }

  /** Writes an event, now or when there is room; false if it had to be dropped. */
  push(event: Uint8Array): boolean {
    if (this.#broken) return false
    if (this.#waiting.length === 0 && this.#put(event)) return true
    if (this.#broken || this.#waiting.length >= maxWaiting) return false
    this.#waiting.push(event)
    this.#blocked.add(this)
    return true
  }

  /** Writes events that waited for room; true if it wrote any. */
  flush(): boolean {
    let moved = false
    while (this.#waiting.length > 0 && this.#put(this.#waiting[0]!)) {
      this.#waiting.shift()
      moved = true
    }
    if (this.#waiting.length === 0) this.#blocked.delete(this)
    return moved
  }

  /** True if a thread of the program is blocked in reading from it. */
  isAwaited(): boolean {
    try {
      for (let look = 0; look < looks; look++) {
        const calls = this.#calls()
        if (calls.some((call) => this.#isRead(call))) return true
        if (!calls.includes(running)) return false
        sleepMs(runsMs)
      }
    } catch {
      // It has ended, or a thread has meanwhile.
    }
    return false
  }

  /** Returns the call of each thread of the program: its number and arguments, or `running`. */
  #calls(): string[] {
    const tasks = `/proc/${this.#pid}/task`
    return readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/syscall`, 'latin1').trim())
  }

  #isRead(call: string): boolean {
    const [number, descriptor] = call.split(' ')
    if (Number(number) !== thisProcessor?.calls.read) return false
    return statSync(`/proc/${this.#pid}/fd/${Number(descriptor)}`).ino === this.inode
  }

  #put(event: Uint8Array): boolean {
    const written = writeEvent(this.#write, event)
    if (written === event.length) return true
    if (written === -errnos.EAGAIN) return false
    // The program has closed its end.
    this.#broken = true
    this.#waiting.length = 0
    return false
  }

  /**
   * Removes the unread events for which `isOf` returns true, at most `most`; returns their number. A thread of the program that reads at
   * this very moment waits until the other events have been written back.
   */
  takeBack(isOf: (event: DataView) => boolean, most: number): number {
    let taken = 0
    const keeps = (event: Uint8Array): boolean => {
      if (taken >= most || event.length < this.eventBytes) return true
      if (!isOf(new DataView(event.buffer, event.byteOffset, event.byteLength))) return true
      taken++
      return false
    }
    const waited = this.#waiting.splice(0)
    const unread = this.#broken || most === 0 ? [] : this.#unread()
    for (const event of [...unread, ...waited]) if (keeps(event)) this.push(event)
    return taken
  }

  #unread(): Uint8Array[] {
    const bytes = Buffer.alloc(maxTakenBytes)
    const fd = openSync(`/proc/self/fd/${this.#write}`, constants.O_RDONLY | constants.O_NONBLOCK)
    let length = 0
    try {
      while (length < bytes.length) {
        const n = readSync(fd, bytes, length, bytes.length - length, null)
        if (n === 0) break
        length += n
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    } finally {
      closeSync(fd)
    }
    const events: Uint8Array[] = []
    for (let at = 0; at < length; at += this.eventBytes)
      events.push(bytes.slice(at, Math.min(at + this.eventBytes, length)))
    return events
  }

  /** True if the program, and all processes that have its descriptors, have closed their end. */
  get abandoned(): boolean {
    if (this.#broken) return true
    try {
      // Opening the writing end of a pipe without readers, and without waiting for one, fails.
      closeSync(openSync(`/proc/self/fd/${this.#write}`, constants.O_WRONLY | constants.O_NONBLOCK))
      return false
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENXIO'
    }
  }

  close(): void {
    this.#blocked.delete(this)
    closeFd(this.#write)
    this.#broken = true
  }
}

/** Returns the inode of a descriptor of the calling thread; EBADF if it has none of this number. */
export function inodeOfDescriptor(call: Call, descriptor: number, verb: string, what: string): number {
  if (descriptor >= 0 && descriptor <= 0x7fffffff) {
    try {
      const file = statSync(`/proc/${call.tid}/fd/${descriptor}`)
      if (file.isFIFO()) return file.ino
    } catch {
      // Said below.
    }
  }
  return fail('EBADF', `${verb}: ${what} is ${descriptor}, which is no descriptor of events of the program`)
}
