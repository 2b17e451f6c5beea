/**
 * Collects times and answers percentiles. Few are kept as they are; many go into a histogram whose buckets are less than
 * one percent wide, so that memory does not grow with the capture.
 */
const exactLimit = 1024
/** Buckets per power of two. */
const subBuckets = 128
const octaves = 46

export interface LatencySummary {
  count: number
  minNs: number
  p50Ns: number
  p90Ns: number
  p99Ns: number
  p999Ns: number
  maxNs: number
  meanNs: number
}

export class Latencies {
  count = 0
  min: number = Number.POSITIVE_INFINITY
  max = 0
  #sum = 0
  #exact: number[] | undefined = []
  #buckets: Uint32Array | undefined

  add(ns: number): void {
    this.count++
    this.#sum += ns
    if (ns < this.min) this.min = ns
    if (ns > this.max) this.max = ns
    if (this.#exact !== undefined) {
      this.#exact.push(ns)
      if (this.#exact.length > exactLimit) this.#spread()
    } else this.#buckets![bucketOf(ns)]!++
  }

  /** Undefined without any. `fraction` from 0 to 1: the smallest time that this part of all does not exceed. */
  quantile(fraction: number): number | undefined {
    if (this.count === 0) return undefined
    const rank = Math.max(1, Math.ceil(fraction * this.count))
    if (this.#exact !== undefined) return this.#exact.toSorted((a, b) => a - b)[rank - 1]
    let seen = 0
    for (const [bucket, count] of this.#buckets!.entries()) {
      seen += count
      if (seen >= rank) return Math.min(this.max, Math.max(this.min, middleOf(bucket)))
    }
    return this.max
  }

  summary(): LatencySummary | undefined {
    if (this.count === 0) return undefined
    const [p50Ns, p90Ns, p99Ns, p999Ns] = [0.5, 0.9, 0.99, 0.999].map((q) => Math.round(this.quantile(q)!))
    return {
      count: this.count,
      minNs: Math.round(this.min),
      p50Ns: p50Ns!,
      p90Ns: p90Ns!,
      p99Ns: p99Ns!,
      p999Ns: p999Ns!,
      maxNs: Math.round(this.max),
      meanNs: Math.round(this.#sum / this.count),
    }
  }

  #spread(): void {
    this.#buckets = new Uint32Array(subBuckets * octaves)
    for (const ns of this.#exact!) this.#buckets[bucketOf(ns)]!++
    this.#exact = undefined
  }
}

/** Below 128 ns a bucket for each nanosecond; above, 128 for each power of two. */
function bucketOf(ns: number): number {
  if (ns < subBuckets) return Math.max(0, Math.floor(ns))
  const octave = Math.floor(Math.log2(ns)) - 6
  const within = Math.floor(ns / 2 ** (octave - 1)) - subBuckets
  return Math.min(subBuckets * octaves - 1, subBuckets * octave + within)
}

function middleOf(bucket: number): number {
  if (bucket < subBuckets) return bucket
  const octave = Math.floor(bucket / subBuckets)
  return ((bucket % subBuckets) + subBuckets + 0.5) * 2 ** (octave - 1)
}
