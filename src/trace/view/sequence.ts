/**
 * Points of one direction of a conversation: its requests by PSN over time, and the responses of the other end, as tcptrace draws sequence
 * numbers of TCP. PSNs have 24 bits; here they are extended without wrapping, from 0 at the first one. A sequence that starts over (the QP
 * was connected again) continues above the one before.
 */
import { psnDiff } from '../../wire/index.ts'
import { type Flow, Mark } from '../index.ts'
import type { CaptureView } from './capture-view.ts'
import { isAnswer, Shape, shapeCount } from './shape.ts'

/** Maximum distance of a PSN from its neighbours in a sequence: the PSN of a damaged packet may be anything. */
const farthest = 131_072
/** PSNs between a sequence and the one that follows it. */
const betweenSequences = 16

export interface Points {
  count: number
  /** Nanoseconds since the first packet of the capture, ascending. */
  time: Float64Array
  /** PSNs since the first one. */
  psn: Int32Array
  /** Shape of each. */
  shape: Uint8Array
  /** Packets, from 0. */
  packet: Uint32Array
}

export interface Sequence extends Points {
  /** PSN of the points that are 0 here; not valid after a restart. */
  firstPsn: number
  restarts: number
  lowest: number
  highest: number
  /** Number of points of each shape. */
  shapes: number[]
}

/** Returns the points of the requests of `flow` and of the responses of its peer. */
export function sequenceOf(view: CaptureView, flow: Flow): Sequence {
  const { index } = view
  const peer = flow.peer?.index ?? -2
  const packets = inTime(view, index.packetsOf(flow.index, peer))
  const points: Points = {
    count: 0,
    time: new Float64Array(packets.length),
    psn: new Int32Array(packets.length),
    shape: new Uint8Array(packets.length),
    packet: new Uint32Array(packets.length),
  }
  const shapes = new Array<number>(shapeCount).fill(0)
  let firstPsn = -1
  let lastPsn = 0
  let at = 0
  let lowest = 0
  let highest = 0
  let restarts = 0
  for (const packet of packets) {
    const shape = index.shape(packet)
    // Both ends of a QP that is connected to itself are the same flow.
    if (shape === Shape.None || index.flow(packet) !== (isAnswer(shape) ? peer : flow.index)) continue
    const psn = index.psn(packet)
    if (firstPsn < 0) {
      if (shape === Shape.Cnp || shape >= Shape.Bad) continue
      firstPsn = psn
      lastPsn = psn
    }
    let y = at
    if (shape !== Shape.Cnp) {
      const isRestart = (index.marks(packet) & Mark.Restart) !== 0
      const ahead = psnDiff(psn, lastPsn)
      y = isRestart ? highest + betweenSequences : at + ahead
      if (!isRestart && Math.abs(ahead) > farthest) continue
      if (isRestart) restarts++
      if (shape < Shape.Bad) {
        at = y
        lastPsn = psn
      }
    }
    if (y < lowest) lowest = y
    if (y > highest) highest = y
    const next = points.count++
    points.time[next] = index.timeNs(packet)
    points.psn[next] = y
    points.shape[next] = shape
    points.packet[next] = packet
    shapes[shape]!++
  }
  return { ...trimmed(points), firstPsn, restarts, lowest, highest, shapes }
}

/** Returns each response that ended a latency, by its logarithm: a thousand steps for each power of ten, from 1 ns. */
export function latenciesOf(view: CaptureView, flow: Flow): Points {
  const { index, details } = view
  const packets = inTime(view, index.packetsOf(flow.peer?.index ?? -2, -2))
  const points: Points = {
    count: 0,
    time: new Float64Array(packets.length),
    psn: new Int32Array(packets.length),
    shape: new Uint8Array(packets.length),
    packet: new Uint32Array(packets.length),
  }
  for (const packet of packets) {
    const latency = details.latencyNs(packet)
    if (latency < 0) continue
    const next = points.count++
    points.time[next] = index.timeNs(packet)
    points.psn[next] = latencyStep(latency)
    points.shape[next] = index.shape(packet)
    points.packet[next] = packet
  }
  return trimmed(points)
}

/** Returns the position of a latency in nanoseconds on that scale. */
export function latencyStep(ns: number): number {
  return Math.round(Math.log10(Math.max(1, ns)) * 1000)
}

function trimmed(points: Points): Points {
  const { count } = points
  return {
    count,
    time: points.time.subarray(0, count),
    psn: points.psn.subarray(0, count),
    shape: points.shape.subarray(0, count),
    packet: points.packet.subarray(0, count),
  }
}

/** Returns packets in the order of their times: those of several interfaces may be in another order in the file. */
function inTime({ index }: CaptureView, packets: Uint32Array): Uint32Array {
  return index.ordered ? packets : packets.sort((a, b) => index.timeNs(a) - index.timeNs(b) || a - b)
}
