/**
 * loopback: samples that are written to it are read from it, in this gateway. Samples pass from thread to thread by their indices, without
 * a copy. The reader is busy until something comes (mode polling), or it sleeps (Atomics.wait) and the writer wakes it (all other modes).
 */
import {
  type Destination,
  IndexQueue,
  type NodeCommon,
  type NodeContext,
  type NodeType,
  type ParsedNode,
  type Pool,
  type RunningNode,
  type SettingsReader,
  type Source,
} from '../index.ts'

/** Words that reader and writer share, each in a cache line. */
const Word = { sleeping: 0, hasReader: 16, count: 32 } as const

interface Shared {
  readonly queue: SharedArrayBuffer
  readonly words: SharedArrayBuffer
}

/** Looks at the queue between two looks at the clock. */
const looksPerTime = 64
/** Number of looks of a reader before it sleeps: some 5 µs, a tenth of the time that waking takes. */
const looksBeforeSleep = 64

class LoopbackSource implements Source {
  released = 0
  readonly ownSamples = true
  readonly #queue: IndexQueue
  readonly #words: Int32Array
  readonly #polling: boolean
  readonly #context: NodeContext

  constructor(queue: IndexQueue, words: Int32Array, polling: boolean, context: NodeContext) {
    this.#queue = queue
    this.#words = words
    this.#polling = polling
    this.#context = context
  }

  read(samples: Int32Array, count: number): number {
    let got = 0
    while (got < count) {
      const index = this.#queue.shift()
      if (index < 0) break
      samples[got++] = index
    }
    this.released = got
    return got
  }

  wait(ms: number): void {
    const queue = this.#queue
    if (this.#polling) {
      const { clock } = this.#context
      const until = clock.nowNs() + ms * 1e6
      do for (let i = 0; i < looksPerTime; i++) if (queue.length > 0) return
      while (clock.nowNs() < until)
      return
    }
    for (let i = 0; i < looksBeforeSleep; i++) if (queue.length > 0) return
    const words = this.#words
    Atomics.store(words, Word.sleeping, 1)
    if (queue.length === 0) Atomics.wait(words, Word.sleeping, 1, ms)
    Atomics.store(words, Word.sleeping, 0)
  }
}

class LoopbackDestination implements Destination {
  released = 0
  overruns = 0
  readonly #queue: IndexQueue
  readonly #words: Int32Array

  constructor(queue: IndexQueue, words: Int32Array) {
    this.#queue = queue
    this.#words = words
  }

  write(samples: Int32Array, count: number): number {
    let lost = 0
    for (let i = 0; i < count; i++) {
      const index = samples[i]!
      // Samples for which there is no room go to the head: the caller gives them back.
      if (!this.#queue.push(index)) samples[lost++] = index
    }
    this.released = lost
    this.overruns += lost
    const words = this.#words
    if (Atomics.load(words, Word.sleeping) === 1 && Atomics.exchange(words, Word.sleeping, 0) === 1)
      Atomics.notify(words, Word.sleeping)
    return count - lost
  }
}

class Loopback implements RunningNode {
  readonly source: LoopbackSource | null
  readonly destination: LoopbackDestination | null
  readonly synchronous = true
  state = 'started'
  readonly #queue: IndexQueue
  readonly #words: Int32Array
  readonly #pool: Pool

  constructor(
    length: number,
    polling: boolean,
    context: NodeContext,
    directions: { in: boolean; out: boolean },
    { queue, words }: Shared,
  ) {
    this.#queue = new IndexQueue(length, queue)
    this.#words = new Int32Array(words)
    this.#pool = context.pool
    this.source = directions.in ? new LoopbackSource(this.#queue, this.#words, polling, context) : null
    this.destination = directions.out ? new LoopbackDestination(this.#queue, this.#words) : null
    if (directions.in) Atomics.store(this.#words, Word.hasReader, 1)
  }

  counters(): Record<string, number> {
    return this.destination === null ? { queued: this.#queue.length } : { overruns: this.destination.overruns }
  }

  async stop(): Promise<void> {
    this.state = 'stopped'
    // The reader, which stops later, owns what was written. Without a reader, this side gives it back.
    if (this.source === null && Atomics.load(this.#words, Word.hasReader) === 1) return
    for (let index = this.#queue.shift(); index >= 0; index = this.#queue.shift()) this.#pool.drop(index)
  }
}

export const loopback: NodeType = {
  name: 'loopback',
  is: 'what is written to it is read from it, in this gateway',
  parse(settings: SettingsReader, { signals }: NodeCommon): ParsedNode {
    const asked = settings.integer('queuelen', 1024, 1, 2 ** 20)
    const length = Math.max(2, 2 ** Math.ceil(Math.log2(asked)))
    const polling = settings.choice('mode', 'auto', ['auto', 'eventfd', 'pthread', 'polling']) === 'polling'
    return {
      signals,
      reads: true,
      writes: true,
      splits: true,
      mirrors: true,
      keeps: length,
      share: (): Shared => ({
        queue: new IndexQueue(length).buffer,
        words: new SharedArrayBuffer(Word.count * 4),
      }),
      start: async (context, directions, shared) =>
        new Loopback(length, polling, context, directions, shared as Shared),
    }
  },
}
