import { expect, it } from 'vitest'
import { RingSegments } from '../../src/collect/ring-segments.ts'
import { RingPacket } from '../../src/memory/index.ts'
import { Ipv4, u16, WireOpcode } from '../../src/wire/index.ts'
import { framesTogether, headersLength, type PacketSpec, roceFrame } from '../trace/packets.ts'

const send = (psn: number, payload: number): PacketSpec => ({ opcode: WireOpcode.RcSendOnly, psn, payload })

/** The lengths that are handed over, and at what time, at most so many. */
function taken(bytes: Uint8Array, segmentBytes: number, most = 100): number[][] {
  const before = 9
  const ring = new Uint8Array(before + bytes.length)
  ring.set(bytes, before)
  const frame = Object.assign(new RingPacket(), {
    ...{ offset: before, length: bytes.length, originalLength: bytes.length, segmentBytes, seconds: 5, outbound: true },
  })
  const found: number[][] = []
  new RingSegments([4791]).each(ring, frame, (own, { offset, length, seconds, outbound }) => {
    found.push([own.subarray(offset, offset + length).length, seconds, Number(outbound)])
    return found.length < most
  })
  return found
}

it('takes frames of a ring apart as the kernel says, and stops when it is told to', () => {
  const specs = [send(1, 64), send(2, 64), send(3, 8)]
  const lengths = specs.map((spec) => [roceFrame(spec).length, 5, 1])
  const segmentBytes = lengths[0]![0]! - headersLength[4]
  const bytes = framesTogether(specs)
  expect(taken(bytes, segmentBytes)).toEqual(lengths)
  expect(taken(bytes, segmentBytes, 2)).toEqual(lengths.slice(0, 2))
  // One that is cut, or no RoCE, stays as it is.
  expect(taken(bytes.subarray(0, 80), segmentBytes)).toEqual([[80, 5, 1]])
  bytes[headersLength[4] - 6] = 0
  expect(taken(bytes, segmentBytes)).toEqual([[bytes.length, 5, 1]])
})

it.each([
  ['counts up', [9, 10, 11]],
  ['is the same', [0, 0, 0]],
])('gives packets the identification that their ICRCs have: it %s', (_, identifications) => {
  const specs = identifications.map((identification, psn) => ({ ...send(psn, 64), identification }))
  const bytes = framesTogether(specs)
  const segmentBytes = roceFrame(specs[0]!).length - headersLength[4]
  const frame = Object.assign(new RingPacket(), { length: bytes.length, originalLength: bytes.length, segmentBytes })
  const found: number[] = []
  new RingSegments([4791]).each(bytes, frame, (own) => found.push(u16(own, 14 + Ipv4.identification)) > 0)
  expect(found).toEqual(identifications)
})
