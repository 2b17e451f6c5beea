/** Mappings while samples pass: headers, times, statistics and values of a source become values of a path. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { ran } from './gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-mapping-'))
afterAll(() => rmSync(folder, { recursive: true }))

it('statistics of a node are those of its hook stats, at that sample', async () => {
  const uri = join(folder, 'out.csv')
  const { gateway } = await ran({
    nodes: {
      source: {
        type: 'signal',
        signal: 'counter',
        realtime: false,
        limit: 50,
        values: 2,
        in: { hooks: [{ type: 'stats', output: join(folder, 'stats') }] },
      },
      sink: { type: 'file', uri, format: 'csv' },
    },
    paths: [
      {
        in: [
          'source.stats.signal_cnt.total',
          'source.stats.signal_cnt.mean',
          'source.stats.age.mean',
          'source.hdr.length',
        ],
        out: 'sink',
      },
    ],
  })
  expect(gateway.failures).toEqual([])
  const rows = readFileSync(uri, 'utf8').trim().split('\n').slice(1)
  expect(rows).toHaveLength(50)
  const values = rows.map((row) => row.split(',').slice(4).map(Number))
  // What the hook does not count is NaN; numbers of values are counted one by one.
  expect(values).toEqual(values.map((_, i) => [i + 1, 2, Number.NaN, 2]))
})
