/** Sending, receiving and waiting on a UDP socket cost no allocation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  closeFd,
  drainEventFd,
  makeEventFd,
  nativeAvailable,
  signalEventFd,
  UdpSocket,
  waitReadable,
} from '../../src/memory/native/index.ts'
import { leastGrowth } from '../heap.ts'

const calls = 20_000
/** Of 16 bytes a call, the smallest object there is, this many calls would cost twice as much. */
const allowedBytes = calls * 8

describe.skipIf(!nativeAvailable)('allocation', () => {
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 4, shared: true }).buffer
  const [left, right] = [Uint8Array.of(127, 0, 0, 1), Uint8Array.of(127, 0, 0, 2)]
  const gid = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ...right)
  const kept: { i: number }[] = new Array(calls)
  const ready = new Uint8Array(2)
  let [a, b] = [] as unknown as [UdpSocket, UdpSocket]
  let [to, event] = [0, 0]
  let fds = new Int32Array(0)

  beforeAll(() => {
    // With such a port the first word of its address is no small integer to V8.
    for (a = UdpSocket.open(memory, { address: left, port: 0 }); (a.port & 0x80) === 0; ) {
      a.close()
      a = UdpSocket.open(memory, { address: left, port: 0 })
    }
    b = UdpSocket.open(memory, { address: right, port: 0 })
    to = a.destination(right, b.port)
    event = makeEventFd()
    fds = Int32Array.of(a.fd, event)
  })
  afterAll(() => {
    a.close()
    b.close()
    closeFd(event)
  })

  it('would be seen: one object a call', () => {
    expect(
      leastGrowth(() => {
        for (let i = 0; i < calls; i++) kept[i] = { i }
      }, allowedBytes),
    ).toBeGreaterThan(allowedBytes)
  })

  const bodies: Record<string, { body: (i: number) => number; result: number }> = {
    'an empty receive': { body: () => b.receive(0, 65_536), result: -11 },
    'sending and receiving 24 bytes': { body: () => a.send(70_000, 24, 0, to) + b.receive(0, 65_536), result: 48 },
    'sending and receiving segments': { body: () => a.send(70_000, 4096, 64, to) + b.receive(0, 65_536), result: 8192 },
    'with another traffic class each time': {
      body: (i) => {
        a.setTrafficClass(i & 3)
        return a.send(70_000, 24, 0, to) + b.receive(0, 65_536)
      },
      result: 48,
    },
    'looking a destination up': {
      body: () => a.destination(gid, b.port) - a.destination(right, b.port),
      result: 0,
    },
    waiting: {
      body: () => {
        signalEventFd(event)
        const count = waitReadable(fds, 2, 1.5, ready)
        drainEventFd(event)
        return count
      },
      result: 1,
    },
  }
  it.each(Object.entries(bodies))('%s', (_name, { body, result }) => {
    let different = 0
    const bytes = leastGrowth(() => {
      for (let i = 0; i < calls; i++) if (body(i) !== result) different++
    }, allowedBytes)
    expect(different).toBe(0)
    expect(bytes).toBeLessThan(allowedBytes)
  })

  it('sending segments as single datagrams', () => {
    a.segmentation = false
    const rounds = calls / 10
    let different = 0
    const bytes = leastGrowth(() => {
      for (let i = 0; i < rounds; i++) {
        if (a.send(70_000, 1000, 100, to) !== 1000) different++
        for (let k = 0; k < 10; k++) if (b.receive(0, 65_536) !== 100) different++
      }
    }, allowedBytes)
    expect(different).toBe(0)
    expect(bytes).toBeLessThan(allowedBytes)
  })
})
