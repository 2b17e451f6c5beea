/**
 * Completion queues of streams: all streams of a thread and device complete to a few pairs, and a completion names its queue pair. Whoever
 * polls a pair hands its completions on to their streams, each of which takes its own later.
 *
 * A CQ never overruns: a stream reserves an entry for each request that its queue pair may have outstanding. If no pair has room for one
 * more stream, another is made, as large as all before it, so that the first streams have small rings, which stay in a cache, and no ring
 * is ever replaced. A reservation ends when the queue pair is reclaimed and the CQs have been polled after that: completions of a closed
 * queue pair take entries until then, and polling passes over them.
 */
import type { CompletionQueue } from '../../verbs/index.ts'
import { type WorkCompletion, workCompletions } from '../../verbs/provider/index.ts'

/** Number of completions taken at a time. */
const completionBatch = 32

/** Stream as its completion queues see it. */
export interface Completed {
  /** Keeps a received message until the stream processes it. */
  received(wc: WorkCompletion): void
  /** Notes that a request is done, and all before it. */
  sent(wc: WorkCompletion): void
  /** Notifies the owner of the stream of messages that were handed on: whoever polled, it may have been for another stream or call. */
  receivedMeanwhile(): void
  /** The same of requests that are done. */
  sentMeanwhile(): void
}

/** Number of entries that a stream needs for its sends and its receives. */
export interface Entries {
  readonly sends: number
  readonly receives: number
}

/** Part of a queue pair that its completions depend on. */
interface Completing {
  readonly qpNum: number
  readonly reclaimed: boolean
}

/** Creates a CQ of a pair. `crowded`: many queue pairs are to complete to it. */
export type MakeCq = (cqe: number, pair: CqPair, crowded: boolean) => CompletionQueue

// Shared by all pairs of this thread: handing a completion on polls nothing.
const scratch: WorkCompletion[] = workCompletions(completionBatch)

export class CqPair {
  readonly sendCq: CompletionQueue
  readonly recvCq: CompletionQueue
  readonly size: Entries
  private readonly crowded: boolean
  /** Entries that no stream has reserved. */
  freeSends: number
  freeReceives: number
  /** True from `reqNotify` until its event was taken. */
  private sendArmed = false
  private recvArmed = false
  private readonly streams: Map<number, Completed> = new Map()
  // The stream of the last completion: the next one is often its too.
  private lastNumber = 0
  private lastStream: Completed | undefined

  constructor(make: MakeCq, size: Entries, crowded: boolean) {
    this.size = size
    this.crowded = crowded
    this.freeSends = size.sends
    this.freeReceives = size.receives
    this.sendCq = make(size.sends, this, crowded)
    try {
      this.recvCq = make(size.receives, this, crowded)
    } catch (error) {
      this.sendCq.close()
      throw error
    }
  }

  /** True if one more stream fits. A pair made for one takes no second, whose queue pair would have to wait for a grace period. */
  hasRoom({ sends, receives }: Entries): boolean {
    return (this.crowded || this.unused) && this.freeSends >= sends && this.freeReceives >= receives
  }

  get unused(): boolean {
    return this.freeSends === this.size.sends && this.freeReceives === this.size.receives
  }

  /** Hands the completions of a queue pair on to `stream` until `leave`. */
  join(qp: Completing, stream: Completed): void {
    this.streams.set(qp.qpNum, stream)
  }

  leave(qp: Completing): void {
    this.streams.delete(qp.qpNum)
    this.lastStream = undefined
    this.lastNumber = 0
  }

  /** True if completions are available. */
  get filled(): boolean {
    return this.recvCq.filled || this.sendCq.filled
  }

  /** Drives the device and hands on what was received. */
  pollReceives(): void {
    for (;;) {
      const n = this.recvCq.poll(scratch)
      for (let i = 0; i < n; i++) {
        const wc = scratch[i]!
        const stream = this.find(wc.qpNum)
        if (stream === undefined) continue
        stream.received(wc)
        stream.receivedMeanwhile()
      }
      if (n < completionBatch) return
    }
  }

  /** Hands on the completions of sends. */
  pollSends(): void {
    for (;;) {
      const n = this.sendCq.poll(scratch)
      for (let i = 0; i < n; i++) {
        const wc = scratch[i]!
        const stream = this.find(wc.qpNum)
        if (stream === undefined) continue
        stream.sent(wc)
        stream.sentMeanwhile()
      }
      if (n < completionBatch) return
    }
  }

  /** Hands on all completions that there are. */
  drain(): void {
    if (this.recvCq.filled) this.pollReceives()
    if (this.sendCq.filled) this.pollSends()
  }

  private find(number: number): Completed | undefined {
    if (number === this.lastNumber) return this.lastStream
    const stream = this.streams.get(number)
    this.lastNumber = number
    this.lastStream = stream
    return stream
  }

  /**
   * Arms both queues whatever is known of them: a thread that was killed while it made the event has left them without one until another
   * thread has cleaned up.
   */
  armAnew(): void {
    this.recvArmed = false
    this.sendArmed = false
    this.arm()
    this.drain()
  }

  /** Arms both queues, unless they are armed or have an event that was not taken. Poll once more afterwards. */
  arm(): void {
    if (!this.recvArmed) {
      this.recvArmed = true
      this.recvCq.reqNotify()
    }
    if (!this.sendArmed) {
      this.sendArmed = true
      this.sendCq.reqNotify()
    }
  }

  /** Notes that an event of a queue was taken, which is then not armed, and hands on what has come. */
  tookEvent(cq: CompletionQueue): void {
    if (cq === this.recvCq) this.recvArmed = false
    else this.sendArmed = false
    this.drain()
  }

  close(): void {
    this.sendCq.close()
    this.recvCq.close()
  }
}

/** A reservation whose queue pair is closed. */
interface Ended {
  readonly pair: CqPair
  readonly entries: Entries
  readonly qp: Completing
}

export class StreamQueues {
  readonly #make: MakeCq
  readonly #maxCqe: number
  readonly #pairs: CqPair[] = []
  #ended: Ended[] = []

  /** `maxCqe`: maximum number of entries of a CQ. */
  constructor(make: MakeCq, maxCqe: number) {
    this.#make = make
    this.#maxCqe = maxCqe
  }

  /** Pairs in use. */
  get pairs(): readonly CqPair[] {
    return this.#pairs
  }

  /** Returns a pair with room for one more stream, which is reserved. Throws a VerbsError if there is none and none can be made. */
  reserve(entries: Entries): CqPair {
    this.#release(false)
    let pair = this.#pairs.find((one) => one.hasRoom(entries))
    pair ??= this.#grow(entries)
    pair.freeSends -= entries.sends
    pair.freeReceives -= entries.receives
    return pair
  }

  /** Gives a reservation back for which no queue pair was made. */
  cancel(pair: CqPair, { sends, receives }: Entries): void {
    pair.freeSends += sends
    pair.freeReceives += receives
  }

  /** Ends a reservation after its queue pair was closed. */
  end(pair: CqPair, entries: Entries, qp: Completing): void {
    pair.leave(qp)
    this.#ended.push({ pair, entries, qp })
  }

  /**
   * Gives the entries of reclaimed queue pairs back: nothing completes to them any more, and what did is polled now. `all`: also of those
   * behind one that a stopped process keeps.
   */
  #release(all: boolean): void {
    const ended = this.#ended
    let count = 0
    while (count < ended.length && ended[count]!.qp.reclaimed) count++
    const released = ended.splice(0, count)
    if (all) {
      this.#ended = []
      for (const one of ended) (one.qp.reclaimed ? released : this.#ended).push(one)
    }
    if (released.length === 0) return
    for (const pair of new Set(released.map((one) => one.pair))) pair.drain()
    for (const { pair, entries } of released) this.cancel(pair, entries)
  }

  /** Makes a pair for as many streams of this size as all others have entries for, and at least one. */
  #grow({ sends, receives }: Entries): CqPair {
    let [allSends, allReceives] = [0, 0]
    for (const { size } of this.#pairs) {
      allSends += size.sends
      allReceives += size.receives
    }
    const most = Math.floor(this.#maxCqe / Math.max(sends, receives))
    for (let times = Math.max(1, Math.min(most, Math.ceil(Math.max(allSends / sends, allReceives / receives)))); ; ) {
      try {
        const pair = new CqPair(this.#make, { sends: times * sends, receives: times * receives }, times > 1)
        this.#pairs.push(pair)
        return pair
      } catch (error) {
        // There may be memory for fewer.
        if (times === 1) throw error
        times >>= 1
      }
    }
  }

  /** Closes pairs that no stream uses, but for the first. */
  trim(): void {
    this.#release(true)
    for (let i = this.#pairs.length - 1; i > 0; i--)
      if (this.#pairs[i]!.unused) for (const pair of this.#pairs.splice(i, 1)) pair.close()
  }

  /** Hands on all completions, after it has driven the device once. */
  poll(): void {
    let polled = false
    for (const pair of this.#pairs) {
      if (polled) pair.drain()
      else {
        polled = true
        pair.pollReceives()
        if (pair.sendCq.filled) pair.pollSends()
      }
    }
  }

  /** Arms all pairs whatever is known of them: see `CqPair.armAnew`. */
  armAnew(): void {
    for (const pair of this.#pairs) pair.armAnew()
  }

  /** Arms all pairs, and hands on what came before that. */
  arm(): void {
    for (const pair of this.#pairs) {
      pair.arm()
      pair.drain()
    }
  }

  close(): void {
    for (const pair of this.#pairs.splice(0)) pair.close()
    this.#ended = []
  }
}
