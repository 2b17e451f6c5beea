/** Why a group of ranks could not meet, or cannot go on. The message says who and what to do. */
export type GroupErrorCode =
  /** No launcher says which rank this is, or what it says makes no sense. */
  | 'ERR_GROUP_PLACE'
  /** There is no key that all ranks have, or others may read it. */
  | 'ERR_GROUP_KEY'
  /** Rank 0 cannot listen where the ranks meet. */
  | 'ERR_GROUP_MEET'
  /** Some ranks did not come in time, or not to a barrier. */
  | 'ERR_GROUP_MISSING'
  /** Two processes say that they are the same rank. */
  | 'ERR_GROUP_TWICE'
  /** A rank has another size of the group, or other settings. */
  | 'ERR_GROUP_DIFFERS'
  /** A rank ended without leaving the group. */
  | 'ERR_GROUP_GONE'
  /** A rank gave up and says why. */
  | 'ERR_GROUP_FAILED'
  /** The group was left, or the wait was interrupted. */
  | 'ERR_GROUP_CLOSED'

export class GroupError extends Error {
  override readonly name = 'GroupError'
  readonly code: GroupErrorCode
  /** The rank that it is about; −1: none, or several. */
  readonly rank: number

  constructor(code: GroupErrorCode, message: string, rank = -1) {
    super(message)
    this.code = code
    this.rank = rank
  }
}
