/**
 * Comparison of the answers of windows with the truth: errors by task, and a check of each bound that was stated. Windows are added one
 * after the other.
 */
import type { Estimate } from '../sketch/index.ts'
import { entropyBits, f1Of } from '../stats/index.ts'
import { type EventName, eventNumber } from './events.ts'
import { Column, type ExactCounts, type ExactWindow } from './exact.ts'
import { bytesOf, type Key, keyWords, nameOfKey, partOf, Word } from './key.ts'
import { type Measure, query } from './query.ts'
import type { Window } from './window.ts'

/** Number of answers with a bound, and of those for which the truth was within it. */
export interface Bounds {
  stated: number
  held: number
  /** Promised confidence: 0.95, or 1 for certainty. */
  confidence: number
}

/** Comparison of the flows (or queue pairs, hosts, …) that a key distinguishes. Keys of several windows are different keys. */
export interface KeyComparison {
  key: string
  /** Exact number of keys; and the number of those that the sketches had. */
  keys: number
  found: number
  /** Average, over all keys, of the error, and of the error divided by the truth. A key that is not found is estimated as 0. */
  absoluteError: number
  relativeError: number
  /** Keys with at least the threshold's fraction of the sum. */
  heavy: { keys: number; found: number; right: number; f1: number; relativeError: number }
  /** Number of the largest keys of each window, and of those that are among the same number of largest keys of the sketch. */
  top: { keys: number; right: number }
  /** Entropy in bits, the average of windows: that of the sketch is calculated from the keys it has. */
  entropy: { exact: number; sketch: number; relativeError: number }
  bounds: Bounds
}

/** Comparison of a number for each window: flows, hosts. */
export interface CountComparison {
  windows: number
  /** Averages. */
  exact: number
  sketch: number
  relativeError: number
  bounds: Bounds
}

export interface QuantileComparison {
  /** Quantile: 0.5, …; 1 is the largest. */
  quantile: number
  windows: number
  /** Average, and largest, error. */
  relativeError: number
  largestError: number
  bounds: Bounds
}

export interface Comparison {
  kind: 'verbena monitor comparison'
  windows: number
  measure: Measure
  threshold: number
  top: number
  packets: number
  roce: number
  keys: KeyComparison[]
  flows: CountComparison
  hosts: CountComparison
  latency: { ack: QuantileComparison[]; read: QuantileComparison[] }
  memory: { sketchBytes: number; exactBytes: number }
  /** Flag: every bound held as often as its confidence promises, within statistical tolerance. */
  holds: boolean
}

export interface CompareOptions {
  keys: readonly Key[]
  measure: Measure
  /** Number of rows of the largest keys that are compared. */
  top: number
  /** Fraction of the sum of all keys from which a key is heavy: 0.01 is 1 %. */
  threshold: number
  /** Memory of the sketches of a window, in bytes. */
  sketchBytes: number
}

const comparedQuantiles: readonly number[] = [0.5, 0.9, 0.99, 0.999, 1]

/** Probability below which a result is not attributed to chance. */
const leastChance = 0.001

/**
 * True if a bound held as often as it promises: for independent answers, the probability that as many or more of n fail is above
 * `leastChance`.
 */
export function boundsHold({ stated: n, held, confidence }: Bounds): boolean {
  const failed = n - held
  if (failed === 0 || confidence === 1) return failed === 0
  // Binomial distribution of the number of failures; its first values may be too small for a double.
  let logarithm = n * Math.log(confidence)
  let fewer = 0
  for (let k = 0; k < failed; k++) {
    fewer += Math.exp(logarithm)
    logarithm += Math.log(((n - k) / (k + 1)) * ((1 - confidence) / confidence))
  }
  return 1 - fewer > leastChance
}

class BoundsCount implements Bounds {
  stated = 0
  held = 0
  confidence = 1

  add(truth: number, { lower, upper, confidence }: Omit<Estimate, 'value'>): void {
    this.stated++
    this.confidence = Math.min(this.confidence, confidence)
    if (truth >= lower && truth <= upper) this.held++
  }

  result(): Bounds {
    return { stated: this.stated, held: this.held, confidence: this.confidence }
  }
}

class CountErrors {
  readonly #bounds = new BoundsCount()
  #exact = 0
  #sketch = 0
  #error = 0

  add(truth: number, estimate: Estimate): void {
    this.#bounds.add(truth, estimate)
    this.#exact += truth
    this.#sketch += estimate.value
    this.#error += relativeError(estimate.value, truth)
  }

  result(): CountComparison {
    const windows = this.#bounds.stated
    const average = (sum: number): number => (windows === 0 ? 0 : sum / windows)
    const [exact, sketch, error] = [this.#exact, this.#sketch, this.#error].map(average) as [number, number, number]
    return { windows, exact, sketch, relativeError: error, bounds: this.#bounds.result() }
  }
}

class QuantileErrors {
  readonly quantile: number
  readonly #bounds = new BoundsCount()
  #error = 0
  #largest = 0

  constructor(quantile: number) {
    this.quantile = quantile
  }

  /** Adds a quantile of sorted values, of which there is at least one; the rank is that of DDSketch. */
  add(sorted: Float64Array, estimate: Estimate): void {
    const truth = sorted[Math.floor(this.quantile * (sorted.length - 1))]!
    const error = relativeError(estimate.value, truth)
    this.#bounds.add(truth, estimate)
    this.#error += error
    this.#largest = Math.max(this.#largest, error)
  }

  result(): QuantileComparison {
    const bounds = this.#bounds.result()
    const average = bounds.stated === 0 ? 0 : this.#error / bounds.stated
    return {
      quantile: this.quantile,
      windows: bounds.stated,
      relativeError: average,
      largestError: this.#largest,
      bounds,
    }
  }
}

class KeyErrors {
  readonly #key: Key
  readonly #options: CompareOptions
  readonly #bounds = new BoundsCount()
  #windows = 0
  #keys = 0
  #found = 0
  #absolute = 0
  #relative = 0
  readonly #heavy = { keys: 0, found: 0, right: 0, relative: 0 }
  readonly #top = { keys: 0, right: 0 }
  readonly #entropy = { exact: 0, sketch: 0, relative: 0 }

  constructor(key: Key, options: CompareOptions) {
    this.#key = key
    this.#options = options
  }

  add(window: Window, exact: ExactWindow): void {
    const { measure } = this.#options
    const truth = partsOf(exact, measure, this.#key, window)
    if (truth.size > 0) this.#judge(window, truth)
    exact.budget.give(truth.size * nameBytes)
  }

  #judge(window: Window, truth: ReadonlyMap<string, number>): void {
    const { measure, top, threshold } = this.#options
    const { rows, keys, rest } = query(window, { by: this.#key, of: measure, top: Number.POSITIVE_INFINITY })
    const confidence = rows.reduce((least, row) => Math.min(least, row.confidence), 1)
    const found = new Map(rows.map((row, i) => [nameOf(keys[i]!), row]))
    const total = sumOf(truth.values())
    const heavy = threshold * total
    const sorted = Float64Array.from(truth.values()).sort()
    // Keys as large as the last of the largest count as right, too.
    const least = sorted[Math.max(0, sorted.length - top)]!
    this.#windows++
    this.#keys += truth.size
    this.#found += rows.length
    for (const [name, amount] of truth) {
      const row = found.get(name)
      const error = Math.abs((row?.value ?? 0) - amount)
      this.#absolute += error
      this.#relative += error / amount
      this.#bounds.add(amount, row ?? { lower: 0, upper: rest, confidence })
      if (amount < heavy) continue
      this.#heavy.keys++
      this.#heavy.relative += error / amount
    }
    let n = 0
    for (const [name, row] of found) {
      const amount = truth.get(name) ?? 0
      // The bound of a key without any amount has to include 0.
      if (amount === 0) this.#bounds.add(0, row)
      if (n++ < top && amount >= least) this.#top.right++
      if (row.value < heavy) continue
      this.#heavy.found++
      if (amount >= heavy) this.#heavy.right++
    }
    this.#top.keys += Math.min(top, truth.size)
    const [bits, ours] = [entropyBits(truth.values()), entropyBits(rows.map(({ value }) => value))]
    this.#entropy.exact += bits
    this.#entropy.sketch += ours
    this.#entropy.relative += relativeError(ours, bits)
  }

  result(): KeyComparison {
    const per = (sum: number, count: number): number => (count === 0 ? 0 : sum / count)
    const { keys, found, right, relative } = this.#heavy
    return {
      key: nameOfKey(this.#key),
      keys: this.#keys,
      found: this.#found,
      absoluteError: per(this.#absolute, this.#keys),
      relativeError: per(this.#relative, this.#keys),
      heavy: { keys, found, right, f1: f1Of(right, found, keys), relativeError: per(relative, keys) },
      top: { ...this.#top },
      entropy: {
        exact: per(this.#entropy.exact, this.#windows),
        sketch: per(this.#entropy.sketch, this.#windows),
        relativeError: per(this.#entropy.relative, this.#windows),
      },
      bounds: this.#bounds.result(),
    }
  }
}

export class Comparer {
  readonly #options: CompareOptions
  readonly #keys: KeyErrors[]
  readonly #flows = new CountErrors()
  readonly #hosts = new CountErrors()
  readonly #ack = comparedQuantiles.map((q) => new QuantileErrors(q))
  readonly #read = comparedQuantiles.map((q) => new QuantileErrors(q))
  #windows = 0
  #packets = 0
  #roce = 0
  #exactBytes = 0

  constructor(options: CompareOptions) {
    this.#options = options
    this.#keys = options.keys.map((key) => new KeyErrors(key, options))
  }

  /** Adds a window, and the exact counts of the same traffic. */
  add(window: Window, exact: ExactWindow): void {
    this.#windows++
    this.#packets += window.count('packets')
    this.#roce += window.count('roce')
    for (const key of this.#keys) key.add(window, exact)
    this.#exactBytes = exact.budget.peak
    const { sketches } = window
    this.#flows.add(exact.flows.size, sketches.flows.cardinality())
    this.#hosts.add(exact.hosts.size, sketches.hosts.cardinality())
    for (const [sketch, values, all] of [
      [sketches.ack, exact.ack, this.#ack],
      [sketches.read, exact.read, this.#read],
    ] as const) {
      const sorted = values.sorted()
      if (sorted.length > 0) for (const one of all) one.add(sorted, sketch.quantile(one.quantile)!)
    }
  }

  result(): Comparison {
    const { measure, threshold, top, sketchBytes } = this.#options
    const keys = this.#keys.map((one) => one.result())
    const [flows, hosts] = [this.#flows.result(), this.#hosts.result()]
    const latency = { ack: this.#ack.map((one) => one.result()), read: this.#read.map((one) => one.result()) }
    const all = [...keys, flows, hosts, ...latency.ack, ...latency.read]
    return {
      kind: 'verbena monitor comparison',
      ...{ windows: this.#windows, measure, threshold, top, packets: this.#packets, roce: this.#roce },
      ...{ keys, flows, hosts, latency },
      memory: { sketchBytes, exactBytes: this.#exactBytes },
      holds: all.every(({ bounds }) => boundsHold(bounds)),
    }
  }
}

/** Memory of a name of 48 characters and its entry in a Map, measured on Node.js 20. */
const nameBytes = 160

/** Returns the sums of a part of the key, by the bytes of the part. Their memory is taken from the budget, `nameBytes` each. */
function partsOf(exact: ExactWindow, measure: Measure, by: Key, window: Window): Map<string, number> {
  const event = Object.hasOwn(eventNumber, measure) ? eventNumber[measure as EventName] : 0
  const isOfPackets = measure === 'bytes' || measure === 'packets'
  const table: ExactCounts = isOfPackets ? exact.packets : event > 0 ? exact.events : exact.messages
  const column = measure === 'packets' ? Column.packets : Column.bytes
  const part = partOf(by, window.sourceQps)
  const words = new Int32Array(keyWords)
  const sums = new Map<string, number>()
  for (let slot = 0; slot < table.size; slot++) {
    const amount = table.sumAt(slot, column)
    table.keyAt(slot, words)
    if (amount === 0 || (event > 0 && ((words[Word.rest]! >>> 24) & 0x3f) !== event)) continue
    part(words)
    const name = nameOf(bytesOf(words))
    const before = sums.get(name)
    if (before === undefined) exact.budget.take(nameBytes)
    sums.set(name, (before ?? 0) + amount)
  }
  return sums
}

const nameOf = (key: Uint8Array): string => String.fromCharCode(...key)

function sumOf(amounts: Iterable<number>): number {
  let sum = 0
  for (const amount of amounts) sum += amount
  return sum
}

function relativeError(value: number, truth: number): number {
  return truth === 0 ? (value === 0 ? 0 : 1) : Math.abs(value / truth - 1)
}
