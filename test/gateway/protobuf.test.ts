/** The format protobuf, with protobufjs as the judge: the same bytes for the same samples, and the same samples from any order of fields. */
import fc from 'fast-check'
import protobuf from 'protobufjs'
import { describe, expect, it } from 'vitest'
import { describeProblem } from '../../src/gateway/index.ts'
import { holds } from '../property.ts'
import { converted } from './streams.ts'

const { Field, OneOf, Type } = protobuf

/** The numbers and types of VILLASnode's villas.proto. */
const complex = new Type('Complex')
  .add(new Field('real', 1, 'float', 'required'))
  .add(new Field('imag', 2, 'float', 'required'))
const value = new Type('Value')
  .add(new Field('f', 1, 'double'))
  .add(new Field('i', 2, 'int64'))
  .add(new Field('b', 3, 'bool'))
  .add(new Field('z', 4, 'Complex'))
  .add(new OneOf('value', ['f', 'i', 'b', 'z']))
const timestamp = new Type('Timestamp')
  .add(new Field('sec', 1, 'uint32', 'required'))
  .add(new Field('nsec', 2, 'uint32', 'required'))
const sample = new Type('Sample')
  .add(new Field('type', 1, 'uint32', 'required'))
  .add(new Field('sequence', 2, 'uint64'))
  .add(new Field('tsOrigin', 3, 'Timestamp'))
  .add(new Field('tsReceived', 4, 'Timestamp'))
  .add(new Field('newFrame', 5, 'bool'))
  .add(new Field('values', 100, 'Value', 'repeated'))
const message = new Type('Message').add(new Field('samples', 1, 'Sample', 'repeated'))
new protobuf.Root().define('villas.node').add(complex).add(value).add(timestamp).add(sample).add(message)

const Long = protobuf.util.Long as unknown as { fromString(text: string, unsigned?: boolean): protobuf.Long }
const u32 = fc.nat(2 ** 31 - 1)
const rows = fc.array(
  fc.record({
    sequence: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { nil: undefined }),
    origin: fc.record({ sec: u32, nsec: fc.nat(999_999_999) }),
    newFrame: fc.boolean(),
    float: fc.integer({ min: -(2 ** 24), max: 2 ** 24 }).map((n) => n / 2 ** 14),
    integer: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    boolean: fc.boolean(),
    complex: fc.tuple(fc.integer({ min: -1000, max: 1000 }), fc.integer({ min: -1000, max: 1000 })),
    length: fc.nat(4),
  }),
  { minLength: 1, maxLength: 50 },
)
const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 60 })
const headless = { type: 'villas.human', header: false }

it('writes what protobufjs writes, and reads it back in chunks of any size', async () => {
  await holds(
    fc.asyncProperty(rows, cuts, async (samples, chunks) => {
      const lines = samples.map(
        ({ sequence, origin, newFrame, float, integer, boolean, complex: [re, im], length }) => {
          const values = [
            float.toFixed(17),
            integer,
            Number(boolean),
            `${re.toFixed(17)}${im < 0 ? '' : '+'}${im.toFixed(17)}i`,
          ]
          const head = `${origin.sec}.${String(origin.nsec).padStart(9, '0')}${sequence === undefined ? '' : `(${sequence})`}`
          return `${head}${newFrame ? 'F' : ''}${values
            .slice(0, length)
            .map((each) => `\t${each}`)
            .join('')}\n`
        },
      )
      const expected = message.encode({
        samples: samples.map(
          ({ sequence, origin, newFrame, float, integer, boolean, complex: [real, imag], length }) => ({
            type: 1,
            ...(sequence !== undefined && { sequence: Long.fromString(String(sequence), true) }),
            tsOrigin: origin,
            ...(newFrame && { newFrame }),
            values: [
              { f: float },
              { i: Long.fromString(String(integer)) },
              { b: boolean },
              { z: { real, imag } },
            ].slice(0, length),
          }),
        ),
      })
      const { bytes } = await converted(lines.join(''), 'villas.human', 'protobuf', 'fibc')
      expect(bytes.toString('hex')).toBe(Buffer.from(expected.finish()).toString('hex'))
      const back = await converted(bytes, 'protobuf', headless, 'fibc', chunks)
      expect([back.text, back.problems.count]).toEqual([lines.join(''), 0])
    }),
    60,
  )
})

describe('by hand', () => {
  const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
  // type 1, sequence 300, origin 5 s 9 ns, new frame, the values 0.5 and −1.
  const one = hex('0a 27 0801 10ac02 1a04 0805 1009 2801 a20609 09000000000000e03f a2060b 10ffffffffffffffffff01')

  it('a sample', async () => {
    expect(one).toHaveLength(2 + 0x27)
    const { text } = await converted(one, 'protobuf', { ...headless, real_precision: 1 }, 'fi')
    expect(text).toBe('5.000000009(300)F\t0.5\t-1\n')
    expect((await converted(text, 'villas.human', 'protobuf', 'fi')).bytes).toEqual(one)
  })

  it('fields of other versions are skipped, the time of receipt is read, fields come in any order', async () => {
    const fields = [
      '4807 51 0102030405060708 5a02ffff 65 01020304', // 9 (varint), 10 (64 bits), 11 (bytes), 12 (32 bits)
      'a2060d 0a02 00ff 09 000000000000f03f', // A value, 1 in it, before and behind a field that it has not.
      '22040806 1009 1a0410090805 0801',
    ]
    const body = hex(fields.join(''))
    const bytes = Buffer.concat([hex('1203aabbcc'), hex('0a'), Buffer.of(body.length), body])
    const { text, problems } = await converted(bytes, 'protobuf', headless, 'f')
    expect([text, problems.count]).toEqual(['5.000000009+1.000000e+00\t1.00000000000000000\n', 0])
  })

  it.each([
    ['a value of another type', '0a 09 0801 a20604 1001 1802', 'value 1 is boolean, and should be float'],
    ['a value of no type', '0a 05 0801 a20600', 'value 1 is nothing, and should be float'],
    ['a type that is not data', '0a 02 0802', 'its type is 2, not data (1)'],
    ['no type', '0a 02 1001', 'there is no type'],
    ['a field that ends behind its sample', '0a 04 0801 a206', 'a field is malformed'],
    ['half a time', '0a 06 0801 1a02 0801', 'a time is malformed'],
    ['half a complex number', '0a 0c 0801 a20607 2205 0d00000000', 'value 1 is complex, and should be float'],
  ])('%s: is skipped and counted', async (_, bytes, what) => {
    const { samples, problems } = await converted(Buffer.concat([hex(bytes), one]), 'protobuf', 'json', 'fi')
    expect([samples, problems.count, describeProblem(problems.first[0]!)]).toEqual([1, 1, `byte 0: ${what}`])
  })

  it.each([
    ['nothing that is a field', '07', 'byte 0: no message: there is no field'],
    ['an end within a sample', '0a05', 'byte 0: the input ends within a sample, of which there are 2 bytes'],
    ['a length beyond all limits', `0affffff7f${'00'.repeat(1 << 20)}`, 'byte 0: a sample of more than 1048576 bytes'],
  ])('%s: nothing behind it can be read', async (_, bytes, what) => {
    const { samples, problems } = await converted(hex(bytes), 'protobuf', 'json', 'f', [1, 1 << 20])
    expect([samples, problems.fatal, problems.first.map(describeProblem)]).toEqual([0, true, [what]])
  })

  it('values beyond the signals are counted once for each sample; fields are left out as settings say', async () => {
    const { text, problems } = await converted(
      Buffer.concat([one, one]),
      'protobuf',
      { ...headless, real_precision: 1 },
      'f',
    )
    expect([text, problems.surplus]).toEqual(['5.000000009(300)F\t0.5\n'.repeat(2), 2])
    const bare = await converted(
      '5.0(3)\t1\n',
      'villas.human',
      { type: 'protobuf', ts_origin: false, sequence: false },
      'i',
    )
    expect(bare.bytes).toEqual(hex('0a07 0801 a20602 1001'))
  })
})
