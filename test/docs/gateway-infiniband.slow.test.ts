/** docs/guide/gateway-infiniband.md: its two configurations, run as two programs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nativeAvailable } from '../../src/index.ts'
import { command } from '../built.ts'
import { textOf } from './markdown.ts'

const [target, source, session] = [
  ...textOf('docs/guide/gateway-infiniband.md').matchAll(/^```\n([\s\S]*?)^```/gm),
].map(([, block]) => block!)

it.skipIf(!nativeAvailable)('samples pass from one program to the other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-gateway-'))
  const device = `shm:docs${process.pid}`
  const run = (name: string, text: string) => {
    writeFileSync(join(folder, name), text.replace('shm:lab', device))
    const child = spawn(process.execPath, [command, 'gateway', 'node', name], { cwd: folder })
    let printed = ''
    const hear = (chunk: Buffer): void => {
      printed += chunk
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    return { child, printed: () => printed, exit: once(child, 'exit') }
  }
  const [listens, connects] = [run('target.conf', target!), run('source.conf', source!)]
  await connects.exit
  const exit = listens.exit
  listens.child.kill('SIGINT')
  await exit
  const [warning, connected] = session!.split('\n').slice(2)
  expect(connects.printed()).toContain(warning)
  expect(connects.printed()).toContain(connected)
  expect(listens.printed()).toContain('connected with 127.0.0.1:1337')
  const rows = readFileSync(join(folder, 'received.csv'), 'utf8').trim().split('\n').slice(1)
  const sequences = rows.map((row) => Number(row.split(',')[3]))
  expect(rows.length).toBeGreaterThan(0)
  // All that were sent over the connection, in their order.
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
  expect(new Set(sequences).size).toBe(rows.length)
  rmSync(folder, { recursive: true })
})
