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

it('the program of the guide to sketches prints what the page says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-sketch-'))
  try {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules/verbena'))
    writeFileSync(join(folder, 'main.mjs'), blocksOf(page, 'js')[0]!)
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'main.mjs')])
    expect(stdout).toBe(/\n```\n([^`]*)```\n/.exec(page)![1])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('the guide lists all kinds of sketches', () => {
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind!)
  expect(rows.sort()).toEqual([...sketchKinds].sort())
})
