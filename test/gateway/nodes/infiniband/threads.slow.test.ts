/** Two nodes in two threads of one gateway, in both directions at once. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { nativeAvailable } from '../../../../src/index.ts'
import { countsOf, parsed } from '../../runtime/gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-gateway-'))
afterAll(() => rmSync(folder, { recursive: true }))
const wanted = 200

it.skipIf(!nativeAvailable).each(['RC', 'UC', 'UD'])('%s: both send to each other', async (mode) => {
  const end = (port: number, to?: number) => ({
    type: 'infiniband',
    device: `shm:threads-${process.pid}`,
    rdma_transport_mode: mode,
    in: { address: `127.0.0.1:${port}`, signals: '1f' },
    ...(to !== undefined && { out: { address: `127.0.0.1:${to}` } }),
  })
  const source = { type: 'signal', signal: 'counter', rate: 2000 }
  const file = (name: string) => ({ type: 'file', uri: join(folder, `${mode}-${name}`), format: 'csv' })
  const run = await parsed({
    nodes: {
      one: source,
      two: source,
      active: end(1700, 1701),
      passive: end(1701),
      'from-passive': file('active'),
      'from-active': file('passive'),
    },
    paths: [
      { in: 'one', out: 'active' },
      { in: 'active', out: 'from-passive' },
      { in: 'two', out: 'passive' },
      { in: 'passive', out: 'from-active' },
    ],
  })
  await run.gateway.start()
  const read = (name: string) => countsOf(run, name).read ?? 0
  await expect.poll(() => Math.min(read('active'), read('passive')), { timeout: 20_000 }).toBeGreaterThan(wanted)
  await run.gateway.stop()
  expect(run.gateway.failures).toEqual([])
  for (const name of ['active', 'passive']) {
    const counts = countsOf(run, name)
    expect(counts).toMatchObject({ connections: 1, malformed: 0, receive_failed: 0 })
    // What was under way when the other one ended.
    expect(counts.send_failed).toBeLessThan(10)
    const rows = readFileSync(join(folder, `${mode}-${name}`), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
    expect(rows.length).toBe(counts.read)
    const [sequences, values] = [3, 4].map((column) => rows.map((row) => Number(row.split(',')[column])))
    expect(values).toEqual(sequences)
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
  }
  const { capacity, available } = run.gateway.pool
  expect(available).toBe(capacity)
})
