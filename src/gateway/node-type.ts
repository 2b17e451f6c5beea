/**
 * Interfaces of a node: a source and a destination of samples. Paths work in batches of indices into a pool of samples; nothing is copied
 * or allocated for a sample.
 *
 * Ownership of samples is as in VILLASnode's InfiniBand node. The path passes `count` indices, which it owns, and the node reports in
 * `released` how many of them the path owns afterwards: the first ones of the array, which the node may have reordered, or exchanged for
 * others that it kept from earlier calls. The node owns the rest, until it gives them back by a later call or when it stops.
 */
import type { StatsMetric, StatsType } from './config/mapping.ts'
import type { Pool } from './pool.ts'
import type { SettingsReader } from './settings.ts'
import type { Signal } from './signals.ts'

/** Direction of a node from which samples are read. */
export interface Source {
  /** Number of indices that the caller of the last `read` owns. */
  released: number
  /**
   * Reads at most `count` samples; never waits. `samples` has `count` indices of samples that may be filled; afterwards the first
   * ones, as many as are returned, are filled.
   */
  read(samples: Int32Array, count: number): number
  /**
   * Waits until there may be something to read, at most `ms` milliseconds; the thread does nothing else meanwhile. A source
   * without it calls `NodeContext.readable` instead, from the event loop.
   */
  wait?(ms: number): void
  /** True if no sample will come again, because a file or a limit has ended. A gateway whose sources have all ended stops. */
  readonly ended?: boolean
  /** True if it brings samples of its own. Those that are passed to `read` may not be filled, and need not be there. */
  readonly ownSamples?: boolean
}

/** Direction of a node to which samples are written. */
export interface Destination {
  /** Number of indices that the caller of the last `write` owns. */
  released: number
  /** Writes samples; never waits. Returns how many were taken; the other ones are lost, and counted by the node. */
  write(samples: Int32Array, count: number): number
  /** Sends what was gathered, if anything: there is nothing to write for now. */
  flush?(): void
}

/** Context of a running node: data and functions of the gateway that it may use. */
export interface NodeContext {
  readonly name: string
  readonly pool: Pool
  readonly clock: Clock
  /** Signals of what is read from the node (as many floats as a sample has room for, if it does not know), and written to it. */
  readonly signals: { readonly in: readonly Signal[]; readonly out: readonly Signal[] }
  /** True if a path writes to the node, in any thread. */
  readonly isWritten?: boolean
  /** True if the gateway is to stop: a node that still waits to start gives up. */
  isStopping?(): boolean
  /** Notifies the path that there is something to read from a source without `wait`. */
  readable(): void
  /** Logs a line for the operator; lines stay in order. */
  log(level: 'debug' | 'info' | 'warn' | 'error', line: string): void
  /** Reports that the node cannot continue: its paths stop, and the gateway logs the error. */
  fail(error: Error): void
  /**
   * Returns statistics of a node, as its hook `stats` had them when they were last gathered; NaN if there are none. Undefined if there is
   * no such node.
   */
  statistics(node: string): ((metric: StatsMetric, type: StatsType) => number) | undefined
  /** Reports that the node has done what the gateway was started for: the gateway stops, in order. */
  finish(): void
}

/** Time of day, the same for all threads of a gateway. */
export interface Clock {
  /** Writes the time of day, seconds and nanoseconds as two 64-bit integers, at a word of the pool's samples. */
  stamp(word: number): void
  /** Returns the nanoseconds of a clock that never goes back. */
  nowNs(): number
}

/** Node that runs in a thread. */
export interface RunningNode {
  /** Source; null if its settings do not have this direction. */
  readonly source: Source | null
  readonly destination: Destination | null
  /** True if all that it does happens in `read`, `write`, `wait` and `flush`, so that its thread need not turn to the event loop for it. */
  readonly synchronous?: boolean
  /** State: 'started', 'pending connect', 'connected', …, as VILLASnode calls them. */
  readonly state: string
  /** Returns counts of events since the start, by name: drops, malformed frames, missed steps. */
  counters(): Readonly<Record<string, number>>
  /** Gives back all samples that it holds (`pool.release`), writes all that was written, closes all. Never throws. */
  stop(): Promise<void>
}

/** Settings of a node, checked, and the properties that its two directions share. */
export interface ParsedNode {
  /** Signals of what is read from it; null: as many floats as a sample has values. */
  readonly signals: readonly Signal[] | null
  /** True if it can be read from, written to. */
  readonly reads: boolean
  readonly writes: boolean
  /** True if reading and writing may happen in two threads, each of which starts the node in its direction. */
  readonly splits: boolean
  /** True if what is written to it is read from it again, with the same signals. */
  readonly mirrors?: boolean
  /** Samples that it may keep at a time, in both directions; the pool is made for that. Undefined: no more than a call passes. */
  readonly keeps?: number
  /** Name of the verbs device in whose memory the pool should be; undefined: any memory will do. */
  readonly memory?: string
  /**
   * Checks what is not possible: signals that the format does not carry, samples that are too long. Called before anything starts, with the
   * signals that will be read and written. Throws a `GatewayError` that names the key.
   */
  check?(signals: { in: readonly Signal[]; out: readonly Signal[] }, directions: { in: boolean; out: boolean }): void
  /** Loads the package that it needs, which its user installs; throws a `GatewayError` that describes how. */
  needs?(): Promise<unknown>
  /**
   * Makes the data that the threads share: once, in the main thread, to be posted to each thread in which the node starts. Missing: none.
   */
  share?(): unknown
  /** Returns the UNIX socket at which it takes WebSockets for /NODE that came to the port of the API; `shared` is the result of `share`. */
  door?(shared: unknown): string
  /**
   * Starts the node in the directions that are requested. Throws errors that an operator can understand; the caller adds the name of the
   * node.
   */
  start(context: NodeContext, directions: { in: boolean; out: boolean }, shared: unknown): Promise<RunningNode>
}

/** Settings that all nodes have, whatever their type. */
export interface NodeCommon {
  readonly name: string
  /** Samples that are read at once, and written at once. */
  readonly vectorize: { readonly in: number; readonly out: number }
  /** Signals of `in`, if the configuration has any. */
  readonly signals: readonly Signal[] | null
  /** Sequence number of the first sample, for a node that counts; 0 if missing. */
  readonly initialSequence?: number
}

/** Type of nodes. */
export interface NodeType {
  readonly name: string
  /** Description in one line for `--help` and the API. */
  readonly is: string
  /**
   * Reads the settings of one node; `in` and `out` are groups of them. Throws a `GatewayError` that names the key. Settings that all
   * nodes have (type, vectorize, signals, hooks, builtin, …) were taken by the caller.
   */
  parse(settings: SettingsReader, common: NodeCommon): ParsedNode
}
