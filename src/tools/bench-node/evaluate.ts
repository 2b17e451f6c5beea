/**
 * What the two files of a run say, as VILLASnode's evaluation: the first has all samples that were generated, the second those that
 * the node under test has brought, with their latency. Columns: seconds, nanoseconds, offset (the latency in seconds), sequence, values.
 */
import { readFileSync } from 'node:fs'
import { percentile } from '../../stats/index.ts'

export interface Latency {
  count: number
  min: number
  p10: number
  median: number
  p90: number
  p99: number
  max: number
}

export interface Evaluation {
  /** Nanoseconds; null if nothing arrived. */
  latency: Latency | null
  /** Steps that the generator missed. */
  missed: number
  /** Samples of the limit that did not arrive, missed steps included. */
  missing: number
  /** Samples that were generated and did not arrive, and those of them behind the first that did. */
  notTransmitted: number
  notTransmittedConnected: number
}

/** `total`: samples that were asked for. */
export function evaluate(
  inputFile: string,
  outputFile: string,
  total: number,
): Evaluation & { latencies: Float64Array } {
  const input = readColumns(inputFile)
  const output = readColumns(outputFile)
  const arrived = new Set(output.sequences)
  const lost = input.sequences.filter((sequence) => !arrived.has(sequence))
  const first = output.sequences[0] ?? Number.POSITIVE_INFINITY
  const latencies = Float64Array.from(output.offsets, (seconds) => Math.round(seconds * 1e9)).sort()
  const at = (p: number): number => percentile(latencies, p)
  const latency =
    latencies.length === 0
      ? null
      : {
          ...{ count: latencies.length, min: latencies[0]!, p10: at(10), median: at(50), p90: at(90), p99: at(99) },
          max: latencies.at(-1)!,
        }
  return {
    latency,
    missed: total - input.sequences.length,
    missing: total - output.sequences.length,
    notTransmitted: lost.length,
    notTransmittedConnected: lost.filter((sequence) => sequence > first).length,
    latencies,
  }
}

function readColumns(file: string): { sequences: number[]; offsets: number[] } {
  const sequences: number[] = []
  const offsets: number[] = []
  for (const line of readFileSync(file, 'latin1').split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, , offset, sequence] = line.split(',', 4)
    sequences.push(Number(sequence))
    offsets.push(Number(offset))
  }
  return { sequences, offsets }
}
