/**
 * A shared receive queue of a program. Its receives are taken in order and complete in any, so each gets a number of its own while
 * it is in the SRQ of this process, under which the program's `wr_id` is kept.
 */
import { EventType, type SharedReceiveQueue, type WorkCompletion } from '../../verbs/index.ts'
import { asyncEvent, srqEvents } from './async-events.ts'
import { fail } from './errors.ts'
import type { EventPipe } from './event-pipe.ts'
import type { QueueFile } from './queue-file.ts'
import { Ring } from './ring.ts'
import type { SharedReceiver, Work } from './work.ts'

/** Numbers of receives are below this: twice as many as an SRQ may have, as those that complete are not in it any more. */
export const srqNumbers: number = 32_768

export const recvWqeBytes = (maxSge: number): number => 40 + 16 * maxSge

export class ProgramSrq {
  readonly kind = 'srq'
  readonly srq: SharedReceiveQueue
  readonly maxSge: number
  readonly userHandle: bigint
  readonly events: EventPipe | null
  asyncEvents = 0
  /** True if the door has it on its list of queues with more to take. */
  pending = false
  /** Limit of the event that fewer receives are left; 0 for none. */
  limit: number
  readonly #work: Work
  readonly #slot: number
  readonly #file: QueueFile
  #ring: Ring
  #maxWr: number
  #next = 0
  #done = 0
  #posted = 0
  #refilling = false
  #ids: Int32Array
  /** Free numbers, a stack. */
  #free: Int32Array
  #freeCount = 0

  constructor(
    work: Work,
    slot: number,
    file: QueueFile,
    make: (owner: ProgramSrq) => SharedReceiveQueue,
    init: { maxWr: number; maxSge: number; limit: number; userHandle: bigint; events: EventPipe | null },
  ) {
    this.#work = work
    this.#slot = slot
    this.#file = file
    this.#maxWr = init.maxWr
    this.maxSge = init.maxSge
    this.limit = init.limit
    this.userHandle = init.userHandle
    this.events = init.events
    this.#ids = new Int32Array(0)
    this.#free = new Int32Array(0)
    this.#number(2 * init.maxWr)
    this.#ring = this.#makeRing('ibv_create_srq', init.maxWr)
    try {
      this.srq = make(this)
    } catch (error) {
      this.#ring.close()
      throw error
    }
    if (this.events) this.events.users++
  }

  #makeRing(verb: string, maxWr: number): Ring {
    return new Ring(this.#file, maxWr, recvWqeBytes(this.maxSge), verb, `a shared receive queue of ${maxWr}`)
  }

  get ring(): Ring {
    return this.#ring
  }

  /** Number of the SRQ, for the program. */
  get number(): number {
    return this.srq.slot
  }

  get maxWr(): number {
    return this.#maxWr
  }

  /** Makes numbers for this number of receives; those in use stay. */
  #number(count: number): void {
    const before = this.#ids.length / 2
    if (count <= before) return
    const ids = new Int32Array(2 * count)
    ids.set(this.#ids)
    const free = new Int32Array(count)
    free.set(this.#free.subarray(0, this.#freeCount))
    for (let number = count - 1; number >= before; number--) free[this.#freeCount++] = number
    this.#ids = ids
    this.#free = free
  }

  /** Posts the receives that the program has written. */
  refill(): boolean {
    // As of a queue pair: posting one may end in asking for the next.
    if (this.#refilling) return false
    this.#refilling = true
    try {
      return this.#refill()
    } finally {
      this.#refilling = false
    }
  }

  #refill(): boolean {
    const ring = this.#ring
    const { translation } = this.#work
    let took = false
    while (this.#next !== ring.producer) {
      if (this.#posted >= this.#maxWr || this.#freeCount === 0) {
        this.#work.takeLater(this)
        break
      }
      const w = ring.entry(this.#next)
      const number = this.#free[--this.#freeCount]!
      this.#ids[2 * number] = ring.i32[w]!
      this.#ids[2 * number + 1] = ring.i32[w + 1]!
      this.#next = (this.#next + 1) & ring.mask
      this.#posted++
      translation.addReceive(this.srq, this.maxSge, ring, w, (this.#slot * srqNumbers + number) * 4 + 2)
      took = true
      if (translation.receivesFull) translation.postReceives(this.srq)
    }
    translation.postReceives(this.srq)
    return took
  }

  take(): boolean {
    return this.refill()
  }

  /** Handles the completion of the receive with this number, taken by a message to `qp`. */
  received(wc: WorkCompletion, number: number, qp: SharedReceiver | undefined): void {
    if (number >= this.#ids.length / 2) return
    const low = this.#ids[2 * number]!
    const high = this.#ids[2 * number + 1]!
    const ring = this.#ring
    this.#free[this.#freeCount++] = number
    this.#posted--
    this.#done = (this.#done + 1) & ring.mask
    ring.consumer = this.#done
    qp?.receivedShared(wc, low, high)
    if (this.limit > 0 && ((ring.producer - this.#done) & ring.mask) < this.limit) {
      this.limit = 0
      this.raise(EventType.SrqLimitReached)
    }
  }

  raise(type: number): void {
    if (this.events?.push(asyncEvent(this.userHandle, type))) this.asyncEvents++
  }

  /** Executes `ibv_modify_srq` with a new size: the program maps the new ring, and unmaps the old one. */
  resize(maxWr: number): void {
    const old = this.#ring
    const kept = (old.producer - this.#done) & old.mask
    if (kept > maxWr) fail('EINVAL', `ibv_modify_srq: max_wr is ${maxWr}, and ${kept} receives are in the queue`)
    const taken = (this.#next - this.#done) & old.mask
    const ring = this.#makeRing('ibv_modify_srq', maxWr)
    try {
      this.srq.modify({ maxWr })
    } catch (error) {
      ring.close()
      throw error
    }
    for (let i = 0, from = this.#done; i < kept; i++, from = (from + 1) & old.mask) ring.copyEntry(i, old, from)
    ring.producer = kept
    this.#done = 0
    this.#next = taken
    this.#ring = ring
    this.#maxWr = maxWr
    this.#number(2 * maxWr)
    old.close()
  }

  /** Takes back asynchronous events that the program has not read; returns the number of those that it has. */
  reported(): number {
    const { userHandle } = this
    const unread =
      this.events?.takeBack(
        (event) => event.getBigUint64(0, true) === userHandle && srqEvents.has(event.getUint32(8, true)),
        this.asyncEvents,
      ) ?? 0
    return this.asyncEvents - unread
  }

  /** Closes it; EBUSY while queue pairs use it. */
  close(): void {
    this.srq.close()
    this.#ring.close()
    if (this.events) this.events.users--
    this.#work.forgetSrq(this.#slot)
  }
}
