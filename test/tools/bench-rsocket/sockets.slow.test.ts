import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import {
  disturbance,
  loadFlame,
  loadResults,
  type Machine,
  renderReport,
  type SocketSet,
} from '../../../src/report/index.ts'
import { makePlan } from '../../../src/tools/bench-kit/product.ts'
import { runSockets, type SocketRun } from '../../../src/tools/bench-rsocket/run.ts'
import {
  parseSocketLists,
  profileCombinations,
  socketCombinations,
  streamSizes,
} from '../../../src/tools/bench-rsocket/settings.ts'
import { loopbackDevice } from '../../loopback.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-sockets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let runs = 0

function combinations(given: Record<string, string[]>) {
  return socketCombinations(parseSocketLists(given), given)
}

function run(given: Record<string, string[]>, options: Partial<SocketRun> = {}) {
  const all = combinations(given)
  const plan = makePlan(all, () => null, 1, 1)
  const outDir = join(folder, String(++runs))
  const request: SocketRun = { plan, profiles: [], seconds: 0.02, warmup: 0.01, command: ['test'], outDir, ...options }
  return { all, plan, outDir, results: runSockets(request) }
}

function expectWhole(set: SocketSet): void {
  expect(set.error).toBeUndefined()
  expect(set.messages).toBeGreaterThan(0)
  expect(set.seconds).toBeGreaterThan(0)
  expect(set.bytesPerSecond).toBeCloseTo((set.messages / set.seconds) * Number(set.settings.size), -1)
  for (const share of Object.values(set.cpu)) if (share !== null) expect(share).toBeGreaterThanOrEqual(0)
}

/** What a report says of the machine's load, which is not this test's doing. */
function ofLoad(machine: Machine): string[] {
  return [disturbance(machine)].filter((text) => text !== undefined)
}

describe('TCP_RR and TCP_STREAM', () => {
  it('run over rsockets and TCP, polling and sleeping', async () => {
    const { plan, outDir, results } = run({ size: ['1', '5000', '200000'], poll: ['busy,event'] })
    const { sets, complete } = await results
    expect(sets).toHaveLength(24)
    expect(sets).toHaveLength(plan.sets.length)
    for (const set of sets) expectWhole(set)
    expect(complete).toBe(true)
    for (const { id, settings, roundTrip, counters } of sets) {
      if (settings.transport === 'rsocket') expect(counters.client.messagesSent).toBeGreaterThan(0)
      if (settings.test === 'stream') expect(roundTrip).toBeNull()
      else {
        expect(roundTrip!.count).toBeGreaterThan(0)
        expect(roundTrip!.min).toBeGreaterThan(0)
        const lines = readFileSync(join(outDir, `${id}.csv`), 'utf8')
          .trimEnd()
          .split('\n')
        expect(lines[0]).toBe('number,round_trip')
        expect(lines).toHaveLength(roundTrip!.count + 1)
      }
    }
    expect(loadResults(outDir).results).toEqual(await results)
    const table = readFileSync(join(outDir, 'sets.csv'), 'utf8').trimEnd().split('\n')
    expect(table).toHaveLength(sets.length + 1)
    expect(table[0]).toMatch(/^set,test,transport,/)
    const { html, notes, svgs } = await renderReport([outDir])
    expect(notes).toEqual(ofLoad((await results).machine))
    expect([...svgs.keys()]).toEqual([
      ...['socket-throughput', 'socket-throughput-linear', 'socket-cpu', 'socket-round-trips'],
    ])
    expect(html).toContain('rsocket, poll busy / kernel TCP, poll busy')
  })

  it('run on roce, with version 1 of the protocol, and with buffers of a given size', {
    timeout: 120_000,
  }, async () => {
    const device = [`${loopbackDevice(1)},${loopbackDevice(2)}`, 'shm0,shm1']
    const { results } = run({
      size: ['1000'],
      device,
      transport: ['rsocket'],
      extensions: ['on,off'],
      buffer: ['0,65536'],
    })
    const { sets, complete } = await results
    expect(sets).toHaveLength(16)
    for (const set of sets) expectWhole(set)
    expect(complete).toBe(true)
  })

  it('keep what was measured when they are stopped', async () => {
    const between = new AbortController()
    const some = run({ size: ['1,2,3,4'] }, { signal: between.signal, onSet: () => between.abort() })
    const stopped = await some.results
    expect(stopped.complete).toBe(false)
    expect(stopped.sets).toHaveLength(1)
    expectWhole(stopped.sets[0]!)
    expect(loadResults(some.outDir).results).toEqual(stopped)
    // In the middle of a set; whether it had sent anything by then is not known.
    const amid = new AbortController()
    const one = run(
      { test: ['stream'], size: ['1000'] },
      { seconds: 3000, signal: amid.signal, onBegin: () => setTimeout(() => amid.abort(), 300) },
    )
    const { sets, complete } = await one.results
    expect(complete).toBe(false)
    expect(sets.length).toBeLessThanOrEqual(1)
    for (const set of sets) expect([set.error, set.messages > 0]).toEqual(['interrupted', true])
  })

  it('say what is wrong with an adapter', async () => {
    const { results } = run({ test: ['rr'], transport: ['rsocket'], device: ['shm0,shm7'] })
    const { sets, complete } = await results
    expect(complete).toBe(false)
    expect(sets[0]?.error).toMatch(/shm7/)
  })
})

describe('a profile', () => {
  it('says where the time of both ends went, and leaves a tree of calls', async () => {
    const given = { test: ['stream'], size: ['4096'], poll: ['busy'] }
    const profiles = profileCombinations(combinations(given), [65536])
    const { outDir, results } = run(given, { profiles, seconds: 0.1 })
    const { sets, profiles: taken } = await results
    expect(sets).toHaveLength(2)
    expect(taken.map(({ end, settings }) => `${settings.transport} ${settings.size} ${end}`)).toEqual([
      'rsocket 65536 client',
      'rsocket 65536 server',
      'tcp 65536 client',
      'tcp 65536 server',
    ])
    for (const { id, end, samples, components, functions } of taken) {
      expect(samples).toBeGreaterThan(0)
      expect(components.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1)
      expect(functions.length).toBeGreaterThan(0)
      expect(loadFlame(outDir, id, end).samples).toBe(samples)
      expect(existsSync(join(outDir, `${id}-${end}.cpuprofile`))).toBe(true)
    }
    const { html, svgs, notes } = await renderReport([outDir])
    expect(notes).toEqual(ofLoad((await results).machine))
    expect([...svgs.keys()].filter((name) => name.startsWith('flame-'))).toHaveLength(4)
    expect(html).toContain('Where the time went')
    rmSync(join(outDir, `${taken[0]!.id}-client.flame.json`))
    expect((await renderReport([outDir])).notes.join()).toMatch(/No flame graph of TCP_STREAM, 64 KiB, rsocket, client/)
  })
})

describe('the settings', () => {
  it('take 1 byte for requests and all sizes for streams, unless sizes are given', () => {
    const all = combinations({})
    const sizes = (test: string, transport: string) =>
      all.filter((s) => s.test === test && s.transport === transport).map(({ size }) => size)
    expect(sizes('rr', 'rsocket')).toEqual([1])
    expect(sizes('stream', 'rsocket')).toEqual(streamSizes)
    expect(sizes('stream', 'tcp')).toEqual(streamSizes)
    expect(streamSizes.at(-1)).toBe(1 << 20)
    expect(combinations({ size: ['8,9'] })).toHaveLength(8)
  })

  it('measure TCP once, whatever the adapters are', () => {
    const all = combinations({ device: ['shm0', 'roce:127.0.0.1'], extensions: ['on,off'], test: ['rr'] })
    expect(all.map(({ transport, device, extensions }) => [transport, device, extensions])).toEqual([
      ['rsocket', 'shm0,shm1', true],
      ['rsocket', 'shm0,shm1', false],
      ['rsocket', 'roce:127.0.0.1,roce:127.0.0.2', true],
      ['rsocket', 'roce:127.0.0.1,roce:127.0.0.2', false],
      ['tcp', '', true],
    ])
  })

  it('profile each combination once, requests with the smallest size', () => {
    const all = combinations({ size: ['64,1,4096'], transport: ['tcp'] })
    expect(profileCombinations(all, [1024, 65536]).map(({ test, size }) => [test, size])).toEqual([
      ['rr', 1],
      ['stream', 1024],
      ['stream', 65536],
    ])
  })
})
