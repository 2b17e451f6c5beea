/**
 * Data of one window of time: exact counters, and sketches of quantities with keys. Windows of the same time, or of successive times, are
 * merged: those of several agents, or into a longer one. The plan determines its memory, independently of the traffic, except for parts
 * with limits of their own (`mostSmallBytes`).
 *
 *     bytes      CocoSketch: bytes on the wire, by the key of key.ts and every part of it        2/8
 *     packets    CocoSketch: packets                                                            1/8
 *     messages   CocoSketch: messages                                                           1/8
 *     events     CocoSketch: losses, NAKs, marks and so on, by key and event                    1/8
 *     rates      WaveSketch: bytes to each host and QP, in bins of some microseconds             2/8
 *     flows, hosts  HyperLogLog: how many there are                                       2/64 at most
 *     ack, read     DDSketch: latencies                                            8 KiB each, always
 */
import { type CocoSketch, createSketch, type DDSketch, type HyperLogLog, type WaveSketch } from '../sketch/index.ts'
import type { Burst } from './burst.ts'
import type { WindowPlan } from './config.ts'
import { type CounterName, counterIndex, counterNames, type Totals } from './events.ts'
import { flowName, keyBytes, rateKeyBytes } from './key.ts'
import { TopMessages } from './messages.ts'

/** Part of a window: the agent's run that observed it, and the number of the window in that run. */
export interface Part {
  agent: string
  /** Random identifier, chosen when the agent started. */
  run: string
  /** Number that counts up with each window of the run: none is taken twice. */
  sequence: number
}

/** Latencies of one flow. */
export interface FlowLatency {
  key: Int32Array
  sketch: DDSketch
}

/** Number of classes: the priorities of PFC, and after them the PAUSE of the whole link. */
export const pauseClasses = 9
/** Maximum number of ports that send such frames and are recorded individually. */
export const mostPausedBy = 1024
export const mostSourceQps = 16_384
export const mostParts = 65_536
/** Length of words 0 to 9 of a key. */
export const flowKeyBytes = 40
export const hostKeyBytes = 17
/** Number of bins of a window: in a window of a second, each is 122 µs. */
const rateBins = 8192
const latencyBytes = 2048
export const mostFlowLatencies = 64
/** Maximum memory, in bytes, of sketches whose memory does not follow the plan, and of the heads of all. */
export const mostSmallBytes: number = mostFlowLatencies * 2 * latencyBytes + 2 ** 16

export const sketchNames = ['bytes', 'packets', 'messages', 'events', 'flows', 'hosts', 'ack', 'read', 'rates'] as const
export type SketchName = (typeof sketchNames)[number]

/** Returns new, empty sketches of a plan. */
export function sketchesOf({ sketchBytes, seed, windowMs }: WindowPlan): WindowSketches {
  const eighth = Math.floor(sketchBytes / 8)
  const coco = (eighths: number) => createSketch('coco', { bytes: eighths * eighth, keyBytes, seed, countBits: 53 })
  const small = Math.max(512, Math.min(16_384, Math.floor(eighth / 8)))
  return {
    ...{ bytes: coco(2), packets: coco(1), messages: coco(1), events: coco(1) },
    rates: createSketch('wave', {
      ...{ bytes: 2 * eighth, keyBytes: rateKeyBytes, seed, startNs: 0, rows: 2 },
      ...binsOf(windowMs, 2 * eighth),
    }),
    flows: createSketch('hyperloglog', { bytes: small, keyBytes: flowKeyBytes, seed }),
    hosts: createSketch('hyperloglog', { bytes: small, keyBytes: hostKeyBytes, seed }),
    ...{ ack: quantiles(8192, 0.01), read: quantiles(8192, 0.01) },
  }
}

/** Returns the number of bins that take at most a quarter of the memory. */
function binsOf(windowMs: number, bytes: number): { windows: number; windowNs: number; coefficients: number } {
  let windows = rateBins
  while (windows > 64 && windows * 8 > bytes / 4) windows /= 2
  return { windows, windowNs: Math.ceil((windowMs * 1e6) / windows), coefficients: bytes < 2 ** 16 ? 16 : 64 }
}

function quantiles(bytes: number, accuracy: number): DDSketch {
  return createSketch('ddsketch', { bytes, accuracy, seed: 0 })
}

/** Returns a sketch for the latencies of one flow. */
export function latencySketch(): DDSketch {
  return quantiles(latencyBytes, 0.02)
}

export interface WindowSketches {
  bytes: CocoSketch
  packets: CocoSketch
  messages: CocoSketch
  events: CocoSketch
  flows: HyperLogLog
  hosts: HyperLogLog
  /** Nanoseconds from a request to its acknowledgement, and from a READ to its last response. */
  ack: DDSketch
  read: DDSketch
  rates: WaveSketch
}

/** One window of time, or several that were merged. `answerOf` and `query` read it. */
export class Window {
  readonly plan: WindowPlan
  /** Index of the window: it begins `index` × `windowMs` after 1970. */
  readonly index: number
  /** Number of windows of the plan that it covers, from `index` on. */
  span = 1
  /** Parts are only added. */
  readonly parts: Part[] = []
  readonly #known = new Map<string, Set<number>>()
  #knownParts = 0
  /** Flag: it came when the merged window of its time had been handed on already. */
  late = false
  readonly counters: Float64Array = new Float64Array(counterNames.length)
  /** Frames of each class, and the quanta that they requested. */
  readonly pauses: Float64Array = new Float64Array(2 * pauseClasses)
  /** Frames and quanta by the port that sends them, as one agent observes it. */
  readonly pausedBy: Map<string, Float64Array> = new Map()
  readonly sketches: WindowSketches
  /** Bursts of windows that were merged into this longer one, whose rates are no longer there. */
  bursts: Burst[] = []
  /** Source QPs that were found out after the flow's first packets here. */
  readonly sourceQps: Map<string, number> = new Map()
  readonly flowLatencies: Map<string, FlowLatency> = new Map()
  readonly largest: TopMessages = new TopMessages('bytes')
  readonly slowest: TopMessages = new TopMessages('ns')

  constructor(plan: WindowPlan, index: number, sketches: WindowSketches = sketchesOf(plan)) {
    this.plan = plan
    this.index = index
    this.sketches = sketches
  }

  get startMs(): number {
    return this.index * this.plan.windowMs
  }

  get seconds(): number {
    return (this.span * this.plan.windowMs) / 1000
  }

  /** True if it covers more than one time: it has no rates. */
  get isLong(): boolean {
    return this.span > 1
  }

  /** True if a window is a part of this one. */
  hasPart({ run, sequence }: Part): boolean {
    for (; this.#knownParts < this.parts.length; this.#knownParts++) {
      const part = this.parts[this.#knownParts]!
      const { run: name } = part
      const sequences = this.#known.get(name)
      if (sequences === undefined) this.#known.set(name, new Set([part.sequence]))
      else sequences.add(part.sequence)
    }
    return this.#known.get(run)?.has(sequence) === true
  }

  count(name: CounterName): number {
    return this.counters[counterIndex[name]]!
  }

  totals(): Totals {
    return Object.fromEntries(counterNames.map((name, i) => [name, this.counters[i]!])) as Totals
  }

  /** Returns the frames and quanta of a port, of which a limited number is kept; undefined if there is no room for another one. */
  pausesOf(port: string): Float64Array | undefined {
    const known = this.pausedBy.get(port)
    if (known !== undefined || this.pausedBy.size >= mostPausedBy) return known
    const pauses = new Float64Array(2 * pauseClasses)
    this.pausedBy.set(port, pauses)
    return pauses
  }

  /** Returns the sketch of the latencies of a flow; undefined if there is no room for another one. */
  latencyOf(words: Int32Array): DDSketch | undefined {
    const name = flowName(words)
    const known = this.flowLatencies.get(name)
    if (known !== undefined) return known.sketch
    if (this.flowLatencies.size >= mostFlowLatencies) return undefined
    const sketch = latencySketch()
    this.flowLatencies.set(name, { key: words.slice(), sketch })
    return sketch
  }
}
