/** The node-type stats: its settings, and figures of a node of another thread as samples. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { parsed } from '../runtime/gateway.ts'
import { until, wrongWith } from './running.ts'

const signals = [{ stats: 'other.owd.mean' }]

it.each([
  [{ in: { signals } }, 'node: rate: is missing'],
  [{ rate: 1 }, 'node.in: signals: is missing'],
  [{ rate: 1, in: { signals: [{}] } }, 'node.in.signals[0]: stats: is missing'],
  [{ rate: 1, in: { signals: [{ stats: 'other.lag.mean' }] } }, "'lag'"],
  [{ rate: 1, in: { signals: [{ stats: 'other.owd.middle' }] } }, "'middle'"],
  [{ rate: 1, node: 'other', in: { signals: [{ stats: 'owd.mean' }, { stats: 'other.signal_cnt.total' }] } }, ''],
] as [Settings, string][])('settings: %j', async (settings, message) => {
  const wrong = await wrongWith({ type: 'stats', ...settings })
  if (message === '') expect(wrong).toBe('')
  else expect(wrong).toContain(message)
})

it('has what the hook of a node in another thread has seen', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stats-'))
  const uri = join(folder, 'figures.csv')
  const figures = ['signal_cnt.total', 'signal_cnt.mean', 'gap_sent.mean'].map((text) => ({ stats: `source.${text}` }))
  const { gateway } = await parsed({
    stats: 20,
    nodes: {
      source: {
        type: 'signal',
        rate: 100,
        values: 3,
        in: { hooks: [{ type: 'stats', output: join(folder, 'hook.log') }] },
      },
      sink: { type: 'loopback' },
      figures: { type: 'stats', rate: 50, in: { signals: figures } },
      table: { type: 'file', uri, format: 'csv', out: { flush: true } },
    },
    paths: [
      { in: 'source', out: 'sink' },
      { in: 'figures', out: 'table' },
    ],
  })
  await gateway.start()
  const last = (): number[] => {
    const lines = readFileSync(uri, 'utf8').trimEnd().split('\n')
    return lines.at(-1)!.split(',').slice(4).map(Number)
  }
  await until(() => (last()[0] ?? 0) > 10)
  await gateway.stop()
  const [total, mean, gap] = last()
  expect(Number.isInteger(total)).toBe(true)
  expect(mean).toBe(3)
  expect(gap).toBeGreaterThan(0)
  rmSync(folder, { recursive: true })
})

it('needs the node to be there', async () => {
  const { gateway } = await parsed({
    nodes: { figures: { type: 'stats', rate: 50, in: { signals } }, sink: { type: 'loopback' } },
    paths: [{ in: 'figures', out: 'sink' }],
  })
  await expect(gateway.start()).rejects.toThrow("there is no node 'other', of which other.owd.mean would be")
})
