/**
 * Cumulative distributions of message sizes, as the files of traffic generators contain them: a row has a number of bytes and the share of
 * all messages that are at most as large.
 *
 * Between two rows the distribution follows a rule:
 *
 *     linear    straight in bytes, as HPCC, ns-3 and TrafficGenerator have it
 *     log       straight in the logarithm of the bytes
 *     inverse   straight in 1/bytes: the sum of many distributions of packets often is
 *
 * A segment that begins at 0 bytes is linear under every rule. Two rows with the same size are a jump: that size has a mass of its own, and
 * so has the size of the first row if its share is above 0. Two rows with the same share are a plateau: no message has a size between them.
 */
import { shortPercentText } from '../text/index.ts'
import { TrafficError } from './error.ts'
import { bytesOf } from './units.ts'

export const interpolations = ['linear', 'log', 'inverse'] as const
export type Interpolation = (typeof interpolations)[number]

/** Point: bytes, and the share of messages that have at most so many, from 0 to 1. */
export type CdfPoint = readonly [bytes: number, share: number]

const mostPoints = 100_000
/** Maximum difference of the last share from 1 (100 %): files are rounded. */
const tolerance = 1e-3

export class Cdf {
  readonly name: string
  readonly interpolation: Interpolation
  readonly points: readonly CdfPoint[]
  /** Mean in bytes that the file itself states in its first line; null if it does not. */
  readonly statedMean: number | null
  readonly #xs: Float64Array
  readonly #ys: Float64Array
  readonly #mean: number

  /** `points`: sizes and shares that do not fall, the last share 1; anything else throws a `TrafficError`. */
  constructor(
    name: string,
    points: readonly CdfPoint[],
    interpolation: Interpolation = 'linear',
    statedMean: number | null = null,
  ) {
    const wrong = fault(points)
    if (wrong !== undefined) throw new TrafficError('ERR_TRAFFIC_CDF', `${name}: ${wrong.what}`)
    const last = points.at(-1)![1]
    this.name = name
    this.interpolation = interpolation
    this.points = points.map(([bytes, share]) => [bytes, share / last])
    this.statedMean = statedMean
    this.#xs = Float64Array.from(this.points, ([bytes]) => bytes)
    this.#ys = Float64Array.from(this.points, ([, share]) => share)
    this.#mean = this.#integrated()
  }

  /**
   * Reads a file of rows `bytes share`, separated by white space, commas, colons or semicolons; shares are per cent or from 0 to 1, sizes
   * numbers or text such as 64KB. Comments begin with `#` or `//`, and words alone in the first line are names of columns. A first line
   * with one number is the mean, as Homa's files have it. Rows of three numbers are those of ns-2, of which the last is the share.
   *
   * @param unit bytes that 1 in the column of sizes stands for; null if it is not specified: then it is a byte, and rows of three numbers,
   *   which often count packets, are rejected
   * Throws a `TrafficError` with the line.
   */
  static parse(text: string, name: string, interpolation: Interpolation = 'linear', unit: number | null = null): Cdf {
    const points: [number, number][] = []
    const lines: number[] = []
    let statedMean: number | null = null
    let columns = 0
    let hadHeader = false
    const scale = unit ?? 1
    for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
      const refuse = (what: string): never => {
        throw new TrafficError('ERR_TRAFFIC_CDF', `${name}:${index + 1}: ${what}`)
      }
      const line = raw.replace(/(#|\/\/).*/, '').trim()
      if (line === '') continue
      // With semicolons a comma is a decimal one, which is not valid in a number here.
      const words = line.split(line.includes(';') ? /[\s;]+/ : /[\s,:]+/).filter((word) => word !== '')
      const isFirst = points.length === 0 && statedMean === null && !hadHeader
      if (isFirst && words.length > 1 && words.every((word) => /^["'(]?\p{L}/u.test(word))) {
        hadHeader = true
        continue
      }
      const numbers = words.map((word, i) => {
        if (numeral.test(word)) return Number(word.replace('%', '')) * (i === 0 ? scale : 1)
        // A size with a unit of its own.
        return i === 0 && unit === null ? (bytesOf(word) ?? Number.NaN) : Number.NaN
      })
      const bad = numbers.findIndex((value) => Number.isNaN(value))
      if (bad >= 0) refuse(`'${words[bad]!.slice(0, 40)}' is not a number`)
      if (numbers.length === 1 && points.length === 0 && statedMean === null) statedMean = numbers[0]!
      else if (numbers.length === 3 && columns === 0 && unit === null)
        refuse(
          'three numbers, size, count and share, as ns-2 has them, where sizes are often packets: say how many bytes one is (unit: 1460, or unit: 1; --unit of traffic cdf)',
        )
      else if (numbers.length !== (columns || 2) && !(columns === 0 && numbers.length === 3))
        refuse(
          `expected ${columns === 3 ? 'three numbers, size, count and share' : 'two numbers, bytes and share'}, not ${numbers.length}`,
        )
      else {
        columns = numbers.length
        points.push([numbers[0]!, numbers.at(-1)!])
        lines.push(index + 1)
        if (points.length > mostPoints) refuse(`more than ${mostPoints} rows`)
      }
    }
    if (points.length === 0) throw new TrafficError('ERR_TRAFFIC_CDF', `${name}: it has no rows of bytes and share`)
    const percent = points.some(([, share]) => share > 1 + tolerance)
    const scaled = percent ? points.map(([bytes, share]): [number, number] => [bytes, share / 100]) : points
    const wrong = fault(scaled)
    if (wrong !== undefined) throw new TrafficError('ERR_TRAFFIC_CDF', `${name}:${lines[wrong.row]}: ${wrong.what}`)
    return new Cdf(name, scaled, interpolation, statedMean)
  }

  /** Mean in bytes, not rounded. */
  get mean(): number {
    return this.#mean
  }

  get min(): number {
    const first = this.#ys.findIndex((share) => share > 0)
    return this.#ys[0]! > 0 ? this.#xs[0]! : this.#xs[Math.max(0, first - 1)]!
  }

  get max(): number {
    return this.quantile(1)
  }

  /** Returns the size that a share `u`, 0 to 1, of all messages does not exceed, in bytes, not rounded. */
  quantile(u: number): number {
    const ys = this.#ys
    const xs = this.#xs
    let from = 0
    let to = ys.length - 1
    while (from < to) {
      const middle = (from + to) >> 1
      if (ys[middle]! >= u) to = middle
      else from = middle + 1
    }
    if (from === 0) return ys[0]! === 0 && u <= 0 ? this.min : xs[0]!
    const low = xs[from - 1]!
    const high = xs[from]!
    const share = (u - ys[from - 1]!) / (ys[from]! - ys[from - 1]!)
    return this.#between(low, high, share)
  }

  /** Returns the share of messages, 0 to 1, that have at most so many bytes. */
  below(bytes: number): number {
    const xs = this.#xs
    const ys = this.#ys
    if (bytes < xs[0]!) return 0
    let from = 0
    let to = xs.length - 1
    while (from < to) {
      const middle = (from + to + 1) >> 1
      if (xs[middle]! <= bytes) from = middle
      else to = middle - 1
    }
    if (from === xs.length - 1) return 1
    return ys[from]! + (ys[from + 1]! - ys[from]!) * this.#share(xs[from]!, xs[from + 1]!, bytes)
  }

  #between(low: number, high: number, share: number): number {
    if (low === 0 || this.interpolation === 'linear') return low + (high - low) * share
    if (this.interpolation === 'log') return low * (high / low) ** share
    return 1 / (1 / low + (1 / high - 1 / low) * share)
  }

  #share(low: number, high: number, bytes: number): number {
    if (low === 0 || this.interpolation === 'linear') return (bytes - low) / (high - low)
    if (this.interpolation === 'log') return Math.log(bytes / low) / Math.log(high / low)
    return (1 / low - 1 / bytes) / (1 / low - 1 / high)
  }

  #integrated(): number {
    let mean = this.#xs[0]! * this.#ys[0]!
    for (let i = 1; i < this.#xs.length; i++)
      mean += (this.#ys[i]! - this.#ys[i - 1]!) * this.#meanOf(this.#xs[i - 1]!, this.#xs[i]!)
    return mean
  }

  /** Returns the mean of a segment. */
  #meanOf(low: number, high: number): number {
    if (low === high) return low
    if (low === 0 || this.interpolation === 'linear') return (low + high) / 2
    if (this.interpolation === 'log') return (high - low) / Math.log(high / low)
    return Math.log(high / low) / (1 / low - 1 / high)
  }
}

const numeral = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?%?$/i

/** Returns the first fault of the points, and its row; undefined if there is none. */
function fault(points: readonly CdfPoint[]): { row: number; what: string } | undefined {
  if (points.length === 0) return { row: 0, what: 'a distribution needs at least one row' }
  for (const [row, [bytes, share]] of points.entries()) {
    const before = points[row - 1]
    if (!(bytes >= 0 && bytes <= Number.MAX_SAFE_INTEGER)) return { row, what: `${bytes} is not a size in bytes` }
    if (!(share >= 0 && share <= 1 + tolerance)) return { row, what: `a share of ${percentOf(share)} cannot be` }
    if (before === undefined) continue
    if (bytes < before[0]) return { row, what: `sizes fall: ${bytes} after ${before[0]}` }
    if (share < before[1])
      return { row, what: `cumulative shares fall: ${percentOf(share)} after ${percentOf(before[1])}` }
  }
  const row = points.length - 1
  const last = points[row]![1]
  if (Math.abs(last - 1) > tolerance) return { row, what: `the last share is ${percentOf(last)}, not 100 %` }
  return undefined
}

function percentOf(share: number): string {
  return shortPercentText(share, 4)
}
