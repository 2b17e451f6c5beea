/**
 * Arithmetic with the 64-bit integers and times of samples, which are stored as words (samples.ts). All functions take the words
 * at which the fields begin; differences and quotients are numbers, exact up to 2^53.
 */
import { SampleField, type Samples } from './samples.ts'

const two32 = 2 ** 32

/** Returns `a` − `b` modulo 2^64, as a signed integer: how far one sequence number is ahead of another. */
export function distance64(a: Samples, aWord: number, b: Samples, bWord: number): number {
  const low = a.u32[aWord]! - b.u32[bWord]!
  const borrow = low < 0 ? 1 : 0
  const high = (a.i32[aWord + 1]! - b.i32[bWord + 1]! - borrow) | 0
  return high * two32 + low + borrow * two32
}

const two31 = 2 ** 31
/** Maximum lateness, in sequence numbers, of a sample with a number of 32 bits that comes after the wrap. */
const mostLate = 2 ** 20

/**
 * Returns how far the sequence number at `aWord` is ahead of that at `bWord`. Several formats carry 32 bits of it, so that it wraps there:
 * a number of 32 bits that is more than 2^31 less than one of about as many has wrapped, and one that is almost 2^32 ahead is from before
 * the wrap.
 */
export function sequenceDistance(a: Samples, aWord: number, b: Samples, bWord: number): number {
  const distance = distance64(a, aWord, b, bWord)
  if (a.u32[aWord + 1] !== 0) return distance
  if (distance < -two31 && distance > -two32 - two31) return distance + two32
  return distance > two32 - mostLate ? distance - two32 : distance
}

/** Divides an unsigned 64-bit integer in place by a whole number from 1 to 2^31; the remainder is dropped. */
export function divide64(samples: Samples, word: number, divisor: number): void {
  const { u32 } = samples
  const low = u32[word]!
  const high = u32[word + 1]!
  const quotient = Math.floor(high / divisor)
  // The low word in halves, so that no intermediate result exceeds 2^53.
  const upper = (high - quotient * divisor) * 0x10000 + (low >>> 16)
  const upperQuotient = Math.floor(upper / divisor)
  const lower = (upper - upperQuotient * divisor) * 0x10000 + (low & 0xffff)
  u32[word + 1] = quotient
  u32[word] = upperQuotient * 0x10000 + Math.floor(lower / divisor)
}

/** Adds a whole number from −2^53 to 2^53 to a 64-bit integer in place, modulo 2^64. */
export function add64(samples: Samples, word: number, value: number): void {
  const { u32 } = samples
  const high = Math.floor(value / two32)
  const low = u32[word]! + (value - high * two32)
  u32[word] = low
  u32[word + 1] = u32[word + 1]! + high + (low >= two32 ? 1 : 0)
}

/** Copies an integer of 64 bits. */
export function copy64(from: Samples, fromWord: number, to: Samples, toWord: number): void {
  to.i32[toWord] = from.i32[fromWord]!
  to.i32[toWord + 1] = from.i32[fromWord + 1]!
}

/** Copies a time: seconds and nanoseconds. */
export function copyTime(from: Samples, fromWord: number, to: Samples, toWord: number): void {
  copy64(from, fromWord, to, toWord)
  copy64(from, fromWord + 2, to, toWord + 2)
}

/** Returns the seconds from a time to another, to the same digits as VILLASnode's `time_delta`. */
export function secondsBetween(start: Samples, startWord: number, end: Samples, endWord: number): number {
  let sec = end.int64(endWord) - start.int64(startWord)
  let nsec = end.int64(endWord + 2) - start.int64(startWord + 2)
  if (nsec < 0) {
    sec -= 1
    nsec += 1e9
  }
  return sec + nsec * 1e-9
}

/** Returns the whole nanoseconds from a time to another, exact up to 100 days. */
export function nanosecondsBetween(start: Samples, startWord: number, end: Samples, endWord: number): number {
  const sec = end.int64(endWord) - start.int64(startWord)
  return sec * 1e9 + (end.int64(endWord + 2) - start.int64(startWord + 2))
}

/** Returns a number below 0 if a time is before another, 0 if they are the same. */
export function compareTimes(a: Samples, aWord: number, b: Samples, bWord: number): number {
  const sec = a.int64(aWord) - b.int64(bWord)
  return sec !== 0 ? sec : a.int64(aWord + 2) - b.int64(bWord + 2)
}

/** Adds seconds and nanoseconds, both with the same sign and less than 10^9 of the latter, to a time in place. */
export function addTime(samples: Samples, word: number, seconds: number, nanoseconds: number): void {
  let sec = samples.int64(word) + seconds
  let nsec = samples.int64(word + 2) + nanoseconds
  if (nsec >= 1e9) {
    sec += 1
    nsec -= 1e9
  } else if (nsec < 0) {
    sec -= 1
    nsec += 1e9
  }
  samples.setInt64(word, sec)
  samples.setInt64(word + 2, nsec)
}

/** Copies a sample: its fields and as many values as it has. */
export function copySample(from: Samples, fromWord: number, to: Samples, toWord: number): void {
  const words = SampleField.data + 2 * from.u32[fromWord + SampleField.length]!
  const source = from.i32
  const target = to.i32
  for (let i = 0; i < words; i++) target[toWord + i] = source[fromWord + i]!
}
