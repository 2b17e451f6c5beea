/**
 * Evaluation of the two files of a run, as VILLASnode's: the first has all samples that were generated, the second those that the node
 * under test delivered, with their latency. Sequence numbers are those of steps: one that the generator missed is in neither file.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs'
import { eachSample, type LatencySummary, summarize } from '../../report/index.ts'

export interface Evaluation {
  /** Latencies in nanoseconds. */
  lat: LatencySummary
  /** Number of steps that the generator missed. */
  missed: number
  /** Number of steps whose sample did not arrive, those that were missed included. */
  missing: number
  /** Number of generated samples that did not arrive, and number of those after the first sample that did. */
  notTransmitted: number
  notTransmittedConnected: number
}

/** Evaluates the files. `steps`: number of steps that were due. */
export function evaluate(inputFile: string, outputFile: string, steps: number): Evaluation {
  const arrived = new Set<number>()
  const latencies: number[] = []
  let first = Number.POSITIVE_INFINITY
  eachSample(outputFile, (sequence, offsetNs) => {
    arrived.add(sequence)
    first = Math.min(first, sequence)
    latencies.push(offsetNs)
  })
  let generated = 0
  let notTransmitted = 0
  let notTransmittedConnected = 0
  eachSample(inputFile, (sequence) => {
    generated++
    if (arrived.has(sequence)) return
    notTransmitted++
    if (sequence > first) notTransmittedConnected++
  })
  return {
    lat: summarize(latencies),
    missed: steps - generated,
    missing: steps - arrived.size,
    notTransmitted,
    notTransmittedConnected,
  }
}

/** Returns the last sequence number of a file; −1 if it has none. */
export function lastSequence(file: string): number {
  let last = -1
  eachSample(file, (sequence) => {
    last = sequence
  })
  return last
}

/** Removes from a file the rows of a warm-up, which come first and have lower sequence numbers. */
export function dropWarmUp(file: string, firstSequence: number): void {
  let begin = -1
  let end = -1
  eachSample(file, (sequence, _offset, at) => {
    if (begin < 0) begin = at
    if (sequence < firstSequence) return true
    end = at
    return false
  })
  if (begin < 0 || end === begin) return
  const temporary = `${file}.${process.pid}-${randomBytes(4).toString('hex')}.new`
  const [from, to] = [openSync(file, 'r'), openSync(temporary, 'wx')]
  try {
    copyBytes(from, to, 0, begin)
    if (end >= 0) copyBytes(from, to, end, Number.POSITIVE_INFINITY)
  } catch (error) {
    rmSync(temporary)
    throw error
  } finally {
    closeSync(from)
    closeSync(to)
  }
  renameSync(temporary, file)
}

function copyBytes(from: number, to: number, begin: number, end: number): void {
  const bytes = Buffer.alloc(1 << 22)
  for (let at = begin; at < end; ) {
    const read = readSync(from, bytes, 0, Math.min(bytes.length, end - at), at)
    if (read === 0) return
    for (let done = 0; done < read; ) done += writeSync(to, bytes, done, read - done)
    at += read
  }
}
