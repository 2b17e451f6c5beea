/** Many streams over one queue pair. */
import { afterEach, describe, expect, test } from 'vitest'
import {
  AF_INET,
  Errno,
  F_SETFL,
  MSG_DONTWAIT,
  O_NONBLOCK,
  POLLHUP,
  POLLIN,
  POLLOUT,
  PROT_WRITE,
  RDMA_EXTENSIONS,
  RDMA_SHARE,
  type RSocket,
  rsocket,
  rsocketProtocolErrors,
  SHUT_WR,
  SO_LINGER,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_RDMA,
  SOL_SOCKET,
  type SocketAddress,
} from '../../src/index.ts'
import { Trunk } from '../../src/rsocket/trunk.ts'
import { Frame } from '../../src/rsocket/trunk-frames.ts'
import type { TrunkStream } from '../../src/rsocket/trunk-stream.ts'
import { makePair, settle } from './pair.ts'

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

describe('frames', () => {
  const nobody = { idle: () => {} }

  function trunks(): { a: Trunk; b: Trunk; arrived: TrunkStream[]; turn: () => void; close: () => void } {
    const pair = makePair()
    const arrived: TrunkStream[] = []
    const a = new Trunk(pair.a.connection, nobody)
    const b = new Trunk(pair.b.connection, { ...nobody, arrive: (stream) => arrived.push(stream) > 0 })
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
