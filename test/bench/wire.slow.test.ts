/** `npm run bench` on a network: here between two processes that share memory, so that it needs no network. */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Comparison } from '../../bench/comparison.ts'
import { nativeAvailable } from '../../src/memory/index.ts'
import { comparison } from '../built.ts'
import { outcome, startScript } from '../cli/run.ts'
import { loopbackDevice } from '../loopback.ts'

describe.skipIf(!nativeAvailable)('the comparison between two processes', () => {
  it('measures a stream over one connection and over many, and leaves no segment behind', async () => {
    const name = `bench-test-${process.pid}`
    const args = ['--device', `shm:${name}`, '--only', 'message-rate,connections', '--rounds', '1', '--json']
    const { code, stdout, stderr } = await outcome(startScript(comparison, args))
    expect(code, stderr).toBe(0)
    const { comparisons } = JSON.parse(stdout) as { comparisons: { ours: number; theirs: number | null }[] }
    expect(comparisons).toMatchObject([
      { name: 'message rate, RC SEND, 8 bytes, 128 outstanding, shm', peer: null },
      {
        name: 'bandwidth, RC WRITE, 64 KiB, 1,000 connections, shm',
        peer: 'Verbena with 1 connection',
        unit: 'MB/s',
      },
    ])
    for (const { ours } of comparisons) expect(ours).toBeGreaterThan(0)
    expect(existsSync(`/dev/shm/verbena-${name}`)).toBe(false)
  })

  it('measures programs that know nothing of RDMA under the preload, beside TCP', async () => {
    const only = 'http-wire-1,http-wire-sparse,connecting-wire,idle-wire'
    const args = ['--device', `shm:bench-preload-${process.pid}`, '--only', only, '--rounds', '1', '--json']
    const { code, stdout, stderr } = await outcome(startScript(comparison, args))
    expect(code, stderr).toBe(0)
    const { comparisons } = JSON.parse(stdout) as { comparisons: { ours: number; theirs: number; unit: string }[] }
    // With a name come the rows that begin with it; some have a goal beside TCP's figure.
    const units = ['requests/s', 'ms', ...(process.platform === 'linux' ? ['% of a core', 'MB'] : [])]
    expect(new Set(comparisons.map(({ unit }) => unit))).toEqual(new Set(units))
    for (const { ours, theirs, unit } of comparisons) {
      expect(ours).toBeGreaterThan(0)
      if (unit !== '% of a core') expect(theirs).toBeGreaterThan(0)
    }
  })

  it('measures beside other work and on one core, and tells what is to be reached', async () => {
    const only = 'busy-http-1,busy-rsocket-rr,one-core-http-16,http-cpu'
    const adapters = [loopbackDevice(1), loopbackDevice(2)].join(',')
    const args = ['--device', adapters, '--only', only, '--brief', '--rounds', '1', '--json']
    const { code, stdout, stderr } = await outcome(startScript(comparison, args))
    expect(code, stderr).toBe(0)
    const { comparisons } = JSON.parse(stdout) as { comparisons: Comparison[] }
    const places = ['shm', 'roce, one adapter', 'roce, two adapters']
    const floor = 'the floor, streams in memory'
    expect(comparisons.map(({ name }) => name)).toEqual([
      ...places.map((place) => `busy: HTTP, 1 connection, ${place}`),
      'busy: TCP_RR, 1 byte, rsocket on roce, a transaction',
      ...places.map((place) => `one core: HTTP, 16 connections, ${place}`),
      `one core: HTTP, 16 connections, ${floor}`,
      ...places.map((place) => `alone: CPU of an HTTP request above the floor, ${place}`),
      `alone: CPU of an HTTP request, ${floor}`,
    ])
    for (const { name, ours, peer, theirs, target, met } of comparisons) {
      expect(ours).toBeGreaterThan(0)
      if (name.endsWith(floor)) continue
      expect(peer).toBe('TCP')
      expect(theirs).not.toBeNull()
      expect(target).toBeGreaterThan(0)
      expect(met).toBeTypeOf('boolean')
    }
  })

  it('says what it needs for adapters that two processes cannot share', async () => {
    const { code, stderr } = await outcome(startScript(comparison, ['--device', 'shm0']))
    expect(code).toBe(2)
    expect(stderr).toMatch(/--device: 'shm0' is not valid. Expected two adapters that two processes can reach/)
  })

  it('says why an end failed', async () => {
    const { code, stderr } = await outcome(
      startScript(comparison, ['--device', 'nothing0,nothing1', '--only', 'message-rate']),
    )
    expect(code).toBe(1)
    expect(stderr).toMatch(/^message-rate: openDevice: there is no device 'nothing/m)
  })
})
