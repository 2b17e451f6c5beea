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
