/** The preload by NODE_OPTIONS, as docs/guide/preload.md sets it, for programs in folders that have no verbena. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verbena-elsewhere-'))
  mkdirSync(join(folder, 'project', 'node_modules'), { recursive: true })
  mkdirSync(join(folder, 'elsewhere'))
  symlinkSync(root, join(folder, 'project', 'node_modules', 'verbena'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('the command of the guide gives a path that works from any folder', () => {
  const guide = readFileSync(join(root, 'docs/guide/preload.md'), 'utf8')
  const command = /^\$ (export NODE_OPTIONS=.*)$/m.exec(guide)![1]!
  const env = { ...process.env, NODE_OPTIONS: '', VERBENA_PRELOAD: '' }
  const script = `${command}; cd ../elsewhere; node -e 'console.log(process.cwd())' 2>&1`
  const out = execFileSync('sh', ['-c', script], { cwd: join(folder, 'project'), env, encoding: 'utf8' })
  // Without rules the preload says so in a line.
  expect(out).toMatch(/^verbena: the preload has no rules.*\n.*\/elsewhere\n$/)
})
