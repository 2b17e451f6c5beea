/** The programs in the guides to captures, the monitor and replay print what the pages say. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root, textOf } from './markdown.ts'

/** A folder in which the package is installed, and captures are where the programs look for them. */
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verbena-capture-docs-'))
  mkdirSync(join(folder, 'node_modules'))
  mkdirSync(join(folder, 'test'))
  symlinkSync(root, join(folder, 'node_modules/verbena'))
  symlinkSync(join(root, 'test/captures'), join(folder, 'test/captures'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each([
  ['capture', 3],
  ['monitor', 1],
  ['replay', 1],
])('docs/guide/%s.md', (page, count) => {
  const programs = [...textOf(`docs/guide/${page}.md`).matchAll(/^```js\n([\s\S]*?)^```\n\n```\n([\s\S]*?)^```$/gm)]

  it(`has ${count} of them`, () => expect(programs).toHaveLength(count))

  it.each(programs.map(([, program, output], i) => [i + 1, program!, output!] as const))(
    'program %i',
    async (i, program, output) => {
      const file = join(folder, `${page}-${i}.mjs`)
      writeFileSync(file, program)
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: folder, timeout: 60_000 })
      expect({ stdout, stderr }).toEqual({ stdout: output, stderr: '' })
    },
  )
})
