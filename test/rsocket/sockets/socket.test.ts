/** Stream sockets in one event loop: promises, readiness, options, the end. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openDevice } from '../../../src/index.ts'
import {
  AF_INET,
  Errno,
  F_GETFL,
  F_SETFL,
  IPPROTO_TCP,
  O_NONBLOCK,
  O_RDWR,
  POLLERR,
  POLLHUP,
  POLLIN,
  POLLOUT,
  PROT_WRITE,
  RDMA_INLINE,
  RDMA_IOMAPSIZE,
  RDMA_ROUTE,
  RDMA_RQSIZE,
  RDMA_SQSIZE,
  type RSocket,
  RSocketError,
  rsocket,
  rsocketDrops,
  SHUT_WR,
  SO_ERROR,
  SO_KEEPALIVE,
  SO_LINGER,
  SO_RCVBUF,
  SO_REUSEADDR,
  SO_SNDBUF,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_RDMA,
  SOL_SOCKET,
  type SocketAddress,
  TCP_KEEPIDLE,
  TCP_NODELAY,
} from '../../../src/rsocket/index.ts'
import { CmService } from '../../../src/rsocket/runtime/cm-service.ts'
import { layout } from '../../../src/verbs/provider/index.ts'

const open: RSocket[] = []
const device = 'shm0'

function stream(): RSocket {
  const s = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, { device })
  open.push(s)
  return s
}

afterEach(() => {
  for (const s of open.splice(0)) if (!s.closed) s.close()
})

async function connected(): Promise<{ client: RSocket; server: RSocket; listener: RSocket }> {
  const listener = stream()
  expect(listener.bind({ address: '127.0.0.1', port: 0 })).toBe(0)
  expect(listener.listen()).toBe(0)
  const client = stream()
  const name = listener.getsockname()
  if (typeof name === 'number') throw new Error('no name')
  const accepting = listener.acceptAsync()
  await client.connectAsync({ address: '127.0.0.1', port: name.port })
  const server = await accepting
  server.fcntl(F_SETFL, O_NONBLOCK)
  open.push(server)
  return { client, server, listener }
}

describe('who only polls', () => {
  test.each<[string, (s: RSocket) => number, number]>([
    ['poll', (s) => s.poll(POLLIN), 0],
    ['recv', (s) => s.recv(new Uint8Array(1)), -Errno.EAGAIN],
  ])('gives connection management time: %s', async (_, look, nothing) => {
    const { client } = await connected()
    const pump = vi.spyOn(CmService.prototype, 'pump')
    try {
      // Without the event loop, for a peer that missed the last message of the handshake for example.
      for (const end = performance.now() + 10_000; performance.now() < end && pump.mock.calls.length < 3; )
        expect(look(client)).toBe(nothing)
      expect(pump).toHaveBeenCalledTimes(3)
    } finally {
      pump.mockRestore()
    }
  })
})

describe('promises', () => {
  test('bytes there and back, end of stream', async () => {
    const { client, server } = await connected()
    expect(client.extended).toBe(true)
    await client.sendAsync(Buffer.from('hello'))
    const into = new Uint8Array(10)
    expect(await server.recvAsync(into)).toBe(5)
    expect(Buffer.from(into.subarray(0, 5)).toString()).toBe('hello')
    await server.sendAsync(Buffer.from('good bye'))
    expect(server.shutdown(SHUT_WR)).toBe(0)
    expect(await client.recvAsync(into)).toBe(8)
    expect(await client.recvAsync(into)).toBe(0)
    client.close()
    expect(await server.recvAsync(into)).toBe(0)
  })

  test('a megabyte and more', async () => {
    const { client, server } = await connected()
    const out = Buffer.alloc(3_000_000, 'abcdefghijklm')
    const sent = client.sendAsync(out).then(() => client.shutdown(SHUT_WR))
    const into = Buffer.alloc(out.length)
    let at = 0
    for (let n = 1; n > 0; at += n) n = await server.recvAsync(into.subarray(at))
    await sent
    expect(at).toBe(out.length)
    expect(into.equals(out)).toBe(true)
  })

  test('nobody listens', async () => {
    const client = stream()
    const error = await client.connectAsync({ address: '127.0.0.1', port: 1 }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(RSocketError)
    expect(error).toMatchObject({ code: 'ECONNREFUSED', syscall: 'connect', address: '127.0.0.1', port: 1 })
  })
})

describe('readiness', () => {
  test('poll says what is true', async () => {
    const { client, server, listener } = await connected()
    expect(listener.poll(POLLIN)).toBe(0)
    expect(client.poll(POLLIN | POLLOUT)).toBe(POLLOUT)
    server.send(Uint8Array.of(1))
    expect(client.poll(POLLIN | POLLOUT)).toBe(POLLIN | POLLOUT)
    expect(client.poll(POLLIN)).toBe(POLLIN)
    const much = new Uint8Array(1 << 20)
    while (client.send(much) > 0);
    expect(client.poll(POLLOUT)).toBe(0)
    expect(client.send(much)).toBe(-Errno.EAGAIN)
    while (server.recv(much) > 0);
    expect(client.poll(POLLOUT)).toBe(POLLOUT)
    server.close()
    expect(client.poll(POLLIN)).toBe(POLLIN | POLLHUP)
    expect(client.recv(much)).toBe(1)
    expect(client.recv(much)).toBe(0)
    expect(client.send(much)).toBe(-Errno.ECONNRESET)
  })

  test('a watch is called while there is something, until it is stopped', async () => {
    const { client, server } = await connected()
    const seen: number[] = []
    const into = new Uint8Array(1)
    await new Promise<void>((resolve) => {
      const stop = server.watch(POLLIN, (revents) => {
        seen.push(revents, server.recv(into))
        if (seen.length < 6) return
        stop()
        resolve()
      })
      client.send(Uint8Array.of(1, 2, 3))
    })
    expect(seen).toEqual([POLLIN, 1, POLLIN, 1, POLLIN, 1])
    client.send(Uint8Array.of(4))
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(seen.length).toBe(6)
    expect(server.recv(into)).toBe(1)
  })

  test('a watch that was idle for long is woken up', async () => {
    const { client, server } = await connected()
    const into = new Uint8Array(10)
    const received = server.recvAsync(into)
    // Longer than the loop goes on looking.
    await new Promise((resolve) => setTimeout(resolve, 30))
    client.send(Uint8Array.of(7))
    expect(await received).toBe(1)
    expect(into[0]).toBe(7)
  })

  test('a watch of a listener sees connections come, one after the other', async () => {
    const { listener } = await connected()
    const name = listener.getsockname() as { port: number }
    const accepted: RSocket[] = []
    const done = new Promise<void>((resolve) => {
      const stop = listener.watch(POLLIN, () => {
        const s = listener.accept()
        if (typeof s === 'number') return
        accepted.push(s)
        open.push(s)
        if (accepted.length < 5) return
        stop()
        resolve()
      })
    })
    const clients = Array.from({ length: 5 }, () => stream())
    await Promise.all(clients.map((s) => s.connectAsync({ address: '127.0.0.1', port: name.port })))
    await done
    expect(new Set(accepted.map((s) => (s.getpeername() as { port: number }).port)).size).toBe(5)
  })
})

describe('names, options and states', () => {
  test('both ends know each other by address and port', async () => {
    const { client, server, listener } = await connected()
    expect(client.getpeername()).toEqual(listener.getsockname())
    expect(server.getpeername()).toEqual(client.getsockname())
    expect(client.getpeername()).toMatchObject({ address: '127.0.0.1', family: 'IPv4' })
    expect(stream().getpeername()).toBe(-Errno.ENOTCONN)
    expect(stream().getsockname()).toEqual({ address: '0.0.0.0', port: 0, family: 'IPv4' })
  })

  test('values that are set are read again; what does not exist is refused', () => {
    const s = stream()
    for (const [level, name, value, read] of [
      [SOL_SOCKET, SO_REUSEADDR, 1, 1],
      [SOL_SOCKET, SO_KEEPALIVE, 5, 1],
      [SOL_SOCKET, SO_RCVBUF, 4096, 8192],
      [SOL_SOCKET, SO_SNDBUF, 4096, 8192],
      [IPPROTO_TCP, TCP_NODELAY, 0, 0],
      [IPPROTO_TCP, TCP_KEEPIDLE, 3, 3],
      [SOL_RDMA, RDMA_SQSIZE, 100, 100],
      [SOL_RDMA, RDMA_IOMAPSIZE, 4, 4],
    ] as const) {
      expect(s.setsockopt(level, name, value)).toBe(0)
      expect(s.getsockopt(level, name)).toBe(read)
    }
    expect(s.getsockopt(SOL_SOCKET, SO_LINGER)).toBe(0)
    expect(s.setsockopt(SOL_SOCKET, SO_LINGER, { onoff: 1, linger: 3 })).toBe(0)
    expect(s.getsockopt(SOL_SOCKET, SO_LINGER)).toBe(4)
    expect(s.getsockopt(SOL_RDMA, RDMA_RQSIZE)).toBe(384)
    expect(s.getsockopt(SOL_RDMA, RDMA_INLINE)).toBe(64)
    expect(s.setsockopt(SOL_SOCKET, 12345, 1)).toBe(-Errno.ENOPROTOOPT)
    expect(s.getsockopt(77, 1)).toBe(-Errno.ENOPROTOOPT)
    expect(s.setsockopt(SOL_RDMA, RDMA_ROUTE, 1)).toBe(-Errno.EOPNOTSUPP)
    expect(s.setsockopt(IPPROTO_TCP, TCP_KEEPIDLE, 0)).toBe(-Errno.EINVAL)
    expect(s.fcntl(F_GETFL)).toBe(O_RDWR | O_NONBLOCK)
    s.fcntl(F_SETFL, 0)
    expect(s.fcntl(F_GETFL)).toBe(O_RDWR)
    expect(s.fcntl(99)).toBe(-Errno.EINVAL)
  })

  test('calls in the wrong state', async () => {
    const { client, listener } = await connected()
    const s = stream()
    const one = new Uint8Array(1)
    expect(s.send(one)).toBe(-Errno.ENOTCONN)
    expect(s.recv(one)).toBe(-Errno.ENOTCONN)
    expect(s.accept()).toBe(-Errno.EINVAL)
    expect(s.shutdown(SHUT_WR)).toBe(-Errno.ENOTCONN)
    expect(s.bind({ address: '::1', port: 0 })).toBe(-Errno.EAFNOSUPPORT)
    expect(s.bind({ address: 'localhost', port: 0 })).toBe(-Errno.EINVAL)
    expect(s.reason).toContain('look names up')
    expect(s.bind(listener.getsockname() as SocketAddress)).toBe(-Errno.EADDRINUSE)
    expect(() => s.bind('x' as unknown as SocketAddress)).toThrow(TypeError)
    expect(client.connect({ address: '127.0.0.1', port: 1 })).toBe(-Errno.EISCONN)
    expect(client.bind({ address: '127.0.0.1', port: 0 })).toBe(-Errno.EINVAL)
    expect(client.shutdown(7)).toBe(-Errno.EINVAL)
    client.shutdown(SHUT_WR)
    expect(client.send(one)).toBe(-Errno.EPIPE)
    client.close()
    expect(client.close()).toBe(-Errno.EBADF)
    expect(client.send(one)).toBe(-Errno.EBADF)
    expect(client.recv(one)).toBe(-Errno.EBADF)
    expect(client.getsockopt(SOL_SOCKET, SO_ERROR)).toBe(-Errno.EBADF)
    expect(() => rsocket(1, SOCK_STREAM)).toThrow(RSocketError)
    expect(() => rsocket(AF_INET, 3)).toThrow(/EPROTONOSUPPORT/)
  })

  test('an address that a closed listener had can be had again', async () => {
    const { listener, client, server } = await connected()
    const name = listener.getsockname() as SocketAddress
    for (const s of [client, server, listener]) s.close()
    const again = stream()
    expect(again.bind(name)).toBe(0)
    expect(again.listen()).toBe(0)
  })
})

describe('the end', () => {
  test('close delivers what was sent before', async () => {
    const { client, server } = await connected()
    const out = new Uint8Array(60_000).fill(3)
    expect(client.send(out)).toBe(out.length)
    client.close()
    const into = new Uint8Array(100_000)
    let sum = 0
    for (let n = 1; n > 0; sum += n) n = await server.recvAsync(into)
    expect(sum).toBe(60_000)
  })

  test('a close with linger 0 is a reset', async () => {
    const { client, server } = await connected()
    client.setsockopt(SOL_SOCKET, SO_LINGER, { onoff: 1, linger: 0 })
    client.close()
    const error = await server.recvAsync(new Uint8Array(1)).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'ECONNRESET', syscall: 'recv' })
    expect(server.poll(0)).toBe(POLLHUP | POLLERR)
    expect(server.getsockopt(SOL_SOCKET, SO_ERROR)).toBe(Errno.ECONNRESET)
  })

  test('connections that nobody accepted end with their listener', async () => {
    const { listener } = await connected()
    const { port } = listener.getsockname() as SocketAddress
    const client = stream()
    await client.connectAsync({ address: '127.0.0.1', port })
    await new Promise((resolve) => setTimeout(resolve, 5))
    listener.close()
    // Which one depends on whether the listener had already heard that the connection is established.
    const end = client.recvAsync(new Uint8Array(1)).catch(({ code }) => code)
    expect([0, 'ECONNRESET']).toContain(await end)
  })

  test('a backlog of one refuses the third', async () => {
    const listener = stream()
    listener.bind({ address: '127.0.0.1', port: 0 })
    listener.listen(1)
    const { port } = listener.getsockname() as SocketAddress
    const stop = listener.watch(0, () => {})
    const results = await Promise.allSettled([1, 2, 3].map(() => stream().connectAsync({ address: '127.0.0.1', port })))
    expect(results.some(({ status }) => status === 'fulfilled')).toBe(true)
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'ECONNREFUSED' } })
    stop()
  })

  test('memory, queue pairs and all else are given back', async () => {
    const { Cq, Dev, Meta, Qp } = layout
    const context = openDevice(device)
    const { host, index } = context.device
    const counts = (): Record<string, number> => {
      const live = (table: number, words: number, used: number, state: number): number => {
        let count = 0
        for (let i = 0; i < host.i32[host.at.meta + used]!; i++) if (host.i32[table + i * words + state] !== 0) count++
        return count
      }
      return {
        qps: live(host.at.qps, Qp.words, Meta.qpsUsed, Qp.number),
        cqs: live(host.at.cqs, Cq.words, Meta.cqsUsed, Cq.state),
        regions: host.i32[host.deviceWord(index) + Dev.mrs]!,
      }
    }
    // Channels are kept for a while.
    await new Promise((resolve) => setTimeout(resolve, 400))
    const before = counts()
    for (let i = 0; i < 3; i++) {
      const { client, server, listener } = await connected()
      for (const s of [client, server, listener]) s.close()
    }
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(counts()).toEqual(before)
    context.close()
  })
})

describe('connection management', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test('is looked at now and then only while nobody is told of it, and something may come', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const looks = vi.spyOn(CmService.prototype, 'pump').mockReturnValue(false)
    const looksIn = (ms: number): number => {
      looks.mockClear()
      vi.advanceTimersByTime(ms)
      return looks.mock.calls.length
    }
    const key = openDevice(device)
    const quiet = CmService.acquire(key, true)
    expect(looksIn(1000)).toBe(0)
    const cm = CmService.acquire(key)
    expect(looksIn(1000)).toBe(20)
    cm.follow(true)
    expect(looksIn(1000)).toBe(0)
    cm.unfollow(true)
    expect(looksIn(1000)).toBe(20)
    cm.release()
    expect(looksIn(1000)).toBe(0)
    quiet.release(true)
  })
})

describe('mapped buffers', () => {
  test('data is written where the peer has mapped it', async () => {
    const listener = stream()
    listener.setsockopt(SOL_RDMA, RDMA_IOMAPSIZE, 2)
    listener.bind({ address: '127.0.0.1', port: 0 })
    listener.listen()
    const client = stream()
    client.setsockopt(SOL_RDMA, RDMA_IOMAPSIZE, 2)
    const accepting = listener.acceptAsync()
    await client.connectAsync(listener.getsockname() as SocketAddress)
    const server = await accepting
    open.push(server)
    server.fcntl(F_SETFL, O_NONBLOCK)
    const buffer = server.alloc(4096)
    expect(server.riomap(buffer, PROT_WRITE, 0, 100)).toBe(100)
    expect(server.riomap(server.alloc(4096), PROT_WRITE)).toBeGreaterThan(0)
    expect(server.riomap(server.alloc(4096), PROT_WRITE)).toBe(-Errno.ENOMEM)
    expect(client.riowrite(Uint8Array.of(1), 100)).toBe(-Errno.EFAULT)
    // The peer is told with the next data.
    server.send(Uint8Array.of(1))
    expect(await client.recvAsync(new Uint8Array(1))).toBe(1)
    expect(client.riowrite(Uint8Array.of(5, 6, 7), 102)).toBe(3)
    client.send(Uint8Array.of(1))
    expect(await server.recvAsync(new Uint8Array(1))).toBe(1)
    expect([...buffer.subarray(0, 6)]).toEqual([0, 0, 5, 6, 7, 0])
    expect(server.riounmap(buffer)).toBe(0)
    expect(server.riounmap(buffer)).toBe(-Errno.EINVAL)
    // Its entry is free again at once, and told anew.
    const again = server.alloc(4096)
    expect(server.riomap(again, PROT_WRITE, 0, 200)).toBe(200)
    expect(server.riomap(server.alloc(4096), PROT_WRITE)).toBe(-Errno.ENOMEM)
    server.send(Uint8Array.of(1))
    expect(await client.recvAsync(new Uint8Array(1))).toBe(1)
    expect(client.riowrite(Uint8Array.of(9), 100)).toBe(-Errno.EFAULT)
    expect(client.riowrite(Uint8Array.of(8), 200)).toBe(1)
    client.send(Uint8Array.of(1))
    expect(await server.recvAsync(new Uint8Array(1))).toBe(1)
    expect([again[0], buffer[0]]).toEqual([8, 0])
    expect(client.poll(POLLERR)).toBe(0)
  })
  test('a mapping that took the entry of another and goes before the peer knew leaves no stale entry', async () => {
    const listener = stream()
    listener.setsockopt(SOL_RDMA, RDMA_IOMAPSIZE, 1)
    listener.bind({ address: '127.0.0.1', port: 0 })
    listener.listen()
    const client = stream()
    client.setsockopt(SOL_RDMA, RDMA_IOMAPSIZE, 1)
    const accepting = listener.acceptAsync()
    await client.connectAsync(listener.getsockname() as SocketAddress)
    const server = await accepting
    open.push(server)
    const [first, second] = [server.alloc(4096), server.alloc(4096)]
    const tell = async (): Promise<void> => {
      server.send(Uint8Array.of(1))
      expect(await client.recvAsync(new Uint8Array(1))).toBe(1)
    }
    expect(server.riomap(first, PROT_WRITE, 0, -2)).toBe(-Errno.EINVAL)
    expect(server.riomap(first, PROT_WRITE, 0, 0)).toBe(0)
    await tell()
    expect(server.riounmap(first)).toBe(0)
    expect(server.riomap(second, PROT_WRITE, 0, 0)).toBe(0)
    expect(server.riounmap(second)).toBe(0)
    await tell()
    expect(client.riowrite(Uint8Array.of(9), 0)).toBe(-Errno.EFAULT)
    await tell()
    expect(client.poll(POLLERR)).toBe(0)
  })
})

describe('figures', () => {
  test('bytes that were sent and have arrived are no longer pending, though nothing more is sent', async () => {
    const { client, server } = await connected()
    expect(client.send(Uint8Array.of(1))).toBe(1)
    expect(await server.recvAsync(new Uint8Array(1))).toBe(1)
    await vi.waitFor(() => expect(client.pendingBytes).toBe(0), 20_000)
    expect(client.poll(POLLERR)).toBe(0)
  })

  test('what a listener refuses because its queue is full is counted', async () => {
    const listener = stream()
    listener.bind({ address: '127.0.0.1', port: 0 })
    listener.listen(1)
    const addr = listener.getsockname() as SocketAddress
    const before = rsocketDrops().connectionsRefused
    await stream().connectAsync(addr)
    await expect(stream().connectAsync(addr)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect(rsocketDrops().connectionsRefused).toBe(before + 1)
  })
})
