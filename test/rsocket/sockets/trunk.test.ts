/** Many streams over one queue pair. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  AF_INET,
  Errno,
  F_SETFL,
  IPPROTO_TCP,
  MSG_DONTWAIT,
  O_NONBLOCK,
  POLLHUP,
  POLLIN,
  POLLOUT,
  PROT_WRITE,
  RDMA_EXTENSIONS,
  RDMA_SHARE,
  RDMA_STREAMS,
  type RSocket,
  rsocket,
  rsocketDrops,
  rsocketProtocolErrors,
  SHUT_WR,
  SO_KEEPALIVE,
  SO_LINGER,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_RDMA,
  SOL_SOCKET,
  type SocketAddress,
  TCP_KEEPIDLE,
  TCP_NODELAY,
} from '../../../src/index.ts'
import { Trunk } from '../../../src/rsocket/protocol/trunk.ts'
import { Frame } from '../../../src/rsocket/protocol/trunk-frames.ts'
import { TrunkStream } from '../../../src/rsocket/protocol/trunk-stream.ts'
import { makePair, settle } from '../protocol/pair.ts'

const open: RSocket[] = []
const device = 'shm0'

function stream(share = true): RSocket {
  const s = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, { device })
  if (share) s.setsockopt(SOL_RDMA, RDMA_SHARE, 1)
  open.push(s)
  return s
}

function listening(extensions = 1): { listener: RSocket; addr: SocketAddress } {
  const listener = stream(false)
  listener.setsockopt(SOL_RDMA, RDMA_EXTENSIONS, extensions)
  expect(listener.bind({ address: '127.0.0.1', port: 0 })).toBe(0)
  expect(listener.listen()).toBe(0)
  return { listener, addr: listener.getsockname() as SocketAddress }
}

async function connected(listener: RSocket, addr: SocketAddress): Promise<{ client: RSocket; server: RSocket }> {
  const client = stream()
  const accepting = listener.acceptAsync()
  await client.connectAsync(addr)
  const server = await accepting
  server.fcntl(F_SETFL, O_NONBLOCK)
  open.push(server)
  return { client, server }
}

afterEach(() => {
  for (const s of open.splice(0)) if (!s.closed) s.close()
})

describe('sockets that share', () => {
  test('fifty streams, one queue pair, each with its own bytes, names and end', async () => {
    const { listener, addr } = listening()
    const pairs = await Promise.all(Array.from({ length: 50 }, () => connected(listener, addr)))
    const clients = new Map(pairs.map(({ client }) => [(client.getsockname() as SocketAddress).port, client]))
    expect(clients.size).toBe(50)
    await Promise.all(
      pairs.map(async ({ server }) => {
        const { port } = server.getpeername() as SocketAddress
        const client = clients.get(port)!
        expect(client.getpeername()).toEqual({ ...addr, family: 'IPv4' })
        const out = new Uint8Array(200_000).fill(port & 0xff)
        const sending = client.sendAsync(out).then(() => client.shutdown(SHUT_WR))
        const into = new Uint8Array(50_000)
        let sum = 0
        for (let n = await server.recvAsync(into); n > 0; n = await server.recvAsync(into)) {
          expect(into.subarray(0, n).every((byte) => byte === (port & 0xff))).toBe(true)
          sum += n
        }
        expect(sum).toBe(out.length)
        await sending
        await server.sendAsync(Uint8Array.of(1, 2, 3))
        server.close()
        expect(await client.recvAsync(into)).toBe(3)
        expect(await client.recvAsync(into)).toBe(0)
      }),
    )
  })

  test('a slow reader stops its stream alone', async () => {
    const { listener, addr } = listening()
    const slow = await connected(listener, addr)
    const other = await connected(listener, addr)
    const much = new Uint8Array(1 << 20)
    let sent = 0
    for (let quiet = 0; quiet < 20; ) {
      const n = slow.client.send(much, MSG_DONTWAIT)
      sent += Math.max(0, n)
      quiet = n > 0 ? 0 : quiet + 1
      await new Promise(setImmediate)
    }
    expect(sent).toBe(1 << 16)
    expect(slow.client.poll(POLLOUT)).toBe(0)
    const into = new Uint8Array(100)
    for (let i = 0; i < 20; i++) {
      await other.client.sendAsync(Uint8Array.of(i))
      expect(await other.server.recvAsync(into)).toBe(1)
    }
    let got = 0
    while (got < sent) got += await slow.server.recvAsync(much)
    expect(got).toBe(sent)
    await slow.client.sendAsync(Uint8Array.of(1))
    expect(await slow.server.recvAsync(into)).toBe(1)
  })

  test('the end of one is not that of others; a linger of 0 is a reset', async () => {
    const { listener, addr } = listening()
    const one = await connected(listener, addr)
    const two = await connected(listener, addr)
    const into = new Uint8Array(10)
    one.client.close()
    expect(await one.server.recvAsync(into)).toBe(0)
    expect(one.server.send(into)).toBe(-Errno.ECONNRESET)
    two.client.setsockopt(SOL_SOCKET, SO_LINGER, { onoff: 1, linger: 0 })
    const three = await connected(listener, addr)
    two.client.close()
    const error = await two.server.recvAsync(into).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'ECONNRESET' })
    await three.server.sendAsync(Uint8Array.of(1))
    expect(await three.client.recvAsync(into)).toBe(1)
    expect(three.client.riomap(new Uint8Array(1), PROT_WRITE)).toBe(-Errno.EOPNOTSUPP)
  })

  test('a listener that closes refuses new ones, and lets the others be', async () => {
    const { listener, addr } = listening()
    const { client, server } = await connected(listener, addr)
    listener.close()
    const late = stream()
    const error = await late.connectAsync(addr).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    await client.sendAsync(Uint8Array.of(1))
    expect(await server.recvAsync(new Uint8Array(1))).toBe(1)
  })

  test('where nobody shares, each has a connection of its own; where nobody listens, none', async () => {
    const { listener, addr } = listening(0)
    const one = await connected(listener, addr)
    const two = await connected(listener, addr)
    expect(one.client.extended).toBe(false)
    await two.client.sendAsync(Uint8Array.of(1))
    expect(await two.server.recvAsync(new Uint8Array(1))).toBe(1)
    const error = await stream()
      .connectAsync({ address: '127.0.0.1', port: 1 })
      .catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    expect(one.server.poll(POLLIN | POLLHUP)).toBe(0)
  })
})

describe('what all sockets have', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test('keepalives of a stream that shares, on and off, as the options say', async () => {
    const { listener, addr } = listening()
    const { client } = await connected(listener, addr)
    const sent = vi.spyOn(Trunk.prototype, 'sendKeepalive')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    client.setsockopt(IPPROTO_TCP, TCP_KEEPIDLE, 10)
    client.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
    vi.advanceTimersByTime(9000)
    // Another option does not begin the time again.
    client.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    vi.advanceTimersByTime(2000)
    expect(sent).toHaveBeenCalledTimes(1)
    client.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 0)
    vi.advanceTimersByTime(60_000)
    expect(sent).toHaveBeenCalledTimes(1)
  })

  test('keepalives that were asked for before connecting', async () => {
    const { listener, addr } = listening()
    const sent = vi.spyOn(Trunk.prototype, 'sendKeepalive')
    const client = stream()
    client.setsockopt(IPPROTO_TCP, TCP_KEEPIDLE, 1)
    client.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
    const accepting = listener.acceptAsync()
    await client.connectAsync(addr)
    open.push(await accepting)
    await vi.waitFor(() => expect(sent).toHaveBeenCalled(), { timeout: 5000 })
  })

  test('beyond RDMA_STREAMS a socket gets a queue pair of its own', async () => {
    const { listener, addr } = listening()
    const sockets = Array.from({ length: 3 }, () => stream())
    for (const socket of sockets) socket.setsockopt(SOL_RDMA, RDMA_STREAMS, 2)
    for (const socket of sockets) {
      const accepting = listener.acceptAsync()
      await socket.connectAsync(addr)
      open.push(await accepting)
    }
    expect(sockets.map(isShared)).toEqual([true, true, false])
  })
})

function isShared(socket: RSocket): boolean {
  return (socket as unknown as { connection: object }).connection instanceof TrunkStream
}

describe('frames', () => {
  const nobody = { idle: () => {} }

  function trunks(maxStreams?: number): {
    a: Trunk
    b: Trunk
    arrived: TrunkStream[]
    turn: () => void
    close: () => void
  } {
    const pair = makePair()
    const arrived: TrunkStream[] = []
    const a = new Trunk(pair.a.connection, nobody, maxStreams)
    const b = new Trunk(pair.b.connection, { ...nobody, arrive: (stream) => arrived.push(stream) > 0 }, maxStreams)
    const turn = (): void => {
      for (let i = 0; i < 10; i++) {
        a.process()
        b.process()
      }
      settle(pair.a, pair.b)
    }
    return { a, b, arrived, turn, close: () => pair.close() }
  }

  test.each([
    ['an unknown kind', [9, 1, 0]],
    ['a stream that is open already', [Frame.Open, 1, 5]],
    ['data of no length', [Frame.Data, 1, 0]],
    ['data beyond the window', [Frame.Data, 1, 1 << 17]],
    ['more credit than there is a window', [Frame.Credit, 1, 1]],
  ] as const)('%s ends the trunk, and its streams', (_, [kind, id, value]) => {
    const { a, b, arrived, turn, close } = trunks()
    const stream = a.openStream()
    turn()
    expect(arrived.length).toBe(1)
    const before = rsocketProtocolErrors().badFrame
    a.say(kind, id, value)
    turn()
    expect(rsocketProtocolErrors().badFrame).toBe(before + 1)
    expect(b.carrier.open).toBe(false)
    expect(arrived[0]).toMatchObject({ open: false, error: Errno.ECONNRESET })
    expect(stream.trunk).toBe(a)
    close()
  })

  test('the carrier ends: its streams have an error, and every call of theirs goes on to return', () => {
    const { a, b, arrived, turn, close } = trunks()
    const stream = a.openStream()
    const answers: number[] = []
    stream.onAnswer = (errno) => answers.push(errno)
    turn()
    stream.send(Uint8Array.of(1, 2, 3), 0, 3)
    turn()
    b.end(0, 'gone')
    b.end(Errno.EIO, 'a second end is none')
    close()
    const [other] = arrived as [TrunkStream]
    expect(other).toMatchObject({ open: false, error: Errno.ECONNRESET, reason: 'gone', settled: true })
    // What had come can be read.
    expect(other.recv(new Uint8Array(10), 0, 10)).toBe(3)
    expect([other.process(), other.send(new Uint8Array(1), 0, 1), other.writableBytes]).toEqual([0, 0, 0])
    for (const call of [() => other.reap(), () => other.arm(), () => other.disconnect(), () => other.end(5, '')]) call()
    expect(other.sendKeepalive()).toBe(true)
    expect(answers).toEqual([0])
  })

  test('an error while frames are taken leaves the trunk to go on', () => {
    const { a, b, arrived, turn, close } = trunks()
    a.openStream()
    turn()
    const one = arrived[0]!
    vi.spyOn(one, 'news').mockImplementationOnce(() => {
      throw new Error('of a member')
    })
    for (const stream of [...a.streams.values()]) Object.assign(stream, { open: true, writable: true })
    a.streams.get(1)!.send(Uint8Array.of(1), 0, 1)
    expect(() => turn()).toThrow('of a member')
    a.streams.get(1)!.send(Uint8Array.of(2), 0, 1)
    turn()
    expect(b.open).toBe(true)
    expect(one.readableBytes).toBe(2)
    close()
  })

  test('a peer that takes no answers is not listened to, until it does', () => {
    const { a, b, arrived, turn, close } = trunks(3000)
    const opens = new Uint8Array(8 * 4000)
    const view = new DataView(opens.buffer)
    for (let i = 0; i < 4000; i++) view.setUint32(8 * i, (Frame.Open << 24) | (i + 1))
    expect(a.carrier.send(opens, 0, opens.length)).toBe(opens.length)
    const refused = rsocketDrops().streamsRefused
    // End a takes nothing: the credits of b are used up, and its answers wait.
    for (let i = 0; i < 10; i++) b.process()
    expect(b.waiting).toBe(256)
    expect(arrived.length).toBeLessThan(1000)
    for (let i = 0; i < 100 && arrived.length < 3000; i++) turn()
    // Of the rest each is refused: so many streams may be open.
    expect(arrived.length).toBe(3000)
    expect(rsocketDrops().streamsRefused).toBe(refused + 1000)
    expect([a.open, b.open]).toEqual([true, true])
    close()
  })

  test('a peer that takes no frames at all is given up', () => {
    const { a, arrived, close } = trunks(2)
    const before = rsocketProtocolErrors().framesNotTaken
    const stream = a.openStream()
    for (let i = 0; i < 5000 && a.open; i++) a.say(Frame.Shut, 1)
    expect(a.open).toBe(false)
    expect(rsocketProtocolErrors().framesNotTaken).toBe(before + 1)
    expect(stream.reason).toContain('framesNotTaken')
    expect(arrived.length).toBe(0)
    close()
  })

  test('credit that cannot leave waits as one frame, and is worth all that was read', () => {
    const { a, b, arrived, turn, close } = trunks()
    const stream = a.openStream()
    turn()
    stream.onAnswer = null
    Object.assign(stream, { open: true, writable: true, readable: true })
    // Nothing leaves b while a does not take it.
    while (b.flushed) b.say(Frame.Accept, 99)
    const waiting = b.waiting
    let read = 0
    for (let i = 0; i < 20; i++) {
      stream.send(new Uint8Array(10_000), 0, 10_000)
      b.process()
      read += arrived[0]!.recv(new Uint8Array(20_000), 0, 20_000)
    }
    expect(read).toBe(1 << 16)
    expect(b.waiting).toBe(waiting + 1)
    turn()
    expect(stream.writableBytes).toBeGreaterThan(0)
    expect([a.open, b.open]).toEqual([true, true])
    close()
  })

  test('data for a stream that is closed here is passed over', () => {
    const { a, arrived, turn, close } = trunks()
    const one = a.openStream()
    const two = a.openStream()
    turn()
    one.onAnswer = two.onAnswer = null
    for (const stream of [one, two]) Object.assign(stream, { open: true, writable: true, readable: true })
    one.send(new Uint8Array(30_000), 0, 30_000)
    arrived[0]!.disconnect()
    two.send(Uint8Array.of(7), 0, 1)
    turn()
    const into = new Uint8Array(10)
    expect(arrived[1]!.recv(into, 0, 10)).toBe(1)
    expect(into[0]).toBe(7)
    close()
  })
})
