/** Formats in messages of networks: what a message means by itself, and what a VILLASnode sends and reads there. */
import { describe, expect, it } from 'vitest'
import { formatOf, SampleField, SampleFlag, Samples, signalsOf } from '../../src/gateway/index.ts'
import { converted, type Description } from './streams.ts'

interface Decoded {
  samples: { sequence: number | null; values: number[]; offset: number | null }[]
  problems: string[]
  surplus: number
}

/** `stream`: the messages are parts of a connection. */
function decoded(
  format: Description,
  messages: readonly (Uint8Array | string)[],
  types: string,
  stream = false,
): Decoded {
  const decoder = formatOf(format, true).decoder(signalsOf(types), !stream)
  const found: Decoded['samples'] = []
  for (const message of messages) {
    const bytes = Buffer.from(message)
    for (let at = 0; at < bytes.length; ) {
      const samples = new Samples(1, signalsOf(types).length)
      const end = decoder.decode(bytes, at, samples, !stream)
      for (let i = 0; i < samples.count; i++) {
        const word = samples.word(i)
        const flags = samples.u32[word + SampleField.flags]!
        found.push({
          sequence: flags & SampleFlag.sequence ? samples.int64(word + SampleField.sequence) : null,
          values: Array.from(
            { length: samples.u32[word + SampleField.length]! },
            (_, j) => samples.f64[((word + SampleField.data) >> 1) + j]!,
          ),
          offset: flags & SampleFlag.tsReceived ? samples.offset(word)[0]! : null,
        })
      }
      if (end === at && samples.count === 0) break
      at = end
    }
  }
  return { samples: found, problems: decoder.problems.first.map(({ what }) => what), surplus: decoder.problems.surplus }
}

const values = (...sent: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * sent.length)
  for (const [i, value] of sent.entries()) bytes.writeFloatLE(value, 4 * i)
  return bytes
}

describe('raw: one message is one sample', () => {
  const of = (type: Description, bytes: Buffer, types = '4f'): unknown => {
    const { samples, problems, surplus } = decoded(type, [bytes], types)
    return [samples.map((sample) => sample.values), problems, surplus]
  }

  it('with the values that it has', () => {
    expect(of('raw', values(1, 2), '64f')).toEqual([[[1, 2]], [], 0])
    expect(of('raw', values(1, 2, 3, 4))).toEqual([[[1, 2, 3, 4]], [], 0])
    expect(of('gtnet', values(1, 2, 3).swap32(), '64f')).toEqual([[[1, 2, 3]], [], 0])
  })

  it('values for which there is no signal are dropped and counted, and are no second sample', () => {
    expect(of('raw', values(1, 2, 3, 4, 5, 6, 7, 8))).toEqual([[[1, 2, 3, 4]], [], 1])
    expect(of('raw', values(1, 2, 3, 4, 5))).toEqual([[[1, 2, 3, 4]], [], 1])
  })

  it('one that ends within a value or its header is malformed, and the next is read', () => {
    const wrong = (bytes: Buffer, types: string, format: Description = 'raw'): Decoded =>
      decoded(format, [bytes, values(1, 2, 3, 4)], types)
    expect(wrong(values(1, 2).subarray(0, 7), '4f')).toMatchObject({
      samples: [{ values: [1, 2, 3, 4] }],
      problems: ['a message that ends within value 2: 7 bytes'],
    })
    // Half of a complex number.
    expect(wrong(values(1, 2, 3), '2c').problems).toEqual(['a message that ends within value 2: 12 bytes'])
    expect(wrong(values(1, 2), '4f', { type: 'raw', fake: true }).problems).toEqual([
      'a message of 8 bytes, shorter than its header',
    ])
    expect(wrong(Buffer.alloc(9), '1f').problems).toEqual(['a message of 9 bytes, which are no numbers of 32 bits'])
  })

  it('fake: the header alone is a sample without values', () => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt32LE(7, 0)
    expect(decoded({ type: 'raw', fake: true }, [bytes], '4f').samples).toEqual([
      { sequence: 7, values: [], offset: null },
    ])
  })

  it('a connection has samples of all signals', () => {
    expect(decoded('raw', [values(1, 2, 3, 4)], '2f', true).samples.map((each) => each.values)).toEqual([
      [1, 2],
      [3, 4],
    ])
  })
})

describe('csv and tsv: VILLASnode writes no offset into messages, and expects one', () => {
  const of = (line: string, format: Description = 'csv', types = '2f'): unknown => {
    const { samples, problems } = decoded(format, [`${line}\n`], types)
    return problems.length > 0
      ? problems
      : samples.map(({ sequence, offset, values: all }) => [sequence, offset, ...all])
  }

  it.each([
    ['without', '100,000000001,7,0.50000000000000000,1.50000000000000000', [[7, null, 0.5, 1.5]]],
    ['with', '100,000000001,0.000000000,7,0.50000000000000000,1.50000000000000000', [[7, 0, 0.5, 1.5]]],
    ['unknown', '100,000000001,nan,7,0.50000000000000000,1.50000000000000000', [[7, null, 0.5, 1.5]]],
    ['without, nor a number', '100,000000001,nan,0.50000000000000000,1.50000000000000000', [[null, null, 0.5, 1.5]]],
    ['neither is known', '100,000000001,nan,nan,0.50000000000000000', [[null, null, 0.5]]],
    ['without, a number of 64 bits', '100,000000001,18446744073709551615,0.5,1', [[-1, null, 0.5, 1]]],
    ['a negative one', '100,000000001,-0.500000000,7,0.5', [[7, -0.5, 0.5]]],
    ['with an exponent', '100,000000001,5e-1,7,0.5', [[7, 0.5, 0.5]]],
    ['white space', '100, 000000001, 7, 0.5, 1.5', [[7, null, 0.5, 1.5]]],
    ['nothing behind the number', '100,000000001,7', [[7, null]]],
  ])('%s', (_, line, samples) => {
    expect(of(line)).toEqual(samples)
    expect(of(line.replaceAll(',', '\t'), 'tsv')).toEqual(samples)
    expect(of(line, { type: 'csv', offset: false })).toEqual(samples)
  })

  it('what is written has the offset', () => {
    const samples = new Samples(1, 1)
    samples.clear(samples.word(0))
    samples.u32[samples.word(0) + SampleField.flags] = SampleFlag.tsOrigin | SampleFlag.sequence
    const encoder = formatOf({ type: 'csv', header: false }, true).encoder(signalsOf('f'))
    const out = new Uint8Array(encoder.bound)
    expect(Buffer.from(out.subarray(0, encoder.encode(samples, 0, out, 0))).toString()).toBe('0,000000000,nan,0\n')
  })

  it.each([
    { offset: false },
    { sequence: false },
    { offset: false, sequence: false },
    { ts_origin: false },
    { ts_origin: false, offset: false, sequence: false },
  ])('columns that the settings leave out are not read, either: %j', async (without) => {
    const line = '1.000000002(3)\t4\t5\n'
    for (const type of ['csv', 'tsv']) {
      const format = { type, ...without }
      const { text } = await converted(line, 'villas.human', format, '2f')
      const back = await converted(text, format, format, '2f')
      expect([back.text, back.problems.count, back.samples]).toEqual([text, 0, 1])
    }
  })
})

describe('json: NaN and infinities, at which VILLASnode ends', () => {
  const line = async (text: string, types: string, settings: object = {}): Promise<string> =>
    (await converted(text, 'villas.human', { type: 'json', ts_origin: false, ...settings }, types)).text

  it('data ends before the first, and rest has what follows', async () => {
    expect(await line('1.0(7)\t0.5\tnan\t-1\t-inf\tinf\n', '5f')).toBe(
      '{"sequence": 7, "data": [0.5], "rest": ["nan", -1.0, "-inf", "inf"]}\n',
    )
    expect(await line('1.0(7)\tnan\n', '1f', { compact: true })).toBe('{"sequence":7,"data":[],"rest":["nan"]}\n')
    expect(await line('1.0(7)\t1\tnan\n', '2f', { sort_keys: true })).toBe(
      '{"data": [1.0], "rest": ["nan"], "sequence": 7}\n',
    )
    expect(await line('1.0(7)\t1\tnan+2i\t3+4i\n', 'fcc')).toBe(
      '{"sequence": 7, "data": [1.0], "rest": [{"real": "nan", "imag": 2.0}, {"real": 3.0, "imag": 4.0}]}\n',
    )
  })

  it.each(['', ', "indent": 2', ', "sort_keys": true', ', "compact": true'])(
    'nothing is lost between two of ours {%s}',
    async (more) => {
      const human =
        '# no header\n1.000000000(7)\t0.5\tnan\t3\t1\t1.0+infi\n1.000000000(8)\tinf\t-inf\t-3\t0\tnan-1.0i\n'
      const format = JSON.parse(`{"type": "json"${more}}`) as Description
      const plain = { type: 'villas.human', header: false, real_precision: 1 }
      const { text } = await converted(human, 'villas.human', format, '2fibc')
      // What others read is JSON, and has numbers only.
      const objects = more.includes('indent')
        ? JSON.parse(`[${text.replaceAll('}\n{', '},{')}]`)
        : text
            .trim()
            .split('\n')
            .map((each) => JSON.parse(each))
      expect(objects.map(({ data }: { data: unknown[] }) => data)).toEqual([[0.5], []])
      expect((await converted(text, format, plain, '2fibc')).text).toBe(
        '1.000000000(7)\t0.5\tnan\t3\t1\t1.0+infi\n1.000000000(8)\tinf\t-inf\t-3\t0\tnan-1.0i\n',
      )
    },
  )

  it('rest may come first; null is NaN; a rest of others does not matter', async () => {
    const read = async (text: string): Promise<string> =>
      (await converted(text, 'json', { type: 'villas.human', header: false, real_precision: 1 }, '3f')).text
    expect(await read('{"rest": ["nan", 3], "data": [1]}')).toBe('0.0\t1.0\tnan\t3.0\n')
    expect(await read('{"data": [1, null, 3]}')).toBe('0.0\t1.0\tnan\t3.0\n')
    expect(await read('{"data": [1], "rest": {"of": "something else"}}')).toBe('0.0\t1.0\n')
    expect(await read('{"data": [1, 2, 3], "rest": [4]}')).toBe('0.0\t1.0\t2.0\t3.0\n')
    expect(await read('{"data": [1], "rest": ["nano"]}')).toBe('')
  })
})
