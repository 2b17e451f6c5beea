/** A configuration, checked as far as it is the same for all types of nodes and hooks. Plain data: it may be posted to threads. */
import type { Settings } from '../settings.ts'
import type { Signal } from '../signals.ts'
import type { Mapping } from './mapping.ts'

export interface GatewayConfig {
  /** Name of the gateway, for software that watches several. */
  readonly name: string | null
  readonly uuid: string
  /** Rate at which statistics are gathered, per second. */
  readonly statsHz: number
  /** Cores that the gateway may run on, a bit for each; 0: all. */
  readonly affinity: number
  /** Flag: the gateway stops when none of its paths runs any more. */
  readonly idleStop: boolean
  readonly logging: { readonly level: LogLevel; readonly file: string | null }
  readonly http: HttpConfig
  readonly nodes: readonly NodeConfig[]
  /** Paths; one with `reverse` is here twice. */
  readonly paths: readonly PathConfig[]
  /** Settings as they were read, with includes and variables replaced. */
  readonly settings: Settings
}

export const logLevels = ['trace', 'debug', 'info', 'warning', 'error', 'critical', 'off'] as const
export type LogLevel = (typeof logLevels)[number]

export interface HttpConfig {
  readonly enabled: boolean
  readonly port: number
  /** Address to listen on; loopback by default. */
  readonly host: string
  /** Bearer token that callers have to send; null: one is generated when the API starts. */
  readonly token: string | null
  /** Flag, dangerous: there is no token, and any client that reaches the address may do everything. */
  readonly open: boolean
  /** Files of a certificate and its key in PEM. */
  readonly tls: { readonly certificate: string; readonly key: string } | null
}

export interface NodeConfig {
  readonly name: string
  readonly uuid: string
  readonly type: string
  readonly enabled: boolean
  /** Sequence number of the first sample. */
  readonly initialSequence: number
  readonly in: DirectionConfig
  readonly out: DirectionConfig
  /** Settings of the node; `settingsOfNode` makes the reader that its type gets. */
  readonly settings: Settings
}

export interface DirectionConfig {
  readonly enabled: boolean
  /** Samples that are read or written at once. */
  readonly vectorize: number
  /** Signals of the samples; null: those that the type of the node knows, or as many floats as a sample has values. */
  readonly signals: readonly Signal[] | null
  readonly hooks: readonly HookConfig[]
  /** Flag: the hooks that all nodes have are added. */
  readonly builtin: boolean
}

export interface HookConfig {
  readonly type: string
  /** Priority; null: that of the type of the hook. */
  readonly priority: number | null
  readonly enabled: boolean
  /** Settings of the hook; `settingsOfHook` makes the reader that its type gets. */
  readonly settings: Settings
}

export interface PathConfig {
  readonly uuid: string
  readonly enabled: boolean
  readonly in: readonly Mapping[]
  /** Names of nodes. */
  readonly out: readonly string[]
  /** Condition for sending: `any` of the sources that count has something new, or `all` of them have. */
  readonly mode: 'any' | 'all'
  /** Sources that count for the mode; null: all. */
  readonly mask: readonly string[] | null
  /** Samples per second; 0: a sample whenever there is something new. Otherwise the last sample is sent, new or not. */
  readonly rateHz: number
  /** Flag: sources are polled; null: as the number of sources demands. */
  readonly poll: boolean | null
  /** Samples that each destination may keep, a power of 2: paths have no queue of their own, the pool has room for so many. */
  readonly queueLength: number
  /** Flag: samples keep the sequence numbers of their sources; null: they do if there is one source. */
  readonly originalSequence: boolean | null
  readonly builtin: boolean
  readonly hooks: readonly HookConfig[]
  /** Cores, a bit for each; 0: all. */
  readonly affinity: number
  /** True if the path was made by `reverse` of another one. */
  readonly reversed: boolean
  readonly settings: Settings
}

/** Fact that an operator should know: its place, and a text. */
export interface Notice {
  /** File and line, "gateway.conf:12"; undefined if unknown. */
  readonly place: string | undefined
  readonly key: string
  readonly what: string
}
