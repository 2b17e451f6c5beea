/** The server of all commands: who may ask, what may come and how long that takes, what errors look like, and how it ends. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectSecurely } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { Guard } from '../../../src/web/index.ts'
import { type Served, type ServeOptions, serve } from '../../../src/web/serve/index.ts'

const token = 'a-token-of-some-length'
const running: Served[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.close()))
})

async function start(options: Partial<ServeOptions> = {}): Promise<Served> {
  const served = await serve({
    ...{ host: '127.0.0.1', port: 0, guard: new Guard(token), open: ['/'] },
    routes: (app) => {
      app.get('/', (c) => c.text('page'))
      app.get('/data', (c) => c.text('data'))
      app.get('/broken', () => {
        throw new Error('it is broken')
      })
      app.post('/length', async (c) => c.text(String((await c.req.arrayBuffer()).byteLength)))
    },
    ...options,
  })
  running.push(served)
  return served
}

const portOf = ({ url }: Served): number => Number(new URL(url).port)

interface Answer {
  status: number
  text: string
  headers: Readonly<Record<string, unknown>>
}

interface Asked {
  path?: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** `fetch` chooses Host and Origin itself. */
function ask(served: Served, { path = '/data', method = 'GET', headers = {}, body }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { port: portOf(served), host: '127.0.0.1', path, method, headers, agent: false }
    const asked = request(options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode!, text, headers: response.headers }))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

const known = { Authorization: `Bearer ${token}` }

/** A connection, what has come on it, and whether it has ended. */
async function dial(served: Served) {
  const socket = connect(portOf(served), '127.0.0.1').setEncoding('latin1')
  const dialled = { socket, text: '', isClosed: false }
  socket.on('data', (chunk: string) => (dialled.text += chunk))
  socket.on('close', () => (dialled.isClosed = true)).on('error', () => {})
  await once(socket, 'connect')
  return dialled
}

it('serves a request to become something else as any other where nothing can be had, and counts its connection', async () => {
  const served = await start({ mostConnections: 3 })
  const upgrade = 'Connection: Upgrade\r\nUpgrade: h2c\r\n'
  const dialled = await Promise.all(Array.from({ length: 3 }, () => dial(served)))
  for (const { socket } of dialled) socket.write(`GET /data HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`)
  for (const each of dialled) await expect.poll(() => each.text).toMatch(/^HTTP\/1\.1 401 /)
  // The fourth takes the place of one that waits.
  await dial(served)
  await expect.poll(() => dialled.filter(({ isClosed }) => isClosed).length).toBe(1)
  const gone = await dial(served)
  gone.socket.write(`GET /data HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`)
  gone.socket.resetAndDestroy()
  expect((await ask(served, { headers: known })).text).toBe('data')
})

describe('who may ask', () => {
  it('is who knows the token', async () => {
    const served = await start()
    const without = await ask(served)
    expect([without.status, without.headers['www-authenticate']]).toEqual([401, 'Bearer'])
    expect(JSON.parse(without.text)).toEqual({ error: expect.stringContaining('a token is required') })
    expect((await ask(served, { headers: { Authorization: `Bearer ${token}x` } })).status).toBe(401)
    expect(await ask(served, { headers: known })).toMatchObject({ status: 200, text: 'data' })
    // Addresses are kept by proxies and logs.
    expect((await ask(served, { path: `/data?token=${token}` })).status).toBe(401)
    const inAddress = await start({ tokenInAddress: true })
    expect((await ask(inAddress, { path: `/data?token=${token}` })).status).toBe(200)
  })

  it('is everybody where it is open, but for pages of other sites', async () => {
    const served = await start()
    expect((await ask(served, { path: '/' })).text).toBe('page')
    const foreign = { Origin: 'http://evil.example' }
    expect((await ask(served, { path: '/', headers: foreign })).status).toBe(403)
    // Only as it is written: nothing else leads there.
    for (const path of ['/?', '/./', '//'])
      expect((await ask(served, { path })).status, path).toBe(path === '/?' ? 200 : 401)
  })

  it('without a token, is who comes to this host by its name', async () => {
    const served = await start({ guard: new Guard(null) })
    expect((await ask(served)).status).toBe(200)
    expect((await ask(served, { headers: { Host: 'evil.example' } })).status).toBe(403)
    const everybody = await start({ guard: null })
    expect((await ask(everybody, { headers: { Host: 'evil.example' } })).status).toBe(200)
  })

  it.each([
    ['//', '404'],
    ['*', '404'],
    ['/a\\b', '404'],
    ['/%zz', '404'],
    ['/none?%', '404'],
    // As proxies ask: which host is meant is not asked here.
    ['http://[/data', '200'],
  ])('is asked before what %s is: it gives %s', async (path, status) => {
    const served = await start()
    const statusOf = async (more: string): Promise<string> => {
      const { socket } = await dial(served)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: any name\r\n${more}\r\n`)
      const [text] = (await once(socket, 'data')) as [string]
      socket.destroy()
      return text.split(' ')[1]!
    }
    expect(await statusOf('')).toBe('401')
    expect(await statusOf(`Authorization: Bearer ${token}\r\n`)).toBe(status)
    expect((await ask(served, { headers: known })).status).toBe(200)
  })

  it('is asked before a connection becomes a WebSocket, and an address that is none is an answer', async () => {
    const asked: string[] = []
    const served = await start({
      upgrade: ({ url }) => {
        asked.push(url!)
        if (url!.startsWith('/bad')) throw new URIError('none')
        return { status: 503, message: 'there is no room' }
      },
    })
    const upgrade = async (path: string): Promise<string> => {
      const dialled = await dial(served)
      dialled.socket.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      )
      await expect.poll(() => dialled.isClosed).toBe(true)
      return dialled.text
    }
    expect(await upgrade('/live?token=other')).toMatch(/^HTTP\/1\.1 401 /)
    expect(asked).toEqual([])
    expect(await upgrade(`/live?token=${token}`)).toMatch(/^HTTP\/1\.1 503 [\s\S]*\{"error":"there is no room"\}$/)
    expect(await upgrade(`/bad?token=${token}`)).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('an answer', () => {
  it('is not kept, nor taken for another type', async () => {
    const served = await start({ headers: { 'Content-Security-Policy': "frame-ancestors 'none'" } })
    const kept = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }
    for (const headers of [known, {}])
      expect((await ask(served, { headers })).headers).toMatchObject({
        ...kept,
        'content-security-policy': "frame-ancestors 'none'",
      })
  })

  it('to HEAD is that to GET without its body', async () => {
    const served = await start()
    expect(await ask(served, { method: 'HEAD', headers: known })).toMatchObject({ status: 200, text: '' })
  })

  it('is an error as JSON, or as a line', async () => {
    const served = await start()
    const broken = await ask(served, { path: '/broken', headers: known })
    expect([broken.status, JSON.parse(broken.text)]).toEqual([500, { error: 'it is broken' }])
    const missing = await ask(served, { path: '/none', headers: known })
    expect([missing.status, JSON.parse(missing.text)]).toEqual([404, { error: 'there is nothing here' }])
    const plain = await start({ errors: 'text' })
    expect(await ask(plain, { path: '/broken', headers: known })).toMatchObject({ status: 500, text: 'it is broken\n' })
    expect(await ask(plain)).toMatchObject({ status: 401, text: expect.stringMatching(/^a token is required.*\n$/) })
  })
})

describe('what may come', () => {
  const post = (served: Served, body: string, more = {}) =>
    ask(served, { path: '/length', method: 'POST', headers: { ...known, ...more }, body })

  it('has a limit, whether its length is known before or not', async () => {
    const served = await start({ mostBody: 1000 })
    for (const more of [{}, { 'Transfer-Encoding': 'chunked' }]) {
      expect(await post(served, 'x'.repeat(1000), more)).toMatchObject({ status: 200, text: '1000' })
      const long = await post(served, 'x'.repeat(1001), more)
      expect([long.status, JSON.parse(long.text)]).toEqual([413, { error: 'a body has at most 1000 bytes' }])
    }
  })

  it('is not waited for where it is too long, and its rest does not end the connection', async () => {
    const served = await start({ mostBody: 1000 })
    const { socket } = await dial(served)
    const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\n`
    socket.write(`POST /length HTTP/1.1\r\n${head}Content-Length: 200000\r\n\r\n`)
    expect(String(await once(socket, 'data'))).toContain('413')
    socket.write('x'.repeat(200_000))
    socket.write(`GET /data HTTP/1.1\r\n${head}\r\n`)
    expect(String(await once(socket, 'data'))).toContain('200 OK')
    socket.destroy()
  })

  it('is of nobody who may not ask', async () => {
    const served = await start({ mostBody: 1000 })
    const { socket } = await dial(served)
    socket.write('POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n')
    expect(String(await once(socket, 'data'))).toContain('401')
    socket.destroy()
  })

  it('may end before its end: the server goes on', async () => {
    const served = await start({ mostBody: 1000 })
    const { socket } = await dial(served)
    socket.write(
      `POST /length HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 900\r\n\r\n`,
    )
    socket.write('x')
    await delay(50)
    socket.destroy()
    expect((await post(served, 'xy')).text).toBe('2')
  })
})

describe('the end', () => {
  /** Answers when it is told to. */
  async function slow(options: Partial<ServeOptions> = {}) {
    const waiting: (() => void)[] = []
    const served = await start({
      ...options,
      guard: null,
      routes: (app) => {
        app.get('/', (c) => c.text('at once'))
        app.get('/slow', async (c) => {
          await new Promise<void>((resolve) => waiting.push(resolve))
          return c.text('the whole answer')
        })
      },
    })
    return { served, waiting }
  }
  const get = (socket: Socket, path: string): boolean => socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)

  it('waits for answers that are being made, and for no connection that only waits', async () => {
    const { served, waiting } = await slow()
    const [asking, idle, silent, begun] = [
      await dial(served),
      await dial(served),
      await dial(served),
      await dial(served),
    ]
    get(idle.socket, '/')
    begun.socket.write('GET / HTTP/1.1\r\nHost:')
    await expect.poll(() => idle.text).toContain('at once')
    get(asking.socket, '/slow')
    await expect.poll(() => waiting.length).toBe(1)
    const closed = served.close()
    waiting[0]!()
    await closed
    for (const one of [idle, silent, begun, asking]) await expect.poll(() => one.isClosed).toBe(true)
    expect(asking.text).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*the whole answer$/)
  })

  const hasOpenssl = spawnSync('openssl', ['version']).status === 0
  it.skipIf(!hasOpenssl)('is the same with TLS, where some have not finished their handshake', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-serve-'))
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=localhost', '-keyout', keyFile, '-out', certFile],
    ])
    const { served, waiting } = await slow({ tls: { key: readFileSync(keyFile), cert: readFileSync(certFile) } })
    rmSync(folder, { recursive: true })
    expect(served.url).toMatch(/^https:/)
    const silent = await dial(served)
    const [asking, idle] = ['/slow', '/'].map((path) => {
      const socket = connectSecurely({ port: portOf(served), host: '127.0.0.1', rejectUnauthorized: false })
      const one = { text: '', isClosed: false }
      socket.setEncoding('latin1').on('data', (chunk: string) => (one.text += chunk))
      socket.on('close', () => (one.isClosed = true)).on('error', () => {})
      get(socket, path)
      return one
    }) as [{ text: string; isClosed: boolean }, { text: string; isClosed: boolean }]
    await expect.poll(() => [waiting.length, idle.text.includes('at once')]).toEqual([1, true])
    const closed = served.close()
    waiting[0]!()
    await closed
    for (const one of [idle, silent, asking]) await expect.poll(() => one.isClosed).toBe(true)
    expect(asking.text).toMatch(/the whole answer$/)
  })

  it('comes for each connection with its answer', async () => {
    const { served, waiting } = await slow()
    const [first, second] = [await dial(served), await dial(served)]
    for (const [i, { socket }] of [first, second].entries()) {
      get(socket, '/slow')
      await expect.poll(() => waiting.length).toBe(i + 1)
    }
    first.socket.once('close', () => waiting[1]!())
    const closed = served.close()
    waiting[0]!()
    await closed
    await expect.poll(() => second.text).toMatch(/the whole answer$/)
  })

  it('does not wait for ever', async () => {
    const { served, waiting } = await slow()
    const asking = await dial(served)
    get(asking.socket, '/slow')
    await expect.poll(() => waiting.length).toBe(1)
    await served.close()
    await expect.poll(() => asking.isClosed).toBe(true)
    expect(asking.text).toBe('')
  })

  it('comes once, and takes nobody in', async () => {
    const { served } = await slow()
    await served.close()
    await served.close()
    await expect(ask(served, { path: '/' })).rejects.toThrow('ECONNREFUSED')
  })

  it('a port that is taken is an error of the system', async () => {
    const { served } = await slow()
    await expect(start({ port: portOf(served) })).rejects.toThrow('EADDRINUSE')
  })
})

it('leaves the classes of the process as they are', async () => {
  const before = [globalThis.Request, globalThis.Response]
  await ask(await start())
  expect([globalThis.Request, globalThis.Response]).toEqual(before)
})
