/**
 * An event descriptor that the kernel itself signals when a socket can be read: poll requests of Linux's asynchronous I/O (IOCB_CMD_POLL,
 * io_submit(2)). So an event loop that watches the event descriptor wakes for sockets that it does not own, and no thread has to wait for
 * them in its place. A request is good for one time.
 *
 * The context in which requests are pending belongs to the process, and pending requests keep a closed socket, and its port, alive: a
 * thread that closes a socket destroys the context (`destroyPollContext`), whichever thread made it.
 */
import { errnos } from './error.ts'
import { nativeScratch, requireLibc } from './libc.ts'

const IOCB_CMD_POLL = 5
const IOCB_FLAG_RESFD = 1
const POLLIN = 1

/** Sockets that one thread can wait for so. */
const mostRequests = 256
/** struct iocb: data u64, key u32, flags u32, opcode u16, priority i16, descriptor u32, events u64, 3 × u64, flags u32, eventfd u32. */
const iocbWords = 16
/** struct io_event: data, object, two results, 64 bits each. */
const eventWords = 8
const eventsTaken = 64

/** Context in the attachment record of its thread, where other threads find it: the word pair that holds it. */
export interface ContextWord {
  readonly f64: Float64Array
  readonly index: number
}

export class PollRequests {
  readonly #eventFd: number
  readonly #word: ContextWord
  /** The context in which `#fds` are pending. */
  #context = 0
  /** Descriptors that the requests wait for, by request; −1 for a free one. */
  readonly #fds = new Int32Array(mostRequests).fill(-1)
  #used = 0
  /** False once the kernel has refused: not every container and sandbox takes such requests. */
  #works = true
  /** The event descriptor may have been signalled since `arm`. */
  signaled = false
  // pointers to iocbs │ iocbs │ events │ a timespec of zero, or the new context
  readonly #scratch: ReturnType<typeof nativeScratch>
  readonly #iocbsAt = mostRequests * 8
  readonly #eventsAt = this.#iocbsAt + mostRequests * iocbWords * 4
  readonly #zeroAt = this.#eventsAt + eventsTaken * eventWords * 4

  constructor(eventFd: number, word: ContextWord) {
    this.#eventFd = eventFd
    this.#word = word
    this.#scratch = nativeScratch(this.#zeroAt + 16)
  }

  /**
   * Requests a signal when one of the first `count` of `fds` can be read, also if it can already; earlier requests that are still pending
   * stay as they are. False where the kernel takes no such requests.
   */
  arm(fds: Int32Array, count: number): boolean {
    if (!this.#works || !this.#ensureContext()) return false
    if (this.signaled) this.#take()
    const { u32, address } = this.#scratch
    let submitted = 0
    for (let i = 0; i < count; i++) {
      const fd = fds[i]!
      const request = this.#free(fd)
      if (request === alreadyThere) continue
      if (request < 0) {
        // What was noted above has not been submitted.
        destroyPollContext(this.#word)
        return false
      }
      this.#fds[request] = fd
      const at = this.#iocbsAt + request * iocbWords * 4
      const word = at >> 2
      u32.fill(0, word, word + iocbWords)
      u32[word] = request
      u32[word + 4] = IOCB_CMD_POLL
      u32[word + 5] = fd
      u32[word + 6] = POLLIN
      u32[word + 14] = IOCB_FLAG_RESFD
      u32[word + 15] = this.#eventFd
      u32[2 * submitted] = (address + at) >>> 0
      u32[2 * submitted + 1] = Math.floor((address + at) / 2 ** 32)
      submitted++
    }
    const { f64, index } = this.#word
    if (submitted === 0) return f64[index] === this.#context
    const { syscall, io, koffi } = requireLibc('io_submit')
    const done = syscall(io.submit, this.#context, submitted, address, 0, 0, 0)
    if (done === submitted) return true
    // A thread that closes a socket may just have closed one of these (EBADF), or have destroyed the context.
    if (done < 0 && koffi.errno() !== errnos.EBADF && f64[index] === this.#context) this.#works = false
    // It is not known which are pending: begins anew.
    destroyPollContext(this.#word)
    return false
  }

  /** The request for this descriptor: a free one, or `alreadyThere`; −1 if there are too many. */
  #free(fd: number): number {
    let free = -1
    for (let i = 0; i < this.#used; i++) {
      if (this.#fds[i] === fd) return alreadyThere
      if (free < 0 && this.#fds[i] === -1) free = i
    }
    if (free >= 0 || this.#used === mostRequests) return free
    return this.#used++
  }

  /** Takes notice of the requests that have come. */
  #take(): void {
    const { syscall, io } = requireLibc('io_getevents')
    this.signaled = false
    const { u32, address } = this.#scratch
    for (;;) {
      const n = syscall(
        io.getevents,
        this.#context,
        0,
        eventsTaken,
        address + this.#eventsAt,
        address + this.#zeroAt,
        0,
      )
      for (let i = 0; i < n; i++) this.#fds[u32[(this.#eventsAt >> 2) + i * eventWords]!] = -1
      if (n < eventsTaken) return
    }
  }

  /** Returns true if there is a context; makes one if another thread has destroyed it. */
  #ensureContext(): boolean {
    const { f64, index } = this.#word
    const there = f64[index]!
    if (there !== 0 && there === this.#context) return true
    // That of a thread that had this attachment before, and ended.
    if (there !== 0) destroyPollContext(this.#word)
    this.#fds.fill(-1)
    this.#used = 0
    this.#context = 0
    const { u32, address } = this.#scratch
    const { syscall, io } = requireLibc('io_setup')
    const at = this.#zeroAt >> 2
    u32.fill(0, at, at + 4)
    const made = syscall(io.setup, mostRequests, address + this.#zeroAt, 0, 0, 0, 0)
    const context = u32[at]! + u32[at + 1]! * 2 ** 32
    u32.fill(0, at, at + 4)
    if (made !== 0) {
      this.#works = false
      return false
    }
    this.#context = context
    f64[index] = context
    return true
  }
}

const alreadyThere = -2

/** The bits of a number. */
const taken = new BigInt64Array(1)
const takenNumber = new Float64Array(taken.buffer)

/** Ends all pending requests of a context, and with them the use of their descriptors; the next `arm` of its thread makes another. */
export function destroyPollContext({ f64, index }: ContextWord): void {
  // One thread gets it: the kernel gives the address of a context that was destroyed to the next one, which another may have made.
  taken[0] = Atomics.exchange(new BigInt64Array(f64.buffer, f64.byteOffset, f64.length), index, 0n)
  const context = takenNumber[0]!
  if (context === 0) return
  const { syscall, io, koffi } = requireLibc('io_destroy')
  // EINVAL: its owner was as quick.
  if (syscall(io.destroy, context, 0, 0, 0, 0, 0) !== 0 && koffi.errno() !== errnos.EINVAL)
    throw new Error(`io_destroy failed with errno ${koffi.errno()}`)
}
