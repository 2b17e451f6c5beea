/** How accurate sketches are at the memory of their papers, beside what is asked of them and what the papers have. */
import { createSketch, type DDSketch, heavyChanges, type KeyEstimate, type PartialKey } from '../src/sketch/index.ts'
import {
  averageErrors,
  type Exact,
  entropyBits,
  f1,
  heavy,
  nameOf,
  weightedMeanRelativeError,
} from './sketch-measures.ts'

export interface Figure {
  /** What, of which kind, in which memory. */
  name: string
  value: number
  /** Where something is asked: the limit, and on which side of it the value must be. */
  asked?: { limit: number; side: 'at least' | 'at most' }
  /** What the reference has, in words. */
  published?: string
}

/** A short trace takes less time; it is judged at a share of the papers' memory, and with larger thresholds. */
export interface Scale {
  memory: number
  thresholds: number
}

const whole: Scale = { memory: 1, thresholds: 1 }
/** Shares of all packets: heavy hitters of Elastic Sketch, and its heavy changers and keys of CocoSketch, as in the technical report of Elastic Sketch. */
const hitterShare = 0.0002
const changerShare = 0.0005

const parts = (...ranges: [number, number][]): PartialKey => {
  const length = ranges.reduce((sum, [, bytes]) => sum + bytes, 0)
  return (key) => {
    const part = new Uint8Array(length)
    let to = 0
    for (const [at, bytes] of ranges) for (let i = at; i < at + bytes; i++) part[to++] = key[i]!
    return part
  }
}

/** The six keys of CocoSketch's evaluation, of a source, a destination, two ports and a protocol. */
export const sixKeys: Readonly<Record<string, PartialKey>> = {
  'five-tuple': parts([0, 13]),
  'source, destination': parts([0, 8]),
  'source and its port': parts([0, 4], [8, 2]),
  'destination and its port': parts([4, 4], [10, 2]),
  source: parts([0, 4]),
  destination: parts([4, 4]),
}

/** The least F1 over partial keys. */
export function leastF1(trace: Exact, bytes: number, threshold: number, keys: readonly PartialKey[]): number {
  const sketch = createSketch('coco', { bytes, keyBytes: trace.keyBytes, seed: 1 })
  sketch.updateMany(trace.keys)
  const scores = keys.map((part) => {
    const sums = new Map<string, number>()
    for (const { key, count } of trace.flows) {
      const name = nameOf(part(key))
      sums.set(name, (sums.get(name) ?? 0) + count)
    }
    const expected = new Set([...sums].filter(([, sum]) => sum >= threshold).map(([name]) => name))
    return f1(namesFrom(sketch.aggregate(part), threshold), expected)
  })
  return Math.min(...scores)
}

const namesFrom = (keys: readonly KeyEstimate[], threshold: number): string[] =>
  keys.filter(({ value }) => Math.abs(value) >= threshold).map(({ key }) => nameOf(key))

/** Elastic Sketch, and Count-Min sketches beside it, at 600 KB. */
export function elasticFigures(trace: Exact, scale: Scale = whole): Figure[] {
  const { keyBytes } = trace
  const options = { bytes: 600_000 * scale.memory, keyBytes, seed: 1 }
  const elastic = createSketch('elastic', options)
  elastic.updateMany(trace.keys)
  const [mine, plain, careful] = (['elastic', 'count-min', 'conservative'] as const).map((kind) => {
    const sketch = kind === 'elastic' ? elastic : createSketch(kind, options)
    if (sketch !== elastic) sketch.updateMany(trace.keys)
    return averageErrors(trace, (key) => sketch.estimate(key))
  })
  const threshold = hitterShare * scale.thresholds * trace.packets
  const found = namesFrom(elastic.heavyHitters(threshold), threshold)
  const relative = (value: number, truth: number) => Math.abs(value / truth - 1)
  const sizes = trace.flows.map(({ count }) => count)
  const ours = (name: string) => `elastic, 600 KB: ${name}`
  return [
    { name: ours('average relative error'), value: mine!.relative, published: '0.47' },
    { name: 'count-min, 600 KB: average relative error', value: plain!.relative, published: '1.8' },
    { name: 'conservative, 600 KB: average relative error', value: careful!.relative, published: '1.2' },
    { name: ours('average absolute error'), value: mine!.absolute },
    { name: 'count-min, 600 KB: average absolute error', value: plain!.absolute },
    {
      ...{ name: ours('relative error over that of count-min'), value: mine!.relative / plain!.relative },
      ...{ asked: { limit: 1 / 3, side: 'at most' }, published: '1 / 3.8' },
    },
    {
      ...{ name: ours('relative error over that of conservative'), value: mine!.relative / careful!.relative },
      ...{ asked: { limit: 1 / 2, side: 'at most' }, published: '1 / 2.5' },
    },
    {
      ...{ name: ours('F1 of heavy hitters above 0.02 %'), value: f1(found, heavy(trace, threshold)) },
      ...{ asked: { limit: 0.99, side: 'at least' }, published: '1' },
    },
    {
      ...{
        name: ours('F1 of heavy changers above 0.05 %'),
        value: changerF1(trace, options, changerShare * scale.thresholds * trace.packets),
      },
      ...{ asked: { limit: 0.98, side: 'at least' }, published: '0.995' },
    },
    {
      ...{ name: ours('error of the cardinality'), value: relative(elastic.cardinality().value, trace.flows.length) },
      ...{ asked: { limit: 0.01, side: 'at most' }, published: '0.001' },
    },
    {
      ...{ name: ours('error of the entropy'), value: relative(elastic.entropy().value, entropyBits(trace)) },
      ...{ asked: { limit: 0.01, side: 'at most' }, published: '0.003' },
    },
    {
      ...{ name: ours('WMRE of the distribution of sizes') },
      value: weightedMeanRelativeError(sizes, elastic.distribution()),
      ...{ asked: { limit: 0.05, side: 'at most' }, published: '0.013' },
    },
  ]
}

/** The second window is the first in another order, in which every tenth flow is three times as large. The average of three seeds. */
function changerF1(trace: Exact, options: { bytes: number; keyBytes: number }, threshold: number): number {
  const changes = ({ count }: { count: number }, i: number) => (i % 10 === 0 ? 2 * count : 0)
  const amounts = trace.flows.map((flow, i) => flow.count + changes(flow, i))
  const expected = new Set(trace.flows.filter((flow, i) => changes(flow, i) >= threshold).map(({ key }) => nameOf(key)))
  // In a random order: that of the flows would put the largest first.
  const order = Uint32Array.from(amounts.keys()).sort(
    (a, b) => (Math.imul(a, 0x9e3779b1) >>> 0) - (Math.imul(b, 0x9e3779b1) >>> 0),
  )
  const scores = [1, 2, 3].map((seed) => {
    const [before, after] = [1, 2].map(() => createSketch('elastic', { ...options, seed }))
    before!.updateMany(trace.keys)
    for (const i of order) after!.update(trace.flows[i]!.key, amounts[i])
    return f1(namesFrom(heavyChanges(before!, after!, threshold), threshold), expected)
  })
  return (scores[0]! + scores[1]! + scores[2]!) / 3
}

/** CocoSketch at 500 KB, of keys of 13 bytes: addresses, ports, protocol, or of others with their own partial keys. */
export function cocoFigures(
  trace: Exact,
  keys: Readonly<Record<string, PartialKey>> = sixKeys,
  scale: Scale = whole,
): Figure[] {
  const threshold = changerShare * scale.thresholds * trace.packets
  return [
    {
      name: 'coco, 500 KB: least F1 of six partial keys above 0.05 %',
      value: leastF1(trace, 500_000 * scale.memory, threshold, Object.values(keys)),
      ...{ asked: { limit: 0.99, side: 'at least' }, published: '1 (five-tuple)' },
    },
  ]
}

/** HeavyKeeper: the share of the top 100 that it has. Its memory does not depend on the length of the trace. */
export function heavyKeeperFigures(trace: Exact): Figure[] {
  const sketch = createSketch('heavykeeper', { bytes: 30_000, keyBytes: trace.keyBytes, k: 100, seed: 1 })
  sketch.updateMany(trace.keys)
  const least = trace.flows.map(({ count }) => count).sort((a, b) => b - a)[99]!
  return [
    {
      name: 'heavykeeper, 30 KB: share of the top 100',
      value: sketch.topK(100).filter(({ key }) => trace.countOf(key) >= least).length / 100,
      ...{ asked: { limit: 1, side: 'at least' }, published: '1' },
    },
  ]
}

/** SketchLearn at 64 KB: precision and recall for keys of 0.5 % of the packets, the average of three seeds. */
export function sketchLearnFigures(trace: Exact): Figure[] {
  const truth = heavy(trace, trace.packets / 200)
  const scores = [1, 2, 3].map((seed) => {
    const sketch = createSketch('sketchlearn', { bytes: 65_536, keyBytes: trace.keyBytes, seed })
    sketch.updateMany(trace.keys)
    const found = namesFrom(sketch.heavyHitters(trace.packets / 200), 0)
    const right = found.filter((name) => truth.has(name)).length
    return { precision: right / found.length, recall: right / truth.size }
  })
  const average = (of: 'precision' | 'recall') => scores.reduce((sum, score) => sum + score[of] / scores.length, 0)
  return [
    {
      ...{ name: 'sketchlearn, 64 KB: precision of keys of 0.5 %', value: average('precision') },
      ...{ asked: { limit: 0.9, side: 'at least' }, published: 'guaranteed' },
    },
    {
      ...{ name: 'sketchlearn, 64 KB: recall of keys of 0.5 %', value: average('recall') },
      ...{ asked: { limit: 0.8, side: 'at least' }, published: 'guaranteed' },
    },
  ]
}

/** MRAC and UnivMon at 600 KB: what they say about all flows together. */
export function distributionFigures(trace: Exact): Figure[] {
  const options = { bytes: 600_000, keyBytes: trace.keyBytes, seed: 1 }
  const [mrac, univmon] = [createSketch('mrac', options), createSketch('univmon', options)]
  for (const sketch of [mrac, univmon]) sketch.updateMany(trace.keys)
  const [bits, flows, sizes] = [entropyBits(trace), trace.flows.length, trace.flows.map(({ count }) => count)]
  const error = (name: string, value: number, truth: number, limit: number): Figure => {
    return { name: `${name}, 600 KB`, value: Math.abs(value / truth - 1), asked: { limit, side: 'at most' } }
  }
  return [
    {
      name: 'mrac, 600 KB: WMRE of the distribution of sizes',
      value: weightedMeanRelativeError(sizes, mrac.distribution()),
      ...{ asked: { limit: 0.05, side: 'at most' }, published: '0.045' },
    },
    error('mrac: error of the entropy', mrac.entropy().value, bits, 0.01),
    error('mrac: error of the cardinality', mrac.cardinality().value, flows, 0.01),
    error('univmon: error of the entropy', univmon.entropy().value, bits, 0.1),
    error('univmon: error of the cardinality', univmon.cardinality().value, flows, 0.1),
  ]
}

/** DDSketch: the largest relative error of thousand quantiles, of latencies over seven decades. */
export function quantileFigures(): Figure[] {
  const sketch = createSketch('ddsketch', { bytes: 16_000, accuracy: 0.01 })
  const values = Float64Array.from({ length: 100_000 }, (_, i) => 1e-7 * 10 ** (((i * 7919) % 100_000) / 14_286))
  for (const value of values) sketch.add(value)
  const worst = worstQuantile(sketch, values.sort())
  return [
    {
      ...{ name: 'ddsketch, 16 KB: largest relative error of a quantile', value: worst },
      ...{ asked: { limit: 0.01, side: 'at most' }, published: 'α' },
    },
  ]
}

function worstQuantile(sketch: DDSketch, sorted: Float64Array): number {
  let worst = 0
  for (let i = 0; i <= 1000; i++) {
    const truth = sorted[Math.floor((i / 1000) * (sorted.length - 1))]!
    worst = Math.max(worst, Math.abs(sketch.quantile(i / 1000)!.value / truth - 1))
  }
  return worst
}

/** Whether a value is what is asked. */
export function holds({ value, asked }: Figure): boolean {
  if (!asked) return true
  return asked.side === 'at least' ? value >= asked.limit : value <= asked.limit
}
