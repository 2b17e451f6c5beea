import { describe, expect, it } from 'vitest'
import { CapturedPacket, Direction, type PacketDirection } from '../../src/capture/index.ts'
import { OneView } from '../../src/monitor/index.ts'
import { Ethernet, Ipv4, WireOpcode } from '../../src/wire/index.ts'
import { roceFrame } from '../trace/packets.ts'

const { Inbound, Outbound, Unknown } = Direction

function seen(
  source: string,
  destination: string,
  interfaceId: number,
  direction: PacketDirection,
  ms = -1,
): CapturedPacket {
  const packet = new CapturedPacket()
  packet.bytes = roceFrame({ opcode: WireOpcode.RcSendOnly, source, destination, payload: 8 })
  packet.length = packet.bytes.length
  const time = { hasTime: ms >= 0, seconds: Math.floor(ms / 1000), nanoseconds: (ms % 1000) * 1e6 }
  return Object.assign(packet, { interfaceId, direction, ...(ms >= 0 && time) })
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

  it('does not take the copy of a receiver that reads more than a second late', () => {
    const view = new OneView()
    const [a, b] = ['10.0.0.1', '10.0.0.2']
    expect(view.takes(seen(a, b, 0, Outbound, 5000))).toBe(true)
    expect(view.takes(seen(a, b, 1, Inbound, 6100))).toBe(false)
    expect(view.takes(seen(a, b, 0, Outbound, 6200))).toBe(true)
    expect(view.leftOut).toBe(1)
  })

  it('takes what two devices exchange at another one when the first has been silent for a second, and counts what it leaves out', () => {
    const view = new OneView()
    const [a, b] = ['10.0.0.1', '10.0.0.2']
    const packets: [string, string, number, PacketDirection, ms: number, isTaken: boolean][] = [
      [a, b, 0, Outbound, 5000, true],
      [a, b, 1, Inbound, 5000, false],
      [b, a, 1, Outbound, 5900, false],
      [b, a, 0, Inbound, 5900, true],
      // The process of the first has ended; that of the second lives, and then one comes that has the address of the first.
      [b, a, 1, Outbound, 6900, false],
      [b, a, 1, Outbound, 6901, true],
      [b, a, 2, Inbound, 6901, false],
      [a, b, 2, Outbound, 7000, false],
      [a, b, 1, Inbound, 7000, true],
      [a, b, 2, Outbound, 9000, true],
      [a, b, 1, Inbound, 9000, false],
      [b, a, 2, Inbound, 9001, true],
      // A process that has been late in writing does not take over.
      [b, a, 1, Outbound, 3000, false],
    ]
    for (const [source, destination, id, direction, ms, isTaken] of packets)
      expect([ms, id, view.takes(seen(source, destination, id, direction, ms))]).toEqual([ms, id, isTaken])
    expect(view.leftOut).toBe(7)
  })

  it('takes what a device sends to itself at the one that has its address later', () => {
    const view = new OneView()
    const self = '10.0.0.1'
    const taken = [
      [0, Inbound, 5000],
      [0, Outbound, 5000],
      [1, Outbound, 7000],
      [1, Inbound, 7000],
    ].map(([id, direction, ms]) => view.takes(seen(self, self, id!, direction as PacketDirection, ms!)))
    expect([taken, view.leftOut]).toEqual([[true, false, true, false], 2])
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
