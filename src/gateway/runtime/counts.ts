/**
 * Counts that a thread keeps for each of its nodes and paths, in memory that it shares with the main thread: numbers that only that thread
 * writes, and that any thread may read at any time.
 */

/** Counts of a node, in the thread that reads or writes it. */
export const NodeCount = {
  /** Samples that were read, and that hooks of `in` let pass. */
  read: 0,
  /** Samples that hooks of the node dropped, or could not process. */
  skipped: 1,
  failed: 2,
  /** Times that nothing could be read, or copied for a hook, because no sample was free. */
  no_samples: 3,
  /** Samples that were written, and that the node did not take. */
  written: 4,
  lost: 5,
} as const

export const PathCount = {
  /** Samples that came from its sources, and that it sent. */
  received: 0,
  sent: 1,
  /** Samples that its hooks dropped, or could not process. */
  skipped: 2,
  failed: 3,
  /** Samples that were lost because no sample was free. */
  no_samples: 4,
  /** Samples that were sent again because nothing new had come (`rate`). */
  repeated: 5,
  /** Moments of `rate` that came too late. */
  missed: 6,
} as const

/** Numbers of one node or path. */
export type CountSet = typeof NodeCount | typeof PathCount

const perSet = 8

/** Sets of counts, one for each node and path of a group. */
export class Counts {
  readonly buffer: SharedArrayBuffer
  readonly values: Float64Array

  constructor(sets: number, buffer?: SharedArrayBuffer) {
    this.buffer = buffer ?? new SharedArrayBuffer(sets * perSet * 8)
    this.values = new Float64Array(this.buffer)
  }

  /** Returns the index in `values` at which the counts of a set begin. */
  at(set: number): number {
    return set * perSet
  }

  /** Returns the counts of a set by name, as they are now. */
  read<T extends CountSet>(set: number, names: T): { [name in keyof T]: number } {
    const from = this.at(set)
    return Object.fromEntries(Object.entries(names).map(([name, i]) => [name, this.values[from + i]!])) as {
      [name in keyof T]: number
    }
  }
}
