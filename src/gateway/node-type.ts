/**
 * What a node is: where samples come from and where they go. Paths work in batches of indices into a pool of samples; nothing is
 * copied or allocated for a sample.
 *
 * Whose a sample is goes as in VILLASnode's InfiniBand node. The path passes `count` indices, which it owns, and the node says in
 * `released` how many of them the path owns afterwards: the first ones of the array, which the node may have reordered, or
 * exchanged for others that it kept from earlier calls. The rest is the node's, until it gives them back by a later call or when it stops.
 */
import type { StatsMetric, StatsType } from './config/mapping.ts'
import type { Pool } from './pool.ts'
import type { SettingsReader } from './settings.ts'
import type { Signal } from './signals.ts'

/** What samples come from. */
export interface Source {
  /** How many indices the caller of the last `read` owns. */
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
  /** True: nothing will ever come again, because a file or a limit has ended. A gateway whose sources have all ended stops. */
  readonly ended?: boolean
  /** True: it brings samples of its own. Those that `read` is given may not be filled, and need not be there. */
  readonly ownSamples?: boolean
}

/** What samples go to. */
export interface Destination {
  /** How many indices the caller of the last `write` owns. */
  released: number
  /** Writes samples; never waits. Returns how many were taken; the others are lost, and counted by the node. */
  write(samples: Int32Array, count: number): number
  /** Sends what was gathered, if anything: there is nothing to write for now. */
  flush?(): void
}

/** What a running node is told and may use. */
export interface NodeContext {
  readonly name: string
  readonly pool: Pool
  readonly clock: Clock
  /** Signals of what is read from the node (as many floats as a sample has room for, if it does not know), and written to it. */
  readonly signals: { readonly in: readonly Signal[]; readonly out: readonly Signal[] }
  /** Some path writes to it, in whatever thread. */
  readonly isWritten?: boolean
  /** The gateway is to stop: a node that still waits to start gives up. */
  isStopping?(): boolean
  /** There is something to read from a source that cannot be waited for. */
  readable(): void
  /** Something that an operator should know: one line, said in order. */
  log(level: 'debug' | 'info' | 'warn' | 'error', line: string): void
  /** The node cannot go on: its paths stop, and the gateway says why. */
  fail(error: Error): void
  /**
   * Statistics of a node, as its hook `stats` had them when they were last gathered; NaN if there are none. Undefined: there is no
   * such node.
   */
  statistics(node: string): ((metric: StatsMetric, type: StatsType) => number) | undefined
  /** The node has done what the gateway was started for: the gateway stops, in order. */
  finish(): void
}

/** Time of day, the same for all threads of a gateway. */
export interface Clock {
  /** Writes the time of day, seconds and nanoseconds as two 64-bit integers, at a word of the pool's samples. */
  stamp(word: number): void
  /** Nanoseconds of a clock that never goes back. */
  nowNs(): number
}

/** A node that runs in a thread. */
export interface RunningNode {
  /** Null if its settings say nothing of this direction. */
  readonly source: Source | null
  readonly destination: Destination | null
  /**
   * True: whatever it does it does in `read`, `write`, `wait` and `flush`, so that its thread need not turn to the event loop for it.
   */
  readonly synchronous?: boolean
  /** 'started', 'pending connect', 'connected', …, as VILLASnode calls them. */
  readonly state: string
  /** What happened since the start, by name: drops, malformed frames, missed steps. */
  counters(): Readonly<Record<string, number>>
  /** Gives back all samples that it holds (`pool.release`), writes all that was written, closes all. Never throws. */
  stop(): Promise<void>
}

/** The settings of a node, checked, and what its two directions share. */
export interface ParsedNode {
  /** Signals of what is read from it; null: as many floats as a sample has values. */
  readonly signals: readonly Signal[] | null
  /** It can be read from, written to. */
  readonly reads: boolean
  readonly writes: boolean
  /** Reading and writing may happen in two threads, each of which starts the node in its direction. */
  readonly splits: boolean
  /** What is written to it is read from it again, with the same signals. */
  readonly mirrors?: boolean
  /** Samples that it may keep at a time, in both directions; the pool is made for that. Undefined: no more than a call passes. */
  readonly keeps?: number
  /** The verbs device in whose memory the pool should be; undefined: any memory will do. */
  readonly memory?: string
  /**
   * Says what cannot be: signals that the format does not carry, samples that are too long. Called before anything starts, with what will be
   * read and written. Throws a `GatewayError` that names the key.
   */
  check?(signals: { in: readonly Signal[]; out: readonly Signal[] }, directions: { in: boolean; out: boolean }): void
  /** Loads the package that it needs, which its user installs; throws a `GatewayError` that says how. */
  needs?(): Promise<unknown>
  /**
   * What the threads share: made once, in the main thread, and posted to each thread in which the node starts. Missing: nothing.
   */
  share?(): unknown
  /**
   * The UNIX socket at which it takes WebSockets for /NODE that came to the port of the API; `shared` is what `share` has made.
   */
  door?(shared: unknown): string
  /** Starts the node in the directions that are asked for. Throws what an operator can understand; who starts it says which node it is. */
  start(context: NodeContext, directions: { in: boolean; out: boolean }, shared: unknown): Promise<RunningNode>
}

/** What all nodes have, whatever their type. */
export interface NodeCommon {
  readonly name: string
  /** Samples that are read at once, and written at once. */
  readonly vectorize: { readonly in: number; readonly out: number }
  /** Signals of `in`, if the configuration has any. */
  readonly signals: readonly Signal[] | null
  /** Sequence number of the first sample, of a node that counts; 0 without. */
  readonly initialSequence?: number
}

/** A type of node. */
export interface NodeType {
  readonly name: string
  /** One line for `--help` and the API. */
  readonly is: string
  /**
   * Reads the settings of one node; `in` and `out` are groups of them. Throws a `GatewayError` that names the key. Settings that all
   * nodes have (type, vectorize, signals, hooks, builtin, …) were taken by the caller.
   */
  parse(settings: SettingsReader, common: NodeCommon): ParsedNode
}
