/**
 * The send queue of a connection, and which samples it holds.
 *
 * A sample is posted either inline, and belongs to the path again at once, or signaled, and is held until its completion has been polled:
 * never both, never neither. It is inline if it is small enough, except every `periodic_signaling`-th of those that are: entries of the
 * send queue become free only when the completion of a later request is polled.
 *
 * Entries are numbered from 0 on; `#held` has for each that is in the queue the sample that it holds, −1 if none.
 */
import {
  type AddressHandle,
  type CompletionQueue,
  Opcode,
  type QueuePair,
  SendFlag,
  SendWorkRequest,
  VerbsError,
  WcStatus,
  type WorkCompletion,
  wcStatusText,
  workCompletions,
} from '../../../index.ts'
import { type Pool, SampleField } from '../../index.ts'
import type { InfinibandCounters } from './counters.ts'
import { elementsOf, metaBytes, pointAt, valueBytes } from './message.ts'
import type { RegisteredSamples } from './registered.ts'
import type { InfinibandSettings } from './settings.ts'

const inlineEntry = -1

export class SendSide {
  /** Number of indices of the last `write` that the caller owns. */
  released = 0
  /** Error that made the connection unusable, empty if another error has flushed the queue; undefined while there is none. */
  failure: string | undefined
  /** True if the destination of messages is known: with UD, from the request, or the reply to it. */
  hasPath: boolean
  readonly #memory: RegisteredSamples
  readonly #pool: Pool
  readonly #out: InfinibandSettings['out']
  readonly #counters: InfinibandCounters
  readonly #qp: Pick<QueuePair, 'postSend'>
  readonly #cq: Pick<CompletionQueue, 'poll'>
  readonly #wc: WorkCompletion[]
  readonly #requests: SendWorkRequest[]
  readonly #mask: number
  readonly #held: Int32Array
  /** Entries that were posted, and those of them that are free again. */
  #head = 0
  #tail = 0
  /** Signaled requests whose completion has not been polled. */
  #signaled = 0
  #counter = 0

  constructor(
    memory: RegisteredSamples,
    settings: Pick<InfinibandSettings, 'out' | 'mode'>,
    qp: Pick<QueuePair, 'postSend'>,
    cq: Pick<CompletionQueue, 'poll'>,
    counters: InfinibandCounters,
  ) {
    const { out, mode } = settings
    this.hasPath = mode !== 'UD'
    this.#memory = memory
    this.#pool = memory.pool
    this.#out = out
    this.#counters = counters
    this.#qp = qp
    this.#cq = cq
    this.#wc = workCompletions(Math.min(out.maxWrs, Math.max(16, out.vectorize)))
    this.#mask = out.maxWrs - 1
    this.#held = new Int32Array(out.maxWrs).fill(inlineEntry)
    this.#requests = Array.from({ length: out.maxWrs }, (_, i) => {
      return new SendWorkRequest(i, Opcode.Send, 0, elementsOf(memory, 0))
    })
    for (let i = 0; i < out.maxWrs; i++) this.#requests[i]!.next = this.#requests[(i + 1) & this.#mask]!
  }

  /** Sets the destination of messages, with UD. */
  sendTo(ah: AddressHandle, remoteQpn: number, remoteQkey: number): void {
    for (const request of this.#requests) Object.assign(request, { ah, remoteQpn, remoteQkey })
    this.hasPath = true
  }

  /** Samples that are held, because their completion has not been polled. */
  get holds(): number {
    return this.#signaled
  }

  /** Entries of the queue that are in use. */
  get used(): number {
    return this.#head - this.#tail
  }

  write(samples: Int32Array, count: number): number {
    if (this.#head - this.#tail + count > this.#out.maxWrs || this.#signaled + count > this.#out.cqSize) this.reap()
    const sent = this.#post(this.#prepare(samples, count))
    const released = this.#reorder(samples, count, sent)
    this.released = released + this.#poll(samples, released, count - released)
    this.#counters.sent += sent
    return sent
  }

  /** Prepares the requests of as many samples as there is room for; returns their number. */
  #prepare(samples: Int32Array, count: number): number {
    const { maxWrs, cqSize, maxInlineData, sendInline, periodicSignaling } = this.#out
    const memory = this.#memory
    const records = this.#pool.samples
    const free = Math.min(count, maxWrs - (this.#head - this.#tail))
    let signaled = this.#signaled
    for (let i = 0; i < free; i++) {
      const word = records.word(samples[i]!)
      const bytes = records.u32[word + SampleField.length]! * valueBytes
      const isSmall = bytes + metaBytes < maxInlineData
      const counter = isSmall ? (this.#counter + 1) % periodicSignaling : this.#counter
      const inline = isSmall && counter !== 0 && sendInline
      if (!inline && ++signaled > cqSize) return i
      this.#counter = counter
      const request = this.#requests[(this.#head + i) & this.#mask]!
      request.sendFlags = inline ? SendFlag.Inline : SendFlag.Signaled
      pointAt(request.sgList, memory, word)
      request.sgList[2]!.length = bytes
      this.#held[request.wrId] = inline ? inlineEntry : samples[i]!
    }
    return free
  }

  /** Posts the next requests as one list; returns how many were taken. */
  #post(count: number): number {
    if (count === 0) return 0
    const first = this.#requests[this.#head & this.#mask]!
    const last = this.#requests[(this.#head + count - 1) & this.#mask]!
    const next = last.next
    last.next = null
    let posted = count
    try {
      this.#qp.postSend(first)
    } catch (error) {
      posted = this.#postedBefore(error, first)
    }
    last.next = next
    for (let i = 0; i < posted; i++) {
      if (this.#held[(this.#head + i) & this.#mask] === inlineEntry) this.#counters.inline++
      else this.#signaled++
    }
    this.#head += posted
    return posted
  }

  #postedBefore(error: unknown, first: SendWorkRequest): number {
    this.failure ??= error instanceof Error ? error.message : String(error)
    const bad = error instanceof VerbsError ? error.badWr : undefined
    let posted = 0
    for (let each: SendWorkRequest | null = first; each !== null; each = each.next) {
      if (each === bad) return posted
      posted++
    }
    return 0
  }

  /**
   * Moves the samples that the caller owns, inline ones and those that were not posted, to the beginning of the list; returns their number.
   */
  #reorder(samples: Int32Array, count: number, sent: number): number {
    const first = this.#head - sent
    let released = 0
    for (let i = 0; i < count; i++) {
      if (i >= sent || this.#held[(first + i) & this.#mask] === inlineEntry) samples[released++] = samples[i]!
    }
    this.#counters.send_queue_full += this.failure === undefined ? count - sent : 0
    this.#counters.send_failed += this.failure === undefined ? 0 : count - sent
    this.#counters.signaled += count - released
    return released
  }

  /** Polls at most `most` completions, and appends their samples at `samples[at…]`; returns their number. */
  #poll(samples: Int32Array, at: number, most: number): number {
    if (this.#signaled === 0) return 0
    let appended = 0
    const polled = this.#cq.poll(this.#wc, Math.min(most, this.#wc.length))
    for (let i = 0; i < polled; i++) {
      const sample = this.#complete(this.#wc[i]!)
      if (sample >= 0) samples[at + appended++] = sample
    }
    if (polled < 0) this.failure ??= 'the completion queue of sends overran'
    return appended
  }

  /** Polls all completions, and gives their samples back. */
  reap(): void {
    for (;;) {
      const polled = this.#cq.poll(this.#wc)
      if (polled < 0) this.failure ??= 'the completion queue of sends overran'
      for (let i = 0; i < polled; i++) {
        const sample = this.#complete(this.#wc[i]!)
        if (sample >= 0) this.#pool.drop(sample)
      }
      if (polled < this.#wc.length) return
    }
  }

  /** Frees the entries up to that of a completion. Returns the sample that it held, or −1. */
  #complete(wc: WorkCompletion): number {
    const entry = wc.wrId
    const sample = this.#held[entry]!
    this.#held[entry] = inlineEntry
    this.#tail += ((entry - this.#tail) & this.#mask) + 1
    if (sample !== inlineEntry) this.#signaled--
    if (wc.status !== WcStatus.Success) {
      this.#counters.send_failed++
      this.failure ??= wc.status === WcStatus.WrFlushErr ? '' : `a send ended with ${wcStatusText(wc.status)}`
    }
    return sample
  }

  /** Gives back the samples that are still held, when the queue pair is closed and nothing more can complete. */
  releaseAll(): void {
    for (; this.#tail < this.#head; this.#tail++) {
      const sample = this.#held[this.#tail & this.#mask]!
      if (sample !== inlineEntry) this.#pool.drop(sample)
      if (sample !== inlineEntry) this.#counters.send_failed++
      this.#held[this.#tail & this.#mask] = inlineEntry
    }
    this.#signaled = 0
  }
}
