/** The doors of umad, for programs on one adapter: of one run, and of two. */
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { VerbsError } from '../../../src/index.ts'
import { IssmDoor, type UmadPort } from '../../../src/run/umad/index.ts'
import { Outgoing } from '../../../src/run/umad/outgoing.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { Mad, nodeInfoCodec, portInfoCodec, put32, Rmpp, SubnAttribute, u16, u32 } from '../../../src/wire/index.ts'
import { mad } from '../../management/node.ts'
import { newAdapter, Program } from './program.ts'

const EINVAL = { errno: 22 }
const EAGAIN = { errno: 11 }

const adapter = newAdapter()
const port = adapter.port()
const otherRun = adapter.port()
let a: Program
let b: Program
let programs: Program[]
const start = (on: UmadPort): Program => {
  const program = new Program(on)
  program.enablePkey()
  programs.push(program)
  return program
}

beforeEach(() => {
  programs = []
  a = start(port)
  b = start(otherRun)
})
afterEach(() => {
  for (const { door } of programs) door.close()
})
afterAll(() => adapter.close())

/** How many more there are of what a counter counts. */
function rise(counter: string, act: () => void): number {
  const { host, index } = port.context.device
  const before = host.counters(index)[counter]!
  act()
  return host.counters(index)[counter]! - before
}

/** A request of a class of vendors, as ibping sends them. */
function ping(transaction: number): Uint8Array {
  const bytes = mad(0x32, 1, 0)
  put32(bytes, Mad.transactionId + 4, transaction)
  bytes.set([0, 0x14, 5], 37)
  return bytes
}
const pings = { methods: [1], oui: 0x001405, rmpp: 1 }

/** Answers the next request of a server: the same, as a response. */
function answer(server: Program, agent: number): void {
  const request = server.receive()!
  expect(request).toMatchObject({ agent, status: 0, lid: 1, qpn: 1 })
  const response = Uint8Array.from(request.mad)
  response[Mad.method] = 0x81
  expect(server.send(agent, response, { lid: request.lid, qpn: request.qpn })).toBe(64 + 256)
}

describe('agents', () => {
  it('leave nothing behind where there is no room for their queue pair', () => {
    const { context } = otherRun
    const channel = vi.spyOn(context, 'createCompChannel')
    vi.spyOn(context, 'allocPd').mockImplementationOnce(() => {
      throw new VerbsError('ENOMEM', 'allocPd', 'no more')
    })
    expect(b.register(4)).toEqual({ errno: 12 })
    expect(channel.mock.results[0]!.value).toMatchObject({ closed: true })
    vi.restoreAllMocks()
    expect(b.register(4)).toBe(0)
  })

  it('have the lowest numbers that are free', () => {
    expect([a.register(4), a.register(3, { version: 2, rmpp: 1 }), a.register(0x81)]).toEqual([0, 1, 2])
    expect([a.unregister(1), a.unregister(1), a.register(1)]).toEqual([0, EINVAL, 1])
  })

  it('are 32 at most', () => {
    for (let i = 0; i < 32; i++) expect(a.register(4)).toBe(i)
    expect(a.register(4)).toEqual({ errno: 12 })
  })

  it.each([
    ['a class that is not of QP 0', 4, { qpn: 0 }],
    ['subnet management on QP 1', 1, { qpn: 1 }],
    ['a queue pair without management', 4, { qpn: 2 }],
    ['a class that does not exist', 0x50, {}],
    ['a version that does not exist', 4, { version: 8 }],
    ['RMPP where there is none', 4, { rmpp: 1 }],
    ['another version of RMPP', 3, { rmpp: 2 }],
    ['a class of vendors without OUI', 0x32, {}],
  ])('cannot be of %s', (_, mgmtClass, options) => expect(a.register(mgmtClass, options)).toEqual(EINVAL))

  it('do not share a method, in whatever run', () => {
    expect([a.register(0x32, pings), b.register(0x32, pings)]).toEqual([0, EINVAL])
    expect(b.register(0x32, { ...pings, oui: 0x001406 })).toBe(0)
    expect([a.unregister(0), b.register(0x32, pings)]).toEqual([0, 1])
  })

  it('leave nothing when their file is closed', () => {
    a.register(0x32, pings)
    a.file.closed()
    expect(b.register(0x32, pings)).toBe(0)
  })

  it('know P_Keys only if these were asked for first', () => {
    a.register(4)
    expect(a.enablePkey()).toEqual(EINVAL)
  })

  it('say which flags they know', () => {
    const bytes = new Uint8Array(40)
    bytes.set([1, 0, 0, 0, 4, 1], 4)
    bytes[12] = 6
    expect(a.ioctl(0xc0281b04, bytes)).toEqual(EINVAL)
    expect(a.memory.bytes[12]).toBe(1)
    bytes[12] = 0
    expect(a.ioctl(0xc0281b04, bytes)).toBe(0)
    expect(a.ioctl(0x1b09, 0)).toEqual({ errno: 25 })
  })
})

describe('what adapters answer', () => {
  it('by LID and by directed route', () => {
    const agent = a.register(1) as number
    const directed = a.register(0x81) as number
    a.send(agent, mad(1, 1, SubnAttribute.nodeInfo), { lid: 2, timeoutMs: 100 })
    const other = a.receive()!
    expect(other).toMatchObject({ agent, status: 0, lid: 2, qpn: 0 })
    const route = mad(0x81, 1, SubnAttribute.nodeInfo)
    route.fill(0xff, 32, 36)
    route[7] = 1
    route[129] = 1
    a.send(directed, route, { lid: 0xffff, timeoutMs: 100 })
    const there = a.receive()!
    expect([there.lid, u16(there.mad, Mad.status)]).toEqual([0xffff, 0x8000])
    expect(nodeInfoCodec.read(there.mad, 64)).toEqual(nodeInfoCodec.read(other.mad, 64))
    expect(nodeInfoCodec.read(there.mad, 64).nodeGuid).toBe(adapter.port(1).context.queryDevice().nodeGuid)
    // The upper half of the transaction is the agent's.
    expect(u32(other.mad, Mad.transactionId)).not.toBe(0)
    route[129] = 2
    expect(a.send(directed, route, { lid: 0xffff, timeoutMs: 100 })).toEqual(EINVAL)
  })

  it('with counters that rise and are reset, for all runs', () => {
    const { host, index } = port.context.device
    const counters = (program: Program, agent: number, method: number): number => {
      const asked = mad(4, method, 0x12)
      asked[65] = 1
      asked.fill(method === 2 ? 0xff : 0, 66, 68)
      program.send(agent, asked, { timeoutMs: 100 })
      return u32(program.receive()!.mad, 64 + 32)
    }
    const [inA, inB] = [a.register(4) as number, b.register(4) as number]
    expect(counters(a, inA, 1)).toBe(0)
    host.count(index, 'sent_pkts', 5)
    expect([counters(a, inA, 1), counters(b, inB, 1)]).toEqual([5, 5])
    expect(port.files()['counters/port_xmit_packets']!()).toBe('5')
    expect([counters(b, inB, 2), counters(a, inA, 1)]).toEqual([0, 0])
  })

  it('with the status of the kernel where no program takes a class', () => {
    const agent = a.register(0x32, { ...pings, methods: [] }) as number
    a.send(agent, ping(1), { timeoutMs: 100 })
    expect(u16(a.receive()!.mad, Mad.status)).toBe(0x0c)
  })
})

describe('messages between programs', () => {
  it('go to whoever has registered the class, and back', () => {
    const [client, server] = [a.register(0x32, { ...pings, methods: [] }), b.register(0x32, pings)] as number[]
    for (const transaction of [5, 6]) {
      expect(a.send(client!, ping(transaction), { timeoutMs: 1000 })).toBe(320)
      answer(b, server!)
      const response = a.receive()!
      expect(response).toMatchObject({ agent: client, status: 0, lid: 1, qpn: 1 })
      expect([response.mad[Mad.method], u32(response.mad, Mad.transactionId + 4)]).toEqual([0x81, transaction])
    }
  })

  it('are one of a transaction and class at a time', () => {
    const client = a.register(0x32, { ...pings, methods: [] }) as number
    b.register(0x32, pings)
    a.send(client, ping(5), { timeoutMs: 1000 })
    expect(a.send(client, ping(5), { timeoutMs: 1000 })).toEqual(EINVAL)
    expect(a.send(client, ping(6), { timeoutMs: 1000 })).toBe(320)
  })

  it('are dropped if nobody waits for them', () => {
    const client = a.register(0x32, { ...pings, methods: [] }) as number
    const server = b.register(0x32, pings) as number
    a.send(client, ping(5))
    answer(b, server)
    expect(rise('mad_drops_unmatched', () => expect(a.receive()).toBeNull())).toBe(1)
  })

  it('time out, after their retries', async () => {
    const client = a.register(0x32, { ...pings, methods: [] }) as number
    b.register(0x32, pings)
    a.send(client, ping(5), { timeoutMs: 1, retries: 2 })
    await expect.poll(() => a.receive()?.status).toBe(110)
    // The program gets the header of what it has sent.
    expect([a.memory.bytes[0], a.memory.bytes[64 + Mad.mgmtClass]]).toEqual([client, 0x32])
    const arrived = [b.receive(), b.receive(), b.receive(), b.receive()].filter((message) => message !== null)
    expect(arrived).toHaveLength(3)
    expect(a.door.restMs()).toBe(Number.POSITIVE_INFINITY)
  })

  it('cost turns nothing in which nothing of them happens', () => {
    const client = a.register(0x32, { ...pings, methods: [] }) as number
    b.register(0x32, pings)
    for (let i = 0; i < 100; i++) a.send(client, ping(i), { timeoutMs: 60_000 })
    a.door.restMs()
    const asked = vi.spyOn(Outgoing.prototype, 'deadlineNs', 'get')
    try {
      for (let i = 0; i < 10; i++) {
        a.door.progress()
        expect(a.door.arm()).toBe(true)
        expect(a.door.restMs()).toBeGreaterThan(0)
      }
      // The packets were sent, which the first turn sees.
      expect(asked.mock.calls.length).toBeLessThanOrEqual(200)
    } finally {
      asked.mockRestore()
    }
  })

  it('are of several packets where class and agent have RMPP', () => {
    const server = a.register(3, { version: 2, rmpp: 1, methods: [0x12] }) as number
    const client = b.register(3, { version: 2, rmpp: 1 }) as number
    b.send(client, mad(3, 0x12, 0x11), { timeoutMs: 1000 })
    const { mad: request } = a.receive()!
    const response = new Uint8Array(56 + 30_000).map((_, i) => i)
    response.set(request.subarray(0, 56))
    response[Mad.method] = 0x92
    response[Rmpp.flags] = 1
    expect(a.send(server, response)).toBe(64 + response.length)
    for (let i = 0; i < 10; i++) for (const { door } of [a, b]) while (door.progress());
    // Too little room: the header says how much it is, and the message stays.
    expect(b.read(320)).toEqual({ errno: 28 })
    expect(Buffer.from(b.memory.bytes.subarray(16, 20)).readUInt32LE()).toBe(64 + response.length)
    expect(b.read(100)).toEqual(EINVAL)
    const whole = b.receive()!
    expect(whole.mad.length).toBe(response.length)
    expect(whole.mad.subarray(56).equals(response.subarray(56))).toBe(true)
    expect(b.receive()).toBeNull()
    expect(a.door.restMs()).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('files', () => {
  it('let a read wait that may', () => {
    const agent = a.register(1) as number
    expect(a.read()).toEqual(EAGAIN)
    a.nonBlocking = false
    expect(a.read()).toBe('waits')
    expect(a.read()).toBe('waits')
    // The first one has been interrupted.
    a.blocked[0]!.isKilled = true
    a.send(agent, mad(1, 1, SubnAttribute.nodeInfo), { timeoutMs: 100 })
    expect(a.blocked.map(({ result }) => result)).toEqual([undefined, 320])
  })

  it('give a message to one of those that wait', () => {
    const agent = a.register(1) as number
    a.nonBlocking = false
    expect([a.read(), a.read()]).toEqual(['waits', 'waits'])
    a.send(agent, mad(1, 1, SubnAttribute.nodeInfo), { timeoutMs: 100 })
    // The other one is blocked once more.
    expect(a.blocked.map(({ result }) => result)).toEqual([320, undefined, undefined])
  })

  it('look after readers that were killed', () => {
    a.nonBlocking = false
    let looks = 0
    for (let i = 0; i < 100; i++) {
      a.read()
      const blocked = a.blocked[i]!
      blocked.isKilled = true
      const look = blocked.look.bind(blocked)
      blocked.look = () => {
        looks++
        look()
      }
    }
    // Each was looked at once: when the reader behind it came.
    expect(looks).toBe(99)
  })

  it.each([
    ['too short a message', () => a.write(new Uint8Array(64 + 35)), EINVAL],
    ['no such agent', () => a.send(1, mad(4, 1, 1)), { errno: 5 }],
    ['no number of an agent', () => a.send(32, mad(4, 1, 1)), EINVAL],
    ['a message of more than a MAD without RMPP', () => a.send(0, new Uint8Array(257).fill(4, 1, 2)), EINVAL],
    ['subnet management of an agent of QP 1', () => a.send(0, mad(1, 1, 0x11)), EINVAL],
    ['too little room for a header', () => a.read(63), EINVAL],
  ])('reject %s', (_, act, expected) => {
    expect(a.register(4)).toBe(0)
    expect(act()).toEqual(expected)
  })

  it('keep only so many messages', () => {
    const agent = a.register(1) as number
    const asked = mad(1, 1, SubnAttribute.nodeInfo)
    const ask = (): void => {
      for (let i = 0; i < 4100; i++) a.send(agent, asked, { timeoutMs: 100 })
    }
    expect(rise('mad_drops_queue', ask)).toBe(4)
    let count = 0
    while (a.receive() !== null) count++
    expect(count).toBe(4096)
  })

  it('of issm make a port that of a subnet manager, one at a time', () => {
    const door = new IssmDoor(port, 0)
    const call = { nonBlocking: true } as Parameters<typeof door.open>[0]
    const agent = a.register(1) as number
    const isSm = (): boolean => {
      a.send(agent, mad(1, 1, SubnAttribute.portInfo, 1), { timeoutMs: 100 })
      return (portInfoCodec.read(a.receive()!.mad, 64).capabilityMask & 2) !== 0
    }
    expect(isSm()).toBe(false)
    const file = door.open(call)
    expect([isSm(), port.files().cap_mask!()]).toEqual([true, '0x00010802'])
    expect(() => door.open(call)).toThrow(/subnet manager already/)
    file.closed()
    expect(isSm()).toBe(false)
    door.open(call)
    expect(isSm()).toBe(true)
    door.close()
  })

  it('of issm leave no manager behind where another thread has got the number of one that was killed', () => {
    const { host, index } = port.context.device
    const door = new IssmDoor(port, 0)
    // A use of the attachment of this thread that has ended.
    host.i32[host.deviceWord(index) + layout.Dev.subnetManager] = host.segment.me
    expect(port.files().cap_mask!()).toBe('0x00010800')
    door.open({ nonBlocking: true } as Parameters<typeof door.open>[0])
    expect(port.files().cap_mask!()).toBe('0x00010802')
    door.close()
    expect(port.files().cap_mask!()).toBe('0x00010800')
  })
})
