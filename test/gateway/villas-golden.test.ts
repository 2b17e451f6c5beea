/** Bytes that a real VILLASnode wrote (golden/villas/README.md says how): Verbena writes the same, and reads them. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { formatOf, Samples, signalsOf } from '../../src/gateway/index.ts'
import { converted, type Description } from './streams.ts'

const golden = (name: string): Buffer => readFileSync(new URL(`golden/villas/${name}`, import.meta.url))

/** With its types, the format, and what a format does not carry, in what is read back as villas.human. */
const files: readonly [string, string, Description, (line: string) => string][] = [
  ['mixed.villas.human', '2f1i1b1c', 'villas.human', (line) => line],
  ['mixed.csv', '2f1i1b1c', 'csv', withoutFlag],
  ['mixed.tsv', '2f1i1b1c', 'tsv', withoutFlag],
  ['mixed.jsonl', '2f1i1b1c', 'json', withoutOffset],
  ['mixed.json-compact', '2f1i1b1c', { type: 'json', compact: true, sort_keys: true }, withoutOffset],
  ['mixed.protobuf', '2f1i1b1c', 'protobuf', withoutOffset],
  ['mixed.raw-64-little', '2f1i1b1c', { type: 'raw', bits: 64, endianess: 'little' }, valuesOnly],
  ['mixed.raw-64-big', '2f1i1b1c', { type: 'raw', bits: 64, endianess: 'big' }, valuesOnly],
  ['floats.villas.binary', '4f', 'villas.binary', withoutOffset],
  ['floats.villas.web', '4f', 'villas.web', withoutOffset],
  ['floats.gtnet', '4f', 'gtnet', valuesOnly],
  [
    'floats.opal.asyncip',
    '4f',
    'opal.asyncip',
    (line) => valuesOnly(line).replace('0.0', `0.0${/\(\d+\)/.exec(line)![0]}`),
  ],
]

/** Precision is lost on the way. */
const onlyWritten: readonly [string, string, Description][] = [
  ['mixed.csv-semicolon', '2f1i1b1c', { type: 'csv', separator: ';', real_precision: 3 }],
  ['mixed.human-2', '2f1i1b1c', { type: 'villas.human', header: false, real_precision: 2 }],
  ['mixed.raw-32-little', '2f1i1b1c', { type: 'raw', bits: 32, endianess: 'little' }],
  ['mixed.raw-32-big', '2f1i1b1c', { type: 'raw', bits: 32, endianess: 'big' }],
  ['mixed.fake-32-little', '2f1i1b1c', { type: 'raw', bits: 32, endianess: 'little', fake: true }],
  ['mixed.fake-32-big', '2f1i1b1c', { type: 'raw', bits: 32, endianess: 'big', fake: true }],
  ['mixed.fake-64-little', '2f1i1b1c', { type: 'raw', bits: 64, endianess: 'little', fake: true }],
  ['mixed.fake-64-big', '2f1i1b1c', { type: 'raw', bits: 64, endianess: 'big', fake: true }],
]

function withoutFlag(line: string): string {
  return line.replace(')F', ')')
}
function withoutOffset(line: string): string {
  return line.replace(/[+-]\d\.\d{6}e[+-]\d+(?=\()/, '')
}
function valuesOnly(line: string): string {
  return line.replace(/^[^\t]*/, '0.0')
}

const inputOf = (name: string): Buffer => golden(`${name.slice(0, name.indexOf('.'))}.input`)
const linesOf = (bytes: Buffer): string[] => bytes.toString().trim().split('\n').slice(1)

describe('files', () => {
  it.each([...files, ...onlyWritten].map(([name, types, format]) => [name, types, format] as const))(
    '%s is what is written',
    async (name, types, format) => {
      const { bytes } = await converted(inputOf(name), 'villas.human', format, types)
      expect(bytes.toString('latin1')).toBe(golden(name).toString('latin1'))
    },
  )

  it.each(files)('%s is read', async (name, types, format, carried) => {
    const { bytes, problems } = await converted(golden(name), format, 'villas.human', types)
    expect(problems.first).toEqual([])
    expect(linesOf(bytes)).toEqual(linesOf(inputOf(name)).map(carried))
  })

  it('one.value, both ways', async () => {
    expect((await converted(inputOf('one.value'), 'villas.human', 'value', 'f')).bytes).toEqual(golden('one.value'))
    expect((await converted(golden('one.value'), 'value', 'value', 'f')).bytes).toEqual(golden('one.value'))
  })
})

it.each(['csv', 'tsv', 'villas.human', 'json', 'protobuf', 'villas.binary'])(
  'datagrams of its node-type socket in %s are read, which have no offset',
  async (format) => {
    const decoder = formatOf(format, true).decoder(signalsOf('4f'), true)
    const samples = new Samples(8, 4)
    decoder.decode(golden(`network.${format}.bytes`), 0, samples, true)
    expect(decoder.problems.first).toEqual([])
    const encoder = formatOf('villas.human').encoder(signalsOf('4f'))
    const out = new Uint8Array(encoder.bound)
    const lines = Array.from({ length: samples.count }, (_, i) =>
      Buffer.from(out.subarray(0, encoder.encode(samples, i, out, 0)))
        .toString()
        .trim()
        .split('\n')
        .at(-1),
    )
    expect(lines).toEqual(linesOf(golden('floats.input')).map(withoutOffset))
  },
)
