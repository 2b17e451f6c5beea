/** The calls by their names in rsocket.h. */
import { expect, test } from 'vitest'
import {
  AF_INET,
  Errno,
  errnoName,
  errnoText,
  F_GETFL,
  F_SETFL,
  IPPROTO_TCP,
  O_NONBLOCK,
  O_RDWR,
  POLLIN,
  POLLOUT,
  PROT_WRITE,
  RDMA_IOMAPSIZE,
  type RSocketLike,
  raccept,
  rbind,
  rclose,
  rconnect,
  rfcntl,
  rgetpeername,
  rgetsockname,
  rgetsockopt,
  riomap,
  riounmap,
  riowrite,
  rlisten,
  rpoll,
  rread,
  rreadv,
  rrecv,
  rrecvfrom,
  rrecvmsg,
  rsend,
  rsendmsg,
  rsendto,
  rsetsockopt,
  rshutdown,
  rsocket,
  rwrite,
  rwritev,
  SHUT_WR,
  SO_ERROR,
  SOCK_DGRAM,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_RDMA,
  SOL_SOCKET,
  type SocketAddress,
  TCP_NODELAY,
} from '../../../src/index.ts'

const device = 'shm0'

/** Waits without blocking the thread in which the other end lives. */
async function ready(fd: RSocketLike, events: number): Promise<void> {
  const fds = [{ fd, events, revents: 0 }]
  while (rpoll(fds, 0) === 0) await new Promise(setImmediate)
}

test('a stream from rsocket to rclose', async () => {
  const listener = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP, { device })
  expect(rfcntl(listener, F_GETFL)).toBe(O_RDWR | O_NONBLOCK)
  expect(rsetsockopt(listener, SOL_RDMA, RDMA_IOMAPSIZE, 1)).toBe(0)
  expect(rbind(listener, { address: '127.0.0.1', port: 0 })).toBe(0)
  expect(rlisten(listener, 1)).toBe(0)
  const client = rsocket(AF_INET, SOCK_STREAM, 0, { device })
  expect(rfcntl(client, F_SETFL, O_NONBLOCK)).toBe(0)
  rsetsockopt(client, SOL_RDMA, RDMA_IOMAPSIZE, 1)
  expect(rconnect(client, rgetsockname(listener) as SocketAddress)).toBe(-Errno.EINPROGRESS)
  await ready(listener, POLLIN)
  const server = raccept(listener) as RSocketLike
  rfcntl(server, F_SETFL, O_NONBLOCK)
  await ready(client, POLLOUT)
  expect(rgetsockopt(client, SOL_SOCKET, SO_ERROR)).toBe(0)
  expect(rgetpeername(server)).toEqual(rgetsockname(client))
  expect(rgetsockopt(client, IPPROTO_TCP, TCP_NODELAY)).toBe(1)

  const into = new Uint8Array(10)
  const bytes = Uint8Array.of(1, 2, 3)
  const from: Partial<SocketAddress> = {}
  for (const [send, receive] of [
    [() => rsend(client, bytes), () => rrecv(server, into)],
    [() => rwrite(client, bytes), () => rread(server, into)],
    [() => rwritev(client, [bytes, new Uint8Array(0)]), () => rreadv(server, [into.subarray(0, 1), into.subarray(1)])],
    [() => rsendmsg(client, { iov: [bytes] }), () => rrecvmsg(server, { iov: [into] })],
    [() => rsendto(client, bytes, 0), () => rrecvfrom(server, into, 0, from)],
  ] as const) {
    into.fill(0)
    expect(send()).toBe(3)
    await ready(server, POLLIN)
    expect(receive()).toBe(3)
    expect([...into.subarray(0, 4)]).toEqual([1, 2, 3, 0])
  }
  expect(from).toEqual(rgetsockname(client))

  const memory = server.alloc(4096)
  expect(riomap(server, memory, PROT_WRITE, 0, 0)).toBe(0)
  rsend(server, bytes)
  await ready(client, POLLIN)
  rrecv(client, into)
  expect(riowrite(client, bytes, 100)).toBe(3)
  expect([...memory.subarray(99, 104)]).toEqual([0, 1, 2, 3, 0])
  expect(riounmap(server, memory)).toBe(0)

  expect(rshutdown(client, SHUT_WR)).toBe(0)
  await ready(server, POLLIN)
  expect(rrecv(server, into)).toBe(0)
  for (const s of [server, client, listener]) expect(rclose(s)).toBe(0)
  expect(rclose(client)).toBe(-Errno.EBADF)
})

test('datagrams with addresses', async () => {
  const datagram = (): RSocketLike => {
    const s = rsocket(AF_INET, SOCK_DGRAM, 0, { device })
    s.fcntl(F_SETFL, O_NONBLOCK)
    expect(rbind(s, { address: '127.0.0.1', port: 0 })).toBe(0)
    return s
  }
  const [a, b] = [datagram(), datagram()]
  const into = new Uint8Array(10)
  const from: Partial<SocketAddress> = {}
  const name = rgetsockname(b) as SocketAddress
  expect(rsendmsg(a, { name, iov: [Uint8Array.of(1), Uint8Array.of(2)] })).toBe(2)
  await ready(b, POLLIN)
  expect(rrecvfrom(b, into, 0, from)).toBe(2)
  expect(from).toEqual(rgetsockname(a))
  expect(rsendto(b, Uint8Array.of(3), 0, from as SocketAddress)).toBe(1)
  await ready(a, POLLIN)
  expect(rrecvmsg(a, { iov: [into] })).toBe(1)
  for (const s of [a, b]) rclose(s)
})

test('every error has a name and says something', () => {
  for (const [name, number] of Object.entries(Errno)) {
    expect(errnoName(number)).toBe(name)
    expect(errnoName(-number)).toBe(name)
    expect(errnoText(-number).length).toBeGreaterThan(10)
  }
  expect(errnoName(99_999)).toBe('EIO')
})
