/** `verbena gateway compare`: what it says, and the exit codes of `villas compare`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { verbena } from '../../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-compare-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const lines = ['1.5(7)\t0.5\t1.0\n', '2.5(8)\t0.25\t2.0\n']
const first = file('first', lines.join(''))

const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await verbena('gateway', 'compare', '-t', '2f', ...args)
  return { code, stdout: stdout.replaceAll(`${folder}/`, ''), stderr: stderr.replaceAll(`${folder}/`, '') }
}

it.each<[string, string, number, string]>([
  ['the same', lines.join(''), 0, '2 samples are equal'],
  ['shorter', lines[0]!, 1, 'the numbers of samples in first and shorter differ: more than 1 and 1'],
  [
    'longer',
    `${lines.join('')}3.5(9)\t1\t1\n`,
    1,
    'the numbers of samples in first and longer differ: 2 and more than 2',
  ],
  [
    'sequence',
    lines.join('').replace('(8)', '(9)'),
    2,
    'the sequence numbers of sample 1 in first and sequence differ: 8 and 9',
  ],
  [
    'time',
    lines.join('').replace('2.5', '3.5'),
    3,
    'the times of origin of sample 1 in first and time differ: 2.000000005 and 3.000000005',
  ],
  [
    'count',
    lines.join('').replace('\t2.0', ''),
    4,
    'the numbers of values of sample 1 in first and count differ: 2 and 1',
  ],
  [
    'data',
    lines.join('').replace('0.25', '0.75'),
    5,
    'the values of sample 1, value 0, in first and data differ: 0.25 and 0.75',
  ],
])('%s', async (name, text, code, said) => {
  expect(await run(first, file(name, text))).toEqual({ code, stdout: `${said}\n`, stderr: '' })
})

it('leaves out what it is told to, and takes an epsilon', async () => {
  const other = file('other', '1.5(70)\t0.5\t1.0\n9.5(80)\t0.26\t2.0\n')
  expect((await run(first, other)).code).toBe(2)
  expect((await run('-s', first, other)).code).toBe(3)
  expect((await run('-s', '-T', first, other)).code).toBe(5)
  expect((await run('-s', '-T', '-e', '0.1', first, other)).code).toBe(0)
  expect((await run('-s', '-T', '-v', first, other)).code).toBe(0)
})

it('compares all files with the first, and prints JSON', async () => {
  const data = file('data2', lines.join('').replace('0.25', '0.75'))
  const { code, stdout } = await run('--json', first, first, data)
  expect(code).toBe(5)
  expect(JSON.parse(stdout)).toEqual({
    equal: false,
    file: 'data2',
    sample: 1,
    what: 'data',
    index: 0,
    values: '0.25 and 0.75',
    samples: 2,
  })
})

it('says what is malformed, and fails for it', async () => {
  const { code, stdout, stderr } = await run(first, file('malformed', `nonsense\n${lines.join('')}`))
  expect([code, stdout]).toEqual([1, '2 samples are equal\n'])
  expect(stderr).toBe('malformed is malformed in one place:\n  line 1 (byte 0): it does not begin with seconds\n')
})

it.each([
  [[first], /files: one file is equal to itself/, 2],
  [['-e', 'x', first, first], /--epsilon: 'x' is not valid/, 2],
  [['-f', 'cvs', first, first], /--format: 'cvs' is not known. Did you mean 'csv'/, 2],
  [[first, join(folder, 'none')], /none/, 1],
])('%j is refused', async (args, message, code) => {
  const ended = await run(...args)
  expect(ended.stderr).toMatch(message)
  expect(ended.code).toBe(code)
})
