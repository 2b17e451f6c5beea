/** Traces with their exact counts, and the measures by which papers judge sketches. */
import { type Estimate, type SketchKind, type ZipfTrace, zipfTrace } from '../../src/sketch/index.ts'

export const keyBytes = 13

/** Kinds that answer by key. */
export const amountKinds = [
  'count-min',
  'conservative',
  'count',
  'coco',
  'elastic',
  'heavykeeper',
  'space-saving',
  'misra-gries',
  'fast-path',
  'sketchvisor',
  'nitro',
  'univmon',
  'flowradar',
  'ld',
] as const satisfies SketchKind[]
export type AmountKind = (typeof amountKinds)[number]

/** Of a trace: its packets, its flows with exact counts, and the count of a key. */
export interface Exact extends ZipfTrace {
  flows: { key: Uint8Array; count: number }[]
  countOf(key: Uint8Array): number
  packets: number
}

/** Bytes as text: comparing that is fast. */
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

export const nameOf = (key: Uint8Array): string => String.fromCharCode(...key)

export function exactTrace(options: { flows: number; packets: number; skew: number; seed: number }): Exact {
  const trace = zipfTrace({ ...options, keyBytes })
  const flows = Array.from(trace.counts, (count, i) => ({
    key: trace.flowKeys.subarray(i * keyBytes, (i + 1) * keyBytes),
    count,
  }))
  const counts = new Map(flows.map(({ key, count }) => [nameOf(key), count]))
  return { ...trace, flows, packets: options.packets, countOf: (key) => counts.get(nameOf(key)) ?? 0 }
}

/** Average relative error over all flows. */
export function averageRelativeError(exact: Exact, estimate: (key: Uint8Array) => Estimate): number {
  const sum = exact.flows.reduce((all, { key, count }) => all + Math.abs(estimate(key).value - count) / count, 0)
  return sum / exact.flows.length
}

/** Harmonic mean of precision and recall. */
export function f1(found: readonly string[], expected: ReadonlySet<string>): number {
  const right = found.filter((name) => expected.has(name)).length
  return (2 * right) / (found.length + expected.size)
}

/** The names of the flows of at least `threshold`. */
export function heavy(exact: Exact, threshold: number): Set<string> {
  return new Set(exact.flows.filter(({ count }) => count >= threshold).map(({ key }) => nameOf(key)))
}

export function entropyBits(exact: Exact): number {
  return exact.flows.reduce((sum, { count }) => sum + (count / exact.packets) * Math.log2(exact.packets / count), 0)
}

/** Weighted mean relative error of a distribution of sizes: Σ |n − n̂| / Σ (n + n̂) / 2. */
export function weightedMeanRelativeError(
  exact: readonly number[],
  found: readonly { size: number; flows: number }[],
): number {
  const [truth, guess] = [new Map<number, number>(), new Map(found.map(({ size, flows }) => [size, flows]))]
  for (const size of exact) truth.set(size, (truth.get(size) ?? 0) + 1)
  let [apart, both] = [0, 0]
  for (const size of new Set([...truth.keys(), ...guess.keys()])) {
    const [a, b] = [truth.get(size) ?? 0, guess.get(size) ?? 0]
    apart += Math.abs(a - b)
    both += (a + b) / 2
  }
  return apart / both
}
