/** Datagrams: headers, first over UDP, then from queue pair to queue pair. */
import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  AF_INET,
  AF_INET6,
  Errno,
  F_SETFL,
  MSG_DONTWAIT,
  O_NONBLOCK,
  openDevice,
  POLLIN,
  POLLOUT,
  RDMA_PEERS,
  rsocket,
  rsocketDrops,
  SO_RCVBUF,
  SOCK_DGRAM,
  SOL_RDMA,
  SOL_SOCKET,
  type SocketAddress,
} from '../../../src/index.ts'
import {
  decodeDatagramHeader,
  decodeUdpHeader,
  encodeDatagramHeader,
  encodeUdpHeader,
  UdpOp,
} from '../../../src/rsocket/protocol/datagram-headers.ts'
import { addressBytes } from '../../../src/rsocket/runtime/address.ts'
import type { DatagramSocket } from '../../../src/rsocket/sockets/datagram.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { formatIp } from '../../../src/wire/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { holds } from '../../property.ts'

const address = fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 }))

describe('headers', () => {
  test('what is encoded is decoded', () => {
    holds(
      fc.property(
        address,
        fc.integer({ min: 0, max: 0xffffff }),
        fc.integer({ min: 0, max: 65535 }),
        (bytes, qpn, port) => {
          const udp = { op: UdpOp.Data, qpn, address: bytes }
          expect(decodeUdpHeader(encodeUdpHeader(udp))).toEqual({ ...udp, length: 12 + bytes.length })
          const header = { port, address: bytes }
          expect(decodeDatagramHeader(encodeDatagramHeader(header))).toEqual({
            ...header,
            length: bytes.length === 4 ? 8 : 24,
          })
        },
      ),
    )
  })

  test('any bytes are decoded or refused', () => {
    holds(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        if (bytes.length > 8) bytes.set([0x55, 0x55, 0x55, 0x55, 4 + (bytes[4]! & 2), bytes[5]! & 7, 16], 0)
        const udp = decodeUdpHeader(bytes)
        if (udp !== undefined) expect(bytes.length).toBeGreaterThanOrEqual(udp.length)
        const header = decodeDatagramHeader(bytes)
        if (header !== undefined) expect([8, 24]).toContain(header.length)
      }),
      2000,
    )
  })

  test('addresses as text and bytes', () => {
    holds(
      fc.property(address, (bytes) => {
        expect(addressBytes(formatIp(bytes))).toEqual(bytes)
      }),
    )
    expect(formatIp(addressBytes('::1')!)).toBe('::1')
    expect([...addressBytes('::ffff:10.0.0.7')!.subarray(10)]).toEqual([255, 255, 10, 0, 0, 7])
    expect(addressBytes('localhost')).toBeUndefined()
  })
})

const open: DatagramSocket[] = []

function datagram(device: string, family = AF_INET): DatagramSocket {
  const s = rsocket(family, SOCK_DGRAM, 0, { device }) as DatagramSocket
  s.fcntl(F_SETFL, O_NONBLOCK)
  open.push(s)
  return s
}

function bound(device: string, address = '127.0.0.1'): { s: DatagramSocket; name: SocketAddress } {
  const s = datagram(device)
  expect(s.bind({ address, port: 0 }), s.reason).toBe(0)
  return { s, name: s.getsockname() as SocketAddress }
}

afterEach(() => {
  for (const s of open.splice(0)) if (!s.closed) s.close()
})

test('an address of the host that the device has not cannot be bound, and is free afterwards', () => {
  for (const [family, address] of [
    [AF_INET, loopbackAddress(2)],
    [AF_INET6, '::1'],
  ] as const) {
    const s = rsocket(family, SOCK_DGRAM, 0, { device: loopbackDevice(1) }) as DatagramSocket
    open.push(s)
    expect(s.bind({ address, port: 0 })).toBe(-Errno.EADDRNOTAVAIL)
    expect(s.reason).toContain(`no address of ${loopbackDevice(1)}`)
    if (family === AF_INET) expect(s.bind({ address: loopbackAddress(1), port: 0 })).toBe(0)
  }
})

describe.each([
  ['shm0', '127.0.0.1'],
  [loopbackDevice(1), loopbackAddress(1)],
])('on %s', (device, address) => {
  test('there and back, until the queue pairs know each other, and after', async () => {
    const [a, b] = [bound(device, address), bound(device, address)]
    const into = new Uint8Array(100)
    const from: Partial<SocketAddress> = {}
    for (let i = 1; i <= 20; i++) {
      expect(a.s.sendto(new Uint8Array(i).fill(i), 0, b.name)).toBe(i)
      expect(await b.s.recvfromAsync(into, from)).toBe(i)
      expect(into[i - 1]).toBe(i)
      expect(from).toEqual({ ...a.name, family: 'IPv4' })
      expect(b.s.sendto(into.subarray(0, i), 0, from as SocketAddress)).toBe(i)
      expect(await a.s.recvAsync(into)).toBe(i)
    }
  })

  test('a connected socket hears its peer alone, and an empty datagram is one', async () => {
    const [a, b, c] = [bound(device, address), bound(device, address), bound(device, address)]
    expect(a.s.send(Uint8Array.of(1))).toBe(-Errno.EDESTADDRREQ)
    expect(a.s.connect(b.name)).toBe(0)
    expect(a.s.getpeername()).toEqual({ ...b.name, family: 'IPv4' })
    c.s.sendto(Uint8Array.of(66), 0, a.name)
    await a.s.sendAsync(new Uint8Array(0))
    const into = new Uint8Array(10)
    expect(await b.s.recvAsync(into)).toBe(0)
    b.s.sendto(Uint8Array.of(7), 0, a.name)
    expect(await a.s.recvAsync(into)).toBe(1)
    expect(into[0]).toBe(7)
    expect(a.s.counters().datagramsDropped).toBe(1)
    expect(a.s.connect({ address: '', port: 0 })).toBe(0)
    expect(a.s.getpeername()).toBe(-Errno.ENOTCONN)
  })

  test('long ones go over UDP, too long ones nowhere', async () => {
    const [a, b] = [bound(device, address), bound(device, address)]
    const into = new Uint8Array(70_000)
    for (const length of [10, 2000, 2040, 2041, 4000, 30_000]) {
      expect(a.s.sendto(new Uint8Array(length).fill(length & 0xff), 0, b.name)).toBe(length)
      expect(await b.s.recvAsync(into)).toBe(length)
      expect(into[length - 1]).toBe(length & 0xff)
    }
    expect(a.s.sendto(into, 0, b.name)).toBe(-Errno.EMSGSIZE)
    // What does not fit the reader's buffer is lost.
    a.s.sendto(Uint8Array.of(1, 2, 3), 0, b.name)
    expect(await b.s.recvAsync(into.subarray(0, 2))).toBe(2)
    expect(b.s.recv(into)).toBe(-Errno.EAGAIN)
  })
})

describe('sockets', () => {
  test('what one socket takes from UDP for another is told before that one sleeps', () => {
    const [a, b] = [bound('shm0'), bound('shm0')]
    let called = 0
    b.s.watch(POLLIN, () => {
      called++
      b.s.close()
    })
    a.s.sendto(Uint8Array.of(1), 0, b.name)
    for (const end = performance.now() + 10_000; b.s.counters().messagesReceived === 0; ) {
      expect(performance.now(), 'in time').toBeLessThan(end)
      a.s.poll(POLLIN)
    }
    expect(called).toBe(0)
    expect(b.s.arm()).toBe(true)
    expect(called).toBe(1)
    // The event loop may still have it.
    expect([b.s.closed, b.s.turn(), b.s.arm()]).toEqual([true, false, false])
  })

  test('what nobody reads in time is counted', async () => {
    const [a, b] = [bound('shm0'), bound('shm0')]
    b.s.setsockopt(SOL_SOCKET, SO_RCVBUF, 8192)
    // So long that all go over UDP.
    for (let i = 0; i < 20; i++) a.s.sendto(new Uint8Array(3000), 0, b.name)
    const told = (): number => b.s.counters().messagesReceived + b.s.counters().datagramsDropped
    for (const end = performance.now() + 10_000; told() < 20; await new Promise(setImmediate)) {
      expect(performance.now(), 'in time').toBeLessThan(end)
      b.s.poll(POLLIN)
    }
    expect(b.s.counters().datagramsDropped).toBeGreaterThan(5)
  })

  test('empty datagrams that nobody reads are limited, too', async () => {
    const [a, b] = [bound('shm0'), bound('shm0')]
    b.s.setsockopt(SOL_SOCKET, SO_RCVBUF, 4096)
    for (let i = 0; i < 300; i++) {
      expect(a.s.sendto(new Uint8Array(0), 0, b.name)).toBe(0)
      b.s.poll(POLLIN)
      a.s.poll(POLLIN)
    }
    const { messagesReceived, datagramsDropped } = b.s.counters()
    // Of 8 KiB each takes 64 bytes.
    await vi.waitFor(() => {
      b.s.poll(POLLIN)
      expect(b.s.counters().messagesReceived).toBe(128)
    }, 20_000)
    expect(messagesReceived + datagramsDropped).toBeLessThanOrEqual(300)
  })

  test('of senders whose addresses nobody uses only so many are remembered', async () => {
    const { s } = bound('shm0')
    s.setsockopt(SOL_RDMA, RDMA_PEERS, 10)
    s.setsockopt(SOL_SOCKET, SO_RCVBUF, 1 << 20)
    const friend = bound('shm0')
    s.connect(friend.name)
    const before = rsocketDrops().peersForgotten
    const context = openDevice('shm0')
    const { host, index } = context.device
    const handles = (): number => host.i32[host.deviceWord(index) + layout.Dev.ahs]!
    const first = handles()
    const header = encodeUdpHeader({ op: UdpOp.Control, qpn: 1234, address: Uint8Array.of(127, 0, 0, 1) })
    for (let port = 1; port <= 500; port++) s.udpData(header, '127.0.0.1', port)
    expect(rsocketDrops().peersForgotten).toBe(before + 500 + 1 - 10)
    // One to which something was sent stays for longer than others, and has a path.
    for (let port = 1; port <= 500; port++) {
      s.udpData(header, '127.0.0.1', port)
      if (port % 5 === 0) expect(s.sendto(Uint8Array.of(1), 0, { address: '127.0.0.1', port: 3 })).toBe(1)
    }
    expect(handles() - first).toBeLessThanOrEqual(10)
    expect(s.getpeername()).toEqual({ ...friend.name, family: 'IPv4' })
    expect(s.send(Uint8Array.of(1))).toBe(1)
    expect(await friend.s.recvAsync(new Uint8Array(1))).toBe(1)
    s.close()
    expect(handles()).toBeLessThanOrEqual(first)
    context.close()
  })

  test('what comes over UDP while the program computes is bounded, and what is dropped is counted', async () => {
    const { s, name } = bound('shm0')
    const sender = createSocket('udp4')
    // A connected one sends without the event loop.
    sender.connect(name.port, name.address)
    await once(sender, 'connect')
    const before = rsocketDrops().udpDropped
    const took = vi.spyOn(s, 'udpData')
    const datagram = new Uint8Array(8000)
    datagram.set(encodeUdpHeader({ op: UdpOp.Control, qpn: 1234, address: Uint8Array.of(127, 0, 0, 1) }))
    // The kernel takes what this thread sends at once, and the thread of UDP has time to take that.
    const computing = new Int32Array(new SharedArrayBuffer(4))
    const end = performance.now() + 20_000
    while (s.counters().datagramsDropped === 0 && performance.now() < end) {
      took.mockClear()
      for (let round = 0; round < 30; round++) {
        for (let i = 0; i < 10; i++) sender.send(datagram)
        Atomics.wait(computing, 0, 0, 3)
      }
      s.poll(POLLIN)
      // 128 KiB of the receive buffer, and what came while they were taken.
      expect(took.mock.calls.length).toBeLessThan(60)
    }
    expect(s.counters().datagramsDropped).toBeGreaterThan(0)
    expect(rsocketDrops().udpDropped - before).toBe(s.counters().datagramsDropped)
    sender.close()
  })

  test('without descriptors a socket cannot be bound, and that is told at once', async () => {
    const file = new URL('./out-of-descriptors.mjs', import.meta.url).pathname
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', `ulimit -n 120; exec ${process.execPath} ${file}`])
    const { without, withSome, uncaught } = JSON.parse(stdout)
    expect(without).toMatchObject({ result: 'EMFILE', reason: expect.stringContaining('descriptors') })
    expect(without.ms).toBeLessThan(5000)
    expect([withSome.result, uncaught]).toEqual([0, []])
  })

  test('nobody has port 0: nothing is sent there, and what says to come from there is dropped', async () => {
    const [a, b] = [bound('shm0'), bound('shm0')]
    const into = new Uint8Array(10)
    const from: Partial<SocketAddress> = {}
    for (const port of [0, -1, 65536, 1.5, Number.NaN])
      expect(a.s.sendto(Uint8Array.of(1), 0, { ...a.name, port }), `port ${port}`).toBe(-Errno.EINVAL)
    expect(a.s.connect({ ...a.name, port: 0 })).toBe(0)
    expect(a.s.send(Uint8Array.of(1))).toBe(-Errno.EINVAL)
    a.s.connect({ address: '', port: 0 })
    expect(datagram('shm0').bind({ address: '127.0.0.1', port: 70000 })).toBe(-Errno.EINVAL)
    // A raw socket, and a queue pair, can write any port.
    const header = encodeUdpHeader({ op: UdpOp.Data, qpn: 1234, address: Uint8Array.of(127, 0, 0, 1) })
    b.s.udpData(header, '127.0.0.1', 0)
    expect(b.s.counters()).toMatchObject({ messagesReceived: 0, datagramsDropped: 1 })
    // The thread that has the UDP sockets still runs.
    a.s.sendto(Uint8Array.of(7), 0, b.name)
    expect(await b.s.recvfromAsync(into, from)).toBe(1)
    expect(from.port).toBe(a.name.port)
  })

  test('wrong calls', () => {
    const s = datagram('shm0')
    expect(s.listen()).toBe(-Errno.EOPNOTSUPP)
    expect(s.bind({ address: '::1', port: 0 })).toBe(-Errno.EAFNOSUPPORT)
    expect(s.sendto(Uint8Array.of(1), 0, { address: 'nowhere', port: 1 })).toBe(-Errno.EINVAL)
    expect(s.poll(POLLIN | POLLOUT)).toBe(POLLOUT)
    const taken = bound('shm0')
    const other = datagram('shm0')
    expect(other.bind(taken.name)).toBe(-Errno.EADDRINUSE)
    expect(other.reason).toContain('EADDRINUSE')
    s.close()
    expect(s.send(Uint8Array.of(1))).toBe(-Errno.EBADF)
  })

  test('IPv6', async () => {
    const [a, b] = [datagram('shm0', AF_INET6), datagram('shm0', AF_INET6)]
    for (const s of [a, b]) expect(s.bind({ address: '::1', port: 0 }), s.reason).toBe(0)
    const into = new Uint8Array(10)
    for (let i = 0; i < 5; i++) {
      a.sendto(Uint8Array.of(i), 0, b.getsockname() as SocketAddress)
      expect(await b.recvAsync(into)).toBe(1)
      b.sendto(Uint8Array.of(i), 0, a.getsockname() as SocketAddress)
      expect(await a.recvAsync(into)).toBe(1)
    }
  })

  test('as librdmacm sees it: header, answer with the queue pair, garbage is dropped', async () => {
    const { s, name } = bound('shm0')
    const peer = createSocket('udp4')
    peer.bind(0, '127.0.0.1')
    await once(peer, 'listening')
    peer.send(Buffer.from('no header'), name.port, name.address)
    const header = encodeUdpHeader({ op: UdpOp.Data, qpn: 1234, address: Uint8Array.of(127, 0, 0, 1) })
    peer.send(Buffer.concat([header, Buffer.from('hello')]), name.port, name.address)
    const [answer] = (await once(peer, 'message')) as [Buffer]
    const control = decodeUdpHeader(answer)
    expect(control).toMatchObject({ op: UdpOp.Control, address: Uint8Array.of(127, 0, 0, 1), length: answer.length })
    expect(control!.qpn).toBeGreaterThan(0)
    const into = Buffer.alloc(10)
    const from: Partial<SocketAddress> = {}
    expect(await s.recvfromAsync(into, from)).toBe(5)
    expect(into.toString('utf8', 0, 5)).toBe('hello')
    expect(from.port).toBe(peer.address().port)
    expect(s.counters()).toMatchObject({ messagesReceived: 1, datagramsDropped: 1 })
    // Such a peer takes no more than a slot.
    expect(s.sendto(new Uint8Array(3000), MSG_DONTWAIT, from as SocketAddress)).toBe(-Errno.EMSGSIZE)
    peer.close()
  })
})
