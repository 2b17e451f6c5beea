/**
 * The implementations that the tests of this folder are run against. `node:net` is the judge: a test that it does not pass
 * asks for something that Node does not promise.
 */
import nodeNet, { type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import '../../src/index.ts'
import { type OpenSocket, replaceTransport } from '../../src/node/base/transport.ts'
import verbenaNet from '../../src/node/net/index.ts'
import { rsocket } from '../../src/rsocket/index.ts'
import { loopbackAddress, loopbackDevice } from '../loopback.ts'
import { openFake } from './fake-transport.ts'

export type Net = typeof nodeNet

interface Implementation {
  name: string
  net: Net
  transport?: OpenSocket
  /** An address of this machine that the implementation has; 127.0.0.1 unless told. */
  host?: string
  /** Only that one: neither IPv6 nor names. */
  oneAddress?: boolean
}

/** Rsockets on a device. */
const on =
  (device: string): OpenSocket =>
  (family, type) =>
    rsocket(family, type, 0, { device })

const implementations: Implementation[] = [
  { name: 'node:net', net: nodeNet },
  { name: 'verbena/net, sockets of this process', net: verbenaNet as unknown as Net, transport: openFake },
  { name: 'verbena/net, shm', net: verbenaNet as unknown as Net, transport: on('shm0') },
  {
    name: 'verbena/net, roce',
    net: verbenaNet as unknown as Net,
    transport: on(loopbackDevice(1)),
    host: loopbackAddress(1),
    oneAddress: true,
  },
]

/** What a test works with; all that it opens is closed after it. */
export class Bench {
  readonly net: Net
  readonly ours: boolean
  readonly host: string
  readonly oneAddress: boolean
  /** Of sockets that are there for tests, and know nothing of addresses. */
  readonly fake: boolean
  readonly #open = new Set<Socket | Server>()
  readonly #closed = new WeakMap<object, Promise<boolean>>()

  constructor({ net, host, oneAddress, transport }: Implementation) {
    this.net = net
    this.ours = net !== nodeNet
    this.host = host ?? '127.0.0.1'
    this.oneAddress = oneAddress ?? false
    this.fake = transport === openFake
  }

  /** Closes it after the test. */
  keep<T extends Socket | Server>(it: T): T {
    if (!this.#open.has(it)) {
      this.#open.add(it)
      this.#closed.set(it, new Promise((resolve) => (it as Socket).once('close', resolve)))
    }
    return it
  }

  /** Resolves with what 'close' says, also if it was some time ago. */
  closed(it: Socket | Server): Promise<boolean> {
    return this.#closed.get(it)!
  }

  server(options: object = {}, onConnection?: (socket: Socket) => void): Server {
    const server = this.keep(this.net.createServer(options, onConnection))
    server.on('connection', (socket) => this.keep(socket))
    return server
  }

  async listen(server: Server, host: string = this.host): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, host, () => {
        server.off('error', reject)
        resolve()
      })
    })
    return (server.address() as AddressInfo).port
  }

  socket(options: object = {}): Socket {
    return this.keep(new this.net.Socket(options))
  }

  connect(options: { port: number; host?: string } & Record<string, unknown>): Socket {
    return this.keep(this.net.connect({ host: this.host, ...options }))
  }

  /** Two connected ends and their server. */
  async pair(
    serverOptions: object = {},
    clientOptions: object = {},
  ): Promise<{ server: Server; client: Socket; peer: Socket; port: number }> {
    const server = this.server(serverOptions)
    const port = await this.listen(server)
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
    const client = this.connect({ port, ...clientOptions })
    const [peer] = await Promise.all([accepted, event(client, 'connect')])
    return { server, client, peer, port }
  }

  async closeAll(): Promise<void> {
    for (const it of this.#open) {
      it.on('error', () => {})
      if ('destroy' in it) it.destroy()
      else if (it.listening) it.close()
    }
    this.#open.clear()
    await turns(3)
  }
}

/** The arguments of the next event; rejects at an 'error' before it, unless that is the event. */
export function event(emitter: NodeJS.EventEmitter, name: string): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(error)
    if (name !== 'error') emitter.once('error', onError)
    emitter.once(name, (...args) => {
      emitter.off('error', onError)
      resolve(args)
    })
  })
}

/** Lets the event loop turn a few times. */
export async function turns(n: number): Promise<void> {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** All that comes until the end. */
export function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  return event(socket, 'end').then(() => Buffer.concat(chunks))
}

/** `tests` against every implementation. */
export function describeNet(title: string, tests: (bench: Bench) => void): void {
  for (const implementation of implementations)
    describe(`${title}: ${implementation.name}`, () => {
      const { transport } = implementation
      const bench = new Bench(implementation)
      let before: OpenSocket | undefined
      beforeAll(() => {
        if (transport) before = replaceTransport(transport)
      })
      afterAll(() => {
        if (before) replaceTransport(before)
      })
      afterEach(() => bench.closeAll())
      tests(bench)
    })
}
