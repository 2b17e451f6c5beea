/** Rules of the formats, one by one; what is malformed, and where. */
import { describe, expect, it } from 'vitest'
import {
  describeProblem,
  formatNames,
  formatOf,
  GatewayError,
  longestRest,
  Samples,
  signalsOf,
} from '../../src/gateway/index.ts'
import { converted, type Description, encodedMessage } from './streams.ts'

const headless = (type: string): Description => ({ type, header: false })

async function line(input: string, types = '8f', from: Description = 'villas.human'): Promise<string> {
  return (await converted(input, from, { type: 'villas.human', header: false, real_precision: 2 }, types)).text
}

describe('villas.human', () => {
  it.each([
    ['1.5\t1\n', '1.000000005\t1.00\n'],
    ['1\t1\n', '1.000000000\t1.00\n'],
    ['  1 2 3\r\n', '1.000000000\t2.00\t3.00\n'],
    ['1.0+5e-1(7)F\t1\n', '1.000000000+5.000000e-01(7)F\t1.00\n'],
    ['1.0-0.5\t1\n', '1.000000000-5.000000e-01\t1.00\n'],
    ['1.0(18446744073709551615)\t1\n', '1.000000000(18446744073709551615)\t1.00\n'],
    ['1.0\tnan\tinf\t-inf\t.5\t1.\t1e3\n', '1.000000000\tnan\tinf\t-inf\t0.50\t1.00\t1000.00\n'],
    ['# a comment\n\n1.0\n', '1.000000000\n'],
    ['1.0\t1', '1.000000000\t1.00\n'],
  ])('%j is %j', async (input, expected) => expect(await line(input)).toBe(expected))

  it('integers, booleans and complex numbers', async () => {
    expect(await line('1.0\t-9223372036854775808\t1\t1.5-2i\n', 'ibc')).toBe(
      '1.000000000\t-9223372036854775808\t1\t1.50-2.00i\n',
    )
    expect(await line('1.0\t2j\t3\n', '2c')).toBe('1.000000000\t0.00+2.00i\t3.00+0.00i\n')
  })

  it.each([
    ['x\n', 'line 1 (byte 0): it does not begin with seconds'],
    ['1.0\t1\n1.x\t1\n', 'line 2 (byte 6): there are no nanoseconds behind the point'],
    ['1.0(\t1\n', 'line 1 (byte 0): there is no sequence number in the brackets'],
    ['1.0+x\t1\n', 'line 1 (byte 0): the offset behind the time is not a number'],
    ['1.0\t1\tx1\t3\n', "line 1 (byte 0): value 2 is not a number: 'x1?3'"],
    ['1.0\t1x\n', "line 1 (byte 0): value 1 is not a number: '1x'"],
  ])('%j is malformed', async (input, expected) => {
    const { problems } = await converted(`${input}2.0\t2\n`, 'villas.human', headless('villas.human'))
    expect([problems.count, describeProblem(problems.first[0]!)]).toEqual([1, expected])
  })
})

describe('csv and tsv', () => {
  it('nan is what a sample does not have', async () => {
    const { text } = await converted('nan,nan,nan,nan,1\n5,6,nan,3,1\n', 'csv', {
      type: 'csv',
      header: false,
      real_precision: 1,
    })
    expect(text).toBe('nan,nan,nan,nan,1.0\n5,000000006,nan,3,1.0\n')
  })

  it('another separator, a first line that is skipped', async () => {
    const settings = { type: 'csv', separator: ';', skip_first_line: true, comment_prefix: '%' }
    expect(await line('secs;nsecs\n% no\n1;2;0.5;3;1;2;\n', '8f', settings)).toBe(
      '1.000000002+5.000000e-01(3)\t1.00\t2.00\n',
    )
  })

  it('fields may be left out, and the header', async () => {
    const csv = { type: 'csv', offset: false, sequence: false, real_precision: 0 }
    expect((await converted('1.2+1(3)\t4\n', 'villas.human', csv, '2f')).text).toBe(
      '# secs,nsecs,signal0,signal1\n1,000000002,4\n',
    )
  })

  it('a column that is no number is named', async () => {
    const { problems } = await converted('1,2,x,3\n1;2\n', 'csv', 'csv')
    expect(problems.first.map(({ what }) => what)).toEqual([
      "column 3 is not the offset: 'x,3'",
      "column 1 is not seconds: '1;2'",
    ])
  })
})

describe('json', () => {
  it('any white space, order and unknown members; integers as floats', async () => {
    const input =
      '{ "data" : [ 1 , 2.5e0 ],\n "x": {"y": ["}", "\\"", null, true]}, "sequence":7,"ts":{"origin":[1,2],"received":[1,3]}}{"data":[]}'
    expect(await line(input, '8f', 'json')).toBe('1.000000002+1.000000e-09(7)\t1.00\t2.50\n0.0\n')
  })

  it('types, flags, received', async () => {
    const input = '{"flags":["new_simulation","new_frame"],"data":[1,true,{"imag":2,"real":1}],"ts":{"received":[1,2]}}'
    const { text } = await converted(input, 'json', { type: 'json', ts_received: true, compact: true }, 'ibc')
    expect(text).toBe(
      '{"ts":{"received":[1,2]},"flags":["new_simulation","new_frame"],"data":[1,true,{"real":1.0,"imag":2.0}]}\n',
    )
  })

  it('what is malformed costs one sample', async () => {
    const input = '{"data":[1]}\n{"data":[2\n{"data":[3]}\nnonsense\n{"data":["4"]}\n{"data":[5]}\n{"x":1}\n{"data":[6'
    const { problems, samples } = await converted(input, 'json', 'json')
    expect(samples).toBe(3)
    expect(problems.first.map(describeProblem)).toEqual([
      'line 2 (byte 13): an object that is cut off: the next line begins another one',
      "line 4 (byte 37): no object: it begins with 'n'",
      'line 5 (byte 46): value 1 is not a number',
      'line 7 (byte 74): there is no "data"',
      'line 8 (byte 82): the input ends within an object',
    ])
  })
})

describe('opal.asyncip', () => {
  // By hand: device 99, sequence 7 and 8, 16 and 8 bytes of little-endian floats: 1.5 and -2; 0.25.
  const two = '63000700000010' + '00' + '000000000000f83f' + '00000000000000c0'
  const one = '63000800000008' + '00' + '000000000000d03f'

  it('is what the fields say', async () => {
    const settings = { type: 'opal.asyncip', dev_id: 99 }
    const { bytes } = await converted('1.0(7)\t1.5\t-2\n1.0(8)\t0.25\n', 'villas.human', settings, '2f')
    expect(bytes.toString('hex')).toBe(two + one)
    const { text, problems } = await converted(Buffer.from(two + one, 'hex'), 'opal.asyncip', headless('csv'), 'fi')
    expect([text, problems.count]).toEqual([
      'nan,nan,nan,7,1.50000000000000000,-2\nnan,nan,nan,8,0.25000000000000000\n',
      0,
    ])
  })

  it('has at most 64 values, and is not read behind what is malformed', async () => {
    const line = `1.0(1)${'\t1'.repeat(70)}\n`
    const { bytes } = await converted(line, 'villas.human', 'opal.asyncip', '70f')
    expect(bytes.length).toBe(8 + 64 * 8)
    const cut = await converted(bytes.subarray(0, 100), 'opal.asyncip', 'csv')
    expect(cut.problems.first.map(describeProblem)).toEqual([
      'byte 0: the input ends within a message, after 100 bytes',
    ])
    const wrong = await converted(Buffer.from(`${one}63000800000007${'00'.repeat(20)}`, 'hex'), 'opal.asyncip', 'csv')
    expect(wrong.samples).toBe(1)
    expect(wrong.problems.first.map(describeProblem)).toEqual(['byte 16: 7 bytes of data are not up to 64 floats'])
    const surplus = await converted(Buffer.from(two + one, 'hex'), 'opal.asyncip', 'csv', 'f')
    expect([surplus.samples, surplus.problems.surplus]).toEqual([2, 1])
  })
})

describe('json in messages', () => {
  const two = '1.000000002(7)F\t1\t1.5-2i\n1.000000003(8)\t2\t0i\n'
  /** As jansson writes them: json_dumpb with JSON_INDENT, JSON_COMPACT and JSON_SORT_KEYS. */
  const layouts: [object, string][] = [
    [
      {},
      '[{"ts": {"origin": [1, 2]}, "flags": ["new_frame"], "sequence": 7, "data": [1, {"real": 1.5, "imag": -2.0}]}, {"ts": {"origin": [1, 3]}, "sequence": 8, "data": [2, {"real": 0.0, "imag": 0.0}]}]',
    ],
    [
      { compact: true, sort_keys: true },
      '[{"data":[1,{"imag":-2.0,"real":1.5}],"flags":["new_frame"],"sequence":7,"ts":{"origin":[1,2]}},{"data":[2,{"imag":0.0,"real":0.0}],"sequence":8,"ts":{"origin":[1,3]}}]',
    ],
    [
      { indent: 1, data: false },
      '[\n {\n  "ts": {\n   "origin": [\n    1,\n    2\n   ]\n  },\n  "flags": [\n   "new_frame"\n  ],\n  "sequence": 7\n },\n {\n  "ts": {\n   "origin": [\n    1,\n    3\n   ]\n  },\n  "sequence": 8\n }\n]',
    ],
    [
      { indent: 2, ts_origin: false, sequence: false, compact: true },
      '[\n  {\n    "flags":[\n      "new_frame"\n    ],\n    "data":[\n      1,\n      {\n        "real":1.5,\n        "imag":-2.0\n      }\n    ]\n  },\n  {\n    "data":[\n      2,\n      {\n        "real":0.0,\n        "imag":0.0\n      }\n    ]\n  }\n]',
    ],
    [{ array: false, ts_origin: false, data: false }, '{"flags": ["new_frame"], "sequence": 7}\n{"sequence": 8}\n'],
  ]

  it.each(layouts)('is an array, with %j', async (settings, expected) => {
    const samples = new Samples(2, 2)
    const decoder = formatOf('villas.human').decoder(signalsOf('ic'))
    decoder.decode(Buffer.from(two), 0, samples, true)
    expect(encodedMessage({ type: 'json', ...settings }, samples, 'ic')).toBe(expected)
  })

  it('is read in chunks of any size', async () => {
    const [[, text]] = layouts as [[object, string]]
    for (let size = 1; size <= text.length; size++) {
      const chunks = Array.from({ length: Math.floor(text.length / size) }, () => size)
      const { text: read, problems } = await converted(text, 'json', headless('villas.human'), 'ic', chunks)
      expect([read.split('\n').length, problems.count]).toEqual([3, 0])
    }
  })

  it('that is malformed is told', async () => {
    const { problems, samples } = await converted(
      '[{"data":[1]},{"data":["x"]},{"data":[2]}\n]]\n,[{"data":[3]}',
      'json',
      'json',
    )
    expect(samples).toBe(2)
    expect(problems.first.map(describeProblem)).toEqual([
      'line 1 (byte 14): value 1 is not a number',
      "line 2 (byte 43): no object: it begins with ']'",
      "line 3 (byte 45): no object: it begins with ','",
    ])
    const { problems: ends } = await converted('[{"data":[1]},', 'json', 'json')
    expect(ends.first.map(({ what }) => what)).toEqual(['the input ends within an array'])
  })
})

describe('messages', () => {
  const message = Buffer.from('2000000200000001000000020000000340000000c0000000', 'hex')

  it('only of the source that is asked for', async () => {
    const other = Buffer.from(message)
    other[1] = 9
    const settings = { type: 'villas.binary', source_index: 9, validate_source_index: true }
    const { bytes } = await converted(Buffer.concat([message, other]), settings, {
      type: 'villas.binary',
      source_index: 9,
    })
    expect(bytes).toEqual(other)
  })

  it('more values than signals are dropped, and the next message is found', async () => {
    const { problems, samples } = await converted(Buffer.concat([message, message]), 'villas.binary', 'csv', 'f')
    expect([samples, problems.surplus, problems.count]).toEqual([2, 2, 0])
  })

  it('what does not begin as one ends the reading', async () => {
    const { problems, samples } = await converted(
      Buffer.concat([message, Buffer.from('hello, world'), message]),
      'villas.binary',
      'csv',
    )
    expect([samples, problems.fatal, describeProblem(problems.first[0]!)]).toEqual([
      1,
      true,
      'byte 24: no message of version 2: it begins with 0x68, not 0x20',
    ])
  })

  it('nor may the last one be cut off', async () => {
    const { problems } = await converted(message.subarray(0, 20), 'villas.binary', 'csv')
    expect(describeProblem(problems.first[0]!)).toBe('byte 0: the input ends within a message: 20 of 24 bytes')
  })
})

describe('raw', () => {
  it.each([
    [8, 'little', 'ff017f'],
    [16, 'little', 'ffff01007f00'],
    [16, 'big', 'ffff0001007f'],
    [32, 'big', 'ffffffff000000010000007f'],
    [64, 'little', 'ffffffffffffffff01000000000000007f00000000000000'],
  ])('integers of %i bits, %s-endian', async (bits, endianess, hex) => {
    const raw = bits === 8 ? { type: 'raw', bits } : { type: 'raw', bits, endianess }
    expect((await converted('1.0\t-1\t1\t127\n', 'villas.human', raw, 'ibi')).bytes.toString('hex')).toBe(hex)
    expect(await line(Buffer.from(hex, 'hex').toString('latin1'), 'ibi', raw)).toBe('0.0\t-1\t1\t127\n')
  })

  it('a sample that is cut off is a problem', async () => {
    const { problems, samples } = await converted(Buffer.alloc(13), 'raw', 'csv', '2f')
    expect([samples, describeProblem(problems.first[0]!)]).toEqual([
      1,
      'byte 8: the input ends within a sample: 5 of 8 bytes',
    ])
  })
})

it('value: a number on each line', async () => {
  expect((await converted('1.0\t2.5\n2.0\t-3\n', 'villas.human', { type: 'value', real_precision: 1 }, 'f')).text).toBe(
    '2.5\n-3.0\n',
  )
  expect(await line('2.5\n\n-3', 'f', 'value')).toBe('0.0\t2.50\n0.0\t-3.00\n')
  await expect(converted('1.0\t1\t2\n', 'villas.human', 'value', '2f')).rejects.toThrow('value carries one value')
})

it.each(['villas.human', 'csv', 'json', 'value'])(
  '%s: what never ends takes no more memory than the limit',
  async (format) => {
    const begin = format === 'json' ? '{"data":[' : ''
    const good = { 'villas.human': '1.0\t1\n', csv: '1,2,nan,3,1\n', json: '{"data":[1]}\n', value: '1\n' }[format]!
    const endless = `${begin}${'1'.repeat(2 * longestRest)}\n${good}`
    const { problems, samples } = await converted(endless, format, 'csv', '2f', Array(40).fill(1 << 16))
    expect([problems.count, samples]).toEqual([1, 1])
    expect(problems.first[0]!.what).toContain(`more than ${longestRest} bytes`)
  },
)

it.each(formatNames)('%s says whether its bytes are text', async (name) => {
  const { bytes } = await converted('1.25(7)\t-2.5\n', 'villas.human', name, 'f')
  const isText = bytes.every((byte) => (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a)
  expect(formatOf(name).isBinary ?? false).toBe(!isText)
})

describe('settings', () => {
  const refused: [() => unknown, string][] = [
    [() => formatOf('cvs'), "'cvs' is not known. Did you mean 'csv'?"],
    [() => formatOf({ type: 'csv', seperator: ';' }), "csv has no setting 'seperator'. Did you mean 'separator'?"],
    [() => formatOf({ type: 'csv', separator: '::' }), 'Expected a single ASCII character'],
    [() => formatOf({ type: 'csv', separator: '\n' }), 'the same character'],
    [() => formatOf({ type: 'raw', bits: 12 }), 'bits: 12 is not valid. Expected one of 8, 16, 32, 64'],
    [() => formatOf({ type: 'json', real_precision: 32 }), 'a whole number from 0 to 31'],
    [() => formatOf({ type: 'raw', bits: 16 }).encoder(signalsOf('f')), 'integers and booleans only'],
    [() => formatOf('villas.web').decoder(signalsOf('fb')), 'signal1 is boolean'],
    [() => signalsOf('8x'), "'8x' does not describe signals"],
    [() => signalsOf('0f'), 'describes no signal'],
    [() => signalsOf('513f'), 'more than 512'],
  ]
  it.each(refused)('%s', (make, expected) => {
    expect(make).toThrow(GatewayError)
    expect(make).toThrow(expected)
  })
})
