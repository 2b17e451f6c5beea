/** Call that is executed, and the errors for a peer that is in another call. */
import type { Combine } from './combine.ts'
import { CollectiveError } from './error.ts'
import type { History } from './history.ts'
import type { Range } from './memory.ts'
import type { Schedule } from './schedule/index.ts'

export interface Call {
  schedule: Schedule
  /** Memory of each `Place`; the runner sets that of `Scratch`. */
  places: readonly [Range, Range, Range]
  combine: Combine | null
  /** Tag of 24 bits: the collective, its variant, and the number of the call. */
  tag: number
  /** Returns a description of a peer's tag, for messages of errors. */
  nameOf: (tag: number) => string
  /** Calls of this rank up to this one. */
  history: History
}

/** Returns the error that `rank` is in the call with the tag `theirs`, or was in it while this rank was in another. */
export function elsewhere({ nameOf, tag, history }: Call, rank: number, theirs: number): CollectiveError {
  const then = history.tagOf(history.numberOf(theirs))
  if (then >= 0 && then !== tag && then !== theirs) return differs(rank, nameOf(theirs), nameOf(then))
  const [there, here] = [nameOf(theirs), nameOf(tag)]
  const message =
    there === here
      ? `${here}: rank ${rank} takes another algorithm: counts or types differ`
      : `rank ${rank} is in ${there} where this rank is in ${here}`
  return new CollectiveError('EMISMATCH', message, rank)
}

/** Returns the error that `rank` made another call than this rank; both are described in words. */
export function differs(rank: number, there: string, here: string): CollectiveError {
  return new CollectiveError('EMISMATCH', `rank ${rank} was in ${there} where this rank was in ${here}`, rank)
}

/**
 * Returns the error that `rank` sends or expects `theirs` bytes instead of `ours`; -1: data that were written without a `Ready` of this
 * rank.
 */
export function lengths({ nameOf, tag }: Call, rank: number, theirs: number, ours: number): CollectiveError {
  const what = theirs < 0 ? 'a long message' : `${theirs} bytes`
  const message = `${nameOf(tag)}: rank ${rank} has ${what} where this rank has ${ours}: counts or types differ`
  return new CollectiveError('EMISMATCH', message, rank)
}
