/** A minute at 10 kHz between two programs: whatever the generator made while they were connected arrives, in its order. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nativeAvailable } from '../../../../src/index.ts'
import { command } from '../../../built.ts'

const seconds = 60
const rate = 10_000
/** As in the thesis' benchmark: a second of samples may wait while the other program has no processor. */
const queues = { max_wrs: 8192, cq_size: 8192 }

it.skipIf(!nativeAvailable)('infiniband, RC on shm', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-gateway-'))
  const common = { type: 'infiniband', device: `shm:minute${process.pid}` }
  const [here, there] = ['127.0.0.1:1337', '127.0.0.1:1338']
  const file = (name: string) => ({ type: 'file', uri: join(folder, name), format: 'csv' })
  const start = (name: string, configuration: object) => {
    writeFileSync(join(folder, name), JSON.stringify(configuration))
    const child = spawn(process.execPath, [command, 'gateway', 'node', join(folder, name)], { stdio: 'ignore' })
    return { child, exit: once(child, 'exit') }
  }
  const target = start('target.json', {
    nodes: {
      ib: {
        ...common,
        in: { address: there, ...queues, buffer_subtraction: 128, signals: { count: 8, type: 'float' } },
      },
      received: file('received.csv'),
    },
    paths: [{ in: 'ib', out: 'received', original_sequence_no: true }],
  })
  const source = start('source.json', {
    idle_stop: true,
    nodes: {
      generator: { type: 'signal', signal: 'mixed', values: 8, rate, limit: seconds * rate },
      sent: file('sent.csv'),
      ib: { ...common, in: { address: here }, out: { address: there, ...queues, max_inline_data: 128 } },
    },
    paths: [{ in: 'generator', out: ['sent', 'ib'] }],
  })
  await source.exit
  target.child.kill('SIGINT')
  await target.exit
  const sequences = (name: string): number[] => {
    const rows = readFileSync(join(folder, name), 'latin1').trim().split('\n').slice(1)
    return rows.map((row) => Number(row.split(',')[3]))
  }
  const [sent, received] = [sequences('sent.csv'), sequences('received.csv')]
  expect(received.length).toBeGreaterThan(1000)
  expect(received).toEqual(sent.filter((sequence) => sequence >= received[0]!))
  rmSync(folder, { recursive: true })
})
