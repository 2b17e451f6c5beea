/** Comparison of samples, as `villas compare`. */
import type { Decoder } from './formats/codec.ts'
import { SampleField, SampleFlag, Samples } from './samples.ts'
import { type Signal, SignalType } from './signals.ts'

export interface CompareOptions {
  /** Values and seconds that differ by no more than this are equal. */
  epsilon: number
  sequence: boolean
  timestamps: boolean
  data: boolean
}

/** Difference between two samples, or between the numbers of samples. */
export interface Difference {
  what: 'length' | 'sequence' | 'timestamp' | 'count' | 'data'
  /** Both values, the first one first: "12 and 13". */
  values: string
  /** Index of the value in the sample, for data. */
  index?: number
}

/** Samples of a source of bytes, one by one. */
export class SampleReader {
  readonly decoder: Decoder
  readonly samples: Samples
  /** Samples that were read. */
  count = 0
  readonly #read: (into: Uint8Array) => number
  #bytes: Uint8Array = new Uint8Array(1 << 18)
  /** Bytes of `#bytes` that were read, and how far they are decoded. */
  #filled = 0
  #at = 0
  #ended = false
  /** Index of the sample of `samples` that was returned last. */
  #index = 0

  /** Makes a reader. `read` fills bytes from their beginning and returns how many; 0 at the end. */
  constructor(decoder: Decoder, values: number, read: (into: Uint8Array) => number) {
    this.decoder = decoder
    this.samples = new Samples(128, values)
    this.#read = read
  }

  /** Returns the word at which the next sample begins; -1 if there is none. */
  next(): number {
    const { samples } = this
    while (++this.#index >= samples.count) {
      if (this.#ended && this.#at >= this.#filled) return -1
      this.#decode()
      this.#index = -1
    }
    this.count++
    return samples.word(this.#index)
  }

  #decode(): void {
    const { samples, decoder } = this
    const before = this.#at
    samples.count = 0
    this.#at = decoder.decode(this.#bytes.subarray(0, this.#filled), this.#at, samples, this.#ended)
    if (samples.count === samples.capacity) return
    if (this.#ended || decoder.problems.fatal) {
      this.#ended = true
      // The rest is not a sample.
      if (samples.count === 0 || this.#at === before) this.#at = this.#filled
      return
    }
    this.#bytes.copyWithin(0, this.#at, this.#filled)
    this.#filled -= this.#at
    this.#at = 0
    if (this.#filled === this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#filled)
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    const count = this.#read(this.#bytes.subarray(this.#filled))
    this.#filled += count
    this.#ended = count === 0
  }
}

/** Sample, whose record begins at a word of the samples. */
interface Sample {
  samples: Samples
  word: number
}

/** Returns the difference between two samples; null if they are equal. `signals`: types of their values. */
export function differenceOf(
  a: Sample,
  b: Sample,
  signals: readonly Signal[],
  { epsilon, sequence, timestamps, data }: CompareOptions,
): Difference | null {
  const isThere = flagsOf(a)
  const isThereToo = flagsOf(b)
  if (sequence) {
    const missing = missingOf(isThere & SampleFlag.sequence, isThereToo & SampleFlag.sequence)
    if (missing !== null) return { what: 'sequence', values: missing }
    if ((isThere & SampleFlag.sequence) !== 0 && !isSameInt64(a, b, SampleField.sequence)) {
      const [from, to] = [a, b].map(({ samples, word }) => samples.int64(word + SampleField.sequence))
      return { what: 'sequence', values: `${from} and ${to}` }
    }
  }
  if (timestamps) {
    const missing = missingOf(isThere & SampleFlag.tsOrigin, isThereToo & SampleFlag.tsOrigin)
    if (missing !== null) return { what: 'timestamp', values: missing }
    if ((isThere & SampleFlag.tsOrigin) !== 0 && Math.abs(secondsApart(a, b)) > epsilon)
      return { what: 'timestamp', values: `${timeText(a)} and ${timeText(b)}` }
  }
  return data ? dataDifference(a, b, signals, epsilon) : null
}

function dataDifference(a: Sample, b: Sample, signals: readonly Signal[], epsilon: number): Difference | null {
  const length = a.samples.u32[a.word + SampleField.length]!
  const other = b.samples.u32[b.word + SampleField.length]!
  if (length !== other) return { what: 'count', values: `${length} and ${other}` }
  for (let i = 0; i < length; i++) {
    const type = signals[i]!.type
    if (!isEqual(a, b, SampleField.data + 2 * i, type, epsilon))
      return { what: 'data', index: i, values: `${valueText(a, i, type)} and ${valueText(b, i, type)}` }
  }
  return null
}

/** True if the values at the word `at` after the beginning of both records are equal. */
function isEqual(a: Sample, b: Sample, at: number, type: SignalType, epsilon: number): boolean {
  const from = a.word + at
  const to = b.word + at
  switch (type) {
    case SignalType.float:
      return isNear(a.samples.f64[from >> 1]!, b.samples.f64[to >> 1]!, epsilon)
    case SignalType.integer:
      return isSameInt64(a, b, at)
    case SignalType.boolean:
      return (a.samples.u32[from] !== 0) === (b.samples.u32[to] !== 0)
    default: {
      const { f32 } = a.samples
      const { f32: other } = b.samples
      const re = isNear(f32[from]!, other[to]!, epsilon)
      const im = isNear(f32[from + 1]!, other[to + 1]!, epsilon)
      const distance = Math.hypot(f32[from]! - other[to]!, f32[from + 1]! - other[to + 1]!)
      return re && im && !(distance > epsilon)
    }
  }
}

/** True if two values are equal within `epsilon`. NaN equals NaN here: a file has it for a value that was not there. */
function isNear(a: number, b: number, epsilon: number): boolean {
  return a === b || Math.abs(a - b) <= epsilon || (Number.isNaN(a) && Number.isNaN(b))
}

function isSameInt64(a: Sample, b: Sample, at: number): boolean {
  const from = a.word + at
  const to = b.word + at
  return a.samples.u32[from] === b.samples.u32[to] && a.samples.u32[from + 1] === b.samples.u32[to + 1]
}

function flagsOf({ samples, word }: Sample): number {
  return samples.u32[word + SampleField.flags]!
}

/** Returns null if both have it, or neither has. */
function missingOf(a: number, b: number): string | null {
  return (a === 0) === (b === 0) ? null : a === 0 ? 'none and one' : 'one and none'
}

function secondsApart(a: Sample, b: Sample): number {
  const [from, to] = [a.word + SampleField.origin, b.word + SampleField.origin]
  return b.samples.int64(to) - a.samples.int64(from) + (b.samples.int64(to + 2) - a.samples.int64(from + 2)) * 1e-9
}

function timeText({ samples, word }: Sample): string {
  const at = word + SampleField.origin
  return `${samples.int64(at)}.${String(samples.int64(at + 2)).padStart(9, '0')}`
}

function valueText({ samples, word }: Sample, i: number, type: SignalType): string {
  const at = word + SampleField.data + 2 * i
  if (type === SignalType.float) return String(samples.f64[at >> 1])
  if (type === SignalType.integer) return String(samples.int64(at))
  if (type === SignalType.boolean) return samples.u32[at] === 0 ? 'false' : 'true'
  const [re, im] = [samples.f32[at]!, samples.f32[at + 1]!]
  return `${re}${im < 0 ? '' : '+'}${im}i`
}
