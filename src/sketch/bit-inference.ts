/**
 * Reads large keys off columns of counters by bit (SketchLearn, section 4 of the paper).
 *
 * Without large keys, the share of bit k in a column is nearly normal, with a mean p_k and a deviation σ_k over the columns (theorem 1
 * there). A large key shifts the shares of a column towards its bits. With θ = 1/2, 1/4, …: a bit whose share is below θ is not set in a
 * key that has θ of the column, one whose share is above 1 − θ is set, and between them Bayes' rule compares the two shifts (section 4.3).
 * A key whose bits are all clear, but for a few that are tried both ways, and that hashes to the column, is taken out of it; p and σ are
 * then those of what is left. It ends with a θ at which bits cannot be distinguished any more.
 */

export interface LargeKey {
  words: Int32Array
  column: number
  amount: number
  /** Standard error of the amount. */
  error: number
}

/** Maximum number of bits that are tried both ways. */
const mostOpen = 6
/** ln(99): a bit is clear with a probability of 0.99. */
const clear = Math.log(99)
const leastShare = 1 / 64
const mostInColumn = 16

export class BitInference {
  readonly large: LargeKey[] = []
  readonly #counters: Int32Array
  readonly #bits: number
  readonly #columns: number
  readonly #words: number
  readonly #columnOf: (words: Int32Array) => number
  /** Counters without the large keys. */
  readonly #rest: Float64Array
  /** Mean p and deviation σ, by bit. */
  readonly #mean: Float64Array
  readonly #deviation: Float64Array
  readonly #byColumn: LargeKey[][]

  constructor(counters: Int32Array, bits: number, columnOf: (words: Int32Array) => number) {
    this.#counters = counters
    this.#bits = bits
    this.#columns = counters.length / (bits + 1)
    this.#words = (bits + 31) >> 5
    this.#columnOf = columnOf
    this.#rest = Float64Array.from(counters)
    this.#mean = new Float64Array(bits)
    this.#deviation = new Float64Array(bits)
    this.#byColumn = Array.from({ length: this.#columns }, () => [])
    this.#learn()
    for (let share = 1 / 2; share >= leastShare; share /= 2)
      for (let found = 1, round = 0; found > 0 && round < mostInColumn; round++) {
        found = 0
        for (let column = 0; column < this.#columns; column++) found += this.#extract(column, share)
        this.#learn()
      }
    this.large = this.#byColumn.flat()
  }

  /** Returns the large key with these words. */
  find(words: Int32Array, column: number): LargeKey | undefined {
    return this.#byColumn[column]!.find((large) => large.words.every((word, w) => word === words[w]))
  }

  /** Returns the maximum amount of a key, from what its column has for each of its bits. */
  mostOf(words: Int32Array, column: number): number {
    const from = column * (this.#bits + 1)
    const all = this.#counters[from]!
    let most = all
    for (let bit = 0; bit < this.#bits; bit++) {
      const value = this.#counters[from + 1 + bit]!
      most = Math.min(most, isSet(words, bit) ? value : all - value)
    }
    return most
  }

  /** Returns the amount of a key that is not large, by least squares over the bits of what large keys left of its column. */
  fit(words: Int32Array, column: number): { amount: number; error: number } {
    const [solved] = this.#solve([{ words, column, amount: 0, error: 0 }], column, this.#rest)
    return solved!
  }

  /** Computes p and σ of what is left. */
  #learn(): void {
    const [rest, bits] = [this.#rest, this.#bits]
    this.#mean.fill(0)
    this.#deviation.fill(0)
    let columns = 0
    for (let from = 0; from < rest.length; from += bits + 1) {
      if (rest[from]! < 1) continue
      columns++
      for (let bit = 0; bit < bits; bit++) {
        const share = shareOf(rest, from, bit)
        this.#mean[bit]! += share
        this.#deviation[bit]! += share ** 2
      }
    }
    // Shares that occurred in few columns only are not reliable.
    const margin = 1 / (2 * (columns + 1))
    for (let bit = 0; bit < bits; bit++) {
      const mean = columns === 0 ? 0.5 : this.#mean[bit]! / columns
      const variance = columns === 0 ? 0 : this.#deviation[bit]! / columns - mean ** 2
      this.#mean[bit] = Math.min(1 - margin, Math.max(margin, mean))
      this.#deviation[bit] = Math.sqrt(Math.max(variance, 1e-6))
    }
  }

  /** Removes a key with at least `share` of what is left from a column. Returns the number of removed keys: 1 or 0. */
  #extract(column: number, share: number): number {
    const known = this.#byColumn[column]!
    const all = this.#rest[column * (this.#bits + 1)]!
    if (all < 1 || known.length === mostInColumn) return 0
    const words = this.#read(column, share)
    if (!words || this.find(words, column)) return 0
    const flows = this.#solve([...known, { words, column, amount: 0, error: 0 }], column, this.#counters)
    const added = flows.at(-1)!
    // Candidates that only took the amount of another key are not keys.
    if (added.amount < 0.8 * share * all || flows.some(({ amount }) => amount <= 0)) return 0
    if (!this.#isPossible(flows, column)) return 0
    this.#byColumn[column] = flows
    this.#takeOut(flows, column)
    return 1
  }

  /** Returns the key whose bits the shares of a column show; undefined if they are not clear, or if the key does not hash to the column. */
  #read(column: number, share: number): Int32Array | undefined {
    const from = column * (this.#bits + 1)
    const words = new Int32Array(this.#words)
    const open: { bit: number; doubt: number }[] = []
    for (let bit = 0; bit < this.#bits; bit++) {
      const logit = this.#logit(shareOf(this.#rest, from, bit), bit, share)
      if (logit > 0) words[bit >> 5]! |= 1 << (bit & 31)
      if (Math.abs(logit) >= clear) continue
      open.push({ bit, doubt: Math.abs(logit) })
      if (open.length > mostOpen) return undefined
    }
    // The most likely of the candidates that hash to the column.
    let [best, bestLoss]: [Int32Array | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
    for (let flips = 0; flips < 2 ** open.length; flips++) {
      const tried = words.slice()
      let loss = 0
      for (const [i, { bit, doubt }] of open.entries()) {
        if (((flips >> i) & 1) === 0) continue
        tried[bit >> 5]! ^= 1 << (bit & 31)
        loss += doubt
      }
      if (loss >= bestLoss || this.#columnOf(tried) !== column) continue
      best = tried
      bestLoss = loss
    }
    return best
  }

  /** Returns the logarithm of the odds that a key with `share` of a column has a bit. */
  #logit(seen: number, bit: number, share: number): number {
    if (seen < share) return Number.NEGATIVE_INFINITY
    if (1 - seen < share) return Number.POSITIVE_INFINITY
    const [mean, deviation] = [this.#mean[bit]!, this.#deviation[bit]! * (1 - share)]
    const middle = (1 - share) * mean + share / 2
    return Math.log(mean / (1 - mean)) + (share * (seen - middle)) / deviation ** 2
  }

  /** Returns true if no counter would be left below zero or above its column by more than a tenth of what is removed. */
  #isPossible(flows: readonly LargeKey[], column: number): boolean {
    const from = column * (this.#bits + 1)
    const all = this.#counters[from]! - sumOf(flows)
    const margin = 0.1 * Math.min(...flows.map(({ amount }) => amount)) + 1
    if (all < -margin) return false
    for (let bit = 0; bit < this.#bits; bit++) {
      let left = this.#counters[from + 1 + bit]!
      for (const { words, amount } of flows) if (isSet(words, bit)) left -= amount
      if (left < -margin || left > all + margin) return false
    }
    return true
  }

  #takeOut(flows: readonly LargeKey[], column: number): void {
    const from = column * (this.#bits + 1)
    const rest = this.#rest
    rest[from] = Math.max(0, this.#counters[from]! - sumOf(flows))
    for (let bit = 0; bit < this.#bits; bit++) {
      let left = this.#counters[from + 1 + bit]!
      for (const { words, amount } of flows) if (isSet(words, bit)) left -= amount
      rest[from + 1 + bit] = Math.min(rest[from]!, Math.max(0, left))
    }
  }

  /**
   * Solves the amounts of keys in a column by least squares: what the counter of bit k has above p_k of the column is Σ f_i (b_ik − p_k).
   * Returns copies with amounts and standard errors.
   */
  #solve(keys: readonly LargeKey[], column: number, counters: ArrayLike<number>): LargeKey[] {
    const from = column * (this.#bits + 1)
    const all = counters[from]!
    const many = keys.length
    /** Normal equations, followed by the unit matrix for the inverse. */
    const matrix = keys.map((_, i) => Float64Array.from({ length: 2 * many }, (_, j) => (j === many + i ? 1 : 0)))
    const right = new Float64Array(many)
    let squares = 0
    const x = new Float64Array(many)
    for (let bit = 0; bit < this.#bits; bit++) {
      const mean = this.#mean[bit]!
      const y = counters[from + 1 + bit]! - all * mean
      squares += y * y
      for (let i = 0; i < many; i++) x[i] = (isSet(keys[i]!.words, bit) ? 1 : 0) - mean
      for (let i = 0; i < many; i++) {
        right[i]! += x[i]! * y
        for (let j = 0; j < many; j++) matrix[i]![j]! += x[i]! * x[j]!
      }
    }
    invert(matrix)
    const amounts = matrix.map((row) => right.reduce((sum, value, j) => sum + row[many + j]! * value, 0))
    const explained = amounts.reduce((sum, amount, i) => sum + amount * right[i]!, 0)
    const variance = Math.max(0, squares - explained) / Math.max(1, this.#bits - many)
    return keys.map((key, i) => {
      const error = Math.sqrt(Math.max(0, variance * matrix[i]![many + i]!))
      return { ...key, amount: amounts[i]!, error: Number.isFinite(error) ? error : all }
    })
  }
}

function sumOf(flows: readonly LargeKey[]): number {
  return flows.reduce((sum, { amount }) => sum + amount, 0)
}

function isSet(words: Int32Array, bit: number): boolean {
  return ((words[bit >> 5]! >>> (bit & 31)) & 1) === 1
}

function shareOf(counters: Float64Array, from: number, bit: number): number {
  return Math.min(1, counters[from + 1 + bit]! / counters[from]!)
}

/**
 * Inverts a matrix by Gauss-Jordan elimination, with the largest pivots. A key without a pivot cannot be distinguished from the other keys:
 * it gets nothing.
 */
function invert(matrix: Float64Array[]): void {
  const many = matrix.length
  for (let i = 0; i < many; i++) {
    let best = i
    for (let j = i + 1; j < many; j++) if (Math.abs(matrix[j]![i]!) > Math.abs(matrix[best]![i]!)) best = j
    const row = matrix[best]!
    matrix[best] = matrix[i]!
    matrix[i] = row
    const pivot = row[i]!
    if (Math.abs(pivot) < 1e-9) {
      row.fill(0)
      continue
    }
    for (let j = 0; j < row.length; j++) row[j]! /= pivot
    for (let k = 0; k < many; k++) {
      const factor = matrix[k]![i]!
      if (k === i || factor === 0) continue
      for (let j = 0; j < row.length; j++) matrix[k]![j]! -= factor * row[j]!
    }
  }
}
