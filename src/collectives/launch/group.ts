/** Interface of a group to a program. */
import { hostname } from 'node:os'
import { GroupError, type GroupErrorCode } from './error.ts'
import type { PlaceOptions } from './place.ts'

/** Description of a rank for the other ranks. */
export interface Member {
  readonly rank: number
  readonly host: string
  readonly pid: number
}

export interface WaitOptions {
  /** Milliseconds from this rank's arrival to that of the last one; 0: no limit. Default: the group's. */
  timeoutMs?: number
}

export interface Group {
  readonly rank: number
  readonly size: number
  /** Source of this process's rank: `Open MPI`, `Slurm`, … */
  readonly launcher: string
  /** Members in the order of ranks. */
  readonly members: readonly Member[]
  /** Signal that is aborted with a GroupError when the group has failed: a rank died, gave up or did not join. */
  readonly signal: AbortSignal
  /** Resolves when all ranks have called it. All ranks call barriers and allgathers in the same order. */
  barrier(options?: WaitOptions): Promise<void>
  /** Returns the contributions of all ranks, in the order of ranks: at most 1 MiB each; their lengths may differ. */
  allgather(bytes: Uint8Array, options?: WaitOptions): Promise<Uint8Array[]>
  /** Ends the group at all ranks, with this rank's name and the reason. */
  fail(why: string): void
  /** Leaves the group; the other ranks may run to their ends. Rank 0 waits until all other ranks have left, or the group has failed. */
  close(): Promise<void>
}

export interface GroupOptions extends PlaceOptions {
  /** Values that must be the same at all ranks, representable in JSON. The error names the first key in which they differ. */
  settings?: Readonly<Record<string, unknown>>
  /** Milliseconds until all ranks have joined, and for each barrier or allgather; 0: no limit. Default: 60,000. */
  timeoutMs?: number
  signal?: AbortSignal
}

export const defaultTimeoutMs = 60_000
/** Maximum delay of a timer in Node.js. */
export const maxTimeoutMs = 0x7fffffff
/** Returns a time limit in the range of timers. Throws a RangeError for an invalid one. */
export function limitOf(timeoutMs: number): number {
  if (!(timeoutMs >= 0)) throw new RangeError(`timeoutMs must be milliseconds, 0 or more, not ${timeoutMs}`)
  return Math.min(timeoutMs, maxTimeoutMs)
}
export const mostGathered: number = 1 << 20

/** Description of a rank that joins. */
export interface Introduction extends Member {
  size: number
  /** Settings as canonical JSON. */
  settings: string
}

export function introduce(rank: number, size: number, settings: GroupOptions['settings'] = {}): Introduction {
  return { rank, size, host: hostname(), pid: process.pid, settings: canonical(settings) }
}

/** Returns the same text for equal settings, whatever the order of their keys. */
function canonical(settings: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(settings, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

export function nameOf({ rank, host, pid }: Member): string {
  return `rank ${rank} (${host}, process ${pid})`
}

/** Returns the content of a Fail frame; `failureOf` is the inverse, and returns an error for invalid content as well. */
export function failureText({ code, message, rank }: GroupError): string {
  return JSON.stringify({ code, rank, message: message.slice(0, 4000) })
}

export function failureOf(content: Buffer): GroupError {
  try {
    const { code, rank, message } = JSON.parse(content.toString()) as Record<string, unknown>
    if (typeof message === 'string' && /^ERR_GROUP_[A-Z]+$/.test(String(code)))
      return new GroupError(code as GroupErrorCode, message, Number(rank))
  } catch {
    // The error below is returned.
  }
  return new GroupError('ERR_GROUP_FAILED', 'the group has failed, and rank 0 does not say why')
}

/** Returns a text such as `1, 3 to 5 and 7`. */
export function ranksText(ranks: readonly number[]): string {
  const runs: [number, number][] = []
  for (const rank of ranks) {
    const last = runs.at(-1)
    if (last && last[1] === rank - 1) last[1] = rank
    else runs.push([rank, rank])
  }
  const texts = runs.flatMap(([a, b]) => (b === a ? [`${a}`] : b === a + 1 ? [`${a}`, `${b}`] : [`${a} to ${b}`]))
  const list = texts.length > 1 ? `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}` : texts[0]
  return `${ranks.length > 1 ? 'ranks' : 'rank'} ${list}`
}
