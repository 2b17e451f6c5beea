/**
 * FlowRadar (Li, Miao, Kim and Yu, NSDI 2016): every flow with its amount, exactly, as long as there are not too many. A Bloom filter shows
 * whether a flow is new; a new one is added to three cells, each with the XOR of its keys, their number, and the sum of their amounts.
 * Cells with one flow are where decoding begins (flow-decode.ts).
 *
 * With 1.24 cells for each flow nearly all decode, with a few less nearly none (section 4.1 there; the threshold of three cells is 1.222,
 * Goodrich and Mitzenmacher, Allerton 2011). A flow that the filter takes for a known one is not found, and its amount is another's. The
 * probability that there is such a flow is at most n p, n the flows and p = (share of bits that are set)^10: answers have a confidence of
 * 1 − n p.
 *
 * Two points of a network with one seed help each other to decode, and the difference of their amounts is the loss between them, flow by
 * flow (section 4.2 and 5.2 there). Where we differ: amounts that cannot be solved cell by cell get certain bounds instead of a
 * least-squares solution; the filter has 48 bits and ten hashes for a flow, so that n p stays small.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { type CardinalitySketch, onesIn } from './cardinality.ts'
import { SketchError, wholeNumber } from './error.ts'
import { type Cells, type DecodedFlow, FlowDecoder } from './flow-decode.ts'
import { blockKeys, keyOf, placeOf } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { AmountSketch, type KeyConfig, mostBytes, type SketchOptions, scalarCount } from './sketch.ts'

export interface FlowRadarConfig extends KeyConfig {
  /** Cells of each of three partitions. */
  width: number
  /** Bits of the filter, in words of 32. */
  filterWords: number
}

/** Losses between two points. */
export interface FlowLosses {
  /** True if all flows of both points were found. */
  complete: boolean
  /** Flows, each with its amount at the first point minus that at the second: largest first. */
  flows: KeyEstimate[]
}

const partitions = 3
const filterHashes = 10
/** Number of cells for each flow, and of bits of the filter for each flow. */
const cellsEach = 1.24
const filterBitsEach = 48

const planOf = ({ width, filterWords, keyBytes }: FlowRadarConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, partitions * width],
    [Int32Array, partitions * width],
    [Int32Array, partitions * width * ((keyBytes + 3) >> 2)],
    [Uint32Array, filterWords],
  ] as const

export class FlowRadar extends AmountSketch<FlowRadarConfig> implements CardinalitySketch {
  readonly #amounts: Float64Array
  readonly #flows: Int32Array
  readonly #xors: Int32Array
  readonly #filter: Uint32Array
  /** Decoder; none after a change, until an answer needs it. */
  #decoded: FlowDecoder | undefined
  #miss: number | undefined

  /** @internal */
  constructor(config: FlowRadarConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('flowradar', config, seed, plan, block)
    const [, amounts, flows, xors, filter] = views(this.block, plan)
    this.#amounts = amounts
    this.#flows = flows
    this.#xors = xors
    this.#filter = filter
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['flowradar']
  }

  /** @internal */
  static get fields(): readonly (keyof FlowRadarConfig & string)[] {
    return ['keyBytes', 'width', 'filterWords']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SketchOptions): FlowRadar {
    return createOf(FlowRadar, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): FlowRadar {
    return fromBytesOf(FlowRadar, bytes)
  }

  /** @internal */
  static configure(options: SketchOptions): FlowRadarConfig {
    const cell = 12 + 4 * ((options.keyBytes + 3) >> 2)
    const left = options.bytes - 8 * scalarCount
    const width = Math.floor(left / (partitions * (cell + filterBitsEach / 8 / cellsEach)))
    if (width < 3) throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} are too few for nine cells`)
    const filterWords = Math.floor((left - partitions * width * cell) / 4)
    return { keyBytes: options.keyBytes, width, filterWords: Math.min(filterWords, 2 ** 25) }
  }

  /** @internal */
  static check(config: FlowRadarConfig): number {
    wholeNumber('width', config.width, 3, mostBytes / 8)
    wholeNumber('filterWords', config.filterWords, 1, 2 ** 25)
    return plannedBytes(planOf(config))
  }

  /** Number of flows that decode, nearly certainly: 1.24 cells each. */
  get capacity(): number {
    return Math.floor((partitions * this.config.width) / cellsEach)
  }

  protected override add(count: number): void {
    const { width } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    this.#decoded = undefined
    this.#miss = undefined
    for (let i = 0; i < count; i++) {
      const amount = this.amounts[i]!
      if (amount === 0) continue
      const isNew = this.#mark(h1[i]!, h2[i]!)
      for (let part = 0; part < partitions; part++) {
        const cell = part * width + placeOf(h1[i]!, h2[i]!, multipliers[part]!, width / 2 ** 32)
        this.#amounts[cell]! += amount
        if (!isNew) continue
        this.#flows[cell]!++
        for (let w = 0; w < words; w++) this.#xors[cell * words + w]! ^= word[i * words + w]!
      }
    }
  }

  /** Sets the bits of a key in the filter. Returns true if one was not set. */
  #mark(h1: number, h2: number): boolean {
    let isNew = false
    for (let i = 0; i < filterHashes; i++) {
      const bit = this.#bitOf(h1, h2, i)
      const mask = 1 << (bit & 31)
      if (this.#filter[bit >>> 5]! & mask) continue
      isNew = true
      this.#filter[bit >>> 5]! |= mask
    }
    return isNew
  }

  #bitOf(h1: number, h2: number, i: number): number {
    const multiplier = this.keys.multipliers[partitions + i]!
    return placeOf(h1, h2, multiplier, (32 * this.#filter.length) / 2 ** 32)
  }

  #isMarked(h1: number, h2: number): boolean {
    for (let i = 0; i < filterHashes; i++) {
      const bit = this.#bitOf(h1, h2, i)
      if (!(this.#filter[bit >>> 5]! & (1 << (bit & 31)))) return false
    }
    return true
  }

  #cellsOf(h1: number, h2: number): [number, number, number] {
    const { width } = this.config
    const { multipliers } = this.keys
    const at = (part: number) => part * width + placeOf(h1, h2, multipliers[part]!, width / 2 ** 32)
    return [at(0), at(1), at(2)]
  }

  #cells(): Cells {
    const hashed = <A>(words: Int32Array, at: number, then: (h1: number, h2: number) => A) => {
      this.keys.rehash(words, at)
      return then(this.keys.h1[blockKeys]!, this.keys.h2[blockKeys]!)
    }
    return {
      width: this.config.width,
      words: this.keys.words,
      xors: this.#xors,
      flows: this.#flows,
      amounts: this.#amounts,
      cellsOf: (words, at) => hashed(words, at, (h1, h2) => this.#cellsOf(h1, h2)),
      has: (words, at) => hashed(words, at, (h1, h2) => this.#isMarked(h1, h2)),
    }
  }

  #decode(): FlowDecoder {
    if (!this.#decoded) {
      this.#decoded = new FlowDecoder(this.#cells())
      this.#decoded.peel()
      this.#decoded.solve()
    }
    return this.#decoded
  }

  /** Number of flows that were new to the filter. */
  get #known(): number {
    return this.#flows.reduce((sum, flows) => sum + flows, 0) / partitions
  }

  /** Returns n p: the maximum probability that a flow was taken for a known one. */
  #doubt(): number {
    if (this.#miss === undefined) {
      this.#miss = Math.min(1, this.#known * (onesIn(this.#filter) / (32 * this.#filter.length)) ** filterHashes)
    }
    return this.#miss
  }

  /** True if every flow was decoded: `topK` and `heavyHitters` then miss none. */
  get isComplete(): boolean {
    return this.#decode().isComplete
  }

  /**
   * Returns an exact amount for flows that decode, and for keys that never occurred; all other keys have at most what is left in one of
   * their cells.
   */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const [h1, h2] = [this.keys.h1[0]!, this.keys.h2[0]!]
    if (!this.#isMarked(h1, h2)) return { value: 0, lower: 0, upper: 0, confidence: 1 }
    const name = String.fromCharCode(...new Uint8Array(this.keys.word.buffer, 0, 4 * this.keys.words))
    const cells = this.#cellsOf(h1, h2)
    const decoder = this.#decode()
    return estimateOf(decoder, decoder.found.get(name), cells, 1 - this.#doubt())
  }

  protected override kept(): KeyEstimate[] {
    const decoder = this.#decode()
    const confidence = 1 - this.#doubt()
    return [...decoder.found.values()].map((flow) => ({
      key: keyOf(flow.key, 0, this.keyBytes),
      ...estimateOf(decoder, flow, flow.cells, confidence),
    }))
  }

  /**
   * Returns the number of flows: those that were new to the filter, and perhaps a few that it took for known ones (three standard
   * deviations, 0.99).
   */
  cardinality(): Estimate {
    const [value, missed] = [this.#known, this.#known * this.#missShare()]
    const upper = Math.min(this.total, Math.ceil(value + missed + 3 * Math.sqrt(missed)))
    return { value, lower: value, upper, confidence: 0.99 }
  }

  /** Returns the share of new flows that the filter would take for known ones now. */
  #missShare(): number {
    const known = this.#known
    return known === 0 ? 0 : this.#doubt() / known
  }

  /**
   * Returns the loss of each flow between this point and one after it; `behind` is the sketch there, of the same dimensions and seed. Each
   * helps the other to decode. A flow whose amount is not solved at one of the points has bounds; negative values show that the amount at
   * the second point was larger.
   */
  lossTo(behind: FlowRadar): FlowLosses {
    this.assertFits(behind)
    const [first, second] = [new FlowDecoder(this.#cells()), new FlowDecoder(behind.#cells())]
    first.peelWith(second)
    for (const decoder of [first, second]) decoder.solve()
    const confidence = Math.max(
      0,
      1 - this.#doubt() - behind.#doubt() - this.#known * behind.#missShare() - behind.#known * this.#missShare(),
    )
    const flows: KeyEstimate[] = []
    for (const name of new Set([...first.found.keys(), ...second.found.keys()])) {
      const [a, b] = [first.found.get(name), second.found.get(name)]
      const { key, cells } = (a ?? b)!
      const none = { value: 0, lower: 0, upper: 0 }
      const before = a || this.#cells().has(key, 0) ? estimateOf(first, a, cells, 1) : none
      const after = b || behind.#cells().has(key, 0) ? estimateOf(second, b, cells, 1) : none
      flows.push({
        key: keyOf(key, 0, this.keyBytes),
        value: before.value - after.value,
        lower: before.lower - after.upper,
        upper: before.upper - after.lower,
        confidence,
      })
    }
    return { complete: first.isComplete && second.isComplete, flows: flows.sort((x, y) => y.value - x.value) }
  }

  protected override restored(): string | undefined {
    let [amounts, flows] = [0, 0]
    for (const amount of this.#amounts) {
      if (!(Number.isInteger(amount) && amount >= 0)) return 'an amount is impossible'
      amounts += amount
    }
    for (const many of this.#flows) {
      if (many < 0) return 'a number of flows is below zero'
      flows += many
    }
    if (amounts !== partitions * this.total) return 'the amounts are not the total'
    if (flows > amounts || flows % partitions !== 0) return 'the number of flows is impossible'
    for (let cell = 0; cell < this.#flows.length; cell++)
      if (!this.keys.isPadded(this.#xors, cell * this.keys.words)) return 'a key is too long'
    return undefined
  }
}

/** Returns the amount of a flow that was found and solved; for any other flow, at most what is left in one of its cells. */
function estimateOf(
  decoder: FlowDecoder,
  flow: DecodedFlow | undefined,
  cells: readonly number[],
  confidence: number,
): Estimate {
  if (flow && !Number.isNaN(flow.amount))
    return { value: flow.amount, lower: flow.amount, upper: flow.amount, confidence }
  return { value: 0, lower: 0, upper: decoder.mostOf(cells), confidence }
}
