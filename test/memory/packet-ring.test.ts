/** Frames of the loopback interface, and what network drivers say. Packet sockets need CAP_NET_RAW. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type BpfInstruction,
  ethtoolDriver,
  ethtoolStatistics,
  interfaceIndex,
  NativeError,
  nativeAvailable,
  netlinkRequest,
  PacketRing,
} from '../../src/memory/native/index.ts'

const everything: readonly BpfInstruction[] = [{ code: 0x06, jt: 0, jf: 0, k: 0x40000 }]

/** UDP over IPv4 to this port, so many bytes of each frame: what others send meanwhile fills no ring. */
function udpTo(port: number, bytes = 0x40000): BpfInstruction[] {
  return [
    { code: 0x28, jt: 0, jf: 0, k: 12 },
    { code: 0x15, jt: 0, jf: 5, k: 0x0800 },
    { code: 0x30, jt: 0, jf: 0, k: 23 },
    { code: 0x15, jt: 0, jf: 3, k: 17 },
    { code: 0x28, jt: 0, jf: 0, k: 36 },
    { code: 0x15, jt: 0, jf: 1, k: port },
    { code: 0x06, jt: 0, jf: 0, k: bytes },
    { code: 0x06, jt: 0, jf: 0, k: 0 },
  ]
}

/** Why packets cannot be captured here; undefined if they can. */
function obstacle(): string | undefined {
  if (!nativeAvailable) return 'there is no koffi'
  try {
    PacketRing.open({ interfaceIndex: interfaceIndex('lo'), filter: everything, ringBytes: 2 << 20 }).close()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
const missing = obstacle()

describe.skipIf(missing !== undefined)(`a ring of packets${missing === undefined ? '' : `: ${missing}`}`, () => {
  const receiver = createSocket('udp4')
  const sender: Socket = createSocket('udp4')
  let port = 0

  beforeAll(async () => {
    receiver.bind(0, '127.0.0.1')
    await once(receiver, 'listening')
    port = receiver.address().port
  })
  afterAll(() => {
    receiver.close()
    sender.close()
  })

  function openRing(ringBytes: number, bytes?: number): PacketRing {
    return PacketRing.open({ interfaceIndex: interfaceIndex('lo'), filter: udpTo(port, bytes), ringBytes })
  }

  /** Datagrams as the ring has them, until there are so many. */
  async function payloads(
    ring: PacketRing,
    wanted: number,
  ): Promise<{ text: string; outbound: boolean; cut: boolean }[]> {
    const found: { text: string; outbound: boolean; cut: boolean }[] = []
    while (found.length < wanted) {
      ring.drain(({ offset, length, originalLength, outbound }) => {
        const b = ring.bytes.slice(offset, offset + length)
        found.push({ text: new TextDecoder().decode(b.subarray(42)), outbound, cut: originalLength > length })
      }, 10)
      await after(5)
    }
    return found
  }

  it('has what is sent, both ways, with the time of day', async () => {
    const ring = openRing(4 << 20)
    const beforeMs = Date.now()
    sender.send('one', port, '127.0.0.1')
    sender.send('two', port, '127.0.0.1')
    while (ring.waiting === 0) await after(5)
    expect(Math.abs(ring.nextMs - beforeMs)).toBeLessThan(60_000)
    const found = await payloads(ring, 4)
    expect(found.map(({ text }) => text).sort()).toEqual(['one', 'one', 'two', 'two'])
    expect(found.filter(({ outbound }) => outbound)).toHaveLength(2)
    expect(ring.statistics()).toMatchObject({ received: 4, dropped: 0 })
    ring.close()
    expect(ring.statistics()).toMatchObject({ received: 4 })
    ring.close()
  })

  it('goes round: more frames than the ring holds, when they are taken out', async () => {
    const ring = openRing(2 << 20)
    const text = 'x'.repeat(1000)
    // Four times what it holds. A frame that finds it full, as on a busy machine, is lost: more are sent until so many have come.
    for (let seen = 0; seen < 8000; ) {
      for (let i = 0; i < 100; i++) sender.send(text, port, '127.0.0.1')
      const some = await payloads(ring, 1)
      expect(some.every((one) => one.text === text)).toBe(true)
      seen += some.length
    }
    ring.close()
  })

  it('the filter says how much of a frame is captured', async () => {
    const ring = openRing(2 << 20, 44)
    sender.send('a long text', port, '127.0.0.1')
    expect(await payloads(ring, 2)).toContainEqual({ text: 'a ', outbound: true, cut: true })
    ring.close()
  })

  it('says what is wrong', () => {
    const lo = interfaceIndex('lo')
    expect(() => PacketRing.open({ interfaceIndex: 999_999, filter: everything, ringBytes: 2 << 20 })).toThrow(
      /it has gone/,
    )
    expect(() => PacketRing.open({ interfaceIndex: lo, filter: [{ code: 0xffff, jt: 0, jf: 0, k: 0 }] })).toThrow(
      /rejects/,
    )
    expect(() => PacketRing.open({ interfaceIndex: lo, filter: everything, ringBytes: 2 ** 50 })).toThrow(NativeError)
  })
})

describe.skipIf(!nativeAvailable)('what the kernel is asked', () => {
  it('an interface that is not there, and one without statistics', () => {
    expect(interfaceIndex('nothing0')).toBe(0)
    expect(interfaceIndex('lo')).toBeGreaterThan(0)
    expect(() => ethtoolStatistics('nothing0')).toThrow(/ENODEV/)
    expect(() => ethtoolDriver('a name that is much too long')).toThrow(/no name of an interface/)
    expect(() => ethtoolStatistics('lo')).toThrow(/EOPNOTSUPP/)
  })

  const counting = readdirSync('/sys/class/net').filter((name) => {
    try {
      return ethtoolStatistics(name).length > 0
    } catch {
      return false
    }
  })

  it.skipIf(counting.length === 0)('statistics of the interfaces that have any', () => {
    for (const name of counting) {
      const [before, after] = [ethtoolStatistics(name), ethtoolStatistics(name)]
      expect(after.map((one) => one.name)).toEqual(before.map((one) => one.name))
      for (const one of before) expect(one.name).toMatch(/^[\x21-\x7e][\x20-\x7e]*$/)
      expect(ethtoolDriver(name)).toMatch(/^[a-z]\w*$/i)
    }
  })

  it('netlink: an answer, and an error', () => {
    // RTM_GETLINK of interface 1, struct ifinfomsg.
    const question = new Uint8Array(16)
    question[4] = 1
    const answer = netlinkRequest(0, 18, question)
    expect(new TextDecoder().decode(answer)).toContain('lo\0')
    question[4] = 0xff
    question[6] = 0x7f
    expect(() => netlinkRequest(0, 18, question)).toThrow(/ENODEV/)
  })
})
