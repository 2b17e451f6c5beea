/** Reason for which a group of ranks could not meet, or cannot go on. The message names the ranks concerned and the remedy. */
export type GroupErrorCode =
  /** Unknown rank: no launcher has set it, or the values that are set make no sense. */
  | 'ERR_GROUP_PLACE'
  /** Missing key: there is none that all ranks have, or other users may read it. */
  | 'ERR_GROUP_KEY'
  /** Failure of rank 0 to listen where the ranks meet. */
  | 'ERR_GROUP_MEET'
  /** Timeout: some ranks did not join in time, or did not reach a barrier. */
  | 'ERR_GROUP_MISSING'
  /** Two processes that claim the same rank. */
  | 'ERR_GROUP_TWICE'
  /** Disagreement of a rank on the size of the group or on the settings. */
  | 'ERR_GROUP_DIFFERS'
  /** Rank that ended without leaving the group. */
  | 'ERR_GROUP_GONE'
  /** Rank that gave up; the message contains its reason. */
  | 'ERR_GROUP_FAILED'
  /** Group that was left, or wait that was interrupted. */
  | 'ERR_GROUP_CLOSED'

export class GroupError extends Error {
  override readonly name = 'GroupError'
  readonly code: GroupErrorCode
  /** Rank that the error concerns; −1: none, or several. */
  readonly rank: number

  constructor(code: GroupErrorCode, message: string, rank = -1) {
    super(message)
    this.code = code
    this.rank = rank
  }
}
