import { EventEmitter } from 'node:events'
import type { AddressInfo, DropArgument, Server, Socket } from 'node:net'
import { expect, it, vi } from 'vitest'
import { acceptConnection } from '../../../src/node/base/accepting.ts'
import { describeNet, event, readAll, turns } from '../implementations.ts'

type Failure = NodeJS.ErrnoException & { address?: string; port?: number }

const major = Number.parseInt(process.versions.node, 10)
const portOf = (server: Server): number => (server.address() as AddressInfo).port

describeNet('servers', (bench) => {
  const { net } = bench

  it.skipIf(bench.oneAddress)('listens in every form of the arguments', async () => {
    const forms: ((server: Server, listener: () => void) => Server)[] = [
      (server, listener) => server.listen(listener),
      (server, listener) => server.listen(0, listener),
      (server, listener) => server.listen(0, bench.host, listener),
      (server, listener) => server.listen(0, bench.host, 5, listener),
      (server, listener) => server.listen(0, 5, listener),
      (server, listener) => server.listen({ port: 0, host: '::1', backlog: 3 }, listener),
      (server, listener) => server.listen('0' as never, 'localhost', listener),
      (server, listener) => server.listen({ port: 0, exclusive: true }, listener),
      (server, listener) => server.once('listening', listener).listen(),
    ]
    for (const form of forms) {
      const server = bench.server()
      let returned: Server | undefined
      await new Promise<void>((resolve) => {
        returned = form(server, resolve)
      })
      expect(returned).toBe(server)
      expect(server.listening).toBe(true)
      expect(portOf(server)).toBeGreaterThan(0)
      const client = net.connect({ port: portOf(server), host: (server.address() as AddressInfo).address })
      await event(bench.keep(client), 'connect')
    }
  })

  it("emits 'listening' not from inside listen, and has an address at once or then", async () => {
    const server = bench.server()
    expect([server.listening, server.address()]).toEqual([false, null])
    let heard = false
    server.on('listening', () => {
      heard = true
    })
    server.listen(0)
    expect(heard).toBe(false)
    await event(server, 'listening')
    const address = server.address() as AddressInfo
    expect(['::', '0.0.0.0']).toContain(address.address)
    expect(Object.keys(address).sort()).toEqual(['address', 'family', 'port'])
    server.close()
    expect([server.listening, server.address()]).toEqual([false, null])
  })

  it.skipIf(bench.oneAddress)('takes connections on all addresses when none is given', async () => {
    const server = bench.server()
    await new Promise<void>((resolve) => server.listen(0, resolve))
    for (const host of [bench.host, '::1', 'localhost'])
      await event(bench.connect({ port: portOf(server), host }), 'connect')
  })

  it.skipIf(bench.oneAddress || bench.fake)(
    'shares a port with another server unless they have an address in common',
    async () => {
      const all6 = { host: '::', ipv6Only: true }
      const pairs: [object, object, answers: [string, string][] | 'EADDRINUSE'][] = [
        [
          all6,
          { host: '0.0.0.0' },
          [
            ['::1', 'first'],
            ['127.0.0.1', 'second'],
          ],
        ],
        [
          { host: '0.0.0.0' },
          all6,
          [
            ['127.0.0.1', 'first'],
            ['::1', 'second'],
          ],
        ],
        [
          { host: '127.0.0.1' },
          { host: '::1' },
          [
            ['127.0.0.1', 'first'],
            ['::1', 'second'],
          ],
        ],
        [
          { host: '127.0.0.1' },
          { host: '127.0.0.2' },
          [
            ['127.0.0.1', 'first'],
            ['127.0.0.2', 'second'],
          ],
        ],
        [
          { host: '0.0.0.0' },
          { host: '::1' },
          [
            ['127.0.0.1', 'first'],
            ['::1', 'second'],
          ],
        ],
        [{ host: '::' }, { host: '0.0.0.0' }, 'EADDRINUSE'],
        [{ host: '0.0.0.0' }, { host: '127.0.0.1' }, 'EADDRINUSE'],
        [{ host: '127.0.0.1' }, { host: '::' }, 'EADDRINUSE'],
        [all6, { host: '::1' }, 'EADDRINUSE'],
      ]
      for (const [one, other, answers] of pairs) {
        const first = bench.server({}, (socket) => socket.end('first'))
        const second = bench.server({}, (socket) => socket.end('second'))
        await new Promise<void>((resolve) => first.listen({ port: 0, ...one }, resolve))
        const port = portOf(first)
        second.listen({ port, ...other })
        if (answers === 'EADDRINUSE') expect(await event(second, 'error')).toMatchObject([{ code: answers }])
        else {
          await event(second, 'listening')
          for (const [host, who] of answers) {
            const client = bench.connect({ port, host })
            expect([host, String(await readAll(client))]).toEqual([host, who])
          }
        }
        first.close()
        second.close()
      }
    },
  )

  it.skipIf(bench.oneAddress || bench.fake)('that is for one family refuses the other', async () => {
    for (const [options, to] of [
      [{ host: '::', ipv6Only: true }, '127.0.0.1'],
      [{ host: '0.0.0.0' }, '::1'],
    ] as const) {
      const server = bench.server()
      await new Promise<void>((resolve) => server.listen({ port: 0, ...options }, resolve))
      const client = bench.connect({ port: portOf(server), host: to })
      expect(await event(client, 'error')).toMatchObject([{ code: 'ECONNREFUSED' }])
      server.close()
    }
  })

  it.skipIf(bench.oneAddress || bench.fake)('for both families writes addresses of IPv4 as those of IPv6', async () => {
    const server = bench.server()
    await new Promise<void>((resolve) => server.listen(0, '::', resolve))
    for (const [host, seen] of [
      ['127.0.0.1', '::ffff:127.0.0.1'],
      ['::1', '::1'],
    ] as const) {
      const accepted = event(server, 'connection') as Promise<[Socket]>
      const client = bench.connect({ port: portOf(server), host })
      const [[peer]] = await Promise.all([accepted, event(client, 'connect')])
      const { remoteAddress, remoteFamily, localAddress, localFamily } = peer as Socket & { localFamily: string }
      expect([remoteAddress, remoteFamily, localAddress, localFamily]).toEqual([seen, 'IPv6', seen, 'IPv6'])
      expect([client.remoteAddress, client.localAddress]).toEqual([host, host])
    }
  })

  it.skipIf(bench.oneAddress || bench.fake)('all zeros is this host, which has an address', async () => {
    const server = bench.server()
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
    const accepted = event(server, 'connection') as Promise<[Socket]>
    const client = bench.connect({ port: portOf(server), host: '0.0.0.0' })
    const [[peer]] = await Promise.all([accepted, event(client, 'connect')])
    const addresses = [client.remoteAddress, client.localAddress, peer.remoteAddress, peer.localAddress]
    expect(addresses).toEqual(addresses.map(() => '127.0.0.1'))
  })

  it('fails with EADDRINUSE, and can listen afterwards', async () => {
    const first = bench.server()
    const port = await bench.listen(first)
    const second = bench.server()
    second.listen(port, bench.host)
    const [error] = (await event(second, 'error')) as [Failure]
    expect(error).toMatchObject({ code: 'EADDRINUSE', syscall: 'listen', address: bench.host, port })
    expect(second.listening).toBe(false)
    first.close()
    await event(first, 'close')
    second.listen(port, bench.host)
    await event(second, 'listening')
  })

  it('fails with EADDRNOTAVAIL on an address that is not ours', async () => {
    const server = bench.server()
    server.listen(0, '192.0.2.7')
    const [error] = (await event(server, 'error')) as [Failure]
    expect(error).toMatchObject({ code: 'EADDRNOTAVAIL', syscall: 'listen', address: '192.0.2.7' })
  })

  it('refuses to listen twice, and wrong arguments', async () => {
    const server = bench.server()
    await bench.listen(server)
    const code = (wanted: string): unknown => expect.objectContaining({ code: wanted })
    expect(() => server.listen(0)).toThrow(code('ERR_SERVER_ALREADY_LISTEN') as Error)
    const other = bench.server()
    expect(() => other.listen(65_536)).toThrow(code('ERR_SOCKET_BAD_PORT') as Error)
    expect(() => other.listen({} as never)).toThrow(code('ERR_INVALID_ARG_VALUE') as Error)
    expect(() => net.createServer('x' as never)).toThrow(code('ERR_INVALID_ARG_TYPE') as Error)
  })

  it('close waits for connections, and takes no new ones', async () => {
    const { server, client, peer, port } = await bench.pair()
    let closes = 0
    const closing = new Promise<Error | undefined>((resolve) => server.close(resolve))
    server.on('close', () => closes++)
    expect(server.listening).toBe(false)
    const refused = bench.connect({ port })
    expect(((await event(refused, 'error'))[0] as Failure).code).toBe('ECONNREFUSED')
    await turns(10)
    expect(closes).toBe(0)
    peer.resume()
    client.end('last words')
    expect(await closing).toBeUndefined()
    expect(closes).toBe(1)
  })

  it('close of a server that does not listen says so', async () => {
    const server = bench.server()
    const error = await new Promise<Failure>((resolve) => server.close((e) => resolve(e as Failure)))
    expect(error.code).toBe('ERR_SERVER_NOT_RUNNING')
  })

  it('turns away what is more than maxConnections, and says what', async () => {
    const server = bench.server()
    server.maxConnections = 1
    const port = await bench.listen(server)
    const first = bench.connect({ port })
    await Promise.all([event(server, 'connection'), event(first, 'connect')])
    const dropped = event(server, 'drop')
    const second = bench.connect({ port })
    const gone = new Promise((resolve) => second.resume().on('error', resolve).on('close', resolve))
    const [data] = (await dropped) as [DropArgument]
    expect(data).toMatchObject({ localAddress: bench.host, localPort: port, localFamily: 'IPv4' })
    expect(data).toMatchObject({ remoteAddress: bench.host, remoteFamily: 'IPv4', remotePort: expect.any(Number) })
    await gone
    expect(first.destroyed).toBe(false)
  })

  it('maxConnections = 0: none from Node.js 21 on, and before no limit', async () => {
    const server = bench.server()
    server.maxConnections = 0
    const port = await bench.listen(server)
    const taken = event(server, 'connection').then(() => 'taken')
    const dropped = event(server, 'drop').then(() => 'dropped')
    bench.connect({ port }).on('error', () => {})
    expect(await Promise.race([taken, dropped])).toBe(major > 20 ? 'dropped' : 'taken')
  })

  it.runIf(bench.ours || major > 20)('blockList: closes what comes from there, and tells nobody', async () => {
    const blockList = new net.BlockList()
    blockList.addAddress(bench.host)
    const server = bench.server({ blockList })
    const seen: string[] = []
    for (const name of ['connection', 'drop']) server.on(name, () => seen.push(name))
    const port = await bench.listen(server)
    const client = bench.connect({ port })
    const data: Buffer[] = []
    client.on('data', (chunk: Buffer) => data.push(chunk)).on('error', () => {})
    await bench.closed(client)
    expect([seen, data]).toEqual([[], []])
    // The list is asked each time.
    ;(server as Server & { blockList: unknown }).blockList = new net.BlockList()
    const accepted = event(server, 'connection')
    await Promise.all([event(bench.connect({ port }), 'connect'), accepted])
    const wrong = expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' })
    expect(() => net.createServer({ blockList: ['10.0.0.1'] } as never)).toThrow(wrong as Error)
  })

  it('counts connections', async () => {
    const count = (server: Server): Promise<number> =>
      new Promise((resolve, reject) => server.getConnections((error, n) => (error ? reject(error) : resolve(n))))
    const { server, peer, port } = await bench.pair()
    expect(await count(server)).toBe(1)
    bench.connect({ port })
    await event(server, 'connection')
    expect(await count(server)).toBe(2)
    peer.destroy()
    await event(peer, 'close')
    expect(await count(server)).toBe(1)
  })

  it('pauseOnConnect: data waits until somebody resumes', async () => {
    const { client, peer } = await bench.pair({ pauseOnConnect: true })
    client.end('patience')
    await turns(20)
    expect(peer.isPaused()).toBe(true)
    expect(peer.bytesRead).toBe(0)
    const got: Buffer[] = []
    peer.on('data', (chunk: Buffer) => got.push(chunk))
    await turns(5)
    expect(got).toEqual([])
    peer.resume()
    await event(peer, 'end')
    expect(Buffer.concat(got).toString()).toBe('patience')
  })

  it('gives its options to the sockets', async () => {
    const { server, peer } = await bench.pair({
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      highWaterMark: 1234,
    })
    expect(peer.allowHalfOpen).toBe(true)
    expect([peer.readableHighWaterMark, peer.writableHighWaterMark]).toEqual([1234, 1234])
    expect((peer as Socket & { server: Server }).server).toBe(server)
  })

  it('closes when its signal says so', async () => {
    const controller = new AbortController()
    const server = bench.server()
    server.listen({ port: 0, host: bench.host, signal: controller.signal })
    await event(server, 'listening')
    controller.abort()
    await event(server, 'close')
    expect(server.listening).toBe(false)
    const late = bench.server()
    late.listen({ port: 0, host: bench.host, signal: AbortSignal.abort() })
    await event(late, 'close')
  })

  it('ref and unref return the server', async () => {
    const server = bench.server()
    expect(server.unref()).toBe(server)
    await bench.listen(server)
    expect(server.ref().unref().ref()).toBe(server)
  })

  it('can be closed before it listens, and listen again', async () => {
    const server = bench.server()
    server.listen(0, bench.host)
    server.close()
    await event(server, 'close')
    const port = await bench.listen(server)
    await event(bench.connect({ port }), 'connect')
  })

  it('takes a hundred connections at once', async () => {
    const server = bench.server({}, (socket) => socket.pipe(socket))
    const port = await bench.listen(server)
    const texts = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const client = bench.connect({ port })
        client.end(`number ${i}`)
        return (await readAll(client)).toString()
      }),
    )
    expect(texts).toEqual(Array.from({ length: 100 }, (_, i) => `number ${i}`))
  })

  it('waits with await using', async () => {
    const server = bench.server()
    await bench.listen(server)
    await (server as Server & AsyncDisposable)[Symbol.asyncDispose]()
    expect(server.listening).toBe(false)
  })
})

describeNet('what only rsockets refuse', (bench) => {
  it.runIf(bench.ours)('paths, descriptors and handles', () => {
    const code = expect.objectContaining({
      code: 'ERR_INVALID_ARG_VALUE',
      message: expect.stringContaining('node:net'),
    })
    const server = bench.server()
    expect(() => server.listen('/tmp/never')).toThrow(code as Error)
    expect(() => server.listen({ fd: 3 })).toThrow(code as Error)
    expect(() => bench.net.connect({ path: '/tmp/never' })).toThrow(code as Error)
    expect(() => new bench.net.Socket({ fd: 3 })).toThrow(code as Error)
  })
})

it("a listener of 'drop' that throws leaves nothing of the connection open", () => {
  const server = Object.assign(new EventEmitter(), { maxConnections: 1, _connections: 1 })
  const close = vi.fn()
  const rsocket = { getsockname: () => -1, getpeername: () => -1, close }
  server.on('drop', () => {
    throw new Error('of the program')
  })
  const accept = (): void => acceptConnection(server as never, rsocket as never, vi.fn() as never, vi.fn())
  expect(accept).toThrow('of the program')
  expect(close).toHaveBeenCalledOnce()
})
