/** Traces with their exact counts, and the measures by which papers judge sketches. */
import { type Estimate, type ZipfTrace, zipfTrace } from '../src/sketch/index.ts'
import { entropyBits as entropyOf, f1Of } from '../src/stats/index.ts'

export { weightedMeanRelativeError } from '../src/stats/index.ts'

export const keyBytes = 13

/** Of a trace: its packets, its flows with exact counts, and the count of a key. */
export interface Exact extends ZipfTrace {
  keyBytes: number
  flows: { key: Uint8Array; count: number }[]
  countOf(key: Uint8Array): number
  packets: number
}

export const nameOf = (key: Uint8Array): string => String.fromCharCode(...key)

/** A Zipf trace; `hosts` as zipfTrace has it. */
export function exactTrace(options: {
  flows: number
  packets: number
  skew: number
  seed: number
  hosts?: number
}): Exact {
  return exactly(zipfTrace({ ...options, keyBytes }), keyBytes)
}

/** A trace of packed keys, one for each packet, of any origin. */
export function traceOf(keys: Uint8Array, length: number): Exact {
  const counts = new Map<string, number>()
  for (let at = 0; at < keys.length; at += length) {
    const name = nameOf(keys.subarray(at, at + length))
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const flowKeys = Uint8Array.from([...counts.keys()].join(''), (letter) => letter.charCodeAt(0))
  return exactly({ keys, flowKeys, counts: Uint32Array.from(counts.values()) }, length)
}

function exactly(trace: ZipfTrace, length: number): Exact {
  const flows = Array.from(trace.counts, (count, i) => ({
    key: trace.flowKeys.subarray(i * length, (i + 1) * length),
    count,
  }))
  const counts = new Map(flows.map(({ key, count }) => [nameOf(key), count]))
  const packets = trace.keys.length / length
  return { ...trace, keyBytes: length, flows, packets, countOf: (key) => counts.get(nameOf(key)) ?? 0 }
}

/** Average error over all flows: absolute, and relative to the count of each. */
export function averageErrors(
  exact: Exact,
  estimate: (key: Uint8Array) => Estimate,
): { absolute: number; relative: number } {
  let [absolute, relative] = [0, 0]
  for (const { key, count } of exact.flows) {
    const error = Math.abs(estimate(key).value - count)
    absolute += error / exact.flows.length
    relative += error / count / exact.flows.length
  }
  return { absolute, relative }
}

/** F1 of names. */
export function f1(found: readonly string[], expected: ReadonlySet<string>): number {
  const right = found.filter((name) => expected.has(name)).length
  return f1Of(right, found.length, expected.size)
}

/** The names of the flows of at least `threshold`. */
export function heavy(exact: Exact, threshold: number): Set<string> {
  return new Set(exact.flows.filter(({ count }) => count >= threshold).map(({ key }) => nameOf(key)))
}

export function entropyBits(exact: Exact): number {
  return entropyOf(exact.flows.map(({ count }) => count))
}
