/**
 * Haar wavelets of series of amounts, one series in each bucket, transformed while it grows: a window that is complete goes up a tree of
 * sums. Where a right half completes its pair, the sum of both goes on, and left minus right, the detail, is kept if it is among the
 * largest.
 *
 * Nodes are numbered as in a heap: n / 2^l + p is pair p of level l (1 to `levels`) of n windows. The norm of a detail is its amount over
 * 2^(l / 2): then the squares of the errors of a series sum up to the squares of the norms that were dropped (Parseval), so the largest
 * norms are the best to keep.
 *
 * Dropped details are accounted for: `energy` has the sum of the squares of norms, `largest` the largest one. A window is then wrong by no
 * more than √energy, and by no more than largest · (2^(−1/2) + 2^(−1) + …), one detail of each level. Details are kept as float32: the
 * rounding error is dropped at once, and if the detail is dropped later, both together are.
 */

/** Parts of a block. All are by bucket, one bucket after the other. */
export interface HaarArrays {
  /** Amount of the current window, and for each level the sum of the left half that waits for its right one. */
  left: Float64Array
  /** Sums of the highest level. */
  sums: Float64Array
  /** Energy, and the largest norm, of the dropped details. */
  dropped: Float64Array
  details: Float32Array
  /** Node of each detail. */
  nodes: Uint16Array
  /** Current window, −1 before the first, and number of details that are kept. */
  state: Int32Array
}

/** Maximum error of rounding to float32, relative to the rounded value; doubled for the rounding of the product. */
const roundedOff = 2 ** -23

export class Haar {
  readonly windows: number
  readonly levels: number
  /** Details that a bucket keeps. */
  readonly kept: number
  readonly #arrays: HaarArrays
  /** Factors 1 / √(2^l), by level. */
  readonly #norms: Float64Array
  /**
   * Location of the detail with the smallest norm, by bucket, while the bucket keeps the maximum number of details; −1: not computed yet.
   * Not in the block.
   */
  readonly #least: Int32Array
  /** Pairs that `#climb` completed, their details, and the sum above the highest one. */
  readonly #pairs: Int32Array
  readonly #details: Float64Array
  #sum = 0

  constructor(windows: number, kept: number, arrays: HaarArrays) {
    this.windows = windows
    this.levels = Haar.levelsOf(windows)
    this.kept = kept
    this.#arrays = arrays
    this.#norms = Float64Array.from({ length: this.levels + 1 }, (_, level) => 2 ** (-level / 2))
    this.#least = new Int32Array(arrays.state.length / 2).fill(-1)
    this.#pairs = new Int32Array(this.levels)
    this.#details = new Float64Array(this.levels)
  }

  /** Returns the number of levels: eight sums are above the highest level, as for 2048 windows and eight levels in the paper. */
  static levelsOf(windows: number): number {
    return Math.log2(windows) - 3
  }

  /** Adds to a window. Returns false if it is before the current one: then that one has the amount. */
  add(bucket: number, window: number, amount: number): boolean {
    const { left, state } = this.#arrays
    const at = bucket * (this.levels + 1)
    const current = state[2 * bucket]!
    if (current < window) {
      if (current >= 0) this.#advance(bucket, window)
      state[2 * bucket] = window
      left[at] = 0
    }
    left[at]! += amount
    return current <= window
  }

  /** Completes the series: no amount can be added any more. */
  finish(bucket: number): void {
    if (this.#arrays.state[2 * bucket]! < 0 || this.#arrays.state[2 * bucket] === this.windows) return
    this.#advance(bucket, this.windows)
    this.#arrays.state[2 * bucket] = this.windows
    this.#arrays.left[bucket * (this.levels + 1)] = 0
  }

  #advance(bucket: number, to: number): void {
    const { left, sums, state } = this.#arrays
    const from = state[2 * bucket]!
    const many = this.#climb(left, bucket * (this.levels + 1), from, to)
    for (let i = 0; i < many; i++) this.#keep(bucket, this.#pairs[i]!, this.#details[i]!)
    if (many === this.levels) sums[bucket * 8 + (from >> this.levels)]! += this.#sum
  }

  /**
   * Takes the current window up the tree as far as pairs are complete before window `to`, with the sums of left halves from `at` on.
   * Returns the number of completed pairs: if it is one of each level, `#sum` leaves the highest.
   */
  #climb(left: Float64Array, at: number, from: number, to: number): number {
    let sum = left[at]!
    for (let level = 1; level <= this.levels; level++) {
      const pair = from >> level
      const isRight = (from >> (level - 1)) & 1
      if (!isRight && pair === to >> level) {
        left[at + level] = sum
        return level - 1
      }
      this.#pairs[level - 1] = (this.windows >> level) + pair
      this.#details[level - 1] = isRight ? left[at + level]! - sum : sum
      if (isRight) {
        sum += left[at + level]!
        left[at + level] = 0
      }
    }
    this.#sum = sum
    return this.levels
  }

  #normOf(node: number, detail: number): number {
    const level = 31 - Math.clz32(this.windows) - (31 - Math.clz32(node))
    return Math.abs(detail) * this.#norms[level]!
  }

  #keep(bucket: number, node: number, detail: number): void {
    if (detail === 0) return
    const { details, nodes, state } = this.#arrays
    const from = bucket * this.kept
    const many = state[2 * bucket + 1]!
    if (many < this.kept) {
      state[2 * bucket + 1]!++
      this.#put(bucket, from + many, node, detail)
      return
    }
    let least = this.#least[bucket]!
    if (least < 0) {
      least = this.#leastOf(bucket)
      this.#least[bucket] = least
    }
    const leastNorm = this.#normOf(nodes[least]!, details[least]!)
    const norm = this.#normOf(node, detail)
    if (norm <= leastNorm) {
      this.#drop(bucket, norm)
      return
    }
    this.#drop(bucket, leastNorm * (1 + roundedOff))
    this.#put(bucket, least, node, detail)
    this.#least[bucket] = -1
  }

  /** Returns the location of the detail with the smallest norm. */
  #leastOf(bucket: number): number {
    const { details, nodes } = this.#arrays
    const from = bucket * this.kept
    let least = from
    let leastNorm = Number.POSITIVE_INFINITY
    for (let i = from; i < from + this.kept; i++) {
      const norm = this.#normOf(nodes[i]!, details[i]!)
      if (norm >= leastNorm) continue
      leastNorm = norm
      least = i
    }
    return least
  }

  /** Stores a detail as float32: the rounding error is dropped. */
  #put(bucket: number, at: number, node: number, detail: number): void {
    const { details, nodes } = this.#arrays
    nodes[at] = node
    details[at] = detail
    const rest = detail - details[at]!
    if (rest !== 0) this.#drop(bucket, this.#normOf(node, rest))
  }

  #drop(bucket: number, norm: number): void {
    const { dropped } = this.#arrays
    dropped[2 * bucket]! += norm * norm
    if (norm > dropped[2 * bucket + 1]!) dropped[2 * bucket + 1] = norm
  }

  /** Writes the series of a bucket into `series`. Returns the maximum error of a window. */
  read(bucket: number, series: Float64Array): number {
    const { left, sums, dropped, details, nodes, state } = this.#arrays
    const tree = new Float64Array(this.windows)
    const top = Float64Array.from(sums.subarray(8 * bucket, 8 * bucket + 8))
    for (let i = bucket * this.kept; i < bucket * this.kept + state[2 * bucket + 1]!; i++)
      tree[nodes[i]!]! += details[i]!
    const current = state[2 * bucket]!
    if (current >= 0 && current < this.windows) {
      const at = bucket * (this.levels + 1)
      const own = left.slice(at, at + this.levels + 1)
      const many = this.#climb(own, 0, current, this.windows)
      for (let i = 0; i < many; i++) tree[this.#pairs[i]!]! += this.#details[i]!
      top[current >> this.levels]! += this.#sum
    }
    series.fill(0)
    series.set(top)
    // In place, from the highest level down: the sums of a level are in its first places.
    for (let level = this.levels; level > 0; level--) {
      const pairs = this.windows >> level
      for (let pair = pairs - 1; pair >= 0; pair--) {
        const [sum, detail] = [series[pair]!, tree[pairs + pair]!]
        series[2 * pair] = (sum + detail) / 2
        series[2 * pair + 1] = (sum - detail) / 2
      }
    }
    let ratio = 0
    for (let level = 1; level <= this.levels; level++) ratio += this.#norms[level]!
    return Math.min(Math.sqrt(dropped[2 * bucket]!), ratio * dropped[2 * bucket + 1]!)
  }

  /** Adds a finished series to a finished one. The dropped norms of both are added, by the triangle inequality. */
  merge(bucket: number, other: Haar): void {
    const [mine, theirs] = [this.#arrays, other.#arrays]
    if (theirs.state[2 * bucket]! < 0) return
    mine.state[2 * bucket] = this.windows
    for (let i = 8 * bucket; i < 8 * bucket + 8; i++) mine.sums[i]! += theirs.sums[i]!
    const details = new Map<number, number>()
    for (const { details: values, nodes, state } of [mine, theirs])
      for (let i = bucket * this.kept; i < bucket * this.kept + state[2 * bucket + 1]!; i++)
        details.set(nodes[i]!, (details.get(nodes[i]!) ?? 0) + values[i]!)
    const before = [mine, theirs].map(({ dropped }) => [Math.sqrt(dropped[2 * bucket]!), dropped[2 * bucket + 1]!])
    mine.dropped.fill(0, 2 * bucket, 2 * bucket + 2)
    mine.state[2 * bucket + 1] = 0
    this.#least[bucket] = -1
    for (const [node, detail] of [...details].sort(([a], [b]) => a - b)) this.#keep(bucket, node, detail)
    const [energy, largest] = [Math.sqrt(mine.dropped[2 * bucket]!), mine.dropped[2 * bucket + 1]!]
    mine.dropped[2 * bucket] = (energy + before[0]![0]! + before[1]![0]!) ** 2
    mine.dropped[2 * bucket + 1] = largest + before[0]![1]! + before[1]![1]!
  }

  /** Returns the defect of a state; undefined if it is valid. */
  restored(buckets: number): string | undefined {
    const { left, sums, dropped, details, nodes, state } = this.#arrays
    for (const amounts of [left, sums])
      if (amounts.some((amount) => !(amount >= 0 && amount < 2 ** 53))) return 'an amount is impossible'
    if (dropped.some((norm) => !(norm >= 0 && norm < 2 ** 120))) return 'an error is impossible'
    if (details.some((detail) => !(Math.abs(detail) < 2 ** 54))) return 'a detail is impossible'
    for (let bucket = 0; bucket < buckets; bucket++) {
      const [current, many] = [state[2 * bucket]!, state[2 * bucket + 1]!]
      if (current < -1 || current > this.windows) return 'a window is impossible'
      if (many < 0 || many > this.kept) return 'the number of details is impossible'
      const own = nodes.subarray(bucket * this.kept, bucket * this.kept + many)
      if (own.some((node) => node < 8 || node >= this.windows)) return 'the place of a detail is impossible'
      if (new Set(own).size < many) return 'a detail is there twice'
    }
    return undefined
  }
}
