import type { LookupFunction, Server, Socket } from 'node:net'
import { inherits } from 'node:util'
import { expect, it } from 'vitest'
import { describeNet, event, readAll, turns } from '../implementations.ts'

type Failure = NodeJS.ErrnoException & { address?: string; port?: number }

const major = Number.parseInt(process.versions.node, 10)

/** A port that nobody listens on. */
async function freePort(bench: Parameters<Parameters<typeof describeNet>[1]>[0]): Promise<number> {
  const server = bench.server()
  const port = await bench.listen(server)
  server.close()
  await event(server, 'close')
  return port
}

const answers =
  (...list: { address: string; family: number }[]): LookupFunction =>
  (_host, options, callback) =>
    setImmediate(() => {
      if (options.all) callback(null, list)
      else callback(null, list[0]!.address, list[0]!.family)
    })

describeNet('connecting', (bench) => {
  const { net } = bench

  it.skipIf(bench.oneAddress)('connects in every form of the arguments', async () => {
    const server = bench.server()
    const port = await bench.listen(server, '::')
    const forms: ((listener: () => void) => Socket)[] = [
      (listener) => net.connect(port, bench.host, listener),
      (listener) => net.connect({ port, host: bench.host }, listener),
      (listener) => (net.connect as (...args: unknown[]) => Socket)(port, listener),
      (listener) => net.createConnection({ port: String(port) as never, host: '::1' }, listener),
      (listener) => net.createConnection({ port, host: 'localhost' }, listener),
      (listener) => new net.Socket().connect(port, bench.host, listener),
      (listener) => new net.Socket().connect({ port, host: '::1' }, listener),
    ]
    for (const form of forms) await new Promise<void>((resolve) => bench.keep(form(resolve)))
  })

  it("emits 'connect', then 'ready', not from inside connect", async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const seen: string[] = []
    const client = bench.connect({ port })
    for (const name of ['connectionAttempt', 'connect', 'ready']) client.on(name, () => seen.push(name))
    expect(seen).toEqual([])
    await event(client, 'ready')
    expect(seen).toEqual(['connectionAttempt', 'connect', 'ready'])
  })

  it('tells its state', async () => {
    const server = bench.server({ allowHalfOpen: true })
    const port = await bench.listen(server)
    const client = bench.socket({ allowHalfOpen: true })
    expect([client.connecting, client.pending, client.destroyed]).toEqual([false, true, false])
    const accepted = event(server, 'connection')
    client.connect(port, bench.host)
    expect([client.connecting, client.pending, client.readyState]).toEqual([true, true, 'opening'])
    await event(client, 'connect')
    expect([client.connecting, client.pending, client.readyState]).toEqual([false, false, 'open'])
    const [peer] = (await accepted) as [Socket]
    client.end()
    await event(client, 'finish')
    expect(client.readyState).toBe('readOnly')
    peer.end()
    client.resume()
    peer.resume()
    await event(client, 'close')
    expect([client.readyState, client.destroyed, client.pending]).toEqual(['closed', true, true])
  })

  it('fails with ECONNREFUSED where nobody listens', async () => {
    const port = await freePort(bench)
    const client = bench.connect({ port })
    const attempt = event(client, 'connectionAttemptFailed').catch((error) => error)
    const [error] = (await event(client, 'error')) as [Failure]
    expect(error).toMatchObject({ code: 'ECONNREFUSED', syscall: 'connect', address: bench.host, port })
    expect(error.errno).toBeLessThan(0)
    expect(error.message).toBe(`connect ECONNREFUSED ${bench.host}:${port}`)
    expect(await event(client, 'close')).toEqual([true])
    await attempt
  })

  it('looks names up, once, and tells', async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const asked: string[] = []
    const lookup: LookupFunction = (host, options, callback) => {
      asked.push(host)
      answers({ address: bench.host, family: 4 })(host, options, callback)
    }
    const client = bench.connect({ port, host: 'somewhere.example', lookup })
    const [found] = await Promise.all([event(client, 'lookup'), event(client, 'connect')])
    expect(found).toEqual([null, bench.host, 4, 'somewhere.example'])
    expect(asked).toEqual(['somewhere.example'])
    expect(client.remoteAddress).toBe(bench.host)
  })

  it('takes the answer of a lookup that calls back at once', async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const seen: string[] = []
    const lookup: LookupFunction = (_host, options, callback) => {
      seen.push('asked')
      if (options.all) callback(null, [{ address: bench.host, family: 4 }])
      else callback(null, bench.host, 4)
      seen.push('answered')
    }
    const client = bench.socket()
    for (const name of ['lookup', 'connectionAttempt', 'connect']) client.on(name, () => seen.push(name))
    client.connect({ port, host: 'now.example', lookup })
    seen.push('returned')
    await event(client, 'connect')
    expect(seen).toEqual(['asked', 'lookup', 'connectionAttempt', 'answered', 'returned', 'connect'])
  })

  it("tells no 'lookup' of a socket that is destroyed", async () => {
    for (const failure of [null, Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })]) {
      let answer = (): void => {}
      const lookup: LookupFunction = (_host, _options, callback) => {
        answer = () => callback(failure, [{ address: bench.host, family: 4 }])
      }
      const client = bench.connect({ port: 1, host: 'late.example', lookup })
      const seen: string[] = []
      for (const name of ['lookup', 'error']) client.on(name, () => seen.push(name))
      client.destroy()
      await bench.closed(client)
      answer()
      await turns(5)
      expect(seen).toEqual([])
    }
  })

  it('fails as the look-up fails', async () => {
    const lookup: LookupFunction = (_host, _options, callback) =>
      callback(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), '', 0)
    const client = bench.connect({ port: 1, host: 'nowhere.example', lookup })
    const [error] = (await event(client, 'error')) as [Failure]
    expect(error.code).toBe('ENOTFOUND')
  })

  it('refuses an address that the look-up made up', async () => {
    const lookup: LookupFunction = (_host, options, callback) =>
      options.all ? callback(null, [{ address: 'rubbish', family: 4 }]) : callback(null, 'rubbish', 4)
    const client = bench.connect({ port: 1, host: 'odd.example', lookup })
    const [error] = (await event(client, 'error')) as [Failure]
    expect(error.code).toBe('ERR_INVALID_IP_ADDRESS')
  })

  it('tries one address after another', async () => {
    const server = bench.server()
    const port = await bench.listen(server, bench.host)
    const lookup = answers({ address: '::1', family: 6 }, { address: bench.host, family: 4 })
    const client = bench.connect({ port, host: 'both.example', lookup, autoSelectFamily: true })
    const attempts: unknown[] = []
    client.on('connectionAttempt', (...args) => attempts.push(args))
    await event(client, 'connect')
    expect(client.remoteAddress).toBe(bench.host)
    expect(client.autoSelectFamilyAttemptedAddresses).toEqual([`::1:${port}`, `${bench.host}:${port}`])
    expect(attempts).toEqual([
      ['::1', port, 6],
      [bench.host, port, 4],
    ])
  })

  it.skipIf(bench.oneAddress)('tells of an address as one that was tried when it is tried, not before', async () => {
    const server = bench.server()
    const port = await bench.listen(server, bench.host)
    const lookup = answers({ address: bench.host, family: 4 }, { address: '::1', family: 6 })
    const client = bench.connect({ port, host: 'both.example', lookup, autoSelectFamily: true })
    await event(client, 'connect')
    expect(client.autoSelectFamilyAttemptedAddresses).toEqual([`${bench.host}:${port}`])
  })

  it.runIf(bench.ours || major > 20)('does not connect to what its blockList has', async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const blockList = new net.BlockList()
    blockList.addAddress(bench.host)
    const one = bench.connect({ port, blockList })
    const [error] = (await event(one, 'error')) as [Failure]
    expect([error.code, error.message]).toEqual(['ERR_IP_BLOCKED', `IP(${bench.host}) is blocked by net.BlockList`])
    blockList.addAddress('::1', 'ipv6')
    const lookup = answers({ address: '::1', family: 6 }, { address: bench.host, family: 4 })
    const several = bench.connect({ port, host: 'both.example', lookup, autoSelectFamily: true, blockList })
    const seen: unknown[] = []
    for (const name of ['connectionAttempt', 'connectionAttemptFailed'])
      several.on(name, (address, _port, _family, failure) => seen.push([name, address, failure?.code]))
    const [all] = (await event(several, 'error')) as [AggregateError & Failure]
    expect(all.errors.map((e: Failure) => e.code)).toEqual(['ERR_IP_BLOCKED', 'ERR_IP_BLOCKED'])
    expect(seen).toEqual(['::1', bench.host].map((ip) => ['connectionAttemptFailed', ip, 'ERR_IP_BLOCKED']))
    expect(several.autoSelectFamilyAttemptedAddresses).toEqual([])
    const wrong = expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' })
    expect(() => new net.Socket({ blockList: 'x' } as never)).toThrow(wrong as Error)
  })

  it('a connected socket that is told to connect says that it is connected, and stays so', async () => {
    const { client, peer } = await bench.pair()
    client.connect(1, bench.host)
    expect(client.connecting).toBe(true)
    await event(client, 'connect')
    const data = event(peer, 'data')
    client.write('still here')
    expect(String((await data)[0])).toBe('still here')
  })

  it('fails to connect what connects already, and closes it', async () => {
    const server = bench.server({}, (socket) => socket.resume().on('error', () => {}))
    const port = await bench.listen(server)
    const client = bench.connect({ port })
    await event(client, 'connectionAttempt')
    client.connect(port, bench.host)
    const [error] = (await event(client, 'error')) as [Failure]
    expect(error).toMatchObject({ code: 'EALREADY', syscall: 'connect', port })
    await bench.closed(client)
  })

  it.skipIf(bench.oneAddress)('gives all errors when no address answers', async () => {
    const port = await freePort(bench)
    const lookup = answers({ address: '::1', family: 6 }, { address: bench.host, family: 4 })
    const client = bench.connect({ port, host: 'both.example', lookup, autoSelectFamily: true })
    const [error] = (await event(client, 'error')) as [AggregateError & Failure]
    expect(error).toBeInstanceOf(AggregateError)
    expect(error.code).toBe('ECONNREFUSED')
    expect(error.errors.map((e: Failure) => [e.code, e.address, e.port])).toEqual([
      ['ECONNREFUSED', '::1', port],
      ['ECONNREFUSED', bench.host, port],
    ])
  })

  it('connects from the local address and port that it is told', async () => {
    const localPort = await freePort(bench)
    const server = bench.server()
    const port = await bench.listen(server)
    const accepted = event(server, 'connection')
    const client = bench.connect({ port, localAddress: bench.host, localPort })
    await event(client, 'connect')
    const [peer] = (await accepted) as [Socket]
    expect([client.localPort, peer.remotePort]).toEqual([localPort, localPort])
  })

  it('knows both ends', async () => {
    const { client, peer, port } = await bench.pair()
    expect([client.remoteAddress, client.remotePort, client.remoteFamily]).toEqual([bench.host, port, 'IPv4'])
    expect([peer.localAddress, peer.localPort, peer.localFamily]).toEqual([bench.host, port, 'IPv4'])
    expect([client.localAddress, client.localPort]).toEqual([peer.remoteAddress, peer.remotePort])
    expect(client.address()).toEqual({ address: bench.host, family: 'IPv4', port: peer.remotePort })
    client.destroy()
    await event(client, 'close')
    expect([client.address(), client.localPort]).toEqual([{}, undefined])
    expect(client.remotePort).toBe(port)
  })

  it('knows nothing of the ends before it is connected', () => {
    const socket = bench.socket()
    expect([socket.address(), socket.remoteAddress, socket.localPort]).toEqual([{}, undefined, undefined])
  })

  it('refuses wrong arguments', () => {
    const code = (call: () => unknown): unknown => {
      try {
        call()
      } catch (error) {
        return [(error as Failure).code, (error as Error).constructor.name]
      }
      return 'nothing thrown'
    }
    expect(code(() => net.connect({} as never))).toEqual(['ERR_MISSING_ARGS', 'TypeError'])
    expect(code(() => net.connect({ port: 65_536 }))).toEqual(['ERR_SOCKET_BAD_PORT', 'RangeError'])
    expect(code(() => net.connect({ port: -1 }))).toEqual(['ERR_SOCKET_BAD_PORT', 'RangeError'])
    expect(code(() => net.connect({ port: 'x' as never }))).toEqual(['ERR_SOCKET_BAD_PORT', 'RangeError'])
    expect(code(() => net.connect({ port: true as never }))).toEqual(['ERR_INVALID_ARG_TYPE', 'TypeError'])
    expect(code(() => net.connect({ port: 1, localAddress: 'x' }))).toEqual(['ERR_INVALID_IP_ADDRESS', 'TypeError'])
    expect(code(() => net.connect({ port: 1, host: 'a.example', lookup: 3 as never }))).toEqual([
      'ERR_INVALID_ARG_TYPE',
      'TypeError',
    ])
    expect(code(() => new net.Socket({ objectMode: true } as never))).toEqual(['ERR_INVALID_ARG_VALUE', 'TypeError'])
  })

  it('sends what was written before it was connected', async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const accepted = event(server, 'connection')
    const client = bench.socket()
    client.connect(port, bench.host)
    const done: number[] = []
    client.write('one ', () => done.push(1))
    client.write(Buffer.from('two '), () => done.push(2))
    client.end('three', () => done.push(3))
    expect(client.bytesWritten).toBe(13)
    const [peer] = (await accepted) as [Socket]
    expect((await readAll(peer)).toString()).toBe('one two three')
    if (!client.closed) await event(client, 'close')
    expect(done).toEqual([1, 2, 3])
    expect(client.bytesWritten).toBe(13)
  })

  it('can be destroyed while it connects', async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const client = bench.connect({ port })
    const seen: string[] = []
    client.on('connect', () => seen.push('connect'))
    const written = new Promise<Failure | null | undefined>((resolve) => {
      client.write('never', (error) => resolve(error as Failure))
    })
    client.destroy()
    expect(await event(client, 'close')).toEqual([false])
    await turns(5)
    expect(seen).toEqual([])
    expect((await written)?.code).toBe('ERR_SOCKET_CLOSED_BEFORE_CONNECTION')
  })

  it('can be destroyed while the name is looked up', async () => {
    let answer = (): void => {}
    const lookup: LookupFunction = (host, options, callback) => {
      answer = () => answers({ address: bench.host, family: 4 })(host, options, callback)
    }
    const client = bench.connect({ port: 9, host: 'slow.example', lookup })
    client.destroy()
    await event(client, 'close')
    answer()
    await turns(5)
    expect([client.connecting, client.destroyed]).toEqual([false, true])
  })

  it('connects again after it was closed', async () => {
    const server = bench.server({}, (socket) => socket.end('hello'))
    const port = await bench.listen(server)
    const client = bench.socket()
    for (let round = 0; round < 3; round++) {
      client.connect(port, bench.host)
      let text = ''
      const onData = (chunk: Buffer): void => {
        text += chunk.toString()
      }
      client.on('data', onData)
      await event(client, 'close')
      client.off('data', onData)
      expect(text).toBe('hello')
    }
  })

  it('ends with an AbortError when its signal says so', async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const early = bench.connect({ port, signal: AbortSignal.abort() })
    expect(((await event(early, 'error'))[0] as Error).name).toBe('AbortError')
    const controller = new AbortController()
    const late = bench.connect({ port, signal: controller.signal })
    await event(late, 'connect')
    controller.abort()
    const [error] = (await event(late, 'error')) as [Failure]
    expect([error.name, error.code]).toEqual(['AbortError', 'ABORT_ERR'])
    expect(late.destroyed).toBe(true)
  })

  it('takes the option timeout', async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const client = bench.connect({ port, timeout: 12_345 })
    expect(client.timeout).toBe(12_345)
    await event(client, 'connect')
  })

  it('has classes that can be called without new, as older programs do to inherit from them', async () => {
    function OldServer(this: Server): void {
      Reflect.apply(net.Server, this, [{ allowHalfOpen: true }])
    }
    function OldSocket(this: Socket & { name: string }, name: string): void {
      Reflect.apply(net.Socket, this, [{ highWaterMark: 4321 }])
      this.name = name
    }
    inherits(OldServer, net.Server)
    inherits(OldSocket, net.Socket)
    const server = bench.keep(Reflect.construct(OldServer, []) as Server)
    server.on('connection', (socket) => bench.keep(socket).pipe(socket))
    const port = await bench.listen(server)
    const client = bench.keep(Reflect.construct(OldSocket, ['old']) as Socket & { name: string })
    expect([client instanceof net.Socket, client.name, client.readableHighWaterMark]).toEqual([true, 'old', 4321])
    client.connect(port, bench.host)
    client.end('there and back')
    expect((await readAll(client)).toString()).toBe('there and back')
    const called = Reflect.apply(net.Socket, undefined, []) as Socket
    expect([called instanceof net.Socket, called.constructor === net.Socket]).toEqual([true, true])
    class Newer extends net.Socket {}
    expect([new Newer() instanceof net.Socket, new Newer().constructor === Newer]).toEqual([true, true])
  })
})
