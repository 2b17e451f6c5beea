/** A call as it is carried out, and what is said of a peer that is in another. */
import type { Combine } from './combine.ts'
import { CollectiveError } from './error.ts'
import type { History } from './history.ts'
import type { Range } from './memory.ts'
import type { Schedule } from './schedule/index.ts'

export interface Call {
  schedule: Schedule
  /** Where `Place`s are; that of `Scratch` is set by the runner. */
  places: readonly [Range, Range, Range]
  combine: Combine | null
  /** Of 24 bits: the collective, its variant, and the number of the call. */
  tag: number
  /** What a peer's tag means, in words. */
  nameOf: (tag: number) => string
  /** The calls of this rank up to this one. */
  history: History
}

/** `rank` is in the call of the tag `theirs`, or was in it where this rank was in another. */
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

/** `rank` made another call than this rank, in words. */
export function differs(rank: number, there: string, here: string): CollectiveError {
  return new CollectiveError('EMISMATCH', `rank ${rank} was in ${there} where this rank was in ${here}`, rank)
}

/** `rank` sends or expects `theirs` bytes (-1: what is written where this rank did not say) instead of `ours`. */
export function lengths({ nameOf, tag }: Call, rank: number, theirs: number, ours: number): CollectiveError {
  const what = theirs < 0 ? 'a long message' : `${theirs} bytes`
  const message = `${nameOf(tag)}: rank ${rank} has ${what} where this rank has ${ours}: counts or types differ`
  return new CollectiveError('EMISMATCH', message, rank)
}
