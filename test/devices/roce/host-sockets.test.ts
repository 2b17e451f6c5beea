/** Both kinds of socket, on every address that this host has. */
import { afterEach, describe, expect, it } from 'vitest'
import { hostAddresses } from '../../../src/devices/roce/addresses.ts'
import { DatagramSocket } from '../../../src/devices/roce/datagram-socket.ts'
import { NativeError, nativeAvailable, nativeReason, UdpSocket } from '../../../src/memory/index.ts'
import { waitReadable } from '../../../src/memory/native/index.ts'
import { gidOfIp } from '../../../src/wire/index.ts'

const memory = new ArrayBuffer(256 << 10)
const bytes = new Uint8Array(memory)
const room = 65_536
const addresses = hostAddresses()

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

function open(address: Uint8Array, scopeId: number, port = 0): UdpSocket {
  const socket = UdpSocket.open(memory, { address, scopeId, port })
  closers.push(() => socket.close())
  return socket
}

describe.skipIf(!nativeAvailable)(`UdpSocket${nativeAvailable ? '' : ` (skipped: ${nativeReason})`}`, () => {
  it.each(addresses.map((address) => [address.text, address] as const))('talks on %s', async (_text, host) => {
    const { address, scopeId, roceMtu } = host
    const gid = gidOfIp(address)
    const [a, b] = [open(address, scopeId), open(gid, scopeId)]
    // Without a scope, a link-local address has that of the socket.
    const to = a.destination(gid, b.port)
    expect(a.destination(address, b.port, scopeId)).toBe(to)
    bytes.fill(9, 0, 3 * roceMtu)
    expect(a.send(0, 3 * roceMtu, roceMtu, to)).toBe(3 * roceMtu)
    for (let received = 0; received < 3 * roceMtu; ) {
      waitReadable(Int32Array.of(b.fd), 1, 10_000)
      const length = b.receive(100_000, room)
      expect(length).toBeGreaterThan(0)
      expect(b.segmentBytes).toBe(roceMtu)
      received += length
    }
    expect(b.source).toEqual(gid)
    expect(b.sourceScope).toBe(scopeId)
    expect(() => open(address, scopeId, a.port)).toThrow(/is in use: another roce device/)

    // The socket that Node has, to and fro.
    const plain = new DatagramSocket(host, 0)
    closers.push(() => void plain.close())
    await plain.bind()
    const answered = new Promise<void>((resolve) => {
      plain.onPacket = (packet, source, port) => {
        expect([packet.length, port]).toEqual([10, a.port])
        expect(source).toEqual(gid)
        plain.send(packet, plain.destination(source, port))
        resolve()
      }
    })
    expect(a.send(0, 10, 0, a.destination(gid, plain.port))).toBe(10)
    await answered
    while (plain.counters.sentPackets === 0) await new Promise((resolve) => setImmediate(resolve))
    waitReadable(Int32Array.of(a.fd), 1, 10_000)
    expect(a.receive(100_000, room)).toBe(10)
    expect(a.source).toEqual(gid)
    expect(plain.counters.sendErrors).toEqual({})
  })

  it('says that there is no such interface', () => {
    const linkLocal = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    expect(() => open(linkLocal, 1 << 20)).toThrow(NativeError)
    expect(() => open(linkLocal, 1 << 20)).toThrow(/no such interface|IPv6 is turned off/)
  })
})
