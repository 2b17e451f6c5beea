/** Bytes as VILLASnode writes them: golden/derive.c says where the files are from. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { converted, type Description } from './streams.ts'

const golden = (name: string): Buffer => readFileSync(new URL(`golden/samples.${name}`, import.meta.url))
const human = golden('human')

const raw: Description = { type: 'raw', bits: 64, endianess: 'big', fake: true }

it.each([
  ['human', 'villas.human'],
  ['csv', 'csv'],
  ['tsv', 'tsv'],
])('villas.human, read and written as %s', async (name, format) => {
  const { bytes, problems } = await converted(human, 'villas.human', format, '5f')
  expect(problems.count).toBe(0)
  expect(bytes.toString()).toBe(golden(name).toString())
})

it.each([
  ['jsonl', 'json'],
  ['binary', 'villas.binary'],
  ['web', 'villas.web'],
  ['raw', raw],
] as [string, Description][])('raw, whose doubles are exact, read and written as %s', async (name, format) => {
  const { bytes } = await converted(golden('raw'), raw, format, '5f')
  // raw has no flags.
  expect(bytes.toString('latin1')).toBe(golden(name).toString('latin1').replace('"flags": ["new_frame"], ', ''))
})

it.each(['csv', 'tsv'])('%s is read, and comes out as it was', async (name) => {
  const { text } = await converted(golden(name), name, name, '5f')
  // An offset is read as a 32-bit float, as VILLASnode does; those of the file are exact in it.
  expect(text).toBe(golden(name).toString())
})

it('the messages are read, and come out as they were', async () => {
  expect((await converted(golden('web'), 'villas.web', 'villas.binary', '5f')).bytes).toEqual(golden('binary'))
  expect((await converted(golden('binary'), 'villas.binary', 'villas.web', '5f')).bytes).toEqual(golden('web'))
})
