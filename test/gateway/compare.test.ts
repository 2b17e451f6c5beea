import { describe, expect, it } from 'vitest'
import { type Difference, differenceOf, formatOf, SampleReader, signalsOf } from '../../src/gateway/index.ts'

const signals = signalsOf('1f1i1b1c')
const all = { epsilon: 1e-6, sequence: true, timestamps: true, data: true }

/** A reader of a text that gives it in chunks of at most so many bytes. */
function readerOf(text: string, chunk = 1 << 20): SampleReader {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new SampleReader(formatOf('villas.human').decoder(signals), signals.length, (into) => {
    const part = bytes.subarray(at, at + Math.min(chunk, into.length))
    into.set(part)
    at += part.length
    return part.length
  })
}

/** What differs between the only samples of two lines. */
function difference(a: string, b: string, options: object = {}): Difference | null {
  const [from, to] = [readerOf(`${a}\n`), readerOf(`${b}\n`)]
  const at = (reader: SampleReader) => ({ samples: reader.samples, word: reader.next() })
  return differenceOf(at(from), at(to), signals, { ...all, ...options })
}

const line = '1.5(7)\t0.5\t3\t1\t1.0+2.0i'

describe('two samples', () => {
  it.each<[string, string, Difference | null]>([
    ['equal', line, null],
    ['sequence', '1.5(8)\t0.5\t3\t1\t1.0+2.0i', { what: 'sequence', values: '7 and 8' }],
    ['no sequence', '1.5\t0.5\t3\t1\t1.0+2.0i', { what: 'sequence', values: 'one and none' }],
    ['large sequence', '1.5(4294967303)\t0.5\t3\t1\t1.0+2.0i', { what: 'sequence', values: '7 and 4294967303' }],
    ['time', '1.2000000(7)\t0.5\t3\t1\t1.0+2.0i', { what: 'timestamp', values: '1.000000005 and 1.002000000' }],
    ['time within epsilon', '1.900(7)\t0.5\t3\t1\t1.0+2.0i', null],
    ['number of values', '1.5(7)\t0.5\t3\t1', { what: 'count', values: '4 and 3' }],
    ['float', '1.5(7)\t0.6\t3\t1\t1.0+2.0i', { what: 'data', index: 0, values: '0.5 and 0.6' }],
    ['float within epsilon', '1.5(7)\t0.5000009\t3\t1\t1.0+2.0i', null],
    ['NaN', '1.5(7)\tnan\t3\t1\t1.0+2.0i', { what: 'data', index: 0, values: '0.5 and NaN' }],
    ['integer', '1.5(7)\t0.5\t-3\t1\t1.0+2.0i', { what: 'data', index: 1, values: '3 and -3' }],
    ['boolean', '1.5(7)\t0.5\t3\t0\t1.0+2.0i', { what: 'data', index: 2, values: 'true and false' }],
    ['complex', '1.5(7)\t0.5\t3\t1\t1.0-2.0i', { what: 'data', index: 3, values: '1+2i and 1-2i' }],
  ])('%s', (_, other, found) => {
    expect(difference(line, other)).toEqual(found)
  })

  it('that both have NaN are equal', () => {
    expect(difference(line.replace('0.5', 'nan'), line.replace('0.5', 'nan'))).toBeNull()
  })

  it('differ only in what counts', () => {
    const other = '9.5(8)\t7\t3\t1\t1.0+2.0i'
    expect(difference(line, other)).toMatchObject({ what: 'sequence' })
    expect(difference(line, other, { sequence: false })).toMatchObject({ what: 'timestamp' })
    expect(difference(line, other, { sequence: false, timestamps: false })).toMatchObject({ what: 'data' })
    expect(difference(line, other, { sequence: false, timestamps: false, data: false })).toBeNull()
    expect(difference(line, '9.5(8)\t7\t3\t1\t1.0+2.0i', { sequence: false, epsilon: 100 })).toBeNull()
  })
})

describe('a reader of samples', () => {
  it.each([1, 7, 4096])('gives them one by one from chunks of %i bytes', (chunk) => {
    const lines = Array.from({ length: 300 }, (_, i) => `1.5(${i})\t${i}\n`)
    const reader = readerOf(`${lines.join('')}nonsense\n1.5(300)\t300`, chunk)
    const values: number[] = []
    for (let word = reader.next(); word >= 0; word = reader.next()) values.push(reader.samples.f64[(word + 14) >> 1]!)
    expect(values).toEqual(Array.from({ length: 301 }, (_, i) => i))
    expect([reader.count, reader.decoder.problems.count]).toEqual([301, 1])
    expect(reader.next()).toBe(-1)
  })

  it('ends behind what makes the rest unreadable', () => {
    const decoder = formatOf('villas.binary').decoder(signalsOf('4f'))
    let chunks = 3
    const reader = new SampleReader(decoder, signals.length, (into) => (chunks-- > 0 ? into.fill(0xff).length : 0))
    expect(reader.next()).toBe(-1)
    expect(decoder.problems.fatal).toBe(true)
  })
})
