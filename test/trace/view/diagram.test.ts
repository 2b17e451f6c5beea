/** Diagrams: PSNs that go on counting, what is drawn of many points, and which point is found at a place. */
import { describe, expect, it } from 'vitest'
import { PcapWriter } from '../../../src/capture/index.ts'
import { timeTicks } from '../../../src/page/index.ts'
import { latencyTicks, psnTicks } from '../../../src/trace/page/axis.ts'
import {
  CaptureView,
  captureBytes,
  extentOf,
  latenciesOf,
  latencyStep,
  levelFor,
  levelsOf,
  nearest,
  type Points,
  pictureOf,
  Shape,
  sequenceOf,
} from '../../../src/trace/view/index.ts'
import { WireOpcode } from '../../../src/wire/index.ts'
import { memorySink } from '../../capture/files.ts'
import { seeded } from '../../random.ts'
import { aeth, type PacketSpec, roceFrame } from '../packets.ts'

const there = { source: '10.0.0.1', destination: '10.0.0.2', destQp: 0xb }
const back = { source: '10.0.0.2', destination: '10.0.0.1', destQp: 0xa }
const send = (psn: number): PacketSpec => ({ ...there, opcode: WireOpcode.RcSendOnly, payload: 8, ackReq: true, psn })
const ack = (psn: number, syndrome = 0x1f): PacketSpec => ({
  ...{ ...back, opcode: WireOpcode.RcAck, psn },
  extension: aeth(syndrome, 0),
})

/** The packets a microsecond apart; `damaged` ones have a wrong ICRC. */
async function viewOf(packets: readonly PacketSpec[], damaged: readonly number[] = []): Promise<CaptureView> {
  const sink = memorySink()
  const writer = new PcapWriter(sink)
  for (const [i, spec] of packets.entries()) {
    const frame = roceFrame(spec)
    if (damaged.includes(i)) frame[frame.length - 1]! ^= 1
    writer.packet(frame, 0, frame.length, 1_700_000_000, i * 1000)
  }
  writer.close()
  const view = new CaptureView(captureBytes(sink.bytes()))
  await view.load({ signal: new AbortController().signal, onProgress() {} })
  return view
}

const listOf = ({ count, psn, shape }: Points): [number, number][] =>
  Array.from({ length: count }, (_, i) => [psn[i]!, shape[i]!])

describe('a sequence', () => {
  it('counts on where PSNs begin again, and has requests with the responses to them', async () => {
    const [nak, cnp] = [0x60, { ...back, opcode: WireOpcode.Cnp, extension: new Uint8Array(16) }]
    const view = await viewOf(
      [send(0xfffffe), send(0xffffff), ack(0xffffff), send(1), ack(0, nak), send(0), send(1), ack(1), cnp, send(2)],
      [9],
    )
    const [flow, other] = view.analysis.table.flows
    const sequence = sequenceOf(view, flow!)
    expect(listOf(sequence)).toEqual([
      [0, Shape.Request],
      [1, Shape.Request],
      [1, Shape.Ack],
      [3, Shape.Request],
      [2, Shape.Nak],
      [2, Shape.Late],
      [3, Shape.Retransmission],
      [3, Shape.Ack],
      [3, Shape.Cnp],
      [4, Shape.Bad],
    ])
    expect(sequence).toMatchObject({ firstPsn: 0xfffffe, restarts: 0, lowest: 0, highest: 4 })
    // The other end asked for nothing.
    expect(sequenceOf(view, other!).count).toBe(0)
    const latencies = latenciesOf(view, flow!)
    // From the first transmission, of the request that was sent again, too.
    expect(listOf(latencies)).toEqual([
      [latencyStep(1000), Shape.Ack],
      [latencyStep(4000), Shape.Ack],
    ])
  })

  it('goes on above the one before when the QP is connected again', async () => {
    const view = await viewOf([send(100), ack(100), send(101), send(5_000_000), send(5_000_001)])
    const sequence = sequenceOf(view, view.analysis.table.flows[0]!)
    expect(sequence.restarts).toBe(1)
    expect(listOf(sequence).map(([psn]) => psn)).toEqual([0, 0, 1, 17, 18])
  })

  it('leaves out damaged packets whose PSN is far away', async () => {
    const view = await viewOf([send(100), send(0x800000), send(101)], [1])
    expect(listOf(sequenceOf(view, view.analysis.table.flows[0]!)).map(([psn]) => psn)).toEqual([0, 1])
  })
})

/** A million requests of a connection that stalls now and then, and three NAKs. */
function manyPoints(count: number): Points {
  const next = seeded(7)
  const points = {
    count,
    time: new Float64Array(count),
    psn: new Int32Array(count),
    shape: new Uint8Array(count).fill(Shape.Request),
    packet: Uint32Array.from({ length: count }, (_, i) => i),
  }
  let time = 0
  for (let i = 0; i < count; i++) {
    time += next() < 0.0001 ? 1e6 : 100
    points.time[i] = time
    points.psn[i] = i
    if (i % 3 === 1) points.shape[i] = Shape.Ack
  }
  for (const i of [1000, 500_001, 900_001]) points.shape[i] = Shape.Nak
  return points
}

describe('a picture', () => {
  const points = manyPoints(1_000_000)
  const levels = levelsOf(points)
  const all = { fromNs: 0, toNs: points.time.at(-1)!, low: 0, high: 1_000_000 }

  it('is made of fewer points the coarser it is, and none of a rare kind is lost', () => {
    expect(levels.length).toBeGreaterThan(1)
    for (const [i, level] of levels.entries()) {
      if (i > 0) expect(level.points.count).toBeLessThan(levels[i - 1]!.points.count * 0.81)
      expect(level.points.shape.filter((shape) => shape === Shape.Nak).length).toBe(3)
    }
  })

  it.each([
    ['all', all, 1000, 400],
    ['a tenth', { fromNs: all.toNs * 0.4, toNs: all.toNs * 0.5, low: 300_000, high: 600_000 }, 800, 300],
  ])('of %s has a run for every pixel that a point is near to, and for no other', (_, part, width, height) => {
    const picture = pictureOf(levels, { ...part, width, height })
    if (picture.kind !== 'runs') throw new Error('too few points')
    const key = (column: number, row: number, shape: number): number => (shape * 2000 + column) * 2000 + row
    const drawn = new Set<number>()
    for (let i = 0; i < picture.count; i++) {
      const [column, first, last, shape] = picture.runs.subarray(4 * i, 4 * i + 4)
      for (let row = first!; row <= last!; row++) drawn.add(key(column!, row, shape!))
    }
    const wanted = new Set<number>()
    const near = new Set<number>()
    for (let i = 0; i < points.count; i++) {
      const x = ((points.time[i]! - part.fromNs) / (part.toNs - part.fromNs)) * width
      const y = ((part.high - points.psn[i]!) / (part.high - part.low)) * height
      if (x < 0 || x >= width || y < 0 || y > height) continue
      const [column, row, shape] = [Math.floor(x), Math.min(height - 1, Math.floor(y)), points.shape[i]!]
      wanted.add(key(column, row, shape))
      for (const dx of [-1, 0, 1]) for (const dy of [-1, 0, 1]) near.add(key(column + dx, row + dy, shape))
    }
    expect([...drawn].filter((one) => !near.has(one))).toEqual([])
    const around = (one: number): boolean =>
      [-2000, 0, 2000].some((dx) => [-1, 0, 1].some((dy) => drawn.has(one + dx + dy)))
    expect([...wanted].filter((one) => !around(one))).toEqual([])
  })

  it('has the points themselves where there are few', () => {
    const [fromNs, toNs] = [points.time[500_000]!, points.time[500_050]!]
    const picture = pictureOf(levels, { fromNs, toNs, low: 499_000, high: 502_000, width: 800, height: 300 })
    if (picture.kind !== 'points') throw new Error('too many points')
    // One more on each side, and the next ACKs.
    const { packet, count } = picture.points
    expect([packet[1], packet.at(-2), count]).toEqual([499_999, 500_050, 54])
    const none = { count: 0, time: new Float64Array(), psn: new Int32Array(), shape: new Uint8Array() }
    const empty = levelsOf({ ...none, packet: new Uint32Array() })
    expect(pictureOf(empty, { ...all, width: 10, height: 10 })).toMatchObject({ kind: 'points', points: { count: 0 } })
  })

  it('has the line of ACKs through a window without any, and the PSNs of a time', () => {
    const few = {
      ...manyPoints(9),
      shape: Uint8Array.of(1, 4, 1, 1, 1, 1, 1, 4, 1),
      psn: Int32Array.of(0, 0, 1, 90, 91, 2, 3, 3, 4),
    }
    const those = levelsOf(few)
    const window = { fromNs: few.time[3]! - 1, toNs: few.time[4]! + 1, low: 80, high: 100, width: 800, height: 300 }
    const picture = pictureOf(those, window)
    if (picture.kind !== 'points') throw new Error('too many points')
    expect([...picture.points.packet]).toEqual([1, 3, 4, 7])
    expect(extentOf(those, window.fromNs, window.toNs)).toEqual({ low: 90, high: 91 })
    expect(extentOf(those, window.toNs, window.toNs + 2)).toBeUndefined()
    expect(extentOf(levels, 0, all.toNs + 1)).toEqual({ low: 0, high: 999_999 })
  })

  it('leads to the point next to a place, and to a NAK rather than to requests', () => {
    const at = (i: number, nearNs: number, nearPsns: number): number => {
      const { points: those } = levelFor(levels, nearNs / 4, nearPsns / 4)
      const found = nearest(those, { timeNs: points.time[i]!, psn: points.psn[i]!, nearNs, nearPsns })
      return found < 0 ? -1 : those.packet[found]!
    }
    expect(at(123_456, 50, 2)).toBe(123_456)
    expect(at(500_000, 1000, 20)).toBe(500_001)
    const far = nearest(points, { timeNs: points.time[10]!, psn: 5000, nearNs: 50, nearPsns: 10 })
    expect(far).toBe(-1)
  })
})

describe('an axis', () => {
  const texts = (ticks: { text: string }[]): string[] => ticks.map(({ text }) => text)
  it('has round times in one unit', () => {
    expect(texts(timeTicks(0, 608_543_000, 5))).toEqual(['0 ms', '200 ms', '400 ms', '600 ms'])
    expect(texts(timeTicks(1.2e9, 1.2e9 + 4000, 4))).toEqual([
      '1.200000 s',
      '1.200001 s',
      '1.200002 s',
      '1.200003 s',
      '1.200004 s',
    ])
  })
  it('has round PSNs, also behind the wrap, and decades of latency', () => {
    expect(texts(psnTicks(0, 100, 4, 15_043_936))).toEqual(['15043950', '15044000'])
    expect(texts(psnTicks(0, 100, 3, 0xffffff - 50))).toEqual(['16777200', '34'])
    expect(texts(latencyTicks(2900, 6100, 9))).toEqual(['1 µs', '10 µs', '100 µs', '1 ms'])
  })
})
