/** Gateways as a whole: nodes in threads, paths, how they start and stop. */
import { describe, expect, it } from 'vitest'
import { countsOf, parsed, ran } from './gateway.ts'

const counter = { type: 'signal', signal: 'counter', realtime: false, limit: 5000, values: 3 }

describe('a gateway', () => {
  it('passes all samples from a source through a loopback, from thread to thread, and gives all samples back', async () => {
    const run = await ran({
      nodes: { source: counter, loop: { type: 'loopback', queuelen: 8192, in: { vectorize: 16 } } },
      paths: [{ in: 'source', out: 'loop' }, { in: 'loop' }],
    })
    expect(run.gateway.failures).toEqual([])
    expect(countsOf(run, 'source')).toMatchObject({ read: 5000, noSamples: 0 })
    expect(countsOf(run, 'loop')).toMatchObject({ written: 5000, read: 5000, lost: 0, overruns: 0 })
    expect(run.gateway.paths().map(({ counts: { received, sent } }) => [received, sent])).toEqual([
      [5000, 5000],
      [5000, 5000],
    ])
    const { capacity, available } = run.gateway.pool
    expect(available).toBe(capacity)
    expect(run.gateway.state).toBe('stopped')
  })

  it('counts what a full queue does not take', async () => {
    const run = await ran({
      nodes: { source: counter, loop: { type: 'loopback', queuelen: 4 } },
      paths: [{ in: 'source', out: 'loop' }],
    })
    expect(countsOf(run, 'loop')).toMatchObject({ written: 4, lost: 4996, overruns: 4996 })
    const { capacity, available } = run.gateway.pool
    expect(available).toBe(capacity)
  })

  it('stops when it is told to, in order', async () => {
    const run = await parsed({
      nodes: { source: { type: 'signal', rate: 2000 }, loop: { type: 'loopback' } },
      paths: [{ in: 'loop' }, { in: 'source', out: 'loop' }],
    })
    const { gateway } = run
    await gateway.start()
    await expect.poll(() => countsOf(run, 'loop').read).toBeGreaterThan(20)
    await gateway.stop()
    const { written, read } = countsOf(run, 'loop')
    expect(read).toBe(written)
    expect(gateway.pool.available).toBe(gateway.pool.capacity)
    expect(gateway.nodes().map(({ state }) => state)).toEqual(['stopped', 'stopped'])
  })
})
