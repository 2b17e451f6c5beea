/** The HTTP API: what it says of a running gateway, and how it changes one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type Api, startApi } from '../../../src/gateway/api/index.ts'
import type { HttpConfig, Settings } from '../../../src/gateway/index.ts'
import { checkSettings } from '../../../src/gateway/load/index.ts'
import { SuperNode } from '../../../src/gateway/runtime/index.ts'
import { freeTcpPort } from '../nodes/ports.ts'
import { parsePrometheus } from './prometheus.ts'

const settings: Settings = {
  name: 'lab',
  nodes: {
    sine: { type: 'signal', signal: 'sine', rate: 500, values: 2 },
    loop: { type: 'loopback', queuelen: 1024 },
    other: { type: 'signal', signal: 'counter', rate: 100 },
    sink: { type: 'loopback', queuelen: 16 },
  },
  paths: [{ in: 'sine', out: 'loop' }, { in: 'loop' }, { in: 'other', out: 'sink' }],
}
const loopback: HttpConfig = { enabled: true, port: 0, host: '127.0.0.1', token: null, open: true, tls: null }

interface Running {
  gateway: SuperNode
  api: Api
  stop(): Promise<void>
}

async function run(http: HttpConfig = loopback, shutdown = (): void => {}): Promise<Running> {
  const { config, errors } = checkSettings(settings)
  expect(errors).toEqual([])
  const gateway = await SuperNode.parse(config, { watched: true })
  await gateway.start()
  const api = await startApi(gateway, http, { version: '1.2.3', shutdown })
  return {
    gateway,
    api,
    stop: async () => {
      await api.close()
      await gateway.stop()
    },
  }
}

async function call(url: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return {
    status: response.status,
    headers: response.headers,
    text,
    // biome-ignore lint/suspicious/noExplicitAny: whatever comes
    json: isJson ? (JSON.parse(text) as any) : undefined,
  }
}

describe('a running gateway', () => {
  let running: Running
  beforeAll(async () => {
    running = await run()
  })
  afterAll(() => running.stop())
  const get = (path: string) => call(running.api.url, 'GET', `/api/v2${path}`)
  const post = (path: string, body?: unknown) => call(running.api.url, 'POST', `/api/v2${path}`, body)
  const counts = async (name: string) => (await get(`/node/${name}`)).json.counts
  const moves = async (name: string, count: string) => {
    const before = (await counts(name))[count]
    await expect.poll(async () => (await counts(name))[count]).toBeGreaterThan(before)
  }

  it('says what it is, what it can, how it is configured', async () => {
    expect((await get('/status')).json).toMatchObject({ state: 'started', version: '1.2.3', name: 'lab', failures: [] })
    const { apis, nodes, formats, hooks } = (await get('/capabilities')).json
    // Those of VILLASnode, and more.
    const names = ['capabilities', 'config', 'graph', 'metrics', 'node', 'node/file', 'node/stats', 'node/stats/reset']
    expect(apis).toEqual(expect.arrayContaining([...names, 'nodes', 'path', 'paths', 'restart', 'shutdown', 'status']))
    expect(apis.filter((name: string) => /[:\\{]/.test(name))).toEqual([])
    expect([nodes.includes('loopback'), formats.includes('csv'), hooks.includes('scale')]).toEqual([true, true, true])
    // Nothing that was not there: a configuration that is read back is the same.
    expect((await get('/config')).json).toEqual(settings)
  })

  it('lists nodes and paths, by name and UUID', async () => {
    const { json: nodes } = await get('/nodes')
    expect(nodes.map(({ name }: { name: string }) => name)).toEqual(Object.keys(settings.nodes as object))
    expect((await get(`/node/${nodes[0].uuid}`)).json).toMatchObject({
      name: 'sine',
      type: 'signal',
      config: { rate: 500 },
    })
    const { json: paths } = await get('/paths')
    expect(paths).toHaveLength(3)
    expect((await get(`/path/${paths[0].uuid}`)).json).toMatchObject({ in: ['sine'], out: ['loop'], state: 'started' })
    expect((await get('/node/none')).status).toBe(404)
    expect((await get('/path/none')).json.error).toBe("there is no path 'none'")
    expect((await get('/nothing')).status).toBe(404)
  })

  it('draws', async () => {
    const svg = await get('/graph.svg')
    expect(svg.headers.get('content-type')).toBe('image/svg+xml')
    expect(svg.text).toMatch(/>sine<[\s\S]*>started</)
    expect((await get('/graph.text')).text).toMatch(/^path 0: sine \(signal\) ─→/)
    expect((await get('/graph.png')).status).toBe(404)
  })

  it('has delays with percentiles, which can be reset', async () => {
    await expect.poll(async () => (await get('/node/loop/stats')).json.delay?.count ?? 0).toBeGreaterThan(20)
    const { delay } = (await get('/node/loop/stats')).json
    expect(delay.p50).toBeGreaterThan(0)
    for (const [a, b] of [
      ['p10', 'p50'],
      ['p50', 'p90'],
      ['p90', 'p99'],
      ['p99', 'p999'],
      ['p999', 'max'],
    ] as const)
      expect(delay[a]).toBeLessThanOrEqual(delay[b])
    const after = (await post('/node/loop/stats/reset')).json.delay
    expect(after?.count ?? 0).toBeLessThan(delay.count)
  })

  it('has metrics that are valid', async () => {
    await moves('loop', 'read')
    const { headers, text } = await get('/metrics')
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const families = parsePrometheus(text)
    const value = (family: string, labels: object) =>
      families
        .get(family)!
        .samples.find((sample) => Object.entries(labels).every(([key, v]) => sample.labels[key] === v))!.value
    expect(value('verbena_gateway_up', {})).toBe(1)
    expect(value('verbena_gateway_node_events_total', { node: 'loop', event: 'read' })).toBeGreaterThan(0)
    expect(value('verbena_gateway_delay_seconds', { node: 'loop', quantile: '0.99' })).toBeGreaterThan(0)
    expect(value('verbena_gateway_node_state', { node: 'sine', type: 'signal' })).toBe(1)
  })

  it('stops, pauses and starts a node, while others go on', async () => {
    expect((await post('/node/sine/pause')).json.state).toBe('paused')
    const { read } = await counts('sine')
    await moves('other', 'read')
    expect((await counts('sine')).read).toBe(read)
    await post('/node/sine/resume')
    await moves('sine', 'read')
    expect((await post('/node/sine/stop')).json.state).toBe('stopped')
    expect((await get('/paths')).json[0].state).toBe('stopped')
    await post('/node/sine/start')
    await moves('loop', 'read')
    await post('/node/sine/restart')
    await moves('sine', 'read')
    expect((await post('/node/sine/file/rewind')).status).toBe(409)
  })

  it('stops and starts a path', async () => {
    const { uuid } = (await get('/paths')).json[2]
    expect((await post(`/path/${uuid}/stop`)).json.state).toBe('stopped')
    await moves('sine', 'read')
    expect((await post(`/path/${uuid}/start`)).json.state).toBe('started')
    await moves('other', 'read')
  })

  it('adds, changes and removes nodes and paths, while others go on', async () => {
    const { url } = running.api
    const before = (await counts('other')).read
    const added = await call(url, 'PUT', '/api/v2/node/late', { type: 'signal', signal: 'ramp', rate: 200 })
    expect([added.status, added.json.name]).toEqual([201, 'late'])
    const target = await call(url, 'PUT', '/api/v2/node/target', { type: 'loopback', queuelen: 4 })
    expect(target.status).toBe(201)
    const path = await post('/paths', { in: 'late', out: 'target' })
    expect([path.status, path.json.state]).toEqual([201, 'started'])
    await moves('late', 'read')
    const changed = await call(url, 'PUT', `/api/v2/path/${path.json.uuid}`, {
      in: 'late',
      out: 'target',
      hooks: ['ts'],
    })
    expect(changed.json).toMatchObject({ uuid: path.json.uuid, hooks: ['ts'] })
    const again = await call(url, 'PUT', '/api/v2/node/late', { type: 'signal', signal: 'ramp', rate: 400, values: 3 })
    expect([again.status, again.json.config.rate]).toEqual([200, 400])
    await moves('late', 'read')
    expect((await call(url, 'DELETE', '/api/v2/node/late')).json.error).toMatch(
      /has node 'late'; delete the path first/,
    )
    expect((await call(url, 'DELETE', `/api/v2/path/${path.json.uuid}`)).status).toBe(200)
    expect((await call(url, 'DELETE', '/api/v2/node/late')).status).toBe(200)
    expect((await call(url, 'DELETE', '/api/v2/node/target')).status).toBe(200)
    expect((await get('/node/late')).status).toBe(404)
    // A thread in which nothing has changed has not started anew: it still has its counts.
    expect((await counts('other')).read).toBeGreaterThan(before)
  })

  it('changes nothing if what is asked for is wrong', async () => {
    const { url } = running.api
    const wrong = await call(url, 'PUT', '/api/v2/node/late', { type: 'signal', rat: 200 })
    expect([wrong.status, wrong.json.error]).toEqual([
      400,
      expect.stringContaining("no setting 'rat'. Did you mean 'rate'?"),
    ])
    expect((await post('/paths', { in: 'none' })).json.error).toContain("there is no node 'none'")
    expect((await post('/paths', { in: 'other', out: 'loop' })).json.error).toContain('destination of another path')
    expect((await post('/paths', '{"in":')).json.error).toContain('the body is no JSON')
    const deep = await post('/paths', `{"in":${'['.repeat(1e5)}${']'.repeat(1e5)}}`)
    expect([deep.status, deep.json.error]).toEqual([400, expect.stringMatching(/nested more than \d+ deep/)])
    expect((await post('/paths')).json.error).toBe('expected an object of settings as JSON')
    for (const name of ['A', '__proto__', 'constructor.'])
      expect((await call(url, 'PUT', `/api/v2/node/${name}`, { type: 'loopback' })).status, name).toBe(400)
    expect((await get('/config')).json).toEqual(settings)
    expect((await get('/node/late')).status).toBe(404)
    await moves('loop', 'read')
  })

  it('goes on as before if a node cannot start', async () => {
    const { url } = running.api
    const held = { type: 'socket', layer: 'tcp-server', in: { address: running.api.url.slice(7) } }
    await call(url, 'PUT', '/api/v2/node/held', { ...held, layer: 'udp', in: { address: '192.0.2.1:9' } })
    const failed = await post('/paths', { in: 'held' })
    expect([failed.status, failed.json.error]).toEqual([409, expect.stringContaining('node held cannot start')])
    await moves('loop', 'read')
    expect((await call(url, 'DELETE', '/api/v2/node/held')).status).toBe(200)
  })

  it('does not show secrets, and takes what it shows as what it was', async () => {
    const { url } = running.api
    const mqtt = { type: 'mqtt', host: 'broker', username: 'me', password: 'hush!', in: { subscribe: 'x' } }
    const put = (name: string, body: unknown) => call(url, 'PUT', `/api/v2/node/${name}`, body)
    expect((await put('secret', mqtt)).status).toBe(201)
    const destinations = ['ws://me:hush!@host/node', 'ws://host/node?token=hush!']
    expect((await put('client', { type: 'websocket', destinations })).status).toBe(201)
    const texts = await Promise.all([get('/config'), get('/node/secret'), get('/node/client'), get('/nodes')])
    for (const { text } of texts) expect(text).not.toContain('hush!')
    const [whole, secret, client] = texts.map(({ json }) => json)
    expect(secret.config.password).toBe('***')
    expect(client.config.destinations).toEqual(['ws://***@host/node', 'ws://host/node?token=***'])
    // Put back with a change of something else, it stays; under another name there is nothing that it could stand for.
    expect((await put('secret', { ...secret.config, keepalive: 9 })).status).toBe(200)
    expect((await put('client', client.config)).status).toBe(200)
    const settingsOf = (name: string) => running.gateway.config.nodes.find((node) => node.name === name)!.settings
    expect(settingsOf('secret')).toEqual({ ...mqtt, keepalive: 9 })
    expect(settingsOf('client')).toMatchObject({ destinations })
    for (const [name, body] of [
      ['renamed', secret.config],
      ['client', { ...client.config, destinations: ['ws://***@other/node'] }],
      ['secret', { ...secret.config, type: 'redis' }],
    ] as const) {
      const refused = await put(name, body)
      expect([refused.status, refused.json.error]).toEqual([400, expect.stringContaining('no secret that *** could')])
    }
    await post('/restart', { config: whole })
    expect(settingsOf('secret').password).toBe('hush!')
    const wrong = await put('secret', { ...secret.config, in: { subscribe: 1 } })
    expect([wrong.status, wrong.text.includes('hush!')]).toEqual([400, false])
    for (const name of ['secret', 'client']) await call(url, 'DELETE', `/api/v2/node/${name}`)
  })

  it('takes changes that come at the same time one after the other', async () => {
    const { url } = running.api
    const posted = await Promise.all([1, 2, 3, 4].map((rate) => post('/paths', { in: 'other', rate, enabled: false })))
    expect(posted.map(({ status, json }) => [status, json.rate])).toEqual([1, 2, 3, 4].map((rate) => [201, rate]))
    const uuids = posted.map(({ json }) => json.uuid)
    expect((await get('/paths')).json.slice(3).map(({ uuid }: { uuid: string }) => uuid)).toEqual(uuids)
    await Promise.all(uuids.map((uuid) => call(url, 'DELETE', `/api/v2/path/${uuid}`)))
    expect((await get('/config')).json).toEqual(settings)
  })

  it('stops nothing for a change that needs too much memory', async () => {
    const { url } = running.api
    const before = await counts('other')
    await call(url, 'PUT', '/api/v2/node/large', { type: 'signal', signal: 'constant', values: 512 })
    const large = await post('/paths', { in: 'large', queuelen: 2 ** 20 })
    expect([large.status, large.json.error]).toEqual([400, expect.stringMatching(/samples of 512 values need \d+ MiB/)])
    expect((await call(url, 'DELETE', '/api/v2/node/large')).status).toBe(200)
    // Its thread would count from 0 again.
    expect((await counts('other')).read).toBeGreaterThanOrEqual(before.read)
  })

  it('sends live data', async () => {
    const client = new WebSocket(`${running.api.url.replace('http', 'ws')}/sine.json`, 'live')
    const samples: { sequence: number; data: number[] }[] = []
    client.on('message', (data) => samples.push(...JSON.parse(String(data))))
    await expect.poll(() => samples.length).toBeGreaterThan(20)
    expect(client.protocol).toBe('live')
    client.close()
    // The generator may miss steps, so that there may be gaps; nothing comes twice or late.
    for (const [i, { sequence }] of samples.entries())
      if (i > 0) expect(sequence).toBeGreaterThan(samples[i - 1]!.sequence)
    for (const { data } of samples) expect(data).toHaveLength(2)
  })

  it('passes WebSockets on to nodes of the type websocket, which is their port', async () => {
    const nodes = {
      web: { type: 'websocket', format: 'json', in: { signals: '1f' } },
      counter: { type: 'signal', rate: 200, signal: 'counter' },
    }
    const { config, errors } = checkSettings({ nodes, paths: [{ in: 'counter', out: 'web' }, { in: 'web' }] })
    expect(errors).toEqual([])
    const gateway = await SuperNode.parse(config, { watched: true })
    await gateway.start()
    const token = 'sixteen-letters-and-more'
    const api = await startApi(gateway, { ...loopback, token, open: false }, { version: '', shutdown: () => {} })
    const address = `${api.url.replace('http', 'ws')}/web`
    const stranger = new WebSocket(address, 'live')
    stranger.on('error', () => {})
    expect(
      await new Promise((resolve) => stranger.on('unexpected-response', (_, { statusCode }) => resolve(statusCode))),
    ).toBe(401)
    const client = new WebSocket(`${address}.json?token=${token}`, 'live')
    const sequences: number[] = []
    client.on('message', (data) => {
      for (const { sequence } of JSON.parse(String(data))) sequences.push(sequence)
      if (sequences.length < 4) client.send(`[{"data":[${sequences.length}]}]`)
    })
    await expect.poll(() => sequences.length).toBeGreaterThan(4)
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
    const counts = () => gateway.nodes().find(({ name }) => name === 'web')!.counts
    await expect.poll(() => counts().read).toBe(3)
    // Whoever only looks is no peer of the node.
    const watcher = new WebSocket(`${address}.json?watch&token=${token}`, 'live')
    await new Promise((resolve) => watcher.on('open', resolve))
    watcher.close()
    const closed = new Promise((resolve) => client.on('close', resolve))
    await gateway.stop()
    await closed
    expect(counts().connections).toBe(1)
    await api.close()
  })

  it('takes WebSockets of nodes while others still start: those that wait for them', async () => {
    const port = await freeTcpPort()
    const nodes = {
      near: { type: 'websocket', in: { signals: '1f' } },
      far: { type: 'websocket', destinations: [`ws://127.0.0.1:${port}/near`], wait_connected: true },
    }
    const { config } = checkSettings({ nodes, paths: [{ in: 'near' }, { in: 'far' }] })
    const gateway = await SuperNode.parse(config, { watched: true })
    const api = await startApi(gateway, { ...loopback, port }, { version: '', shutdown: () => {} })
    await gateway.start()
    expect(gateway.state).toBe('started')
    await gateway.stop()
    await api.close()
  })

  it('sends villas.web unless told otherwise, and says what there is not', async () => {
    const address = running.api.url.replace('http', 'ws')
    const client = new WebSocket(`${address}/sine`, 'live')
    const [first] = await new Promise<[Buffer, boolean]>((resolve) =>
      client.on('message', (...args) => resolve(args as [Buffer, boolean])),
    )
    client.close()
    // Version 2, type data; two values.
    expect([first[0]! >> 4, first.readUInt16LE(2)]).toEqual([2, 2])
    const refused = (path: string) =>
      new Promise((resolve) => {
        const one = new WebSocket(`${address}/${path}`, 'live')
        one.on('unexpected-response', (_, { statusCode }) => resolve(statusCode))
        one.on('error', () => {})
      })
    expect([await refused('none'), await refused('sine.png'), await refused('%')]).toEqual([404, 404, 400])
  })

  it('starts anew, with other settings if there are any', async () => {
    expect((await post('/restart')).json).toEqual({ restarted: true })
    await moves('loop', 'read')
    const { uuid } = (await get('/status')).json
    expect((await post('/restart', { config: { nodes: {}, paths: 1 } })).status).toBe(400)
    const folder = mkdtempSync(join(tmpdir(), 'verbena-api-'))
    try {
      const file = join(folder, 'other.conf')
      writeFileSync(file, 'nodes = { filed = { type = "signal", rate = 100 } }\npaths = ( { in = "filed" } )')
      expect((await post('/restart', { config: file })).json).toEqual({ restarted: true })
      await moves('filed', 'read')
      expect((await post('/restart', { config: join(folder, 'none.conf') })).json.error).toMatch(
        /there is no such file/,
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
    await post('/restart', { config: { nodes: { only: { type: 'signal', rate: 100 } }, paths: [{ in: 'only' }] } })
    expect((await get('/nodes')).json.map(({ name }: { name: string }) => name)).toEqual(['only'])
    expect((await get('/status')).json.uuid).toBe(uuid)
    await moves('only', 'read')
  })
})

describe('who may call', () => {
  it('nobody without the token that is made', async () => {
    const { api, stop } = await run({ ...loopback, open: false })
    const other = await run({ ...loopback, open: false })
    expect(api.token).toMatch(/^[\w-]{43}$/)
    expect(api.token).not.toBe(other.api.token)
    const statuses = await Promise.all(
      ['/api/v2/status', '/api/v2/metrics', '/api/v2/graph.svg', '/api/v2/config', '/sine.json'].map(
        async (path) => (await call(api.url, 'GET', path)).status,
      ),
    )
    expect(statuses).toEqual([401, 401, 401, 401, 401])
    const shutdown = await call(api.url, 'POST', '/api/v2/shutdown', {}, { authorization: `Bearer ${other.api.token}` })
    expect(shutdown.status).toBe(401)
    const authorization = `Bearer ${api.token}`
    expect((await call(api.url, 'GET', '/api/v2/status', undefined, { authorization })).status).toBe(200)
    await Promise.all([stop(), other.stop()])
  })

  it('without a token, if that was asked for: this host, and no pages of others', async () => {
    const { api, stop } = await run()
    const status = (headers: Record<string, string>) => call(api.url, 'GET', '/api/v2/status', undefined, headers)
    expect((await status({ origin: api.url })).status).toBe(200)
    expect((await status({ origin: 'http://evil.example' })).json.error).toBe(
      'a page of http://evil.example may not call this server',
    )
    expect((await status({ origin: 'null' })).status).toBe(403)
    const client = new WebSocket(`${api.url.replace('http', 'ws')}/sine`, 'live', {
      headers: { origin: 'http://evil.example' },
    })
    client.on('error', () => {})
    const rebound = new WebSocket(`${api.url.replace('http', 'ws')}/sine`, 'live', {
      headers: { host: 'evil.example' },
    })
    rebound.on('error', () => {})
    const codes = [client, rebound].map(
      (each) => new Promise((resolve) => each.on('unexpected-response', (_, { statusCode }) => resolve(statusCode))),
    )
    expect(await Promise.all(codes)).toEqual([403, 403])
    await stop()
  })

  it('with a token: whoever has it', async () => {
    const token = 'a token of some length'.replaceAll(' ', '-')
    const { api, stop } = await run({ ...loopback, token, open: false })
    const status = (headers: Record<string, string>) => call(api.url, 'GET', '/api/v2/status', undefined, headers)
    expect((await status({})).status).toBe(401)
    expect((await status({ authorization: 'Bearer other' })).status).toBe(401)
    expect((await status({ authorization: `Bearer ${token}` })).status).toBe(200)
    // The page has nothing in it, and asks for the token.
    expect((await call(api.url, 'GET', '/')).status).toBe(200)
    const client = new WebSocket(`${api.url.replace('http', 'ws')}/sine?token=${token}`, 'live')
    await new Promise((resolve) => client.on('open', resolve))
    client.close()
    await stop()
  })

  it('not with a body that is too large', async () => {
    const { api, stop } = await run()
    // The answer comes before the body is read, and the connection ends: a client may see one or the other.
    const { status } = await call(api.url, 'POST', '/api/v2/paths', 'x'.repeat(2 ** 21)).catch(() => ({ status: 413 }))
    expect(status).toBe(413)
    await stop()
  })

  it('can stop the gateway', async () => {
    let asked = (): void => {}
    const shutdown = new Promise<void>((resolve) => {
      asked = resolve
    })
    const { api, stop } = await run(loopback, () => asked())
    expect((await call(api.url, 'POST', '/api/v2/shutdown')).json).toEqual({ stopping: true })
    await shutdown
    await stop()
  })

  it('a certificate that is not valid is an error of it, not of the port', async () => {
    const { gateway, stop } = await run()
    const wrong = join(tmpdir(), `verbena-wrong-${process.pid}.pem`)
    writeFileSync(wrong, 'no PEM')
    const http = { ...loopback, tls: { certificate: wrong, key: wrong } }
    await expect(startApi(gateway, http, { version: '', shutdown: () => {} })).rejects.toThrow(
      'http: the key or the certificate is not valid: ',
    )
    rmSync(wrong)
    await stop()
  })

  it('a port that is taken is an error that names it', async () => {
    const { api, gateway, stop } = await run()
    const port = Number(api.url.split(':').at(-1))
    await expect(startApi(gateway, { ...loopback, port }, { version: '', shutdown: () => {} })).rejects.toThrow(
      `http: cannot listen on 127.0.0.1:${port}: `,
    )
    await stop()
  })
})
