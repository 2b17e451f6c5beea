/** A process that ends at once, and leaves its threads to the kernel. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { startable } from '../entries.ts'

const { file, execArgv } = startable(new URL('./process-end.process.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'verbena-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

function ended(env: NodeJS.ProcessEnv): { status: number | null; output: string } {
  const plain = { ...process.env, NODE_OPTIONS: '', NODE_V8_COVERAGE: '', NODE_COMPILE_CACHE: '' }
  const { status, stdout } = spawnSync(process.execPath, [...execArgv, file, '7'], {
    env: { ...plain, ...env },
    encoding: 'utf8',
  })
  return { status, output: stdout }
}

it.skipIf(!nativeAvailable)('calls its listeners, and has its code, without being taken down by Node.js', () => {
  expect(ended({})).toEqual({ status: 7, output: 'listened\n' })
})

it.each([
  ['a profiler', { NODE_V8_COVERAGE: folder }],
  ['a cache of compiled code', { NODE_COMPILE_CACHE: folder }],
  ['options of Node.js', { NODE_OPTIONS: '--max-http-header-size=9000' }],
  ['no native code', { VERBENA_NO_NATIVE: '1' }],
])('is taken down with %s', (_, env) => {
  expect(ended(env)).toEqual({ status: 7, output: 'listened\ntaken down\n' })
})
