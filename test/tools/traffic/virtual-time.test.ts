/** The client's loop in virtual time: what is slow is no loss, phases begin when they are to, and lateness is that of the client. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import '../../../src/index.ts'
import type { CaptureWriter } from '../../../src/capture/index.ts'
import { type CaptureResult, captureTraffic } from '../../../src/traffic/capture/index.ts'
import { Network } from '../../../src/traffic/capture/network.ts'
import { readTraffic } from '../../../src/traffic/load/index.ts'

interface Packet {
  /** Nanoseconds from the start. */
  ns: number
  opcode: number
}

afterEach(() => {
  vi.restoreAllMocks()
})

const rcReadRequest = 0x0c
const rcReadOnlyResponse = 0x10
const rcFetchAdd = 0x14

/** Packets between a client and its servers in the order of time. */
function captured(yaml: string): { result: CaptureResult; packets: Packet[] } {
  const packets: Packet[] = []
  const writer: CaptureWriter = {
    // Ethernet, IPv4, UDP.
    packet: (bytes, offset, _, seconds, ns) => packets.push({ ns: seconds * 1e9 + ns, opcode: bytes[offset + 42]! }),
    flush: () => undefined,
    close: () => undefined,
  }
  const config = readTraffic(yaml, 'test.yaml')
  return { result: captureTraffic({ config, writer, memoryOf: 'shm0', roceV1: false, stopped: () => false }), packets }
}

describe('a flow that takes longer than the patience of the client is no loss', () => {
  it.each([
    ['SENDs of UC', 'types: UC\nverbs: send\nsize: 100kB\nrate: 400kbps\ncount: 3'],
    ['SENDs of UD', 'types: UD\nverbs: send\nsize: 100kB\nrate: 400kbps\ncount: 3'],
    ['WRITEs of UC', 'types: UC\nverbs: write\nsize: 100kB\nrate: 400kbps\ncount: 3'],
    ['a WRITE of RC, of which nothing shows', 'verbs: write\nsize: 200kB\nrate: 400kbps\ncount: 1'],
    ['more WRITEs than there are marks', 'types: UC\nverbs: write\nsize: 4.3MB\nrate: 16Mbps\ncount: 1'],
    [
      'what follows it',
      'types: UC\nverbs: { send: 1, write: 1 }\nsize: { 8: 1, 100kB: 1 }\nrate: 400kbps\nrequests: 1k/s\ncount: 8',
    ],
    [
      'on a slow link',
      'types: UC\nverbs: send\nsize: 100kB\nbandwidth: 400kbps\nrequests: 1k/s\nqps: 4\ntimeout: 20\ncount: 4',
    ],
  ])('%s', (_, yaml) => {
    const { result } = captured(`servers: [a]\nmtu: 4096\n${yaml}`)
    expect(result).toMatchObject({ done: result.requests, lost: 0, failed: 0 })
    expect(result.seconds).toBeGreaterThan(1.5)
  })

  it('and what is lost is found a second after the last sign of it', () => {
    const { result } = captured(
      'servers: [a]\ntypes: { UC: 1, UD: 1 }\nsize: 2000\nfaults: { loss: 0.2 }\ncount: 20\narrival: { type: closed }',
    )
    expect(result).toMatchObject({ requests: 20, done: 20 - result.lost, failed: 0 })
    expect(result.lost).toBeGreaterThan(3)
    expect(result.seconds).toBeGreaterThan(result.lost)
    // Requests are repeated when their packets are lost.
    expect(result.seconds).toBeLessThan(1.2 * result.lost + 2)
  })
})

describe('at the end of a run', () => {
  it('flows with a rate that are lost one after the other are lost, not failed', () => {
    const { result } = captured(
      'servers: [a]\ntypes: UC\nverbs: send\nsize: 8192\nmtu: 4096\nrate: 8192bps\nfaults: { loss: 0.3 }\ncount: 3\nseed: 23',
    )
    expect(result).toMatchObject({ done: 0, lost: 3, failed: 0 })
  })

  it('so are those behind one that takes much longer', () => {
    const { send } = Network.prototype
    vi.spyOn(Network.prototype, 'send').mockImplementation(function (this: Network, bytes, ...rest) {
      const fromServerOnUc = rest[0] !== 0 && bytes[0]! >> 5 === 1
      if (!fromServerOnUc) send.call(this, bytes, ...rest)
    })
    const { result } = captured(
      'servers: [a]\ntypes: UC\nverbs: send\nsize: { 8: 1, 10kB: 1 }\nmtu: 4096\nrate: 4kbps\ncount: 6',
    )
    expect(result).toMatchObject({ requests: 6, lost: 6, failed: 0 })
  })
})

it('a server that vanishes while it owes something is found gone, also where the run would wait for it', () => {
  const { send } = Network.prototype
  const vanishNs = 5e9
  vi.spyOn(Network.prototype, 'send').mockImplementation(function (this: Network, ...packet) {
    if (this.nowNs - this.startNs < vanishNs) send.apply(this, packet)
  })
  // A message in half a minute: none is outstanding when the server vanishes.
  const { result } = captured(
    'servers: [a]\nverbs: send\nsize: 8192\nmtu: 4096\nrate: 1kbps\ntimeout: 14\ncount: 3\narrival: { type: closed }',
  )
  expect(result).toMatchObject({ done: 0, lost: 0, failed: 3 })
  expect(result.seconds).toBeLessThan(8)
})

describe('a closed phase', () => {
  it('ends in time, however long requests of it would wait', () => {
    const { packets } = captured(`servers: [a]
size: 64
phases:
- { duration: 10ms, arrival: { type: closed, think: 1s }, verbs: read }
- { duration: 10ms, requests: 1k/s, arrival: fixed, verbs: fetch_add }`)
    const times = packets.filter(({ opcode }) => opcode === rcFetchAdd).map(({ ns }) => ns)
    expect(times[0]).toBeGreaterThan(10e6)
    expect(times[0]).toBeLessThan(12e6)
    expect(times.at(-1)).toBeLessThan(21e6)
  })

  it('begins when the phase before it ends', () => {
    const { packets } = captured(`servers: [a]
size: 64
phases:
- { duration: 100ms, requests: 10/s, arrival: fixed, verbs: send }
- { duration: 5ms, arrival: { type: closed, think: 50us }, verbs: read }
- { duration: 100ms, requests: 100/s, arrival: fixed, verbs: fetch_add }`)
    const times = (opcode: number): number[] => packets.filter((one) => one.opcode === opcode).map(({ ns }) => ns)
    const reads = times(rcReadRequest)
    expect(reads[0]).toBeGreaterThanOrEqual(100e6)
    expect(reads[0]).toBeLessThan(101e6)
    expect(reads.at(-1)).toBeGreaterThan(104e6)
    expect(reads.at(-1)).toBeLessThan(106e6)
    expect(times(rcFetchAdd)[0]! - 105e6).toBeGreaterThanOrEqual(10e6)
  })

  it('has no more outstanding than its depth, whatever the phase before has left', () => {
    const { packets, result } = captured(`servers: [a]
count: 60
bandwidth: 100Mbps
phases:
- { duration: 10ms, arrival: { type: closed, depth: 16 }, size: 64KiB }
- { arrival: { type: closed, depth: 1 }, size: 64, verbs: read }`)
    let outstanding = 0
    let most = 0
    for (const { opcode } of packets) {
      if (opcode === rcReadRequest) outstanding++
      if (opcode === rcReadOnlyResponse) outstanding--
      most = Math.max(most, outstanding)
    }
    expect(result).toMatchObject({ done: 60, failed: 0 })
    expect(most).toBe(1)
  })
})

describe('how late requests are sent', () => {
  it.each([
    ['pushed', 'flow: push\nverbs: send'],
    ['fetched', 'verbs: read'],
  ])('is how late they began, not how long they took: %s', (_, yaml) => {
    const { result } = captured(`servers: [a]\nmtu: 4096\nsize: 100kB\nrate: 800kbps\ncount: 1\n${yaml}`)
    expect(result).toMatchObject({ done: 1, failed: 0 })
    expect(result.seconds).toBeGreaterThan(0.9)
    expect(result.latestNs).toBeLessThan(1e6)
  })

  it('counts what waits behind another flow', () => {
    const yaml = 'flow: push\nverbs: send\nsize: 100kB\nrate: 8Mbps\ncount: 2\nrequests: 1k/s\narrival: fixed'
    const { result } = captured(`servers: [a]\nmtu: 4096\n${yaml}`)
    expect(result.latestNs).toBeGreaterThan(90e6)
  })
})
