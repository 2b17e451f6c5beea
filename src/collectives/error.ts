/** What ends a communicator, or a call of it. */

export type CollectiveErrorCode =
  /** An argument is wrong; nothing was sent. */
  | 'EINVAL'
  /** The ranks do not agree: another collective, another count, another type. */
  | 'EMISMATCH'
  /** A rank cannot be reached any more, or the group has failed. */
  | 'EPEER'
  /** Nothing came for as long as `timeoutMs`. */
  | 'ETIMEDOUT'
  /** The communicator is closed. */
  | 'ECLOSED'

export class CollectiveError extends Error {
  override readonly name = 'CollectiveError'
  readonly code: CollectiveErrorCode
  /** The rank that it is about; -1 if there is none. */
  readonly rank: number

  constructor(code: CollectiveErrorCode, message: string, rank = -1, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.rank = rank
  }
}
