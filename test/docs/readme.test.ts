/** The programs of the README run as they stand, against the built package. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocksOf, root, textOf } from './markdown.ts'

const programs = blocksOf(textOf('README.md'), 'js', 'mjs', 'ts')
let folder = ''

/** A project that has installed the package. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verbena-readme-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/verbena'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('has two programs', () => expect(programs).toHaveLength(2))

it.each([
  ['the verbs', 0, 'success 64\n'],
  ['verbena/net', 1, 'hello\n'],
])('%s', async (_, index, expected) => {
  const file = join(folder, `${index}.mjs`)
  writeFileSync(file, programs[index]!)
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { timeout: 30_000 })
  expect({ stdout, stderr }).toEqual({ stdout: expected, stderr: '' })
})
