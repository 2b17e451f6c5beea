/** Counters of the communication manager; plain fields, to be read at any time. */
import { CmAttribute, type CmType, type MalformedReason, malformedReasons } from '../../wire/index.ts'
import { type DropReason, dropReasons } from './errors.ts'

type PerType = Record<CmType, number>

export interface CmCounters {
  /** Messages sent, including repetitions. */
  sent: PerType
  /** Repetitions because no answer was received. */
  retried: PerType
  /** Messages received that can be read, including duplicates. */
  received: PerType
  /** Messages of a peer that repeats itself. */
  duplicates: PerType
  /** Messages that were dropped, by reason. */
  dropped: Record<DropReason, number>
  /** Waits that ended without an answer after all repetitions. */
  expired: number
  /** Requests that made room for one of another sender. */
  evicted: number
  /** Answers and TIMEWAITs that ended early, because there were more than are kept. */
  shortened: number
  /** REJs that the manager sent by itself, by reason. */
  rejected: Record<number, number>
}

export function newCounters(): CmCounters {
  const perType = (): PerType =>
    Object.fromEntries(Object.keys(CmAttribute).map((type) => [type, 0])) as Record<CmType, number>
  const malformed = Object.keys(malformedReasons) as MalformedReason[]
  const reasons = [...(Object.keys(dropReasons) as DropReason[]), ...malformed]
  return {
    sent: perType(),
    retried: perType(),
    received: perType(),
    duplicates: perType(),
    dropped: Object.fromEntries(reasons.map((reason) => [reason, 0])) as Record<DropReason, number>,
    expired: 0,
    evicted: 0,
    shortened: 0,
    rejected: {},
  }
}
