import { describe, expect, it } from 'vitest'
import { CapturedPacket, Direction, type PacketDirection } from '../../src/capture/index.ts'
import { OneView } from '../../src/monitor/index.ts'
import { Ethernet, Ipv4, WireOpcode } from '../../src/wire/index.ts'
import { roceFrame } from '../trace/packets.ts'

const { Inbound, Outbound, Unknown } = Direction

function seen(source: string, destination: string, interfaceId: number, direction: PacketDirection): CapturedPacket {
  const packet = new CapturedPacket()
  packet.bytes = roceFrame({ opcode: WireOpcode.RcSendOnly, source, destination, payload: 8 })
  packet.length = packet.bytes.length
  return Object.assign(packet, { interfaceId, direction })
}

describe('one view', () => {
  const cases: [string, [string, string, number, PacketDirection, boolean][]][] = [
    [
      'takes what two devices exchange at the first of them',
      [
        ['10.0.0.1', '10.0.0.2', 0, Outbound, true],
        ['10.0.0.1', '10.0.0.2', 1, Inbound, false],
        ['10.0.0.2', '10.0.0.1', 1, Outbound, false],
        ['10.0.0.2', '10.0.0.1', 0, Inbound, true],
        ['10.0.0.3', '10.0.0.2', 1, Inbound, true],
        ['10.0.0.1', '10.0.0.2', 0, Outbound, true],
      ],
    ],
    [
      'takes what a device sends to itself when it is sent',
      [
        ['10.0.0.1', '10.0.0.1', 0, Outbound, true],
        ['10.0.0.1', '10.0.0.1', 0, Inbound, false],
        ['10.0.0.1', '10.0.0.1', 0, Outbound, true],
      ],
    ],
    [
      'takes both directions of IPv6, where nothing says which way a packet goes',
      [
        ['fd00::1', 'fd00::2', 0, Unknown, true],
        ['fd00::2', 'fd00::1', 0, Unknown, true],
        ['fd00::2', 'fd00::1', 1, Unknown, false],
      ],
    ],
  ]
  it.each(cases)('%s', (_, packets) => {
    const view = new OneView()
    for (const [source, destination, id, direction, isTaken] of packets)
      expect([source, id, direction, view.takes(seen(source, destination, id, direction))]).toEqual([
        ...[source, id, direction, isTaken],
      ])
  })

  it('remembers a limited number of pairs, and takes all frames that have no address', () => {
    const view = new OneView()
    const packet = seen('10.0.0.1', '10.9.9.9', 0, Outbound)
    const between = (n: number, id: number): boolean => {
      packet.bytes.set([n >> 16, (n >> 8) & 255, n & 255], Ethernet.length + Ipv4.source + 1)
      packet.interfaceId = id
      return view.takes(packet)
    }
    for (let n = 0; n <= 65_536; n++) between(n, 0)
    expect([between(65_536, 1), between(0, 1)]).toEqual([false, true])
    const cut = seen('10.0.0.1', '10.9.9.9', 5, Outbound)
    cut.length = 20
    expect(view.takes(cut)).toBe(true)
  })
})
