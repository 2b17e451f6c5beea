/** Latencies from raw timestamps. */

/** `tv_nsec` counts nanoseconds from 0 to 999,999,999 and starts again each second. */
export const NSEC_PER_SEC = 1_000_000_000

/**
 * Returns the latencies t − t_subm in nanoseconds, of the messages that have both timestamps (NaN is a missing one).
 *
 * Both count from the second in which t_subm lies, so that `t` is 1e9 or more in a later one. Where `t` is smaller than t_subm it is a
 * `tv_nsec`, as other programs and earlier versions write it; it has wrapped once and 1e9 is added.
 */
export function latencies(tSubm: ArrayLike<number>, t: ArrayLike<number>): Float64Array {
  const length = Math.min(tSubm.length, t.length)
  const result = new Float64Array(length)
  let count = 0
  for (let i = 0; i < length; i++) {
    const from = tSubm[i]!
    const to = t[i]!
    if (Number.isNaN(from) || Number.isNaN(to)) continue
    result[count++] = to < from ? to + NSEC_PER_SEC - from : to - from
  }
  return count === length ? result : result.slice(0, count)
}
