import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import {
  addressText,
  closeFd,
  drainEventFd,
  errnoName,
  errnos,
  isMulticast,
  makeEventFd,
  mapPrivate,
  maxDatagramBytes,
  maxPolled,
  NativeError,
  nativeAvailable,
  nativeReason,
  signalEventFd,
  type UdpOptions,
  UdpSocket,
  unmap,
  waitReadable,
} from '../../src/memory/native/index.ts'
import { libc } from '../../src/memory/native/libc.ts'
import { startThread } from '../../src/memory/threads.ts'

const one = Uint8Array.of(127, 0, 0, 1)
const two = Uint8Array.of(127, 0, 0, 2)
const six = new Uint8Array(16)
six[15] = 1
const sixAvailable = Object.values(networkInterfaces()).some((list) => list?.some((info) => info.address === '::1'))
const mapped = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 2)

const memory = new WebAssembly.Memory({ initial: 16, maximum: 16, shared: true })
const bytes = new Uint8Array(memory.buffer)
/** Where packets lie to be sent, and where they arrive. */
const out = 4096
const into = 512 << 10
const room = 65_536

const sockets: UdpSocket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})

function open(address: Uint8Array, options: Partial<UdpOptions> = {}): UdpSocket {
  const socket = UdpSocket.open(memory.buffer, { address, port: 0, ...options })
  sockets.push(socket)
  return socket
}

function fill(at: number, length: number, seed: number): void {
  for (let i = 0; i < length; i++) bytes[at + i] = (i * 31 + seed + (i >> 8)) & 0xff
}

/** Loopback delivers within the call of the sender; waiting only serves kernels that hand packets over. */
function receive(socket: UdpSocket, at = into, capacity = room): number {
  waitReadable(Int32Array.of(socket.fd), 1, 10_000)
  return socket.receive(at, capacity)
}

function receiveAll(socket: UdpSocket, wanted: number): { sizes: number[]; bytes: Uint8Array } {
  const sizes: number[] = []
  let length = 0
  while (length < wanted) {
    const n = receive(socket, into + length)
    expect(n).toBeGreaterThan(0)
    for (let left = n; left > 0; left -= socket.segmentBytes) sizes.push(Math.min(left, socket.segmentBytes))
    length += n
  }
  return { sizes, bytes: bytes.slice(into, into + length) }
}

function errorOf(call: () => unknown): NativeError {
  try {
    call()
  } catch (error) {
    expect(error).toBeInstanceOf(NativeError)
    return error as NativeError
  }
  throw new Error('no error')
}

function openFds(): number {
  return readdirSync('/proc/self/fd').length
}

describe.skipIf(!nativeAvailable)(`UdpSocket${nativeAvailable ? '' : ` (skipped: ${nativeReason})`}`, () => {
  const families = [
    { name: 'IPv4', left: one, right: two, gid: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1) },
    ...(sixAvailable ? [{ name: 'IPv6', left: six, right: six, gid: six }] : []),
  ]

  describe.each(families)('$name', ({ name, left, right, gid }) => {
    it('carries a datagram and says who sent it', () => {
      const [a, b] = [open(left), open(right)]
      expect(a.family).toBe(name === 'IPv4' ? 4 : 6)
      expect(a.port).toBeGreaterThan(0)
      fill(out, 1000, 7)
      expect(b.receive(into, room)).toBe(-errnos.EAGAIN)
      expect(a.send(out, 1000, 0, a.destination(right, b.port))).toBe(1000)
      expect(receive(b)).toBe(1000)
      expect(bytes.slice(into, into + 1000)).toEqual(bytes.slice(out, out + 1000))
      expect(b).toMatchObject({ segmentBytes: 1000, truncated: false, sourcePort: a.port, trafficClass: 0 })
      expect(b.hopLimit).toBeGreaterThan(0)
      expect(b.source).toEqual(gid)
      expect(new Uint8Array(b.sourceWords.slice().buffer)).toEqual(gid)
      expect(b.receive(into, room)).toBe(-errnos.EAGAIN)
    })

    it('carries an empty datagram, and the longest', () => {
      const [a, b] = [open(left), open(right)]
      const to = a.destination(right, b.port)
      expect(a.send(out, 0, 0, to)).toBe(0)
      expect(receive(b)).toBe(0)
      expect(b.segmentBytes).toBe(0)
      // IPv4 counts its header within 65,535 bytes; over IPv6, loopback's MTU of 65,536 is the limit.
      const longest = name === 'IPv4' ? maxDatagramBytes : 65_536 - 48
      fill(out, longest, 3)
      expect(a.send(out, longest, 0, to)).toBe(longest)
      expect(receive(b)).toBe(longest)
      expect(Buffer.compare(bytes.slice(into, into + longest), bytes.slice(out, out + longest))).toBe(0)
      expect(a.send(out, longest + 1, 0, to)).toBe(-errnos.EMSGSIZE)
      expect(a.send(out, 70_000, 0, to)).toBe(-errnos.EMSGSIZE)
    })

    it('says when a datagram was longer than the room for it', () => {
      const [a, b] = [open(left), open(right)]
      fill(out, 300, 9)
      bytes.fill(0, into, into + 300)
      a.send(out, 300, 0, a.destination(right, b.port))
      expect(receive(b, into, 100)).toBe(100)
      expect(b.truncated).toBe(true)
      expect(bytes.slice(into, into + 101)).toEqual(Uint8Array.of(...bytes.slice(out, out + 100), 0))
      a.send(out, 300, 0, a.destination(right, b.port))
      expect(receive(b)).toBe(300)
      expect(b.truncated).toBe(false)
    })

    it.each([
      [61_920, 4128],
      [10_000, 4128],
      [4096, 64],
      [4128, 4128],
      [4129, 4128],
      [65, 1],
      [100, 1000],
    ])('cuts %i bytes into datagrams of %i', (length, segmentBytes) => {
      const [a, b] = [open(left), open(right)]
      const to = a.destination(right, b.port)
      const count = Math.ceil(length / segmentBytes)
      fill(out, length, segmentBytes)
      if (count > 64) {
        expect(a.send(out, length, segmentBytes, to)).toBe(-errnos.EMSGSIZE)
        expect(a.segmentation).toBe(true)
        return
      }
      const expected = Array.from({ length: count }, (_, i) => Math.min(segmentBytes, length - i * segmentBytes))
      expect(a.send(out, length, segmentBytes, to)).toBe(length)
      const seen = receiveAll(b, length)
      expect(seen.sizes).toEqual(expected)
      expect(Buffer.compare(seen.bytes, bytes.slice(out, out + length))).toBe(0)
      // The same without the kernel's help.
      a.segmentation = false
      expect(a.send(out, length, segmentBytes, to)).toBe(length)
      const again = receiveAll(b, length)
      expect(again.sizes).toEqual(expected)
      expect(Buffer.compare(again.bytes, bytes.slice(out, out + length))).toBe(0)
    })

    it('gives traffic class, with ECN, and hop limit to what it sends, alone and in segments', () => {
      const [a, b] = [open(left), open(right)]
      const to = a.destination(right, b.port)
      const seen: number[][] = []
      const pass = (length: number, segmentBytes: number): void => {
        expect(a.send(out, length, segmentBytes, to)).toBe(length)
        receiveAll(b, length)
        seen.push([b.trafficClass, b.hopLimit])
      }
      pass(10, 0)
      const usual = b.hopLimit
      a.setTrafficClass(0x6a)
      pass(10, 0)
      a.setHopLimit(3)
      pass(100, 10)
      a.setTrafficClass(0)
      pass(10, 0)
      a.setTrafficClass(255)
      a.segmentation = false
      pass(100, 10)
      a.setTrafficClass(0)
      a.setHopLimit(0)
      pass(10, 0)
      expect(seen).toEqual([
        [0, usual],
        [0x6a, usual],
        [0x6a, 3],
        [0, 3],
        [255, 3],
        [0, usual],
      ])
    })

    it('learns from a refusal that the kernel does not cut datagrams here', () => {
      const [a, b] = [open(left), open(right)]
      const to = a.destination(right, b.port)
      fill(out, 1000, 1)
      // SO_NO_CHECK (11) is one of the reasons: without UDP checksums there is no segmentation.
      const scratch = new Uint32Array(memory.buffer, 0, 1)
      scratch[0] = 1
      const base = Number(libc!.koffi.address(new Uint8Array(memory.buffer)))
      // IPv6 asks for UDP_NO_CHECK6_TX (101) besides.
      expect(libc!.setsockopt(a.fd, 1, 11, base, 4)).toBe(0)
      if (a.family === 6) expect(libc!.setsockopt(a.fd, 17, 101, base, 4)).toBe(0)
      // IPv6 packets are right all the same; of IPv4 the rest has to be summed again, for identification 0.
      const sent = a.send(out, 1000, 300, to)
      expect(sent).toBe(a.family === 4 ? 300 : 1000)
      expect(a.segmentation).toBe(false)
      if (sent < 1000) expect(a.send(out + sent, 1000 - sent, 300, to)).toBe(1000 - sent)
      if (a.family === 6) {
        // An IPv6 receiver takes datagrams without a checksum only where it is told to; so there is nothing to see.
        return
      }
      const seen = receiveAll(b, 1000)
      expect(seen.sizes).toEqual([300, 300, 300, 100])
      expect(Buffer.compare(seen.bytes, bytes.slice(out, out + 1000))).toBe(0)
    })

    it('does not take a datagram that is too long for one without segmentation', () => {
      const a = open(left)
      const to = a.destination(right, 9)
      expect(a.send(out, 70_000, 66_000, to)).toBe(-errnos.EMSGSIZE)
      expect(a.segmentation).toBe(true)
    })

    it('stops at the end of the buffer of a receiver, and counts what was lost', () => {
      const [a, b] = [open(left), open(right, { receiveBufferBytes: 4096 })]
      const to = a.destination(right, b.port)
      for (let i = 0; i < 1000; i++) expect(a.send(out, 64, 0, to)).toBe(64)
      let received = 0
      while (b.receive(into, room) > 0) received++
      expect(received).toBeLessThan(1000)
      // Each datagram tells of the losses up to its own arrival.
      a.send(out, 64, 0, to)
      expect(receive(b)).toBe(64)
      expect(b.kernelDrops).toBe(1000 - received)
    })
  })

  it('has large buffers where the system allows them', () => {
    const [small, large] = [open(one, { receiveBufferBytes: 1 << 16 }), open(one)]
    expect(small.receiveBufferBytes).toBeGreaterThanOrEqual(1 << 16)
    expect(large.receiveBufferBytes).toBeGreaterThan(small.receiveBufferBytes)
  })

  it('knows destinations by address, port and scope', () => {
    const a = open(one)
    const first = a.destination(two, 4791)
    expect(a.destination(mapped, 4791)).toBe(first)
    expect(a.destination(Uint8Array.of(127, 0, 0, 2), 4791)).toBe(first)
    expect(a.destination(two, 4792)).not.toBe(first)
    const seen = new Map<number, string>([[first, 'two']])
    for (let i = 0; i < 5000; i++) {
      const address = Uint8Array.of(10, i & 1 ? 7 : 9, i >> 8, i & 0xff)
      const index = a.destination(address, 1 + i)
      expect(seen.has(index)).toBe(false)
      seen.set(index, address.join())
    }
    for (let i = 0; i < 5000; i++)
      expect(seen.get(a.destination(Uint8Array.of(10, i & 1 ? 7 : 9, i >> 8, i & 0xff), 1 + i))).toBe(
        [10, i & 1 ? 7 : 9, i >> 8, i & 0xff].join(),
      )
    expect(a.destination(two, 4791)).toBe(first)
    expect(errorOf(() => a.destination(six, 4791))).toMatchObject({
      code: 'EINVAL',
      message: expect.stringMatching(/IPv4 socket.*IPv6 address/),
    })
    for (const port of [0, -1, 65_536, 1.5]) expect(errorOf(() => a.destination(two, port)).code).toBe('EINVAL')
    for (const length of [0, 3, 5, 17])
      expect(errorOf(() => a.destination(new Uint8Array(length), 1)).code).toBe('EINVAL')
  })

  it('sends to many destinations, each its own', () => {
    const a = open(one)
    const receivers = Array.from({ length: 70 }, (_, i) => open(Uint8Array.of(127, 0, 1, 1 + i)))
    const indices = receivers.map((r, i) => a.destination(Uint8Array.of(127, 0, 1, 1 + i), r.port))
    indices.forEach((index, i) => {
      bytes[out] = i
      expect(a.send(out, 1, 0, index)).toBe(1)
    })
    receivers.forEach((r, i) => {
      expect(receive(r)).toBe(1)
      expect(bytes[into]).toBe(i)
    })
  })

  it('refuses to let the kernel reach beyond the memory', () => {
    const a = open(one)
    const to = a.destination(two, 9)
    const size = memory.buffer.byteLength
    for (const [at, length] of [
      [-1, 10],
      [size - 9, 10],
      [0, size + 1],
      [0, -1],
      [Number.NaN, 1],
      [0, Number.NaN],
      [0.5, 1],
      [Number.POSITIVE_INFINITY, 0],
    ] as const) {
      expect(errorOf(() => a.send(at, length, 0, to)).code).toBe('EINVAL')
      expect(errorOf(() => a.receive(at, length)).code).toBe('EINVAL')
    }
    expect(a.receive(size - 10, 10)).toBe(-errnos.EAGAIN)
    for (const index of [-1, 1, 1000]) expect(errorOf(() => a.send(0, 1, 0, index)).code).toBe('EINVAL')
    a.close()
    a.close()
    expect(errorOf(() => a.send(0, 1, 0, to)).message).toContain('closed')
    expect(errorOf(() => a.receive(0, 1)).message).toContain('closed')
  })

  it('says what is wrong and what to do', () => {
    const a = open(one)
    const fds = openFds()
    expect(errorOf(() => open(one, { port: a.port }))).toMatchObject({
      code: 'EADDRINUSE',
      message: expect.stringMatching(/UDP port \d+ of 127\.0\.0\.1 is in use: another roce device .* another address/),
    })
    expect(errorOf(() => open(Uint8Array.of(203, 0, 113, 77)))).toMatchObject({
      code: 'EADDRNOTAVAIL',
      message: expect.stringContaining('203.0.113.77 is not an address of this machine'),
    })
    for (const port of [-1, 65_536, 0.5]) expect(errorOf(() => open(one, { port })).code).toBe('EINVAL')
    expect(errorOf(() => open(new Uint8Array(5))).code).toBe('EINVAL')
    if (sixAvailable) {
      const linkLocal = new Uint8Array(16)
      linkLocal.set([0xfe, 0x80])
      linkLocal[15] = 0x99
      expect(errorOf(() => open(linkLocal))).toMatchObject({
        code: 'EINVAL',
        message: expect.stringContaining('%eth0'),
      })
    }
    expect(errorOf(() => UdpSocket.adopt(memory.buffer, a.fd, 6)).message).toContain('not an IPv6 socket')
    expect(errorOf(() => UdpSocket.adopt(memory.buffer, 1 << 20, 4)).code).toBe('EBADF')
    expect(openFds()).toBe(fds)
    // The same port of another address is free, and the port itself after closing.
    open(two, { port: a.port })
    a.close()
    open(one, { port: a.port })
  })

  it('leaks no descriptor', () => {
    const before = openFds()
    for (let i = 0; i < 300; i++) {
      const a = UdpSocket.open(memory.buffer, { address: one, port: 0 })
      const adopted = UdpSocket.adopt(memory.buffer, a.fd, 4)
      expect(adopted.port).toBe(a.port)
      a.destination(two, 9)
      adopted.close()
      expect(a.receive(into, room)).toBe(-errnos.EAGAIN)
      a.close()
      closeFd(makeEventFd())
    }
    expect(openFds()).toBe(before)
  })

  it('works in an ArrayBuffer and in a mapping too', () => {
    const plain = new ArrayBuffer(8192)
    const mapping = mapPrivate(8192, { hugePages: false }).buffer
    const a = UdpSocket.open(plain, { address: one, port: 0 })
    const b = UdpSocket.open(mapping, { address: two, port: 0 })
    sockets.push(a, b)
    new Uint8Array(plain).fill(5, 100, 200)
    expect(a.send(100, 100, 0, a.destination(two, b.port))).toBe(100)
    expect(receive(b, 4000, 192)).toBe(100)
    expect(new Uint8Array(mapping, 3999, 102)).toEqual(Uint8Array.of(0, ...new Array(100).fill(5), 0))
    b.close()
    unmap(mapping)
  })

  it('serves several threads at one socket each, in the same memory', async () => {
    const threads = 3
    const rounds = 200
    const hub = open(one)
    const ends = Array.from({ length: threads }, (_, i) => open(Uint8Array.of(127, 0, 0, 10 + i)))
    const stop = makeEventFd()
    const workers = ends.map((end, i) =>
      startThread(new URL('./udp-echo-thread.ts', import.meta.url), {
        workerData: { memory, fd: end.fd, family: 4, stop, at: (192 + 64 * i) << 10, peer: one, peerPort: hub.port },
      }),
    )
    for (const message of await Promise.all(workers.map((worker) => once(worker, 'message'))))
      expect(message[0]).toBe('up')
    const destinations = ends.map((end, i) => hub.destination(Uint8Array.of(127, 0, 0, 10 + i), end.port))
    for (let round = 0; round < rounds; round++) {
      const length = 1 + ((round * 977) % 20_000)
      const segmentBytes = round % 2 === 0 ? 0 : 1024
      for (let i = 0; i < threads; i++) {
        fill(out, length, round + i)
        expect(hub.send(out, length, segmentBytes, destinations[i]!)).toBe(length)
        const seen = receiveAll(hub, length)
        expect(hub.source[15]).toBe(10 + i)
        const expected = bytes.slice(out, out + length)
        expected[0]! ^= 0xff
        expect(Buffer.compare(seen.bytes, expected)).toBe(0)
      }
    }
    const results = workers.map(async (worker) => {
      const [[message]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')])
      return message
    })
    signalEventFd(stop)
    expect(await Promise.all(results)).toEqual(new Array(threads).fill({ echoed: rounds }))
    closeFd(stop)
  })

  it('receives multicast in the groups that it joined, on the interface that it named', () => {
    const group = Uint8Array.of(239, 77, 1, 2)
    const other = Uint8Array.of(239, 77, 1, 3)
    const loopbackIndex = 1
    const [a, b] = [open(group, { reuseAddress: true }), open(other)]
    const c = open(group, { port: a.port, reuseAddress: true })
    const sender = open(one)
    const to = sender.destination(group, a.port)
    sender.setMulticastInterface(loopbackIndex)
    for (const socket of [a, c]) socket.joinGroup(group, loopbackIndex)
    b.joinGroup(other, loopbackIndex)
    expect(sender.send(out, 1000, 300, to)).toBe(1000)
    for (const socket of [a, c]) expect(receiveAll(socket, 1000).sizes).toEqual([300, 300, 300, 100])
    expect(a.source).toEqual(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1))
    a.leaveGroup(group, loopbackIndex)
    expect(sender.send(out, 10, 0, to)).toBe(10)
    expect(receive(c)).toBe(10)
    expect(a.receive(into, room)).toBe(-errnos.EAGAIN)
    expect(b.receive(into, room)).toBe(-errnos.EAGAIN)
    expect(errorOf(() => c.joinGroup(group, loopbackIndex)).message).toContain('already')
    expect(errorOf(() => a.leaveGroup(group, loopbackIndex)).message).toContain('not in the group')
    expect(errorOf(() => a.joinGroup(two, loopbackIndex)).message).toContain('not an IPv4 multicast group')
    expect(errorOf(() => a.joinGroup(six, loopbackIndex)).code).toBe('EINVAL')
    expect(errorOf(() => a.joinGroup(group, 1 << 20)).message).toContain(`no interface ${1 << 20}`)
  })

  const ethernet6 = Object.entries(networkInterfaces()).flatMap(([, list]) =>
    (list ?? []).filter((info) => info.family === 'IPv6' && info.scopeid > 0 && !info.internal),
  )[0] as { address: string; scopeid: number } | undefined
  // Loopback has no IPv6 multicast route by itself.
  it.skipIf(ethernet6 === undefined)('does so with IPv6, by the index of the interface', () => {
    const index = ethernet6!.scopeid
    const group = new Uint8Array(16)
    group.set([0xff, 0x12])
    group.set([0x76, 0x65, 0x72], 13)
    const receiver = open(group, { scopeId: index })
    receiver.joinGroup(group, index)
    // Bound to nothing, so the source is an address of the interface.
    const sender = open(new Uint8Array(16), { scopeId: index })
    sender.setMulticastInterface(index)
    expect(sender.send(out, 100, 0, sender.destination(group, receiver.port))).toBe(100)
    expect(receive(receiver)).toBe(100)
    expect(receiver.sourceScope).toBe(receiver.source[0] === 0xfe ? index : 0)
    receiver.leaveGroup(group, index)
    expect(errorOf(() => receiver.joinGroup(Uint8Array.of(239, 1, 1, 1), index)).code).toBe('EINVAL')
  })
})

describe.skipIf(!nativeAvailable)('waitReadable', () => {
  it('watches as many descriptors as there are', () => {
    const [quiet, loud] = [makeEventFd(), makeEventFd()]
    signalEventFd(loud)
    const fds = new Int32Array(700).fill(quiet)
    const ready = new Uint8Array(700)
    fds[699] = loud
    expect(waitReadable(fds, 700, 1000, ready)).toBe(1)
    expect(ready.indexOf(1)).toBe(699)
    expect(waitReadable(fds, 699, 0, ready)).toBe(0)
    closeFd(quiet)
    closeFd(loud)
  })

  it('tells which descriptors can be read', () => {
    const [a, b] = [open(one), open(two)]
    const event = makeEventFd()
    const fds = Int32Array.of(a.fd, event, b.fd, -1)
    const ready = new Uint8Array(4)
    expect(waitReadable(fds, 4, 0, ready)).toBe(0)
    expect(waitReadable(fds, 4, 0.5, ready)).toBe(0)
    expect(waitReadable(fds, 0, -5)).toBe(0)
    expect([...ready]).toEqual([0, 0, 0, 0])
    signalEventFd(event)
    signalEventFd(event)
    expect(waitReadable(fds, 4, Number.POSITIVE_INFINITY, ready)).toBe(1)
    expect([...ready]).toEqual([0, 1, 0, 0])
    a.send(out, 10, 0, a.destination(two, b.port))
    while (waitReadable(fds, 3, 1000, ready) < 2);
    expect([...ready]).toEqual([0, 1, 1, 0])
    expect([drainEventFd(event), drainEventFd(event)]).toEqual([true, false])
    expect(waitReadable(fds, 3, 1000, ready)).toBe(1)
    expect(waitReadable(fds, 2, 0)).toBe(0)
    closeFd(event)
    // A descriptor that is not open counts as ready: reading it tells.
    expect(waitReadable(Int32Array.of(1 << 20), 1, 60_000, ready)).toBe(1)
    expect(ready[0]).toBe(2)
    for (const count of [-1, 5, maxPolled + 1]) expect(errorOf(() => waitReadable(fds, count, 0)).code).toBe('EINVAL')
    const unreadable = makeEventFd()
    closeFd(unreadable)
    expect(errorOf(() => drainEventFd(1 << 20)).code).toBe('EBADF')
    expect(errorOf(() => signalEventFd(1 << 20)).code).toBe('EBADF')
    expect(errorOf(() => closeFd(1 << 20)).code).toBe('EBADF')
  })
})

it('names errors and writes addresses', () => {
  expect([errnoName(90), errnoName(98), errnoName(11), errnoName(1234)]).toEqual([
    'EMSGSIZE',
    'EADDRINUSE',
    'EAGAIN',
    'errno 1234',
  ])
  expect([one, mapped, six].map((address) => addressText(address))).toEqual(['127.0.0.1', '127.0.0.2', '::1'])
  expect([one, mapped, six, Uint8Array.of(239, 0, 0, 1)].map(isMulticast)).toEqual([false, false, false, true])
})
