import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { findAddress, type HostAddress } from '../../../src/devices/roce/addresses.ts'
import { DatagramSocket } from '../../../src/devices/roce/datagram-socket.ts'
import { gidOfIp } from '../../../src/wire/index.ts'

const sixAvailable = Object.values(networkInterfaces()).some((list) => list?.some((info) => info.address === '::1'))
const host = (text: string): HostAddress => findAddress(text)!

const sockets: DatagramSocket[] = []
afterEach(async () => {
  await Promise.all(sockets.splice(0).map((socket) => socket.close()))
})

async function bound(text: string, port = 0): Promise<DatagramSocket> {
  const socket = new DatagramSocket(host(text), port)
  sockets.push(socket)
  await socket.bind()
  return socket
}

interface Packet {
  readonly bytes: number[]
  readonly source: number[]
  readonly port: number
}

function packets(socket: DatagramSocket, count: number): Promise<Packet[]> {
  const seen: Packet[] = []
  return new Promise((resolve) => {
    socket.onPacket = (bytes, source, port) => {
      seen.push({ bytes: [...bytes], source: [...source], port })
      if (seen.length === count) resolve(seen)
    }
  })
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

describe.each(['127.0.0.1', ...(sixAvailable ? ['::1'] : [])])('DatagramSocket on %s', (text) => {
  const right = text === '::1' ? '::1' : '127.0.0.2'

  it('carries datagrams and says who sent them', async () => {
    const [a, b] = [await bound(text), await bound(right)]
    const received = packets(b, 3)
    const to = a.destination(host(right).address, b.port)
    expect(a.destination(gidOfIp(host(right).address), b.port)).toBe(to)
    expect(a.destination(host(right).address, 9)).not.toBe(to)
    a.send(Uint8Array.of(1, 2, 3), to)
    a.send(new Uint8Array(0), to)
    a.send(new Uint8Array(60_000).fill(7), to)
    const seen = await received
    expect(seen.map(({ bytes }) => bytes.length)).toEqual([3, 0, 60_000])
    expect(seen[0]!.bytes).toEqual([1, 2, 3])
    for (const { source, port } of seen) {
      expect(source).toEqual([...gidOfIp(host(text).address)])
      expect(port).toBe(a.port)
    }
    await until(() => a.counters.sentPackets === 3)
    expect(a.counters.sendErrors).toEqual({})
    expect(b.counters.receivedPackets).toBe(3)
  })

  it('tells sources apart', async () => {
    const hub = await bound(text)
    const others = await Promise.all([bound(right), bound(right), bound(text)])
    const received = packets(hub, 6)
    for (let round = 0; round < 2; round++)
      others.forEach((other, i) => {
        other.send(Uint8Array.of(i), other.destination(host(text).address, hub.port))
      })
    for (const { bytes, source, port } of await received) {
      expect(port).toBe(others[bytes[0]!]!.port)
      expect(source).toEqual([...gidOfIp(host(bytes[0] === 2 ? text : right).address)])
    }
  })
})

it('counts what the system refuses to send', async () => {
  const a = await bound('127.0.0.1')
  a.send(new Uint8Array(70_000), a.destination(Uint8Array.of(127, 0, 0, 2), 9))
  await until(() => a.counters.sendErrors.EMSGSIZE === 1)
  await a.close()
  a.send(Uint8Array.of(1), 0)
  expect(a.counters).toEqual({ sentPackets: 0, receivedPackets: 0, sendErrors: { EMSGSIZE: 1, EBADF: 1 } })
})

it('says what is wrong and what to do', async () => {
  const a = await bound('127.0.0.1')
  const again = new DatagramSocket(host('127.0.0.1'), a.port)
  await expect(again.bind()).rejects.toMatchObject({
    code: 'EADDRINUSE',
    message: expect.stringMatching(/UDP port \d+ of 127\.0\.0\.1 is in use.*another address/),
  })
  await again.close()
  expect(again.port).toBe(0)
  const foreign = new DatagramSocket(
    { ...host('127.0.0.1'), address: Uint8Array.of(203, 0, 113, 7), text: '203.0.113.7' },
    0,
  )
  await expect(foreign.bind()).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' })
  // The same port of another address is free, and the port itself after closing.
  await bound('127.0.0.2', a.port)
  const { port } = a
  await a.close()
  await bound('127.0.0.1', port)
})
