/** Interfaces of a hook, which changes samples in place, lets them pass or not, or observes them. */
import type { Samples } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import type { Signal } from '../signals.ts'
import type { Statistics } from './statistics.ts'

/** Verdict on a sample, as in VILLASnode: `stop` lets it pass without running the hooks after this one. */
export const Verdict = { ok: 0, error: 1, skip: 2, stop: 3 } as const
export type Verdict = (typeof Verdict)[keyof typeof Verdict]

export interface Hook {
  /** Signals of the samples that leave it. */
  readonly signals: readonly Signal[]
  /** Processes the sample whose record begins at `word`. Allocates nothing. */
  process(samples: Samples, word: number): Verdict
  /** Fills a record with the next of the samples that the hook still holds back; false: none. Called when there will be no more. */
  drain?(samples: Samples, word: number): boolean
  /** Called about once a second. */
  periodic?(): void
  /**
   * Starts the hook with its path or node, and again when the simulation starts again: state of earlier samples is discarded. Called once
   * before the first sample; files are opened here, unless they are open. Throws errors that an operator can understand.
   */
  restart?(): void
  /** Writes what was gathered; called when the path or node stops. */
  stop?(): void
}

export interface HookContext {
  /** Signals of the samples that come in. */
  readonly signals: readonly Signal[]
  /** Values that a sample has room for. */
  readonly values: number
  /** Name of the path or node of the hook, for its output. */
  readonly owner: string
  /** Number of the first sample that comes without one; 0 by default. */
  readonly initialSequence?: number
  /** Place of the hook: in a path, or where samples are read from a node or written to it. */
  readonly place?: 'path' | 'in' | 'out'
  /** Time of day in seconds and nanoseconds since 1970, written at a word of samples. */
  stamp(samples: Samples, word: number): void
  /** Returns the time of the monotonic clock, in nanoseconds. */
  nowNs(): number
  /** Opens the output of a hook: a path, or 'stdout'. */
  open(path: string): HookOutput
  /** Logs a line, without the owner. */
  log(level: 'debug' | 'info' | 'warn' | 'error', line: string): void
  /** Returns a hash function by its name, for example 'sha256'; undefined if there is none of that name. */
  hash(algorithm: string): HookHash | undefined
  /** Publishes statistics that the hook keeps, for the API, the metrics and the node-type stats. */
  publish?(statistics: Statistics): void
  /** Restarts all hooks of the owner, those of its other direction, too: the simulation starts again. */
  restart?(): void
}

export interface HookOutput {
  /** Writes bytes, which may be overwritten when it has returned. */
  write(bytes: Uint8Array): void
  close(): void
}

export interface HookHash {
  update(bytes: Uint8Array): void
  /** Returns the hash of all bytes since the last call. */
  finish(): Uint8Array
}

export interface HookType {
  readonly name: string
  /** Description in one line for `--help`. */
  readonly is: string
  /** Priority if there is no setting: hooks of one path or node run in the order of their priority, lowest first. */
  readonly priority: number
  /** True if nodes have it in their `in` direction, unless `builtin` is false there. */
  readonly builtin?: boolean
  /** Reads the settings of one hook; `type`, `priority` and `enabled` were taken by the caller. Throws a `GatewayError` that names the key. */
  make(settings: SettingsReader, context: HookContext): Hook
}

/** Priority of hooks that need no particular one. */
export const usualPriority = 99
