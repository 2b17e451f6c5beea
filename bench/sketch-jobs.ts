/**
 * Sketches beside an exact `Map` in the same process: packed keys of 13 bytes (two IPv4 addresses, two ports, a protocol) of a Zipf trace, 2.5 million
 * packets of some 220,000 flows; and beside the sketches of npm's bloom-filters, of the same dimensions, which count the first packets of it only, as they
 * take thousands of times longer. Of each round the best of five passes counts, on both sides.
 */
import { join } from 'node:path'
import bloomFilters from 'bloom-filters'
import { createSketch, type SketchKind, zipfTrace } from '../src/sketch/index.ts'
import { type Comparison, compare } from './comparison.ts'
import {
  cocoFigures,
  distributionFigures,
  elasticFigures,
  type Figure,
  heavyKeeperFigures,
  quantileFigures,
  sixKeys,
  sketchLearnFigures,
} from './sketch-accuracy.ts'
import { exactTrace } from './sketch-measures.ts'
import { byConnection, roceKeys, roceTrace } from './sketch-roce.ts'

const keyBytes = 13
const passes = 5

export interface SketchJob {
  name: string
  run(rounds: number): Promise<Comparison[]>
}

const sketches = [
  { kind: 'count-min', bytes: 600_000 },
  { kind: 'conservative', bytes: 600_000 },
  { kind: 'count', bytes: 600_000 },
  { kind: 'coco', bytes: 500_000 },
  { kind: 'elastic', bytes: 600_000 },
  { kind: 'heavykeeper', bytes: 64_000 },
  { kind: 'fast-path', bytes: 32_000 },
  { kind: 'nitro', bytes: 600_000 },
  { kind: 'mrac', bytes: 600_000 },
  { kind: 'univmon', bytes: 600_000 },
  { kind: 'sketchlearn', bytes: 65_536 },
] as const satisfies { kind: SketchKind; bytes: number }[]

/** Million updates a second, of the best pass. */
function best(updates: number, pass: () => void): number {
  let most = 0
  for (let i = 0; i < passes; i++) {
    const started = performance.now()
    pass()
    most = Math.max(most, updates / 1000 / (performance.now() - started))
  }
  return most
}

/** As a program counts exactly: names of keys are their bytes as Latin-1. */
function countExactly(keys: Buffer): void {
  const counts = new Map<string, number>()
  for (let at = 0; at < keys.length; at += keyBytes) {
    const name = keys.toString('latin1', at, at + keyBytes)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}

const trace = () => zipfTrace({ flows: 300_000, packets: 2_500_000, skew: 1, keyBytes, seed: 1 }).keys

const ofKinds: readonly SketchJob[] = sketches.map(({ kind, bytes }) => ({
  name: `sketch-${kind}`,
  async run(rounds) {
    const keys = trace()
    const buffer = Buffer.from(keys.buffer)
    const [ours, theirs]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      const updates = keys.length / keyBytes
      ours.push(best(updates, () => createSketch(kind, { bytes, keyBytes, seed: 1 }).updateMany(keys)))
      theirs.push(best(updates, () => countExactly(buffer)))
    }
    const name = `sketch: ${kind}, ${bytes / 1000} KB, keys of ${keyBytes} bytes`
    return [compare(name, ours, 'exact Map', theirs, 'M/s', 'more is better')]
  },
}))

interface Peer {
  kind: 'count-min' | 'hyperloglog' | 'heavykeeper'
  bytes: number
  /** Of the same dimensions as ours. Keys are strings there. */
  theirs(): { update(key: string): void }
  updates: number
}

const peers: readonly Peer[] = [
  {
    ...{ kind: 'count-min', bytes: 600_000, updates: 20_000 },
    theirs: () => new bloomFilters.CountMinSketch(50_000, 3),
  },
  { ...{ kind: 'hyperloglog', bytes: 17_000, updates: 1000 }, theirs: () => new bloomFilters.HyperLogLog(2 ** 14) },
  {
    ...{ kind: 'heavykeeper', bytes: 64_000, updates: 20_000 },
    theirs: () => {
      const top = new bloomFilters.TopK(100, 0.001, 0.99)
      return { update: (key) => top.add(key) }
    },
  },
]

/** Their keys are strings before time is taken; ours are made of nothing. */
const besidePeer: SketchJob = {
  name: 'sketch-npm',
  async run(rounds) {
    const keys = trace()
    const buffer = Buffer.from(keys.buffer)
    const names = Array.from({ length: Math.max(...peers.map(({ updates }) => updates)) }, (_, i) =>
      buffer.toString('latin1', i * keyBytes, (i + 1) * keyBytes),
    )
    return peers.map(({ kind, bytes, theirs, updates }) => {
      const [our, their]: [number[], number[]] = [[], []]
      for (let round = 0; round < rounds; round++) {
        our.push(
          best(keys.length / keyBytes, () =>
            createSketch(kind, { bytes, keyBytes, seed: 1 } as never).updateMany(keys),
          ),
        )
        their.push(
          best(updates, () => {
            const sketch = theirs()
            for (let i = 0; i < updates; i++) sketch.update(names[i]!)
          }),
        )
      }
      const name = `sketch: ${kind}, ${bytes / 1000} KB`
      return compare(name, our, 'npm bloom-filters', their, 'M/s', 'more is better')
    })
  },
}

/** Accuracy is the same in every round. */
const accuracy: SketchJob = {
  name: 'sketch-accuracy',
  async run() {
    const rows = quantileFigures().map((figure) => comparisonOf('', figure))
    for (const skew of [0.8, 1, 1.2, 1.4]) {
      const zipf = { flows: 300_000, packets: 2_500_000, skew, seed: 21 }
      const trace = exactTrace(zipf)
      const figures = [...elasticFigures(trace), ...cocoFigures(trace), ...heavyKeeperFigures(trace)]
      figures.push(...sketchLearnFigures(trace), ...distributionFigures(trace))
      rows.push(...figures.map((figure) => comparisonOf(`skew ${skew}: `, figure)))
      const shared = cocoFigures(exactTrace({ ...zipf, hosts: 20_000 }), sixKeys)
      rows.push(...shared.map((figure) => comparisonOf(`skew ${skew}, shared hosts: `, figure)))
    }
    const roce = roceTrace(join(import.meta.dirname, '../../dist/verbena.js'), 10_000)
    const figures = [
      ...[elasticFigures(roce), cocoFigures(roce, roceKeys), heavyKeeperFigures(roce)],
      ...[distributionFigures(roce), sketchLearnFigures(byConnection(roce))],
    ].flat()
    rows.push(...figures.map((figure) => comparisonOf('RoCE: ', figure)))
    return rows
  },
}

/** A row with what is asked as the other side, and with what the reference has in its name. */
function comparisonOf(trace: string, { name, value, asked, published }: Figure): Comparison {
  const title = `${trace}${name}${published === undefined ? '' : ` (published: ${published})`}`
  const peer = asked ? asked.side : null
  const order = asked?.side === 'at least' ? 'more is better' : 'less is better'
  return compare(title, [value], peer, [asked?.limit ?? 0], '', order)
}

export const sketchJobs: readonly SketchJob[] = [...ofKinds, besidePeer, accuracy]
