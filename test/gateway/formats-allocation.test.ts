/** Formats allocate nothing for a sample, neither when they write nor when they read; csv and tsv two objects for an offset. */
import { expect, it } from 'vitest'
import { formatNames, formatOf, Samples, type Signal, SignalType, signalsOf } from '../../src/gateway/index.ts'
import { SampleField, SampleFlag } from '../../src/gateway/samples.ts'
import { leastGrowth } from '../heap.ts'

const rounds = 300
const batch = 64
const total = rounds * batch
/** Half of the smallest object there is, for each sample. */
const allowedBytes = 8 * total
/** The offset of a sample may become two objects on its way from text to a time. */
const offsets = 2 * 16 * total

/** Values of each type that a format has. */
const signalsFor: Readonly<Record<string, string>> = {
  'villas.binary': '7f1i',
  'villas.web': '7f1i',
  value: '1f',
  ...Object.fromEntries(['villas.human', 'csv', 'tsv', 'json'].map((name) => [name, '6f1i1b1c'])),
}

function filled(signals: readonly Signal[]): Samples {
  const samples = new Samples(batch, signals.length)
  const { data, origin, received, sequence, length, flags } = SampleField
  for (let i = 0; i < batch; i++) {
    const word = samples.word(i)
    samples.setInt64(word + sequence, i * 1000)
    samples.setInt64(word + origin, 1_700_000_000 + i)
    samples.setInt64(word + origin + 2, 123_456_789)
    samples.setInt64(word + received, 1_700_000_000 + i)
    samples.setInt64(word + received + 2, 123_500_000)
    signals.forEach(({ type }, v) => {
      const at = word + data + 2 * v
      if (type === SignalType.float) samples.f64[at >> 1] = Math.sin(i + v) * 10 ** v
      else if (type === SignalType.complex) samples.f32.set([i - 0.5, Math.fround(i / 3)], at)
      else samples.setInt64(at, type === SignalType.boolean ? i % 2 : i - 30)
    })
    samples.u32[word + length] = signals.length
    samples.u32[word + flags] = SampleFlag.sequence | SampleFlag.tsOrigin | SampleFlag.tsReceived | SampleFlag.data
  }
  samples.count = batch
  return samples
}

it.each(formatNames)('%s', (name) => {
  const format = formatOf(name)
  const signals = signalsOf(signalsFor[name] ?? '6f1i1b')
  const samples = filled(signals)
  const encoder = format.encoder(signals)
  const bytes = new Uint8Array(batch * encoder.bound)
  let end = 0
  const write = (): void => {
    for (let round = 0; round < rounds; round++) {
      end = 0
      for (let i = 0; i < batch; i++) end = encoder.encode(samples, i, bytes, end)
    }
  }
  const written = leastGrowth(write, allowedBytes)
  const decoder = format.decoder(signals)
  const read = new Samples(batch, signals.length)
  const text = bytes.subarray(0, end)
  let count = 0
  const parse = (): void => {
    for (let round = 0; round < rounds; round++) {
      read.count = 0
      decoder.decode(text, 0, read, false)
      count = read.count
    }
  }
  const allowedRead = allowedBytes + (name === 'csv' || name === 'tsv' ? offsets : 0)
  const parsed = leastGrowth(parse, allowedRead)
  expect(written).toBeLessThan(allowedBytes)
  expect(count).toBe(batch)
  expect(parsed).toBeLessThan(allowedRead)
})
