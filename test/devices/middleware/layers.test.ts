/** Faults, tap and trace by themselves: packets in, packets out. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { type FaultCounter, FaultLayer } from '../../../src/devices/middleware/faults.ts'
import { Packet } from '../../../src/devices/middleware/index.ts'
import { TapLayer, writeFrame } from '../../../src/devices/middleware/tap.ts'
import { lineOf } from '../../../src/devices/middleware/trace.ts'
import type { FaultRates } from '../../../src/index.ts'
import {
  gidOfIp,
  IcrcFlow,
  icrcOfRoceV2,
  isMalformed,
  parseFrame,
  parseIp,
  put24,
  u32le,
} from '../../../src/wire/index.ts'
import { readBytes } from '../../capture/files.ts'
import { holds } from '../../property.ts'

function packetOf(number: number, outbound = true, timeNs = 0, from = '10.0.0.1', to = '10.0.0.2'): Packet {
  const packet = new Packet()
  packet.outbound = outbound
  packet.bytes = new Uint8Array(12 + 8 + 4)
  packet.bytes.set([0x04, 0x40, 0xff, 0xff])
  put24(packet.bytes, 5, 0x123456)
  packet.bytes[8] = 0x80
  put24(packet.bytes, 9, number)
  packet.end = packet.bytes.length
  packet.source = gidOfIp(parseIp(from)!)
  packet.destination = gidOfIp(parseIp(to)!)
  packet.sourcePort = 4791
  packet.timeNs = timeNs
  new IcrcFlow(parseIp(from)!, parseIp(to)!, 4791).write(packet.bytes, 0, 20)
  return packet
}

interface Run {
  passed: number[]
  counts: Partial<Record<FaultCounter, number>>
  damaged: number
}

/** A packet each 10 µs, every third inbound; then all that is held. */
function run(rates: FaultRates, count: number, salt = 0): Run {
  const counts: Run['counts'] = {}
  const layer = new FaultLayer(rates, salt, (name) => {
    counts[name] = (counts[name] ?? 0) + 1
  })
  const passed: number[] = []
  let damaged = 0
  for (let n = 0; n < count; n++) {
    const packet = packetOf(n, n % 3 !== 0, n * 10_000)
    layer.advance(packet.timeNs)
    layer.pass(packet, ({ bytes, start, end }) => {
      const original = packetOf(n).bytes
      const flipped = bytes.subarray(start, end).reduce((sum, byte, i) => sum + ones(byte ^ original[i]!), 0)
      expect(flipped === 0 || flipped === 1).toBe(true)
      damaged += flipped
      passed.push(n)
    })
  }
  while (layer.nextDeadlineNs < Number.POSITIVE_INFINITY) layer.advance(layer.nextDeadlineNs)
  return { passed, counts, damaged }
}

function ones(byte: number): number {
  let count = 0
  for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1
  return count
}

describe('faults', () => {
  const rate = fc.double({ min: 0, max: 0.5, noNaN: true })
  const rates = fc.record({
    loss: rate,
    duplication: rate,
    reordering: rate,
    corruption: rate,
    delayMs: fc.constantFrom(0, 0.05, 1),
    jitterMs: fc.constantFrom(0, 0.5),
    seed: fc.integer(),
  })

  it('every packet passes, but for those that are counted as lost; the others once more for each counted duplicate', () => {
    holds(
      fc.property(rates, fc.integer({ min: 0, max: 120 }), (given, count) => {
        const { passed, counts, damaged } = run(given, count)
        expect(passed.length).toBe(count - (counts.injected_losses ?? 0) + (counts.injected_duplicates ?? 0))
        expect(new Set(passed).size).toBe(count - (counts.injected_losses ?? 0))
        expect(damaged).toBe(counts.injected_corruptions ?? 0)
        if (given.delayMs > 0) expect(counts.injected_delays ?? 0).toBe(passed.length)
      }),
      100,
    )
  })

  it('the same seed gives the same faults, another seed or device others', () => {
    const given = { loss: 0.2, duplication: 0.2, reordering: 0.2, corruption: 0.1, seed: 5 }
    expect(run(given, 400)).toEqual(run(given, 400))
    expect(run(given, 400)).not.toEqual(run({ ...given, seed: 6 }, 400))
    expect(run(given, 400)).not.toEqual(run(given, 400, 1))
  })

  it('without faults nothing is touched; of a direction only that', () => {
    const all = Array.from({ length: 100 }, (_, n) => n)
    expect(run({}, 100)).toEqual({ passed: all, counts: {}, damaged: 0 })
    expect(run({ loss: 1, direction: 'in' }, 100).passed).toEqual(all.filter((n) => n % 3 !== 0))
    expect(run({ loss: 1, direction: 'out' }, 100).passed).toEqual(all.filter((n) => n % 3 === 0))
  })

  it('reordering lets the next of the same direction pass; a delay keeps the order', () => {
    const { passed, counts } = run({ reordering: 0.3, direction: 'out' }, 300)
    expect(counts.injected_reorderings).toBeGreaterThan(20)
    expect(passed).not.toEqual([...passed].sort((a, b) => a - b))
    expect(run({ delayMs: 5 }, 50).passed).toEqual(Array.from({ length: 50 }, (_, n) => n))
  })
})

describe.each([
  ['10.0.0.1', '10.0.0.2'],
  ['fd00::1', 'ff0e::2'],
])('a frame from %s to %s', (from, to) => {
  it('has headers whose ICRC, checksums and lengths are right', () => {
    const packet = packetOf(77, true, 0, from, to)
    packet.trafficClass = 0xb9
    packet.hopLimit = 3
    const b = new Uint8Array(2000)
    const length = writeFrame(packet, b)
    const frame = parseFrame(b, 0, length)
    if (isMalformed(frame)) expect.fail(frame)
    const ip = 14
    const bth = length - 24
    expect(icrcOfRoceV2(b, ip, bth, length - 4)).toBe(u32le(b, length - 4))
    expect(frame.sourcePort).toBe(4791)
    expect(frame.packet.bth.psn).toBe(77)
    const { source, destination } = (frame.ipv4 ?? frame.ipv6)!
    expect([source, destination]).toEqual([parseIp(from), parseIp(to)])
    if (frame.ipv4) expect(frame.ipv4).toMatchObject({ tos: 0xb9, ttl: 3, identification: 0, dontFragment: true })
    else expect(frame.ipv6).toMatchObject({ trafficClass: 0xb9, hopLimit: 3 })
  })
})

it('a tap begins although the program’s Date stands still', () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-tap-'))
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const path = join(folder, 'x.pcapng')
    new TapLayer(path, 'one').close()
    expect(readFileSync(path).readUInt32BE()).toBe(0x0a0d0d0a)
  } finally {
    vi.useRealTimers()
    rmSync(folder, { recursive: true })
  }
})

it('a tap into a file named .pcap writes pcap, with one header though two threads write', () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-tap-'))
  try {
    const path = join(folder, 'x.pcap')
    for (const psn of [1, 2]) {
      const tap = new TapLayer(path, 'one')
      tap.pass(packetOf(psn), () => {})
      tap.close()
    }
    const { packets, format, damage } = readBytes(readFileSync(path))
    expect([packets.length, format, damage]).toEqual([2, 'pcap', []])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('a line of the trace', () => {
  it('says what the packet is', () => {
    expect(lineOf(packetOf(77, true, 12_345_678_000))).toBe(
      '12.345678  out  10.0.0.1 → 10.0.0.2  RC_SEND_ONLY  QP 0x123456  PSN 77  8 B, ACK wanted',
    )
    const bad = packetOf(77, false)
    bad.identification = -1
    expect(lineOf(bad)).toMatch(/^0\.000000 {2}in .*, wrong ICRC$/)
  })

  it('never throws, whatever the packet is', () => {
    holds(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const packet = packetOf(1)
        packet.bytes = bytes
        packet.end = bytes.length
        expect(lineOf(packet)).toContain('→')
        expect(writeFrame(packet, new Uint8Array(200))).toBeGreaterThan(0)
      }),
    )
  })
})
