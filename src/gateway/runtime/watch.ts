/**
 * Observation of a node from another thread: how long samples were on their way, counted in a histogram, and, while there are viewers, the
 * samples themselves in a ring. The thread of the node never waits; samples that are read too late are overwritten.
 *
 *     word 0    viewers
 *          1    samples that were put into the ring
 *     byte 64   seconds on the way: sum, maximum, count; then counts of buckets (doubles)
 *     …         ring of records
 */
import { SampleField, SampleFlag, Samples } from '../index.ts'

const slots = 512
/** Number of buckets for each power of two of nanoseconds: the width of one is at most an eighth of its lower end. */
const perOctave = 8
const octaves = 42
const head = 3
const ringAt = 64 * Math.ceil(1 + ((head + octaves * perOctave) * 8) / 64)

export interface Delays {
  /** Samples with both times. */
  readonly count: number
  readonly sumSeconds: number
  readonly maxSeconds: number
  /** Returns the limit of the bucket in which the share of all samples, from 0 to 1, lies; 0 if there are none. */
  quantileSeconds(share: number): number
}

export class Watch {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #delays: Float64Array
  readonly #ring: Samples
  readonly #scratch = new Float64Array(1)
  readonly #scratchWords: Uint32Array

  /** Makes a watch. `values`: room in each sample. A buffer that another thread has made with the same number is shared. */
  constructor(values: number, buffer?: SharedArrayBuffer) {
    this.buffer = buffer ?? new SharedArrayBuffer(ringAt + Samples.bytesOf(slots, values))
    this.#words = new Int32Array(this.buffer, 0, 16)
    this.#delays = new Float64Array(this.buffer, 64, head + octaves * perOctave)
    this.#ring = new Samples(slots, values, new Uint8Array(this.buffer, ringAt))
    this.#scratchWords = new Uint32Array(this.#scratch.buffer)
  }

  /** Records a sample that passes: in the thread of the node. Allocates nothing. */
  take(samples: Samples, word: number): void {
    this.#countDelay(samples, word)
    const words = this.#words
    if (words[0] === 0) return
    const place = words[1]!
    const ring = this.#ring
    const to = ring.word(place & (slots - 1))
    const from = samples.u32
    const count = SampleField.data + 2 * samples.u32[word + SampleField.length]!
    for (let i = 0; i < count; i++) ring.u32[to + i] = from[word + i]!
    Atomics.store(words, 1, (place + 1) | 0)
  }

  /** Adds or removes a viewer of the samples. */
  view(change: 1 | -1): void {
    Atomics.add(this.#words, 0, change)
  }

  /** Samples that were put into the ring so far, as a 32-bit number that wraps around. */
  get seen(): number {
    return Atomics.load(this.#words, 1)
  }

  /**
   * Copies the samples after the first `seen` ones into `samples`, from index 0 on, and sets its count. Samples that have been overwritten
   * meanwhile are left out. Returns `seen` for the next call.
   */
  copy(seen: number, samples: Samples): number {
    const ring = this.#ring
    const until = this.seen
    let next = seen
    // The oldest ones are left out: they may be overwritten at any moment.
    const most = Math.min(slots / 2, samples.capacity)
    if (((until - next) | 0) > most) next = (until - most) | 0
    samples.count = 0
    for (; next !== until; next = (next + 1) | 0) {
      const from = ring.word(next & (slots - 1))
      const to = samples.word(samples.count)
      const length = Math.min(ring.u32[from + SampleField.length]!, samples.values)
      for (let i = 0; i < SampleField.data + 2 * length; i++) samples.u32[to + i] = ring.u32[from + i]!
      samples.u32[to + SampleField.length] = length
      if (((this.seen - next) | 0) < slots) samples.count++
    }
    return until
  }

  delays(): Delays {
    const [sumSeconds, maxSeconds, count] = this.#delays as unknown as [number, number, number]
    const buckets = this.#delays.slice(head)
    return {
      count,
      sumSeconds,
      maxSeconds,
      quantileSeconds: (share) => {
        let left = Math.max(1, Math.ceil(share * count))
        for (const [i, filled] of buckets.entries()) {
          left -= filled
          if (left <= 0) return Math.min(maxSeconds, limitOf(i) * 1e-9)
        }
        return maxSeconds
      },
    }
  }

  resetDelays(): void {
    this.#delays.fill(0)
  }

  #countDelay(samples: Samples, word: number): void {
    const both = SampleFlag.tsOrigin | SampleFlag.tsReceived
    if ((samples.u32[word + SampleField.flags]! & both) !== both) return
    const seconds = samples.int64(word + SampleField.received) - samples.int64(word + SampleField.origin)
    const ns =
      seconds * 1e9 + samples.int64(word + SampleField.received + 2) - samples.int64(word + SampleField.origin + 2)
    // Clocks of two machines may disagree.
    if (!(ns >= 0)) return
    const delays = this.#delays
    delays[0]! += ns * 1e-9
    if (ns * 1e-9 > delays[1]!) delays[1] = ns * 1e-9
    delays[2]! += 1
    delays[head + this.#bucketOf(ns)]! += 1
  }

  /** Returns a bucket, by the exponent of the double and the first three bits after it. */
  #bucketOf(ns: number): number {
    this.#scratch[0] = Math.max(ns, 1)
    const bucket = (this.#scratchWords[1]! >>> 17) - (1023 << 3)
    return Math.min(bucket, octaves * perOctave - 1)
  }
}

/** Returns the nanoseconds at which a bucket ends. */
function limitOf(bucket: number): number {
  return 2 ** Math.floor(bucket / perOctave) * (1 + ((bucket % perOctave) + 1) / perOctave)
}
