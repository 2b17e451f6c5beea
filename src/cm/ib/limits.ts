/**
 * Limits of the state that peers can make a communication manager keep, and of the time that it waits for them. In the environment, for the
 * RDMA CM:
 *
 *     VERBENA_CM_LIMITS=halfOpen=1000,exchangeNs=20e9
 */
import { timeoutNs } from './timeouts.ts'

export interface CmLimits {
  /** Connections in all states, unanswered requests included. Default 65,536. */
  connections: number
  /** Requests of all listeners that are not yet a connection. Default 16,384. */
  halfOpen: number
  /** Answers (REJ, SIDR_REP) that are kept for peers that repeat their request. Default 4096. */
  answers: number
  /** Connections in TIMEWAIT. Default 16,384. */
  timewait: number
  /** Maximum wait for an answer, whatever time a message requests; default 68.7 s. */
  waitNs: number
  /**
   * The limit of a whole exchange: all repetitions of a REP until its RTU comes, or of a DREQ until its DREP comes, and the
   * time that the program takes to answer a request. Default 137 s, more than Linux's defaults need.
   */
  exchangeNs: number
  /** Minimum time that each request may wait for its RTU when there is no more room for requests; default 1 s. */
  rtuNs: number
}

const defaultLimits: Readonly<CmLimits> = {
  connections: 65_536,
  halfOpen: 16_384,
  answers: 4096,
  timewait: 16_384,
  waitNs: timeoutNs(24),
  exchangeNs: timeoutNs(25),
  rtuNs: 1e9,
}

/** Limits that may be 0. */
const mayBeZero: ReadonlySet<string> = new Set(['answers', 'timewait', 'rtuNs'])

/** Returns what is wrong with limits; undefined if they are valid. */
export function wrongLimits(limits: unknown): string | undefined {
  if (limits === undefined) return undefined
  if (typeof limits !== 'object' || limits === null) return 'limits must be an object such as { halfOpen: 1000 }'
  for (const [name, value] of Object.entries(limits) as [string, unknown][]) {
    if (!Object.hasOwn(defaultLimits, name))
      return `there is no limit ${JSON.stringify(name)}, but ${Object.keys(defaultLimits).join(', ')}`
    const least = mayBeZero.has(name) ? 0 : 1
    if (value !== undefined && (!Number.isSafeInteger(value) || (value as number) < least))
      return `the limit ${name} is a whole number from ${least}, not ${String(value)}`
  }
  return undefined
}

/** Returns all limits: those of the last source that names them, else the defaults. */
export function allLimits(...sources: readonly (Partial<CmLimits> | undefined)[]): CmLimits {
  const all = { ...defaultLimits }
  for (const source of sources)
    for (const [name, value] of Object.entries(source ?? {}))
      if (value !== undefined) all[name as keyof CmLimits] = value
  return all
}

/** Returns the limits that a text such as `halfOpen=1000,rtuNs=5e8` names, unchecked. */
export function parseLimits(text: string): Partial<CmLimits> {
  const limits: Record<string, number> = {}
  for (const part of text.split(',')) {
    if (part.trim() === '') continue
    const at = part.indexOf('=')
    const [name, value] = at < 0 ? [part.trim(), ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()]
    limits[name] = value === '' ? Number.NaN : Number(value)
  }
  return limits
}
