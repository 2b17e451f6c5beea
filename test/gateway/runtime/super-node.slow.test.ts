/** Gateways as a whole: nodes in threads, paths, how they start and stop. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SuperNode } from '../../../src/gateway/runtime/index.ts'
import { configOf } from '../config/reading.ts'
import { countsOf, parsed, ran } from './gateway.ts'

const counter = { type: 'signal', signal: 'counter', realtime: false, limit: 5000, values: 3 }

describe('a gateway', () => {
  it('passes all samples from a source through a loopback, from thread to thread, and gives all samples back', async () => {
    const run = await ran({
      nodes: { source: counter, loop: { type: 'loopback', queuelen: 8192, in: { vectorize: 16 } } },
      paths: [{ in: 'source', out: 'loop' }, { in: 'loop' }],
    })
    expect(run.gateway.failures).toEqual([])
    expect(countsOf(run, 'source')).toMatchObject({ read: 5000, no_samples: 0 })
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

  it('says once which node cannot start', async () => {
    const { gateway } = await parsed({
      nodes: { near: { type: 'socket', in: { address: '192.0.2.1:5000' } } },
      paths: [{ in: 'near' }],
    })
    await expect(gateway.start()).rejects.toThrow(/^node near cannot start: 192\.0\.2\.1 is not/)
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

  it('waits for more when its sources have ended, unless idle_stop is true', async () => {
    const { gateway } = await parsed({ nodes: { source: counter }, paths: [{ in: 'source' }] })
    await gateway.start()
    await expect.poll(() => gateway.paths()[0]!.state).toBe('stopped')
    expect(gateway.state).toBe('started')
    await gateway.stop()
    expect(gateway.state).toBe('stopped')
  })
})

describe('a gateway with threads that are held', () => {
  const settings = {
    nodes: { source: counter, loop: { type: 'loopback', queuelen: 8192 } },
    paths: [{ in: 'source', out: 'loop' }, { in: 'loop' }],
  }

  it('has their nodes started, and reads nothing before they are released', async () => {
    const gateway = await SuperNode.parse(configOf({ ...settings, idle_stop: true, stats: 0 }), { held: ['source'] })
    await gateway.start()
    gateway.ask()
    await expect.poll(() => gateway.nodes().map(({ state }) => state)).toEqual(['started', 'started'])
    expect(gateway.paths().map(({ counts }) => counts.received)).toEqual([0, 0])
    gateway.release()
    await gateway.done
    expect(gateway.paths().map(({ counts }) => counts.received)).toEqual([5000, 5000])
  })

  it('stops without a release, and stays stopped', async () => {
    const gateway = await SuperNode.parse(configOf(settings), { held: ['source'] })
    await gateway.start()
    await gateway.stop()
    gateway.release()
    expect(gateway.state).toBe('stopped')
    expect(gateway.paths().map(({ counts }) => counts.received)).toEqual([0, 0])
    expect(gateway.pool.available).toBe(gateway.pool.capacity)
  })
})

describe('a change of a running gateway', () => {
  const two = {
    // UUIDs of nodes come from it, so that they stay the same.
    uuid: 'c7a4bb1f-6b6c-4b1f-a2c5-0f0d7a2d9f11',
    nodes: { one: { type: 'signal', rate: 1000 }, loop: { type: 'loopback' }, other: { type: 'signal', rate: 1000 } },
    paths: [{ in: 'one', out: 'loop' }, { in: 'loop' }, { in: 'other' }],
  }

  it('leaves threads alone in which nothing changes, and gives all samples back', async () => {
    const run = await parsed(two)
    const { gateway } = run
    await gateway.start()
    await expect.poll(() => countsOf(run, 'other').read).toBeGreaterThan(10)
    const before = countsOf(run, 'other').read!
    await gateway.change(configOf({ ...two, paths: [two.paths[0], two.paths[2]] }))
    expect(gateway.paths().map(({ text }) => text)).toEqual(['one → loop', 'other → nothing'])
    expect(countsOf(run, 'other').read).toBeGreaterThanOrEqual(before)
    await gateway.change(configOf(two))
    await expect.poll(() => countsOf(run, 'loop').read).toBeGreaterThan(10)
    await gateway.stop()
    expect(gateway.pool.available).toBe(gateway.pool.capacity)
    expect(gateway.failures).toEqual([])
  })

  it('starts everything anew if the samples need more room', async () => {
    const run = await parsed(two)
    const { gateway } = run
    await gateway.start()
    const { capacity } = gateway.pool
    const large = { ...two, paths: [...two.paths.slice(0, 2), { in: 'other', queuelen: 65_536 }] }
    await gateway.change(
      configOf({ ...large, nodes: { ...two.nodes, other: { type: 'signal', rate: 1000, values: 100 } } }),
    )
    expect(gateway.pool.capacity).toBeGreaterThan(capacity)
    await expect.poll(() => countsOf(run, 'other').read).toBeGreaterThan(10)
    await gateway.stop()
    expect(gateway.pool.available).toBe(gateway.pool.capacity)
  })

  it('that cannot be leaves everything as it was', async () => {
    const run = await parsed(two)
    const { gateway } = run
    await gateway.start()
    const held = { type: 'socket', layer: 'udp', in: { address: '192.0.2.1:9' } }
    const wrong = { nodes: { ...two.nodes, held }, paths: [...two.paths, { in: 'held' }] }
    await expect(gateway.change(configOf(wrong))).rejects.toThrow('node held cannot start')
    expect(gateway.paths()).toHaveLength(3)
    const { read } = countsOf(run, 'loop')
    await expect.poll(() => countsOf(run, 'loop').read).toBeGreaterThan(read!)
    await gateway.stop()
    expect(gateway.pool.available).toBe(gateway.pool.capacity)
    await expect(gateway.change(configOf(two))).rejects.toThrow('the gateway is stopped')
  })

  it('that cannot be made, or taken back as a whole, says both, and the rest runs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-super-node-'))
    const uri = join(folder, 'samples.csv')
    writeFileSync(uri, '1,0,0,0,1.5\n')
    const read = { type: 'file', uri, format: 'csv', in: { eof: 'wait', signals: '1f' } }
    const settings = { ...two, nodes: { ...two.nodes, read }, paths: [{ in: 'other' }, { in: 'read' }] }
    const run = await parsed(settings)
    const { gateway } = run
    await gateway.start()
    await expect.poll(() => countsOf(run, 'other').read).toBeGreaterThan(1)
    // It cannot start again.
    rmSync(folder, { recursive: true })
    const held = { type: 'socket', in: { address: '192.0.2.1:5000' } }
    const wrong = { ...settings, nodes: { ...settings.nodes, held }, paths: [...settings.paths, { in: 'held' }] }
    const change = gateway.change(configOf(wrong), { again: ['read'] })
    await expect(change).rejects.toThrow(/node (held|read) cannot start: .*could start again: node read cannot start/)
    expect(gateway.state).toBe('started')
    const { read: before } = countsOf(run, 'other')
    await expect.poll(() => countsOf(run, 'other').read).toBeGreaterThan(before!)
    // What is wrong is known; what was not to be is forgotten.
    expect(gateway.failures.map(({ node }) => node)).toEqual(['read'])
    await gateway.stop()
    expect(gateway.pool.available).toBe(gateway.pool.capacity)
  })
})
