import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { PageServer } from '../../../src/monitor/api/index.ts'
import { Texts } from '../../../src/monitor/api/texts.ts'
import { Turns } from '../../../src/monitor/api/turns.ts'
import { type Shared, Viewer } from '../../../src/monitor/api/viewer.ts'
import { type AgentState, answerOf } from '../../../src/monitor/index.ts'
import { LiveView } from '../../../src/monitor/view/index.ts'
import { CocoSketch } from '../../../src/sketch/index.ts'
import { B, Traffic } from '../traffic.ts'

const soon = <T>(get: () => T) => expect.poll(get, { interval: 5 })
const token = 'a-token-of-some-length'

function liveOf(): { live: LiveView; add: () => void } {
  const live = new LiveView({ keys: ['qp'], measure: 'bytes' })
  return {
    live,
    add: () => {
      const traffic = new Traffic({ memoryBytes: 2 ** 20 })
      traffic.send(0)
      const window = traffic.end()
      live.add(window, answerOf(window), [])
    },
  }
}

const servers: PageServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.close())))

async function serve(withToken: string | null = null) {
  const { live, add } = liveOf()
  const server = await PageServer.start({ live, host: '127.0.0.1', port: 0, token: withToken })
  servers.push(server)
  return { server, live, add }
}

/** `fetch` chooses Host and Origin itself. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; text: string; policy: unknown }>((resolve, reject) => {
    const asked = request(url, { headers, method }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode!, text, policy: response.headers['content-security-policy'] }),
      )
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** The messages that come, or the status with which it is rejected. */
function look(url: string, query = '', headers: Record<string, string> = {}) {
  const client = new WebSocket(`${url.replace('http', 'ws')}/live${query}`, { headers })
  const messages: { kind: string; [name: string]: unknown }[] = []
  let rejected = 0
  client.on('message', (data) => messages.push(JSON.parse(String(data))))
  client.on('unexpected-response', (asked, { statusCode }) => {
    rejected = statusCode!
    asked.destroy()
  })
  client.on('error', () => {})
  return { client, messages, rejected: () => rejected }
}

describe('the server of the page', () => {
  it('serves the page, whose policy permits its own script only', async () => {
    const { server } = await serve()
    const { status, text, policy } = await get(server.url)
    expect([status, policy]).toEqual([200, "frame-ancestors 'none'"])
    const [, permitted = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text) ?? []
    const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(text) ?? []
    expect(permitted).toContain(`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`)
    expect(permitted).toMatch(/^default-src 'none'.*require-trusted-types-for 'script'/)
    expect(permitted).not.toContain('unsafe')
    expect((await get(`${server.url}/other`)).status).toBe(404)
    expect((await get(server.url, {}, 'POST')).status).toBe(405)
  })

  it('sends an update for each window, and answers questions', async () => {
    const { server, add } = await serve()
    const { client, messages } = look(server.url)
    await soon(() => messages.length).toBe(2)
    expect(messages).toMatchObject([{ kind: 'hello' }, { kind: 'update', window: null, points: [] }])
    add()
    server.update()
    await soon(() => messages.length).toBe(3)
    expect(messages[2]).toMatchObject({ points: [{ number: 1 }], window: { answer: { totals: { packets: 1 } } } })
    client.send(JSON.stringify({ id: 7, ask: 'rows', window: 1, by: 'qp', of: 'packets' }))
    client.send('{')
    client.send(new Uint8Array(3))
    await soon(() => messages.length).toBe(6)
    expect(messages.slice(3)).toMatchObject([
      { kind: 'answer', id: 7, answer: { total: 1, rows: [{ value: 1 }] } },
      { kind: 'refused', id: -1 },
      { kind: 'refused', id: -1 },
    ])
    client.close()
  })

  it('without a token lets in who comes from this host by its name', async () => {
    const { server } = await serve()
    const { port } = new URL(server.url)
    const statusOf = async (headers: Record<string, string>) => (await get(server.url, headers)).status
    expect(await statusOf({ Host: `localhost:${port}` })).toBe(200)
    expect(await statusOf({ Host: `evil.example:${port}` })).toBe(403)
    expect(await statusOf({ Origin: 'http://evil.example' })).toBe(403)
    const foreign = [{ Host: 'evil.example' }, { Origin: 'http://evil.example' }].map((one) =>
      look(server.url, '', one),
    )
    for (const { rejected } of foreign) await soon(rejected).toBe(403)
  })

  it('with a token shows nothing to who does not know it', async () => {
    const { server } = await serve(token)
    // The page itself has nothing of the monitor in it.
    expect((await get(server.url)).text).not.toContain(token)
    for (const query of ['', '?token=', '?token=another', `?token=${token}x`])
      await soon(look(server.url, query).rejected).toBe(401)
    const { client, messages } = look(server.url, `?token=${token}`)
    await soon(() => messages.length).toBe(2)
    client.close()
  })

  it('closes what it refuses, whatever its peer does', async () => {
    const { server } = await serve(token)
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true })
    const upgrade =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
    socket.write(`GET /live?token=wrong HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n\r\n`)
    const [response] = await once(socket, 'data')
    expect(String(response)).toMatch(/^HTTP\/1\.1 401 /)
    // It waits for all sockets that the server has.
    await server.close()
    socket.destroy()
  })

  it('says why a WebSocket does not open', async () => {
    const { server } = await serve(token)
    const why = async (query: string) => {
      const { status, text } = await get(`${server.url}/live${query}`)
      return [status, (JSON.parse(text) as { error: string }).error]
    }
    expect(await why('')).toEqual([401, expect.stringContaining('token')])
    expect(await why(`?token=${token}`)).toEqual([426, expect.stringContaining('WebSocket')])
    const clients = Array.from({ length: 32 }, () => look(server.url, `?token=${token}`))
    for (const { messages } of clients) await soon(() => messages.length).toBe(2)
    expect(await why(`?token=${token}`)).toEqual([503, 'there are 32 viewers already'])
    clients[0]!.client.close()
    await soon(() => why(`?token=${token}`)).toEqual([426, expect.anything()])
    for (const { client } of clients) client.close()
  })

  it('ends, also where viewers are asleep', async () => {
    const { server } = await serve()
    const { client, messages } = look(server.url)
    await soon(() => messages.length).toBe(2)
    client.pause()
    const startMs = performance.now()
    await server.close()
    // Without an end, ws waits for half a minute.
    expect(performance.now() - startMs).toBeLessThan(20_000)
    client.terminate()
  })

  it('says that an agent has vanished, also where no window comes any more', async () => {
    let state: AgentState['state'] = 'here'
    const agents = (): AgentState[] => [
      { ...{ name: 'rack 1', state, lastMs: 0, heardMs: 0 }, windows: 1, repeated: 0, missing: 0, aheadSeconds: 0 },
    ]
    const live = new LiveView({ keys: ['qp'], measure: 'bytes', agents })
    const server = await PageServer.start({ live, host: '127.0.0.1', port: 0, token: null })
    servers.push(server)
    const { client, messages } = look(server.url)
    const states = () =>
      messages.flatMap((one) => (one.agents as AgentState[] | undefined) ?? []).map((one) => one.state)
    await soon(() => states().at(-1)).toBe('here')
    state = 'vanished'
    await soon(() => states().at(-1)).toBe('vanished')
    client.close()
  })

  it('says goodbye when it ends', async () => {
    const { server } = await serve()
    const { client, messages } = look(server.url)
    await soon(() => messages.length).toBe(2)
    const closed = new Promise((resolve) => client.on('close', (code, reason) => resolve([code, String(reason)])))
    await server.close()
    expect(await closed).toEqual([1001, 'the monitor has ended'])
  })
})

/** What viewers share, and its turns when they are wanted. */
function sharedOf(live: LiveView): Shared & { go: () => void } {
  const tasks: (() => void)[] = []
  const turns = { add: (_: unknown, task: () => void) => tasks.push(task), drop: () => {} }
  return {
    ...{ texts: new Texts(live), turns: turns as unknown as Turns<Viewer> },
    go: () => {
      for (const task of tasks.splice(0)) task()
    },
  }
}

describe('a viewer', () => {
  /** A connection whose other end takes nothing until it is told to. */
  class Slow extends EventEmitter {
    readonly OPEN = 1
    readyState = 1
    readonly sent: { kind: string; points?: unknown[]; skipped?: number }[] = []
    readonly waiting: (() => void)[] = []
    closed = 0
    send(text: string, done?: () => void): void {
      this.sent.push(JSON.parse(text))
      if (done !== undefined) this.waiting.push(done)
    }
    close(code: number): void {
      this.closed = code
    }
  }

  it('that is slow misses updates, which are counted, and gets all points', () => {
    const { live, add } = liveOf()
    const client = new Slow()
    const shared = sharedOf(live)
    const viewer = new Viewer(client as unknown as WebSocket, shared)
    for (let i = 0; i < 5; i++) {
      add()
      shared.texts.renew()
      viewer.update()
    }
    expect(client.sent.map(({ kind }) => kind)).toEqual(['hello', 'update'])
    client.waiting.shift()!()
    expect(client.sent.at(-1)).toMatchObject({ skipped: 3, points: { length: 4 } })
    client.waiting.shift()!()
    expect(client.sent).toHaveLength(3)
  })

  it('that asks and does not read is sent away', () => {
    for (const areAnswered of [true, false]) {
      const client = new Slow()
      const shared = sharedOf(liveOf().live)
      new Viewer(client as unknown as WebSocket, shared)
      for (let i = 0; i < 8; i++) client.emit('message', '{}', false)
      if (areAnswered) shared.go()
      expect(client.closed).toBe(0)
      client.emit('message', '{}', false)
      expect([client.closed, client.sent.length]).toEqual([1008, areAnswered ? 9 : 1])
    }
  })

  it('that asks what another one has asked gets the same answer, which is made once for a window', () => {
    const { live, add } = liveOf()
    add()
    const shared = sharedOf(live)
    const aggregate = vi.spyOn(CocoSketch.prototype, 'aggregate')
    const passes: number[] = []
    try {
      for (let i = 0; i < 32; i++) {
        const client = new Slow()
        const viewer = new Viewer(client as unknown as WebSocket, shared)
        viewer.update()
        client.emit('message', JSON.stringify({ id: i, ask: 'detail', window: 1, host: B, qp: null }), false)
        shared.go()
        expect(client.sent.at(-1)).toMatchObject({ kind: 'answer', id: i, answer: { host: B } })
        passes.push(aggregate.mock.calls.length)
      }
      expect(passes[0]).toBeGreaterThan(5)
      expect(new Set(passes).size).toBe(1)
      // The next window, of another number, has other answers.
      add()
      shared.texts.answer({ id: 1, question: { ask: 'detail', window: 2, host: B, qp: null } })
      expect(aggregate.mock.calls.length).toBeGreaterThan(passes[0]!)
    } finally {
      aggregate.mockRestore()
    }
  })
})

describe('turns', () => {
  afterEach(() => void vi.useRealTimers())

  /** Tasks that take so many milliseconds, on a clock of their own. */
  const begin = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let nowMs = 1000
    const turns = new Turns<string>(() => nowMs)
    const done: string[] = []
    return {
      ...{ turns, done, nowMs: () => nowMs },
      add: (who: string, name: string, tookMs: number) =>
        turns.add(who, () => {
          nowMs += tookMs
          done.push(name)
        }),
      pass: (ms: number) => {
        for (let i = 0; i < ms; i++) {
          vi.advanceTimersByTime(1)
          nowMs++
        }
      },
    }
  }

  it('go from one to the other, whoever asks more', () => {
    const { add, done, pass } = begin()
    for (const name of ['a1', 'a2', 'a3']) add('a', name, 0)
    for (const name of ['b1', 'b2']) add('b', name, 0)
    expect(done).toEqual([])
    pass(20)
    expect(done).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
  })

  it('leave four fifths of the time, whatever is asked', () => {
    const { turns, add, done, pass, nowMs } = begin()
    const startMs = nowMs()
    for (let i = 0; i < 200; i++) add('a', `a${i}`, 10)
    pass(1000)
    const share = (10 * done.length) / (nowMs() - startMs)
    expect(share).toBeGreaterThan(0.15)
    // A fifth, and what was saved before.
    expect(share).toBeLessThan(0.25)
    turns.drop('a')
    const before = done.length
    pass(1000)
    expect(done.length).toBe(before)
  })
})
