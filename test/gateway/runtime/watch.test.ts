/** What those see that look on: samples in a ring, delays in a histogram. */
import { expect, it } from 'vitest'
import { SampleField, SampleFlag, Samples } from '../../../src/gateway/index.ts'
import { Watch } from '../../../src/gateway/runtime/watch.ts'

/** A sample with a sequence number, received so many nanoseconds after its origin. */
function sample(samples: Samples, sequence: number, delayNs: number): number {
  const word = samples.word(0)
  samples.clear(word)
  samples.u32[word + SampleField.flags] = SampleFlag.tsOrigin | SampleFlag.tsReceived | SampleFlag.sequence
  samples.u32[word + SampleField.length] = 1
  samples.setInt64(word + SampleField.sequence, sequence)
  samples.setInt64(word + SampleField.origin, 1_000_000)
  samples.setInt64(word + SampleField.received, 1_000_000 + Math.floor(delayNs / 1e9))
  samples.setInt64(word + SampleField.received + 2, delayNs % 1e9)
  samples.f64[(word + SampleField.data) >> 1] = sequence
  return word
}

const sequences = (samples: Samples) =>
  Array.from({ length: samples.count }, (_, i) => samples.int64(samples.word(i) + SampleField.sequence))

it.each([0, 2 ** 31 - 700, -700])(
  'has no samples while nobody looks, then those that come, each once, from place %i on',
  (place) => {
    const watch = new Watch(1)
    new Int32Array(watch.buffer)[1] = place
    const seenBy = new Watch(1, watch.buffer)
    const one = new Samples(1, 1)
    const copies = new Samples(256, 1)
    for (let i = 0; i < 5; i++) watch.take(one, sample(one, i, 0))
    let seen = seenBy.seen
    seen = seenBy.copy(seen, copies)
    expect(copies.count).toBe(0)
    seenBy.view(1)
    for (let i = 5; i < 8; i++) watch.take(one, sample(one, i, 0))
    seen = seenBy.copy(seen, copies)
    expect(sequences(copies)).toEqual([5, 6, 7])
    expect(copies.f64[(copies.word(2) + SampleField.data) >> 1]).toBe(7)
    // Of more than there is room for, the latest.
    for (let i = 8; i < 2000; i++) watch.take(one, sample(one, i, 0))
    seen = seenBy.copy(seen, copies)
    expect(sequences(copies)).toEqual(Array.from({ length: 256 }, (_, i) => 2000 - 256 + i))
    seenBy.view(-1)
    watch.take(one, sample(one, 2000, 0))
    seenBy.copy(seen, copies)
    expect(copies.count).toBe(0)
  },
)

it('counts delays; quantiles are at most an eighth too high', () => {
  const watch = new Watch(1)
  const one = new Samples(1, 1)
  for (let i = 1; i <= 1000; i++) watch.take(one, sample(one, i, i * 1000))
  const { count, sumSeconds, maxSeconds, quantileSeconds } = watch.delays()
  expect(count).toBe(1000)
  expect(sumSeconds).toBeCloseTo(0.5005, 6)
  expect(maxSeconds).toBeCloseTo(1e-3, 9)
  for (const share of [0.001, 0.1, 0.5, 0.9, 0.99, 1]) {
    expect(quantileSeconds(share)).toBeGreaterThanOrEqual(share * 1e-3 - 1e-12)
    expect(quantileSeconds(share)).toBeLessThanOrEqual(share * 1e-3 * 1.125 + 1e-9)
  }
  watch.resetDelays()
  expect(watch.delays()).toMatchObject({ count: 0, sumSeconds: 0, maxSeconds: 0 })
})

it('does not count what was received before its origin, or has no time', () => {
  const watch = new Watch(1)
  const one = new Samples(1, 1)
  const word = sample(one, 1, 0)
  one.setInt64(word + SampleField.received, 999_999)
  watch.take(one, word)
  one.u32[word + SampleField.flags] = SampleFlag.sequence
  watch.take(one, word)
  expect(watch.delays().count).toBe(0)
  watch.take(one, sample(one, 1, 0.5))
  expect(watch.delays().count).toBe(1)
})
