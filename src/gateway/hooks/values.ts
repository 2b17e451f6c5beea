/** Values of a sample that hooks add and remove. */
import { SampleField, type Samples } from '../samples.ts'

/**
 * Moves the values from `index` on, to make room for `count` new ones; returns the word at which these begin. Values for which a sample has
 * no room are lost: they have no signal.
 */
export function insertValues(samples: Samples, word: number, index: number, count: number): number {
  const { i32 } = samples
  const length = Math.min(samples.u32[word + SampleField.length]!, samples.values - count)
  const begin = word + SampleField.data
  const at = begin + 2 * index
  i32.copyWithin(at + 2 * count, at, begin + 2 * length)
  samples.u32[word + SampleField.length] = length + count
  return at
}

/** Removes `count` values from `index` on. */
export function removeValues(samples: Samples, word: number, index: number, count: number): void {
  const { i32 } = samples
  const length = samples.u32[word + SampleField.length]!
  const begin = word + SampleField.data
  const at = begin + 2 * index
  i32.copyWithin(at, at + 2 * count, begin + 2 * length)
  samples.u32[word + SampleField.length] = length - count
}

const two63 = 2 ** 63

/**
 * Writes a number as a 64-bit integer, cut towards zero. Beyond 64 bits it is the largest or least one, and NaN is 0: C has no rule
 * for these.
 */
export function setInteger(samples: Samples, word: number, value: number): void {
  if (value >= two63) {
    samples.u32[word] = 0xffffffff
    samples.i32[word + 1] = 0x7fffffff
  } else if (value < -two63) samples.setInt64(word, -two63)
  else samples.setInt64(word, Number.isNaN(value) ? 0 : Math.trunc(value))
}
