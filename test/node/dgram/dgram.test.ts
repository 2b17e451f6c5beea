import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import nodeDgram, { type RemoteInfo, type Socket, type SocketOptions, type SocketType } from 'node:dgram'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { rsocket } from '../../../src/index.ts'
import { type OpenSocket, replaceTransport } from '../../../src/node/base/transport.ts'
import verbenaDgram from '../../../src/node/dgram/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { openFake } from '../fake-transport.ts'
import { event } from '../implementations.ts'

type Dgram = typeof nodeDgram
type Options = SocketType | SocketOptions

/** Rsockets on a device. */
const on =
  (device: string): OpenSocket =>
  (family, type) =>
    rsocket(family, type, 0, { device })

const implementations: { name: string; dgram: Dgram; transport?: OpenSocket; host?: string }[] = [
  { name: 'node:dgram', dgram: nodeDgram },
  { name: 'verbena/dgram, sockets of this process', dgram: verbenaDgram as unknown as Dgram, transport: openFake },
  { name: 'verbena/dgram, shm', dgram: verbenaDgram as unknown as Dgram, transport: on('shm0') },
  {
    name: 'verbena/dgram, roce',
    dgram: verbenaDgram as unknown as Dgram,
    transport: on(loopbackDevice(1)),
    host: loopbackAddress(1),
  },
]

for (const { name, dgram, transport, host = '127.0.0.1' } of implementations)
  describe(`datagrams: ${name}`, () => {
    let before: OpenSocket | undefined
    const open = new Set<Socket>()
    const make = (options: Options = 'udp4'): Socket => {
      const socket = dgram.createSocket(options as 'udp4')
      open.add(socket)
      socket.once('close', () => open.delete(socket))
      return socket
    }
    const bound = async (options?: Options): Promise<Socket> => {
      const socket = make(options)
      await new Promise<void>((resolve) => socket.bind(0, host, resolve))
      return socket
    }
    const code = (wanted: string): Error => expect.objectContaining({ code: wanted })
    const message = (socket: Socket): Promise<[Buffer, RemoteInfo]> =>
      event(socket, 'message') as Promise<[Buffer, RemoteInfo]>

    beforeAll(() => {
      if (transport) before = replaceTransport(transport)
    })
    afterAll(() => {
      if (before) replaceTransport(before)
    })
    afterEach(() => {
      for (const socket of open) socket.close()
    })

    it('sends to an address and tells who sent', async () => {
      const [a, b] = [await bound(), await bound()]
      const got = message(b)
      a.send('hello', b.address().port, host)
      const [data, from] = await got
      expect(data.toString()).toBe('hello')
      expect(from).toEqual({ address: host, family: 'IPv4', port: a.address().port, size: 5 })
    })

    it('calls back in the context of createSocket, bind and send', async () => {
      const storage = new AsyncLocalStorage<string>()
      const seen = new Set<string>()
      const note = (what: string): unknown => seen.add(`${what}: ${storage.getStore() ?? 'none'}`)
      const one = async (who: string, to?: Socket): Promise<Socket> => {
        const socket = storage.run(`create ${who}`, () => make())
        socket.on('message', () => note(`${who} message`)).on('listening', () => note(`${who} listening`))
        await new Promise<void>((resolve) => storage.run(`bind ${who}`, () => socket.bind(0, host, resolve)))
        if (!to) return socket
        const answer = message(socket)
        const sent = (): unknown => note(`${who} sent`)
        storage.run(`send ${who}`, () => socket.send('hello', to.address().port, host, sent))
        await answer
        return socket
      }
      const echo = await one('echo')
      echo.on('message', (data, from) => storage.run('answering', () => echo.send(data, from.port, from.address)))
      await Promise.all([one('A', echo), one('B', echo)])
      expect([...seen].sort()).toEqual(
        [
          ...['A', 'B', 'echo'].flatMap((who) => [`${who} listening: bind ${who}`, `${who} message: create ${who}`]),
          ...['A', 'B'].map((who) => `${who} sent: send ${who}`),
        ].sort(),
      )
    })

    it.runIf(transport)('remembers as many addresses as it is told to, and answers all the same', async () => {
      for (const maxPeers of [1, 2.5, -1])
        expect(() => make({ type: 'udp4', maxPeers } as SocketOptions)).toThrow(code('ERR_OUT_OF_RANGE'))
      expect(() => make({ type: 'udp4', maxPeers: '9' } as unknown as SocketOptions)).toThrow(
        code('ERR_INVALID_ARG_TYPE'),
      )
      const echo = await bound({ type: 'udp4', maxPeers: 2 } as SocketOptions)
      echo.on('message', (data, from) => echo.send(data, from.port, from.address))
      const clients = await Promise.all([1, 2, 3, 4].map(() => bound()))
      for (let round = 0; round < 2; round++)
        for (const client of clients) {
          const answer = message(client)
          client.send(`${round}`, echo.address().port, host)
          expect((await answer)[0].toString()).toBe(`${round}`)
        }
    })

    it('binds by itself when it sends, and tells when it is done', async () => {
      const to = await bound()
      const socket = make()
      const got = message(to)
      const bytes = await new Promise((resolve, reject) => {
        socket.send(Buffer.from('abcdef'), 1, 3, to.address().port, host, (error, n) =>
          error ? reject(error) : resolve(n),
        )
      })
      expect(bytes).toBe(3)
      expect((await got)[0].toString()).toBe('bcd')
      expect(socket.address().port).toBeGreaterThan(0)
    })

    it('sends several buffers as one datagram, and empty ones', async () => {
      const to = await bound()
      const from = await bound()
      let got = message(to)
      from.send(['one', Buffer.from(' two'), new Uint8Array([33])], to.address().port, host)
      expect((await got)[0].toString()).toBe('one two!')
      got = message(to)
      from.send('', to.address().port, host)
      expect((await got)[0].length).toBe(0)
    })

    it('keeps datagrams apart', async () => {
      const [a, b] = [await bound(), await bound()]
      const sizes: number[] = []
      const all = new Promise<void>((resolve) => {
        b.on('message', (data) => {
          sizes.push(data.length)
          if (sizes.length === 20) resolve()
        })
      })
      for (let i = 1; i <= 20; i++) a.send(randomBytes(i * 10), b.address().port, host)
      await all
      // Some go over UDP and some from queue pair to queue pair: they may overtake each other.
      expect(sizes.sort((x, y) => x - y)).toEqual(Array.from({ length: 20 }, (_, i) => (i + 1) * 10))
    })

    it('connects: then send needs no address', async () => {
      const [a, b] = [await bound(), await bound()]
      await new Promise<void>((resolve) => a.connect(b.address().port, host, resolve))
      expect(a.remoteAddress()).toEqual({ address: host, family: 'IPv4', port: b.address().port })
      const got = message(b)
      a.send('to the peer')
      expect((await got)[0].toString()).toBe('to the peer')
      expect(() => a.send('x', 0, 1, 9, host)).toThrow(code('ERR_SOCKET_DGRAM_IS_CONNECTED'))
      expect(() => a.connect(1)).toThrow(code('ERR_SOCKET_DGRAM_IS_CONNECTED'))
      a.disconnect()
      expect(() => a.remoteAddress()).toThrow(code('ERR_SOCKET_DGRAM_NOT_CONNECTED'))
    })

    it('fails to bind what is bound', async () => {
      const first = await bound()
      const { port } = first.address()
      const second = make()
      second.bind(port, host)
      expect((await event(second, 'error'))[0]).toMatchObject({ code: 'EADDRINUSE', syscall: 'bind', port })
      expect(() => first.bind(0)).toThrow(code('ERR_SOCKET_ALREADY_BOUND'))
    })

    it('fails to bind an address that is not ours', async () => {
      const socket = make()
      socket.bind(0, '192.0.2.1')
      expect((await event(socket, 'error'))[0]).toMatchObject({ code: 'EADDRNOTAVAIL', address: '192.0.2.1' })
    })

    it("listens: 'listening', then an address", async () => {
      const socket = make({ type: 'udp4', reuseAddr: true })
      expect(() => socket.address()).toThrow(code('EBADF'))
      socket.bind({ address: host })
      await event(socket, 'listening')
      expect(socket.address()).toMatchObject({ address: host, family: 'IPv4' })
    })

    it('refuses what is too long', async () => {
      const [a, b] = [await bound(), await bound()]
      const error = await new Promise((resolve) =>
        a.send(Buffer.alloc(70_000), b.address().port, host, (e) => resolve(e)),
      )
      expect(error).toMatchObject({ code: 'EMSGSIZE', syscall: 'send' })
    })

    it('refuses wrong arguments', async () => {
      expect(() => dgram.createSocket('tcp' as never)).toThrow(code('ERR_SOCKET_BAD_TYPE'))
      const socket = await bound()
      expect(() => socket.send(5 as never, 1)).toThrow(code('ERR_INVALID_ARG_TYPE'))
      expect(() => socket.send('x', 0, host)).toThrow(code('ERR_SOCKET_BAD_PORT'))
    })

    it('returns itself, and figures', async () => {
      const socket = await bound()
      expect(socket.unref()).toBe(socket)
      expect(socket.ref()).toBe(socket)
      socket.setBroadcast(true)
      expect(socket.getRecvBufferSize()).toBeGreaterThan(0)
      expect(socket.getSendBufferSize()).toBeGreaterThan(0)
      expect([socket.getSendQueueSize(), socket.getSendQueueCount()]).toEqual([0, 0])
    })

    it('closes, once', async () => {
      const socket = await bound()
      const closed = event(socket, 'close')
      let called = false
      expect(
        socket.close(() => {
          called = true
        }),
      ).toBe(socket)
      await closed
      expect(called).toBe(true)
      expect(() => socket.close()).toThrow(code('ERR_SOCKET_DGRAM_NOT_RUNNING'))
    })

    it('closes when its signal says so', async () => {
      const controller = new AbortController()
      const socket = await bound({ type: 'udp4', signal: controller.signal })
      controller.abort()
      await event(socket, 'close')
    })
  })
