/** A configuration, checked as far as it is the same for all types of nodes and hooks. Plain data: it may be posted to threads. */
import type { Settings } from '../settings.ts'
import type { Signal } from '../signals.ts'
import type { Mapping } from './mapping.ts'

export interface GatewayConfig {
  /** Of the gateway, for those that watch several. */
  readonly name: string | null
  readonly uuid: string
  /** How often statistics are gathered, per second. */
  readonly statsHz: number
  /** Cores that the gateway may run on, a bit for each; 0: all. */
  readonly affinity: number
  /** The gateway stops when none of its paths runs any more. */
  readonly idleStop: boolean
  readonly logging: { readonly level: LogLevel; readonly file: string | null }
  readonly http: HttpConfig
  readonly nodes: readonly NodeConfig[]
  /** A path with `reverse` is here twice. */
  readonly paths: readonly PathConfig[]
  /** As it was read, with what was included and replaced. */
  readonly settings: Settings
}

export const logLevels = ['trace', 'debug', 'info', 'warning', 'error', 'critical', 'off'] as const
export type LogLevel = (typeof logLevels)[number]

export interface HttpConfig {
  readonly enabled: boolean
  readonly port: number
  /** The address to listen on; loopback unless told otherwise. */
  readonly host: string
  /** What callers have to send as a bearer token; null: one that is made when the API starts. */
  readonly token: string | null
  /** Dangerous: there is no token, and whoever reaches the address may do everything. */
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
  /** All of its settings; `settingsOfNode` makes the reader that its type gets. */
  readonly settings: Settings
}

export interface DirectionConfig {
  readonly enabled: boolean
  /** Samples that are read or written at once. */
  readonly vectorize: number
  /** Null: the type of the node knows, or as many floats as a sample has values. */
  readonly signals: readonly Signal[] | null
  readonly hooks: readonly HookConfig[]
  /** The hooks that all nodes have are added. */
  readonly builtin: boolean
}

export interface HookConfig {
  readonly type: string
  /** Null: that of its type. */
  readonly priority: number | null
  readonly enabled: boolean
  /** All of its settings; `settingsOfHook` makes the reader that its type gets. */
  readonly settings: Settings
}

export interface PathConfig {
  readonly uuid: string
  readonly enabled: boolean
  readonly in: readonly Mapping[]
  /** Names of nodes. */
  readonly out: readonly string[]
  /** `any` of the sources that count has something new, or `all` of them have. */
  readonly mode: 'any' | 'all'
  /** Sources that count for the mode; null: all. */
  readonly mask: readonly string[] | null
  /** Per second; 0: whenever there is something new. Otherwise the last sample is sent, new or not. */
  readonly rateHz: number
  /** Null: as the number of sources demands. */
  readonly poll: boolean | null
  /** Samples that each destination may keep, a power of 2: paths have no queue of their own, the pool has room for so many. */
  readonly queueLength: number
  /** Null: yes if there is one source. */
  readonly originalSequence: boolean | null
  readonly builtin: boolean
  readonly hooks: readonly HookConfig[]
  /** Cores, a bit for each; 0: all. */
  readonly affinity: number
  /** It was made by `reverse` of another one. */
  readonly reversed: boolean
  readonly settings: Settings
}

/** Something that an operator should know: where, and what. */
export interface Notice {
  /** "gateway.conf:12"; undefined: nobody knows. */
  readonly place: string | undefined
  readonly key: string
  readonly what: string
}
