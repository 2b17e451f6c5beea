import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it, vi } from 'vitest'
import {
  AgentClient,
  Collector,
  Notifier,
  packWindow,
  savedWindows,
  WindowStore,
} from '../../../src/monitor/host/index.ts'
import { ask } from '../../../src/monitor/host/request.ts'
import {
  type AlertEvent,
  monitorConfig,
  mostWindowBytes,
  type Window,
  type WindowPlan,
  windowVersion,
} from '../../../src/monitor/index.ts'
import { Traffic } from '../traffic.ts'
import { relay } from './relay.ts'

const token = '0123456789abcdef0123'
const plan = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })
const folder = mkdtempSync(join(tmpdir(), 'verbena-collector-'))
afterAll(() => rmSync(folder, { recursive: true }))

function windowOf(run: string, at = 0, seed = 1): Window {
  const traffic = new Traffic({ memoryBytes: 2 ** 20, run, agent: `agent ${run}`, seed })
  traffic.nowNs = at * 1e9
  traffic.send(0)
  traffic.ack(0)
  return traffic.end()
}

async function collect(options: { file?: string; plan?: WindowPlan; tls?: { key: string; cert: string } } = {}) {
  const windows: Window[] = []
  const collector = await Collector.start({
    ...{ plan, token, host: '127.0.0.1', port: 0, onNote: () => {}, onWindow: (window) => windows.push(window) },
    ...options,
  })
  return { collector, windows }
}

function clientOf(collector: { url: string }, more: { token?: string; ca?: string } = {}) {
  const said: string[] = []
  const plans: WindowPlan[] = []
  const client = new AgentClient({
    ...{ url: collector.url, token, onState: (text) => said.push(text) },
    ...{ onPlan: (changed) => plans.push(changed), ...more },
  })
  return { client, said, plans }
}

describe('a collector over HTTP', () => {
  it('gives agents their plan, and merges what they send', async () => {
    const { collector, windows } = await collect()
    const [a, b] = [clientOf(collector), clientOf(collector)]
    expect(await a.client.plan()).toEqual({
      version: windowVersion,
      windowMs: 1000,
      sketchBytes: plan.sketchBytes,
      seed: plan.seed,
    })
    // Both are known before the next window is complete.
    for (const [{ client }, run] of [
      [a, 'a'],
      [b, 'b'],
    ] as const) {
      client.send(windowOf(run))
      await client.close(10_000)
    }
    // Who knows a run can send windows in its place.
    for (const state of collector.agents()) expect(Object.keys(state)).not.toContain('run')
    expect(collector.agents().map(({ name, state }) => [name, state])).toEqual([
      ['agent a', 'here'],
      ['agent b', 'here'],
    ])
    await collector.close()
    expect(windows.reduce((sum, window) => sum + window.count('packets'), 0)).toBe(4)
  })

  it('wants the token, and windows that are some', async () => {
    const { collector } = await collect()
    const { client } = clientOf(collector, { token: 'wrong' })
    await expect(client.plan()).rejects.toThrow('the token is missing or wrong')
    const post = async (body: Uint8Array, more = {}): Promise<number> => {
      const headers = { Authorization: `Bearer ${token}`, ...more }
      return (await fetch(`${collector.url}/v1/windows`, { method: 'POST', headers, body: new Blob([body.slice()]) }))
        .status
    }
    expect(await post(Uint8Array.of(1, 2, 3))).toBe(400)
    expect(await post(gzipSync(`VMON${String.fromCharCode(windowVersion)} and no more`))).toBe(400)
    expect(await post(gzipSync(new Uint8Array(2 ** 20)))).toBe(400)
    const named = windowOf('x')
    named.parts[0]!.agent = '\u001b[2J'
    expect(await post(packWindow(named))).toBe(400)
    expect(await post(packWindow(windowOf('x', 0, 9)))).toBe(409)
    expect(await post(packWindow(windowOf('x')), { Authorization: '' })).toBe(401)
    expect(collector.agents()).toEqual([])
    // What is no address is only not there.
    for (const path of ['//', '//v1/plan', '/v1/']) {
      const headers = { Authorization: `Bearer ${token}` }
      expect((await fetch(`${collector.url}${path}`, { headers })).status, path).toBe(404)
    }
    await collector.close()
  })

  it('counts no window twice when it is started again, and loses none', async () => {
    const file = join(folder, 'restarted')
    const window = windowOf('a')
    const packed = packWindow(window)
    const first = await collect({ file })
    const headers = { Authorization: `Bearer ${token}` }
    const post = async (url: string): Promise<unknown> =>
      (await fetch(`${url}/v1/windows`, { method: 'POST', headers, body: new Blob([packed.slice()]) })).json()
    expect(await post(first.collector.url)).toEqual({ taken: true })
    await first.collector.close()
    // It was killed while it wrote the next one.
    appendFileSync(file, Uint8Array.of(200, 0, 0, 0, 1, 2, 3))
    const second = await collect({ file })
    expect(await post(second.collector.url)).toEqual({ taken: false })
    const { client } = clientOf(second.collector)
    client.send(windowOf('b'))
    await client.close(10_000)
    await second.collector.close()
    expect([...savedWindows(file)].map(({ parts }) => parts[0]!.run)).toEqual(['a', 'b'])
    expect(second.windows.map((one) => one.count('packets'))).toEqual([2])
  })

  it('takes what waited at an agent while there was no collector', async () => {
    const { url, way, close } = await relay()
    const { client, said } = clientOf({ url })
    client.send(windowOf('a'))
    await vi.waitFor(() => expect(said[0]).toContain('cannot be reached'), 20_000)
    const { collector, windows } = await collect()
    way.to = collector
    expect(await client.close(20_000)).toBe(0)
    expect(said.at(-1)).toBe('the collector takes windows again')
    await collector.close()
    close()
    expect(windows).toHaveLength(1)
  })

  it('tells agents the plan of a collector that has another seed now', async () => {
    const { url, way, close } = await relay()
    const before = await collect()
    way.to = before.collector
    const { client, said, plans } = clientOf({ url })
    await client.plan()
    await before.collector.close()
    const after = await collect({ plan: { ...plan, seed: monitorConfig({ seed: 2 }).seed } })
    way.to = after.collector
    client.send(windowOf('a'))
    await vi.waitFor(() => expect(plans).toHaveLength(1), 20_000)
    // One that was begun before, then one of the new plan.
    client.send(windowOf('a', 1))
    client.send(windowOf('b', 1, 2))
    expect(await client.close(20_000)).toBe(0)
    expect(said.join()).toContain('have another seed')
    expect([plans.length, client.lost]).toEqual([1, 2])
    await after.collector.close()
    close()
    expect(after.windows.map(({ parts }) => parts[0]!.run)).toEqual(['b'])
  })

  it('does not make agents send for ever what it never takes', async () => {
    const { collector, windows } = await collect()
    const { client } = clientOf(collector)
    await client.plan()
    const long = windowOf('a')
    long.span = 2
    client.send(long)
    client.send(windowOf('b'))
    expect(await client.close(20_000)).toBe(0)
    expect(client.lost).toBe(1)
    await collector.close()
    expect(windows.map(({ parts }) => parts[0]!.run)).toEqual(['b'])
  })

  it('says that a window is too long before all of it has come, and agents drop it', async () => {
    const { collector, windows } = await collect()
    const { url } = collector
    const headers = { Authorization: `Bearer ${token}` }
    const body = new Uint8Array(mostWindowBytes(plan) + 1)
    expect(await ask({ method: 'POST', url: `${url}/v1/windows`, headers, body })).toMatchObject({ status: 413 })
    // Without a length it is found out while it comes.
    const chunked = new ReadableStream({
      start: (controller) => {
        controller.enqueue(body)
        controller.close()
      },
    })
    const init = { method: 'POST', headers, body: chunked, duplex: 'half' }
    expect((await fetch(`${url}/v1/windows`, init)).status).toBe(413)
    await collector.close()
    expect(windows).toEqual([])
  })

  it('saves nothing that it does not take, and tells nobody the runs of agents', async () => {
    const file = join(folder, 'refused')
    const { collector } = await collect({ file })
    const headers = { Authorization: `Bearer ${token}` }
    const two = windowOf('a')
    two.parts.push({ agent: 'x', run: 'x', sequence: 0 })
    for (let i = 0; i < 2; i++) {
      const body = new Blob([packWindow(two).slice()])
      expect((await fetch(`${collector.url}/v1/windows`, { method: 'POST', headers, body })).status).toBe(409)
    }
    expect(readFileSync(file)).toHaveLength(0)
    await fetch(`${collector.url}/v1/windows`, {
      method: 'POST',
      headers,
      body: new Blob([packWindow(windowOf('b')).slice()]),
    })
    const answer = await (await fetch(`${collector.url}/v1/agents`, { headers })).json()
    expect(answer).toMatchObject([{ name: 'agent b', windows: 1 }])
    expect((answer as object[])[0]).not.toHaveProperty('run')
    await collector.close()
  })

  const openssl = spawnSync('openssl', ['version']).status === 0
  it.skipIf(!openssl)('speaks TLS with a certificate that agents know', async () => {
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', certFile],
    ])
    expect(made.status).toBe(0)
    const [key, cert] = [readFileSync(keyFile, 'utf8'), readFileSync(certFile, 'utf8')]
    const { collector } = await collect({ tls: { key, cert } })
    expect((await clientOf(collector, { ca: cert }).client.plan()).windowMs).toBe(1000)
    await expect(clientOf(collector).client.plan()).rejects.toThrow(/certificate/)
    // A peer that does not finish its handshake holds nobody up.
    const silent = connect(Number(new URL(collector.url).port), '127.0.0.1')
    await once(silent, 'connect')
    await collector.close()
    silent.destroy()
  })
})

it('a file of windows ends where its writer was killed', () => {
  const path = join(folder, 'cut')
  const store = new WindowStore(path)
  for (const run of ['a', 'b']) store.add(packWindow(windowOf(run)))
  store.close()
  truncateSync(path, readFileSync(path).length - 10)
  expect([...savedWindows(path)].map(({ parts }) => parts[0]!.run)).toEqual(['a'])
})

it('a file of windows with zeros behind them, as a failure of power leaves it, is written on where they begin', () => {
  const path = join(folder, 'zeros')
  const first = new WindowStore(path)
  first.add(packWindow(windowOf('a')))
  first.close()
  appendFileSync(path, new Uint8Array(100_000))
  const second = new WindowStore(path)
  second.add(packWindow(windowOf('b')))
  second.close()
  expect([...savedWindows(path)].map(({ parts }) => parts[0]!.run)).toEqual(['a', 'b'])
  appendFileSync(path, new Uint8Array(100).fill(0, 0, 50).fill(1, 50))
  expect(() => [...savedWindows(path)]).toThrow('has no window')
})

it('a file of windows whose last one was not written, as a failure of power leaves it, ends before that', () => {
  const packed = packWindow(windowOf('b'))
  const path = join(folder, 'unwritten')
  for (const written of [0, 100, packed.length - 6]) {
    rmSync(path, { force: true })
    const first = new WindowStore(path)
    first.add(packWindow(windowOf('a')))
    first.close()
    const record = new Uint8Array(4 + packed.length)
    new DataView(record.buffer).setUint32(0, packed.length, true)
    record.set(packed.subarray(0, written), 4)
    appendFileSync(path, record)
    expect([...savedWindows(path)].map(({ parts }) => parts[0]!.run)).toEqual(['a'])
    const runs: string[] = []
    const second = new WindowStore(path, ({ run }) => runs.push(run))
    second.add(packed)
    second.close()
    expect(runs).toEqual(['a'])
    expect([...savedWindows(path)].map(({ parts }) => parts[0]!.run)).toEqual(['a', 'b'])
  }
})

it('a file that is something else is left as it is', () => {
  const path = join(folder, 'else.pcapng')
  // As a length, the beginning of pcapng is one of a window that is longer than the file.
  const bytes = Uint8Array.of(0x0a, 0x0d, 0x0d, 0x0a, 0x1c, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0)
  writeFileSync(path, bytes)
  expect(() => new WindowStore(path)).toThrow('has no window')
  expect(new Uint8Array(readFileSync(path))).toEqual(bytes)
  expect(() => [...savedWindows(path)]).toThrow('has no window')
})

describe('alerts', () => {
  const event: AlertEvent = {
    state: 'firing',
    ...{ rule: 'missing > 1', metric: 'missing', value: 2, threshold: 1 },
    ...{ since: '2026-11-23T00:00:00.000Z', at: '2026-11-23T00:00:00.000Z', text: 'text', reasons: ['why'] },
  }

  it('do not wait for a webhook that hangs, nor without end for it', async () => {
    const got: string[] = []
    const server = createServer((request, response) => {
      got.push(request.url!)
      if (request.url !== '/hook') request.resume().on('end', () => response.end())
    })
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    const notes: string[] = []
    const options = { webhook: `${url}/hook`, alertmanager: url, instance: 'me' }
    const notifier = new Notifier({ ...options, onNote: (text) => notes.push(text) })
    for (let i = 0; i < 150; i++) notifier.notify([event])
    await vi.waitFor(() => expect(got.filter((path) => path === '/api/v2/alerts').length).toBeGreaterThan(90), 20_000)
    // One is under way and a hundred wait.
    expect(notifier.failed).toBeGreaterThanOrEqual(49)
    expect(got.filter((path) => path === '/hook')).toHaveLength(1)
    expect(notes.filter((text) => text.includes('/hook'))).toEqual([expect.stringContaining('100 others wait')])
    server.close()
    server.closeAllConnections()
    await notifier.close()
    expect(notifier.failed).toBeGreaterThanOrEqual(150)
  })

  it('are told to Alertmanager again each minute, also without windows', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const got: unknown[] = []
    const server = createServer((request, response) => {
      got.push(request.url)
      request.resume().on('end', () => response.end())
    })
    try {
      await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
      const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
      const notifier = new Notifier({ alertmanager: url, instance: 'me', onNote: () => {} })
      notifier.notify([event])
      vi.advanceTimersByTime(121_000)
      notifier.notify([{ ...event, state: 'resolved' }])
      vi.advanceTimersByTime(121_000)
      await notifier.close()
      expect(got).toHaveLength(4)
    } finally {
      vi.useRealTimers()
      server.closeAllConnections()
      server.close()
    }
  })

  it('that cannot be written are counted and said once', () => {
    const notes: string[] = []
    const notifier = new Notifier({ logFile: folder, instance: 'me', onNote: (text) => notes.push(text) })
    for (let i = 0; i < 2; i++) notifier.notify([event])
    expect(notifier.failed).toBe(2)
    expect(notes).toEqual([expect.stringContaining('EISDIR')])
  })
})

it('alerts go to a webhook and to Alertmanager, and what could not be delivered is said', async () => {
  const got: [string, unknown][] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      got.push([request.url!, JSON.parse(text)])
      response.end()
    })
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const notes: string[] = []
  const event: AlertEvent = {
    state: 'firing',
    ...{ rule: 'missing > 1', metric: 'missing', value: 2, threshold: 1 },
    ...{ since: '2026-11-23T00:00:00.000Z', at: '2026-11-23T00:00:00.000Z', text: 'text', reasons: ['why'] },
  }
  const logFile = join(folder, 'alerts')
  const notifier = new Notifier({
    webhook: `${url}/hook`,
    alertmanager: url,
    logFile,
    instance: 'me',
    onNote: () => {},
  })
  notifier.notify([event])
  await notifier.close()
  expect(got.map(([path]) => path)).toEqual(['/hook', '/api/v2/alerts'])
  expect(got[0]![1]).toMatchObject({ instance: 'me', rule: 'missing > 1', value: 2 })
  expect(got[1]![1]).toMatchObject([
    { labels: { instance: 'me' }, annotations: { summary: 'text', description: 'why' } },
  ])
  expect(JSON.parse(readFileSync(logFile, 'utf8'))).toMatchObject({ state: 'firing' })
  await new Promise((done) => server.close(done))
  const lost = new Notifier({ webhook: `${url}/hook`, instance: 'me', onNote: (text) => notes.push(text) })
  lost.notify([event])
  await lost.close()
  expect([lost.failed, notes[0]]).toEqual([1, expect.stringContaining('cannot be delivered')])
})
