/** Formats allocate nothing for a sample when they write, and binary ones when they read; text at most two objects for a number. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { formatNames, formatOf, Samples, type Signal, SignalType, signalsOf } from '../../src/gateway/index.ts'
import { SampleField, SampleFlag } from '../../src/gateway/samples.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const rounds = 300
const batch = 64
const total = rounds * batch
/** Half of the smallest object there is, for each sample. */
const allowedBytes = 8 * total

/** Values of each type that a format has. */
const signalsFor: Readonly<Record<string, string>> = { 'villas.binary': '7f1i', 'villas.web': '7f1i', value: '1f' }

/** Reading a number from text may make it an object or two, where it has not 17 digits behind the point. */
const boxed = 16

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
      else samples.setInt64(at, type === SignalType.boolean ? i % 2 : i - 30)
    })
    samples.u32[word + length] = signals.length
    samples.u32[word + flags] = SampleFlag.sequence | SampleFlag.tsOrigin | SampleFlag.tsReceived | SampleFlag.data
  }
  samples.count = batch
  return samples
}

/** Bytes that `body` allocates, the least of some tries: on a busy machine the compiler may be at it meanwhile. */
function grows(body: () => void): number {
  // Until everything is compiled.
  for (let i = 0; i < 4; i++) body()
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 8 && least >= allowedBytes; attempt++) {
    gc()
    const before = process.memoryUsage().heapUsed
    body()
    least = Math.min(least, process.memoryUsage().heapUsed - before)
  }
  return least
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
  const written = grows(write)
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
  const parsed = grows(parse)
  expect(written).toBeLessThan(allowedBytes)
  expect(count).toBe(batch)
  const isText = !/^(villas\.(binary|web)|raw|gtnet|protobuf)$/.test(name)
  expect(parsed).toBeLessThan(allowedBytes + (isText ? 2 * boxed * total * signals.length : 0))
})
