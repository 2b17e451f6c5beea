/** What a hook is: it changes samples in place, lets them pass or not, or looks at them. */
import type { Samples } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import type { Signal } from '../signals.ts'

/** What becomes of a sample, as in VILLASnode. */
export const Verdict = { ok: 0, error: 1, skip: 2, stop: 3 } as const
export type Verdict = (typeof Verdict)[keyof typeof Verdict]

export interface Hook {
  /** Signals of the samples that leave it. */
  readonly signals: readonly Signal[]
  /** The sample whose record begins at `word` comes by. Allocates nothing. */
  process(samples: Samples, word: number): Verdict
  /** About once a second. */
  periodic?(): void
  /** The path or node starts, or starts again: what was remembered of earlier samples is forgotten. */
  restart?(): void
  /** The path or node stops: what was gathered is written. */
  stop?(): void
}

export interface HookContext {
  /** Signals of the samples that come in. */
  readonly signals: readonly Signal[]
  /** Values that a sample has room for. */
  readonly values: number
  /** What the hook belongs to, for its output. */
  readonly owner: string
  /** Time of day in seconds and nanoseconds since 1970, written at a word of samples. */
  stamp(samples: Samples, word: number): void
  /** Opens what a hook writes to: a path, or 'stdout'. */
  open(path: string): HookOutput
  log(level: 'debug' | 'info' | 'warn' | 'error', line: string): void
}

export interface HookOutput {
  /** The bytes may be overwritten when it has returned. */
  write(bytes: Uint8Array): void
  close(): void
}

export interface HookType {
  readonly name: string
  /** One line for `--help`. */
  readonly is: string
  /** Hooks of one path or node run in the order of their priority, lowest first; this is the one without a setting. */
  readonly priority: number
  /** Reads the settings of one hook; `type`, `priority` and `enabled` were taken by the caller. Throws a `GatewayError` that names the key. */
  make(settings: SettingsReader, context: HookContext): Hook
}
