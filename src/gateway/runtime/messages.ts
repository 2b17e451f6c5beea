/** Messages between the main thread and the thread of a group. */
import type { NodeConfig, PathConfig, Signal } from '../index.ts'
import type { AnyPoolShare } from '../nodes/index.ts'

/** Data with which a thread starts. */
export interface GroupData {
  readonly nodes: readonly GroupNode[]
  readonly paths: readonly GroupPath[]
  readonly pool: AnyPoolShare
  readonly control: SharedArrayBuffer
  /** Counts: a set for each node, followed by one for each path. */
  readonly counts: SharedArrayBuffer
  /** Time of day minus the monotonic clock, nanoseconds, where the system's time of day cannot be had directly. */
  readonly epochNs: number
  /** Statistics of all nodes of the gateway, by name (node-statistics.ts). */
  readonly statistics: Readonly<Record<string, SharedArrayBuffer>>
  /** Cores, a bit for each; 0: all. */
  readonly affinity: number
}

export interface GroupNode {
  readonly config: NodeConfig
  /** Directions in which the paths of this group use the node. */
  readonly directions: { readonly in: boolean; readonly out: boolean }
  /** Signals of what is read from the node, and written to it. */
  readonly signals: { readonly in: readonly Signal[]; readonly out: readonly Signal[] }
  /** True if what is written to it is read from it. */
  readonly mirrors: boolean
  /** True if a path of the gateway writes to it. */
  readonly isWritten: boolean
  /** Signals of what paths write to it, before its hooks of `out`. */
  readonly arriving: readonly Signal[]
  /** Signals that a watch sees: those of what is read, after the hooks; if nothing is read, those of what is written. */
  readonly seen: readonly Signal[]
  /** Result of `ParsedNode.share`. */
  readonly shared: unknown
  /** Buffer of a `Watch`; null if there are no viewers. */
  readonly watch: SharedArrayBuffer | null
}

export interface GroupPath {
  readonly config: PathConfig
  /** Signals of what goes into its hooks. */
  readonly signals: readonly Signal[]
}

/** Report of a node about itself. */
export interface NodeReport {
  readonly name: string
  readonly state: string
  readonly counters: Readonly<Record<string, number>>
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Message from the thread of a group. */
export type GroupMessage =
  /** All nodes have started; it waits for `Command.run`. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly node: string; readonly line: string }
  /** A node cannot start or continue. */
  | { readonly kind: 'failed'; readonly node: string; readonly message: string }
  /** A node has done what the gateway was started for. */
  | { readonly kind: 'finished'; readonly node: string }
  | { readonly kind: 'report'; readonly nodes: readonly NodeReport[] }
  /** Sources that do not mirror what is written elsewhere will bring no more samples; or all paths have stopped. */
  | { readonly kind: 'ended' }
  /** Everything is written and closed; the last message. */
  | { readonly kind: 'stopped'; readonly nodes: readonly NodeReport[] }
