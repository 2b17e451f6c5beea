/** The man pages: groff has nothing to say against them, and nothing of help is lost. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { manPages } from '../../scripts/docs/man-pages.ts'
import { describeCommandLine } from '../../src/cli/describe.ts'
import { root } from './markdown.ts'

const groff = spawnSync('groff', ['--version']).status === 0
const man = join(root, 'dist', 'man')
const pages = readdirSync(man).map((name) => join(man, name))

it.skipIf(!groff)('groff reads all of them without a warning', () => {
  const { status, stderr } = spawnSync('groff', ['-ww', '-Wbreak', '-man', '-Tutf8', '-z', ...pages], {
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
})

it.skipIf(!groff)('what is shown is the help: options, backslashes, lines that begin with a dot', async () => {
  const { program, exitCodes } = await describeCommandLine()
  const odd = {
    ...program,
    name: 'odd',
    commands: [],
    examples: [],
    notes: ".begins with a dot\n'so\\n\n  a  table − µs",
  }
  const page = manPages({ program: odd, exitCodes }, '1.2.3').get('verbena-odd.1')!
  const { stdout } = spawnSync('groff', ['-man', '-Tutf8'], { input: page, encoding: 'utf8' })
  // Bold letters are written twice, with a backspace between, or with escapes around them.
  const parts = stripVTControlCharacters(stdout).split('\b')
  const text = parts.map((part, i) => (i < parts.length - 1 ? part.slice(0, -1) : part)).join('')
  for (const part of ['-V, --version', ".begins with a dot 'so\\n", 'a  table − µs', '143', 'Verbena 1.2.3'])
    expect(text).toContain(part)
})
