/**
 * Random samples through every pair of formats, cut anywhere; random and damaged input into every decoder. A failure prints
 * the one command that repeats it.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatOf } from '../../src/gateway/formats/registry.ts'
import { longestRest, Samples, signalsOf } from '../../src/gateway/index.ts'
import { writeExponential, writeFixed, writeJsonReal } from '../../src/gateway/text/digits.ts'
import { NumberReader } from '../../src/gateway/text/number-reader.ts'
import { holds } from '../property.ts'
import { converted, type Description } from './streams.ts'

const types = '2fifbc'

/** Each keeps all of a sample without flags, offset and fractions that need more than 32 bits, except what `loses` says. */
const formats: Record<string, { format: Description; types: string }> = {
  human: { format: 'villas.human', types },
  csv: { format: 'csv', types },
  tsv: { format: { type: 'tsv', header: false }, types },
  json: { format: 'json', types },
  'json, compact': { format: { type: 'json', compact: true }, types },
  binary: { format: 'villas.binary', types: '2fif' },
  web: { format: 'villas.web', types: '2fif' },
  'raw 32': { format: { type: 'raw', bits: 32, fake: true }, types },
  'raw 64': { format: { type: 'raw', bits: 64, endianess: 'big', fake: true }, types },
  gtnet: { format: { type: 'gtnet', fake: true }, types },
  protobuf: { format: 'protobuf', types },
}

const u31 = fc.nat(2 ** 31 - 1)
/** Floats of 32 bits whose digits end within 17 behind the point. */
const float = fc.integer({ min: -(2 ** 24), max: 2 ** 24 }).map((n) => n / 2 ** 14)

interface Row {
  sequence: number
  sec: number
  nsec: number
  floats: number[]
  integer: number
  boolean: boolean
}

const rows: fc.Arbitrary<Row[]> = fc.array(
  fc.record({
    sequence: u31,
    sec: u31,
    nsec: fc.nat(999_999_999),
    floats: fc.array(float, { minLength: 5, maxLength: 5 }),
    integer: fc.nat(2 ** 31 - 1),
    boolean: fc.boolean(),
  }),
  { minLength: 1, maxLength: 300 },
)

function human(samples: readonly Row[], signals: string): string {
  const line = ({ sequence, sec, nsec, floats: [a, b, c, re, im], integer, boolean }: Row): string => {
    const values = [a!.toFixed(17), b!.toFixed(17), integer, c!.toFixed(17)]
    if (signals === types) values.push(Number(boolean), `${re!.toFixed(17)}${im! < 0 ? '' : '+'}${im!.toFixed(17)}i`)
    return `${sec}.${String(nsec).padStart(9, '0')}(${sequence})\t${values.join('\t')}\n`
  }
  return samples.map(line).join('')
}

const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 40 })
const names = Object.keys(formats)
const headless: Description = { type: 'villas.human', header: false }

it.each(names)('from %s to every other format and back, in chunks of any size', async (name) => {
  const from = formats[name]!
  await holds(
    fc.asyncProperty(rows, fc.constantFrom(...names), cuts, cuts, async (samples, other, first, second) => {
      const to = formats[other]!
      const signals = from.types === types ? to.types : from.types
      const text = human(samples, signals)
      const a = await converted(text, 'villas.human', from.format, signals, first)
      const b = await converted(a.bytes, from.format, to.format, signals, second)
      const c = await converted(b.bytes, to.format, headless, signals, first)
      expect([a, b, c].map(({ problems }) => problems.count)).toEqual([0, 0, 0])
      expect(c.text.replaceAll('-0.00000000000000000', '0.00000000000000000')).toBe(text)
    }),
    12,
  )
})

describe('numbers', () => {
  const out = new Uint8Array(1024)
  const text = (end: number): string => Buffer.from(out.buffer, 0, end).toString('latin1')
  const reader = new NumberReader()
  const into = new Float64Array(2)
  /** By both ways; both say where the number ends. */
  const read = (digits: string): number => {
    // Whatever comes behind must not matter.
    const bytes = Buffer.from(`${digits},7777777777777777777`)
    const value = reader.float(bytes, 0)
    const { end } = reader
    expect(reader.floatInto(bytes, 0, into, 1)).toBe(true)
    expect([into[1], reader.end]).toEqual([value, end])
    return value
  }

  it('any double is read back from its digits as JavaScript reads it', () => {
    holds(
      fc.property(fc.double({ noNaN: true }), fc.nat(31), (value, digits) => {
        const fixed = text(writeFixed(out, 0, Float64Array.of(value), 0, digits))
        const short = text(writeExponential(out, 0, Float64Array.of(value), 0))
        for (const written of [fixed, short].filter(() => Number.isFinite(value)))
          expect([read(written), reader.end]).toEqual([Number(written), written.length])
        if (Number.isFinite(value)) expect(read(text(writeJsonReal(out, 0, Float64Array.of(value), 0, 17)))).toBe(value)
      }),
      1000,
    )
  })

  it('decimals of up to 40 digits are read correctly rounded', () => {
    const decimal = fc
      .tuple(fc.stringMatching(/^[0-9]{1,25}$/), fc.stringMatching(/^[0-9]{0,25}$/))
      .map((parts) => parts.join('.'))
    holds(
      fc.property(decimal, (digits) => {
        expect(read(digits)).toBe(Number(digits))
      }),
      1000,
    )
  })

  it('17 digits behind the point, which are read four at a time', () => {
    const digits = fc.tuple(
      fc.constantFrom('', '-'),
      fc.stringMatching(/^[0-9]{1,7}$/),
      fc.stringMatching(/^[0-9]{17}$/),
    )
    holds(
      fc.property(digits, ([sign, whole, fraction]) => {
        const text = `${sign}${whole}.${fraction}`
        expect([read(text), reader.end]).toEqual([Number(text), text.length])
      }),
      2000,
    )
  })

  it('what only looks like 17 digits is not read as if it were', () => {
    holds(
      fc.property(fc.nat(16), fc.integer({ min: 0x20, max: 0x7e }), (at, code) => {
        const other = String.fromCharCode(code)
        const text = `1.${'5'.repeat(at)}${other}${'5'.repeat(16 - at)}`
        const number = /^1\.5*(\d5*|[eE]5*)?/.exec(text)![0]
        fc.pre(!/e$/i.test(number))
        expect([read(text), reader.end]).toEqual([Number(number), number.length])
      }),
      1000,
    )
  })

  it('fixed digits are those of BigInt arithmetic', () => {
    holds(
      fc.property(fc.double({ min: 0, max: 2 ** 53, noNaN: true }), fc.nat(31), (value, digits) => {
        expect(text(writeFixed(out, 0, Float64Array.of(value), 0, digits))).toBe(exactly(value, digits))
      }),
      1000,
    )
  })
})

/** A double's digits from its bits: mantissa × 2^exponent, rounded half to even. */
function exactly(value: number, digits: number): string {
  const bits = new BigUint64Array(new Float64Array([value]).buffer)[0]!
  const biased = Number(bits >> 52n)
  const mantissa = (bits & (2n ** 52n - 1n)) + (biased === 0 ? 0n : 2n ** 52n)
  const shift = BigInt(1075 - Math.max(biased, 1))
  const scaled = mantissa * 10n ** BigInt(digits)
  let whole = shift <= 0n ? scaled << -shift : scaled >> shift
  const rest = shift <= 0n ? 0n : scaled - (whole << shift)
  const half = shift <= 0n ? 1n : 1n << (shift - 1n)
  if (rest > half || (rest === half && whole % 2n === 1n && shift > 0n)) whole++
  const text = String(whole).padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

describe('any input', () => {
  const damaged = async (format: Description, signals: string): Promise<fc.Arbitrary<Uint8Array>> => {
    const sound = [1, 2, 3].map((n) => `${n}.${n}+1e-6(${n})F\t${Array(4).fill(n).join('\t')}\t1\t${n}i\n`).join('')
    const { bytes } = await converted(sound, 'villas.human', format, signals)
    const change = fc.tuple(
      fc.nat(bytes.length - 1),
      fc.nat(3),
      fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('\n{}[]",:#.e-+(x 0'))),
    )
    return fc.array(change, { maxLength: 8 }).map((changes) => {
      let result = Buffer.from(bytes)
      for (const [at, how, byte] of changes) {
        if (how === 0) result = Buffer.concat([result.subarray(0, at), Buffer.from([byte]), result.subarray(at)])
        else if (how === 1) result = Buffer.concat([result.subarray(0, at), result.subarray(at + 1 + (byte % 8))])
        else if (how === 2) result = Buffer.concat([result, result.subarray(at)])
        else if (at < result.length) result[at] = byte
      }
      return result as Uint8Array
    })
  }

  it.each([...names, 'value', 'opal.asyncip'])(
    '%s: is read to its end, into sound samples, the same in all chunks',
    async (name) => {
      const { format, types: signals } = formats[name] ?? { format: 'value', types: 'f' }
      const bytes = name === 'value' ? fc.uint8Array({ maxLength: 100 }) : await damaged(format, signals)
      await holds(
        fc.asyncProperty(fc.oneof(bytes, fc.uint8Array({ maxLength: 100 })), cuts, async (input, chunks) => {
          const whole = await converted(input, format, 'json', signals)
          const cut = await converted(input, format, 'json', signals, chunks)
          expect(cut.text).toBe(whole.text)
          expect(cut.problems).toEqual(whole.problems)
          expect(whole.text.split('\n').length - 1).toBe(whole.samples)
          for (const line of whole.text.split('\n').slice(0, -1)) JSON.parse(line)
        }),
        40,
      )
    },
  )

  it.each([...names, 'value', 'opal.asyncip'])(
    '%s: a decoder stops before its samples are too many, and leaves no more than it may',
    (name) => {
      const { format, types: signals } = formats[name] ?? { format: 'value', types: 'f' }
      const samples = new Samples(2, 6)
      const decoder = formatOf(format).decoder(signalsOf(signals))
      const input = Buffer.alloc(longestRest + 2, '{1,1\n')
      const at = decoder.decode(input, 0, samples, false)
      expect(samples.count).toBeLessThanOrEqual(2)
      if (samples.count < 2) expect(input.length - at).toBeLessThanOrEqual(longestRest)
    },
  )
})
