/** The asynchronous context in which each callback runs: what `AsyncLocalStorage` shows to it. */
import { AsyncLocalStorage, executionAsyncId } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { AddressInfo, LookupFunction, Server, Socket } from 'node:net'
import { expect, it } from 'vitest'
import { describeNet, event } from '../implementations.ts'

const storage = new AsyncLocalStorage<string>()
/** The names of callbacks with the contexts they ran in, each once. */
class Seen {
  readonly #seen = new Set<string>()

  add(what: string): void {
    this.#seen.add(`${what}: ${storage.getStore() ?? 'none'}`)
  }

  on(emitter: NodeJS.EventEmitter, who: string, ...names: string[]): void {
    for (const name of names) emitter.on(name, () => this.add(`${who} ${name}`))
  }

  get sorted(): string[] {
    return [...this.#seen].sort()
  }
}

describeNet('asynchronous context', (bench) => {
  it('of servers is that of listen, of what they accept none, of clients that of connect, of writes their own', async () => {
    const seen = new Seen()
    const server = storage.run('create', () => bench.server())
    seen.on(server, 'server', 'listening', 'connection', 'close')
    server.on('connection', (socket: Socket) => {
      seen.on(socket, 'accepted', 'data', 'end', 'finish', 'close')
      socket.on('data', (data) => storage.run('handler', () => socket.write(data, () => seen.add('accepted written'))))
    })
    storage.run('listen', () => server.listen(0, bench.host))
    await event(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = async (name: string): Promise<void> => {
      const socket = storage.run(`new ${name}`, () => bench.socket())
      seen.on(socket, name, 'connectionAttempt', 'connect', 'ready', 'data', 'end', 'finish', 'close')
      storage.run(`connect ${name}`, () => socket.connect(port, bench.host, () => seen.add(`${name} connected`)))
      await event(socket, 'connect')
      for (let i = 0; i < 3; i++) {
        storage.run(`write ${name}`, () => socket.write(`${i}`, () => seen.add(`${name} written`)))
        await event(socket, 'data')
      }
      storage.run(`end ${name}`, () => socket.end())
      await bench.closed(socket)
    }
    await Promise.all([client('A'), client('B')])
    storage.run('closing', () => server.close())
    await bench.closed(server)
    const ofClient = (name: string): string[] => [
      ...['connect', 'connected', 'connectionAttempt', 'ready', 'data', 'end', 'close'].map(
        (what) => `${name} ${what}: connect ${name}`,
      ),
      `${name} finish: end ${name}`,
      `${name} written: write ${name}`,
    ]
    expect(seen.sorted).toEqual(
      [
        ...ofClient('A'),
        ...ofClient('B'),
        ...['data', 'end', 'finish', 'close'].map((what) => `accepted ${what}: none`),
        'accepted written: handler',
        'server listening: listen',
        'server connection: listen',
        'server close: closing',
      ].sort(),
    )
  })

  it('of a write that has to wait is that of the write, and so is what comes of it', async () => {
    const seen = new Seen()
    const { client, peer } = await bench.pair()
    peer.pause()
    const written = new Promise<void>((resolve) => {
      storage.run('large', () =>
        client.write(Buffer.alloc(16 << 20), () => {
          seen.add('written')
          resolve()
        }),
      )
    })
    seen.on(client, 'client', 'finish')
    client.end()
    storage.run('reading', () => peer.resume())
    await written
    await bench.closed(client)
    expect(seen.sorted).toEqual(['client finish: large', 'written: large'])
  })

  it('of a failure is that of connect', async () => {
    const seen = new Seen()
    const { port, server } = await bench.pair()
    server.close()
    const client = bench.socket()
    seen.on(client, 'client', 'error', 'close', 'lookup')
    const lookup: LookupFunction = (_host, options, callback) =>
      setImmediate(() => {
        if (options.all) callback(null, [{ address: bench.host, family: 4 }])
        else callback(null, bench.host, 4)
      })
    storage.run('connect', () => client.connect({ port, host: 'name.example', lookup }))
    await bench.closed(client)
    expect(seen.sorted).toEqual(['client close: connect', 'client error: connect', 'client lookup: connect'])
  })

  it('has an id that is its own', async () => {
    const server = bench.server()
    let listening = 0
    server.on('connection', () => {
      listening = executionAsyncId()
    })
    await bench.listen(server)
    const { port } = server.address() as AddressInfo
    const accepted = event(server, 'connection')
    const client = bench.connect({ port })
    const [peer] = (await accepted) as [Socket]
    const ids = new Set([listening])
    for (const [from, to] of [
      [client, peer],
      [peer, client],
    ] as const) {
      const id = new Promise<number>((resolve) => to.once('data', () => resolve(executionAsyncId())))
      from.write('x')
      ids.add(await id)
    }
    expect(ids.size).toBe(3)
    expect(ids).not.toContain(0)
  })

  it('tells the diagnostics channels of sockets once', async () => {
    const told: unknown[] = []
    const sockets = (message: unknown): unknown => told.push((message as { socket: Socket }).socket)
    const server: Server = bench.server()
    const port = await bench.listen(server)
    for (const name of ['net.client.socket', 'net.server.socket']) subscribe(name, sockets)
    try {
      const accepted = event(server, 'connection')
      const client = bench.connect({ port })
      const [[peer]] = await Promise.all([accepted, event(client, 'connect')])
      expect(told).toEqual([client, peer])
    } finally {
      for (const name of ['net.client.socket', 'net.server.socket']) unsubscribe(name, sockets)
    }
  })
})
