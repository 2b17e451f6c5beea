/** The node-type exec: settings, programs that answer, fail, end, or do not read. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { samplesOf, TestNode, until, wrongWith } from './running.ts'

const nodes: TestNode[] = []

async function start(settings: Settings, types?: string): Promise<TestNode> {
  const node = await TestNode.start({ type: 'exec', ...settings }, types)
  nodes.push(node)
  return node
}

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop()
})

it.each([
  [{}, 'node: exec: is missing'],
  [{ exec: [] }, 'node: exec: [] is not valid'],
  [{ exec: 'cat', shell: false }, 'exec: with shell = false it is a list'],
  [{ exec: ['cat'], shell: true }, 'exec: with shell = true it is a command in one string'],
  [{ exec: ['cat'], environment: { A: 1 } }, 'node.environment: A: 1 is not valid'],
  [{ exec: 'cat | cat', flush: false, working_directory: '/', environment: { A: 'b' } }, ''],
] as [Settings, string][])('settings: %j', async (settings, message) => {
  const wrong = await wrongWith({ type: 'exec', ...settings })
  if (message === '') expect(wrong).toBe('')
  else expect(wrong).toContain(message)
})

it.each([['cat'], 'cat | cat'])('reads what %j prints of what is written', async (command) => {
  const node = await start({ exec: command })
  node.write(1, 2)
  node.write(3)
  expect(await node.read(3)).toEqual(samplesOf(1, 2, 3))
})

it('runs in its folder with its environment, and logs what comes on standard error', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exec-'))
  const node = await start({
    exec: 'echo "$COLOUR" >&2; pwd > where; echo "1.0(7) 2.5"',
    environment: { COLOUR: 'green' },
    working_directory: folder,
  })
  expect(await node.read(1)).toMatchObject([{ sequence: 7, values: [2.5] }])
  await until(() => node.logs.length === 2 && node.node.source!.ended === true)
  expect(node.logs).toEqual(['info: green', 'info: /bin/sh has ended'])
  expect(readFileSync(join(folder, 'where'), 'utf8')).toBe(`${folder}\n`)
  expect(node.write(1)).toBe(0)
  expect(node.counters).toEqual({ starts: 1, not_connected: 1 })
  rmSync(folder, { recursive: true })
})

it('has ended only when all that was printed is read', async () => {
  const node = await start({ exec: ['sh', '-c', 'for i in $(seq 3000); do echo "1.0($i) 1"; done'] })
  expect(node.node.source!.ended).toBe(false)
  expect(await node.read(3000)).toHaveLength(3000)
  await until(() => node.node.source!.ended === true)
})

it('starts again what fails, and what is not there', async () => {
  const failing = await start({ exec: 'read line; exit 3' })
  failing.write(1)
  await until(() => failing.counters.starts === 2)
  expect(failing.counters).toMatchObject({ failures: 1 })
  expect(failing.logs).toContain('warn: /bin/sh has failed (exit code 3), and is started again')
  const missing = await start({ exec: ['/no/such/program'] })
  await until(() => (missing.counters.failures ?? 0) >= 1)
  expect(missing.logs[0]).toContain('ENOENT')
})

it('counts lines that are malformed, and samples that a program does not take', async () => {
  const node = await start({ exec: 'echo nonsense; exec sleep 60' })
  await until(() => node.take().length === 0 && node.counters.malformed === 1)
  const many = Array.from({ length: 500 }, (_, i) => i)
  let lost = 0
  while (lost === 0) lost = 500 - node.write(...many)
  expect(node.counters.dropped).toBe(lost)
})

it('waits in the end for a slow program that still reads, and loses nothing of the line of names and the samples', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exec-'))
  // Slower than the second that one gets which reads nothing.
  const node = await start({
    exec: 'sleep 0.3; n=0; while read line; do n=$((n+1)); [ $((n % 100)) = 0 ] && sleep 0.3; done; echo $n > got',
    working_directory: folder,
  })
  node.write(...Array.from({ length: 1000 }, (_, i) => i))
  await node.stop()
  expect(readFileSync(join(folder, 'got'), 'utf8')).toBe('1001\n')
  expect(node.counters).toEqual({ starts: 1, sent: 1000 })
  rmSync(folder, { recursive: true })
})

it('counts what a program that ends did not take', async () => {
  const node = await start({ exec: 'read line; sleep 0.3; exit 0' })
  const many = Array.from({ length: 500 }, (_, i) => i)
  for (let i = 0; i < 20; i++) node.write(...many)
  await node.stop()
  const { sent, undelivered } = node.counters
  // The pipe of the system holds some more.
  expect(undelivered).toBeGreaterThan(0)
  expect(undelivered).toBeLessThanOrEqual(sent!)
})
