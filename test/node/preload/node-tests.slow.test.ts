/** What `npm run test:node` says of tests that pass and fail, with and without the preload, and of its list. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'

const program = fileURLToPath(new URL('../../../scripts/node-tests.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'node-tests-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const talks = `const net = require('net')
net.createServer(function (c) { this.close(); c.end('x') }).listen(0, '127.0.0.1', function () {
  net.connect(this.address().port, '127.0.0.1').resume()
})`
const tests = {
  'net-passes': talks,
  'net-limit': `${talks}\nif (process.env.VERBENA_PRELOAD) throw new Error('a known limit')`,
  'net-new': `if (process.env.VERBENA_PRELOAD) throw new Error('not known')`,
  'net-flags': `// Flags: --expose-internals\nrequire('internal/test/binding')`,
  'net-skipped': `console.log('1..0 # Skipped: not here')`,
  'http-plain': `throw new Error('everywhere')`,
  'http2-better': talks,
  'cluster-without': `throw new Error('has no connection, so it is not run')`,
  'fs-other': `throw new Error('another group')`,
}
for (const part of ['parallel', 'common']) mkdirSync(join(folder, part))
for (const [name, text] of Object.entries(tests)) writeFileSync(join(folder, 'parallel', `test-${name}.js`), text)

function run(known: Record<string, string>, ...more: string[]): { status: number | null; stdout: string } {
  const list = join(folder, 'list.json')
  writeFileSync(list, JSON.stringify({ reasons: { limit: { text: 'x', page: 'x' } }, known }))
  const args = ['--tests', folder, '--list', list, '--again', '0', '--device', 'shm', ...more]
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', timeout: 60_000 })
}

it('fails for what is not in the list, and names what could leave it', () => {
  const { status, stdout } = run({ 'net-limit': 'limit', 'http2-better': 'limit', 'net-gone': 'limit' }, '--json')
  expect(status).toBe(1)
  const { figures, unexpected, passesNow, unknown, results } = JSON.parse(stdout)
  expect(results.map(({ name }: { name: string }) => name)).toEqual([
    'http-plain',
    'http2-better',
    'net-flags',
    'net-limit',
    'net-new',
    'net-passes',
    'net-skipped',
  ])
  expect(figures).toMatchObject({ ran: 7, passedPlain: 5, shm: { passed: 3, failed: 2 } })
  expect(unexpected).toEqual([{ test: 'net-new', device: 'shm', outcome: 'failed' }])
  expect(passesNow).toEqual([{ test: 'http2-better', device: 'shm' }])
  expect(unknown).toEqual(['net-gone'])
})

it('passes where the list has all that fails, and takes filters', () => {
  const { status, stdout } = run({ 'net-limit': 'limit' }, '^net-(limit|passes)$')
  expect(stdout).toMatch(/^2 tests of Node\.js \(commit unknown\)/)
  expect(stdout).toMatch(/^shm {6}1 passed, 1 failed/m)
  expect(status).toBe(0)
})
