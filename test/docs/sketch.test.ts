/** docs/guide/sketch.md: its program prints what the page says. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { sketchKinds } from '../../src/sketch/index.ts'
import { blocksOf, root, textOf } from './markdown.ts'

const page = textOf('docs/guide/sketch.md')

const programs = blocksOf(page, 'js')
/** The block that follows each program. */
const outputs = [...page.matchAll(/^```js\n[\s\S]*?^```\n\n```\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)

it('the programs of the guide to sketches print what the page says', async () => {
  expect(programs.length).toBe(6)
  const folder = mkdtempSync(join(tmpdir(), 'verbena-sketch-'))
  try {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules/verbena'))
    for (const [i, program] of programs.entries()) {
      writeFileSync(join(folder, `${i}.mjs`), program)
      const { stdout } = await promisify(execFile)(process.execPath, [join(folder, `${i}.mjs`)])
      expect(stdout).toBe(outputs[i])
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('the guide lists all kinds of sketches', () => {
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind!)
  expect(rows.sort()).toEqual([...sketchKinds].sort())
})
