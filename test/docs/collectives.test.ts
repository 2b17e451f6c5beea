/** docs/guide/collectives.md: its program prints what the page says, and it lists all algorithms. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { algorithmsOf, collectives } from '../../src/collectives/index.ts'
import { blocksOf, root, textOf } from './markdown.ts'

const page = textOf('docs/guide/collectives.md')

it('the first program of the guide works, for one rank too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-collectives-'))
  try {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules/verbena'))
    writeFileSync(join(folder, 'sum.mjs'), blocksOf(page, 'js')[0]!)
    const env = { ...process.env, VERBENA_RANK: '0', VERBENA_SIZE: '1' }
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'sum.mjs')], { env })
    expect(stdout).toBe('ranks 0 to 0 add up to 0\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('the guide lists all collectives with all their algorithms', () => {
  const rows = [...page.matchAll(/^\| `([a-z]+)` \| ((?:`[a-z-]+`(?:, )?)+) \|/gm)]
  const listed = rows.map(([, name, list]) => [name, list!.replaceAll('`', '').split(', ')])
  expect(listed).toEqual(collectives.map((name) => [name, algorithmsOf(name, 16)]))
})
