import { expect, it } from 'vitest'
import { CapturedPacket, LinkType } from '../../src/capture/index.ts'
import { Shares } from '../../src/monitor/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { roceFrame } from '../trace/packets.ts'

function shareOf(shares: Shares, source: string, destination: string): number {
  const packet = new CapturedPacket()
  packet.bytes = roceFrame({ opcode: WireOpcode.RcSendOnly, source, destination, payload: 8 })
  packet.length = packet.originalLength = packet.bytes.length
  packet.linkType = LinkType.Ethernet
  return shares.of(packet)
}

it.each([
  ['IPv4', '10.0.0.1', (host: number) => `10.0.1.${host}`],
  ['IPv6', 'fd00::1', (host: number) => `fd00::1:${host}`],
])('both directions of %s have one share, and pairs of hosts are spread', (_name, one, other) => {
  const shares = new Shares(4)
  const counts = [0, 0, 0, 0]
  for (let host = 1; host <= 200; host++) {
    const share = shareOf(shares, one, other(host))
    expect(shareOf(shares, other(host), one)).toBe(share)
    counts[share]!++
  }
  for (const count of counts) expect(count).toBeGreaterThan(20)
})

it.each([2, 3, 8])('eight pairs of hosts that send the same are %i shares that differ by one pair at most', (count) => {
  const shares = new Shares(count)
  const pairs = new Array<number>(count).fill(0)
  for (let turn = 0; turn < 3; turn++)
    for (let host = 1; host <= 8; host++) {
      const share = shareOf(shares, `10.0.${host}.1`, `10.0.${host}.2`)
      if (turn === 0) pairs[share]!++
      expect(shareOf(shares, `10.0.${host}.2`, `10.0.${host}.1`)).toBe(share)
    }
  expect(Math.max(...pairs) - Math.min(...pairs)).toBeLessThanOrEqual(1)
})
