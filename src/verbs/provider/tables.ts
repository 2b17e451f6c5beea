/** The tables of a segment, seen from one thread: the location of each record, memory for new ones, and the counters of devices. */
import type { Segment } from '../../memory/index.ts'
import { asVerbsError } from './errors.ts'
import { Chan, type CounterName, Cq, Ctx, counterNames, Dev, Meta, PendingList, Qp, Srq, Tables } from './layout.ts'
import type { Platform } from './platform.ts'

/** Index of each counter. */
const counterIndex = Object.fromEntries(counterNames.map((name, i) => [name, i])) as Record<CounterName, number>
/** A double and its bits. */
const asNumber = new Float64Array(1)
const asBits = new BigInt64Array(asNumber.buffer)

export class SegmentTables {
  readonly segment: Segment
  readonly platform: Platform
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly u8: Uint8Array
  /** First word of each table. */
  readonly at: Readonly<typeof Tables>
  /** Waits for a grace period, and reclaims what was closed: for want of memory or records. Nothing, unless the process has set it. */
  reclaim: () => void = () => {}
  /**
   * A message for a QP that this thread has made `hosted`, or for one whose SRQ it has made so, found no receive: posts those that there are
   * now elsewhere. `slot` is that of the QP or SRQ. No lock is held, and the thread is in no operation; it may post to any queue.
   * What it throws comes out of the verb in which the message was on its way.
   */
  refill: ((queue: 'qp' | 'srq', slot: number) => void) | null = null
  /** The word that counts the QPs whose requests wait for a time or for their peer. */
  readonly pendingCount: number

  constructor(segment: Segment, platform: Platform) {
    this.segment = segment
    this.platform = platform
    this.i32 = segment.i32
    this.f64 = segment.f64
    this.u8 = segment.u8
    const base = segment.staticStart / 4
    const at = {} as Record<string, number>
    for (const [name, offset] of Object.entries(Tables)) at[name] = base + offset
    this.at = at as unknown as typeof Tables
    this.pendingCount = this.at.pending + PendingList.count
  }

  qpWord(slot: number): number {
    return this.at.qps + slot * Qp.words
  }
  qpSlot(q: number): number {
    return (q - this.at.qps) / Qp.words
  }
  cqWord(slot: number): number {
    return this.at.cqs + slot * Cq.words
  }
  srqWord(slot: number): number {
    return this.at.srqs + slot * Srq.words
  }
  ctxWord(slot: number): number {
    return this.at.contexts + slot * Ctx.words
  }
  chanWord(slot: number): number {
    return this.at.channels + slot * Chan.words
  }
  deviceWord(index: number): number {
    return this.at.devices + index * Dev.words
  }

  /** Runs `body` under the control lock. */
  control<T>(body: () => T): T {
    const { segment } = this
    segment.lock(segment.controlLock)
    segment.stopIfTakenOver(segment.controlLock)
    try {
      return body()
    } finally {
      segment.unlock(segment.controlLock)
    }
  }

  /** Runs `body` under the control lock if no thread has it: its holder may wait for the calling thread. Returns true if it ran. */
  tryControl(body: () => void): boolean {
    const { segment } = this
    if (!segment.tryLock(segment.controlLock)) return false
    segment.stopIfTakenOver(segment.controlLock)
    try {
      body()
    } finally {
      segment.unlock(segment.controlLock)
    }
    return true
  }

  /** Memory for a record that is used for the first time. */
  commitMemory(word: number, words: number, verb: string): void {
    try {
      this.segment.commit(word * 4, words * 4)
    } catch (error) {
      throw asVerbsError(error, verb)
    }
  }

  /** Allocates memory. `owner` is the attachment whose end frees it: by default this thread's; 0 is no attachment. */
  allocate(bytes: number, verb: string, owner: number = this.segment.me): number {
    try {
      return this.orReclaim(() => this.segment.allocate(bytes, owner))
    } catch (error) {
      throw asVerbsError(error, verb)
    }
  }

  /** Returns true if the missing memory may belong to closed objects that are not reclaimed yet; false in the middle of a change. */
  #mayReclaim(error: unknown): boolean {
    const { i32, at, segment } = this
    return (
      (error as { code?: unknown }).code === 'ENOMEM' &&
      (i32[at.meta + Meta.retired] !== 0 || i32[at.meta + Meta.leaving] !== 0) &&
      i32[segment.controlLock] !== segment.lockValue
    )
  }

  /** Runs `make` again after a reclaim if it finds no memory or no record. */
  orReclaim<T>(make: () => T): T {
    try {
      return make()
    } catch (error) {
      if (!this.#mayReclaim(error)) throw error
    }
    this.reclaim()
    return make()
  }

  /** Counts one more, or `by` more, of what happens seldom; any thread may. Devices that hold a lock of their own count without this. */
  count(device: number, name: CounterName, by = 1): void {
    const { b64 } = this.segment
    const at = (this.deviceWord(device) + Dev.counters) / 2 + counterIndex[name]
    for (;;) {
      const before = Atomics.load(b64, at)
      asBits[0] = before
      asNumber[0] = asNumber[0]! + by
      if (Atomics.compareExchange(b64, at, before, asBits[0]) === before) return
    }
  }

  /** Returns all counters of a device, by name. */
  counters(device: number): Record<string, number> {
    const at = (this.deviceWord(device) + Dev.counters) / 2
    return Object.fromEntries(counterNames.map((name, i) => [name, this.f64[at + i]!]))
  }
}
