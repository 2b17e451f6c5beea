/** Code of an error that ends a communicator, or a call of it. */

export type CollectiveErrorCode =
  /** Invalid argument; nothing was sent. */
  | 'EINVAL'
  /** Disagreement between ranks: another collective, another count, another type. */
  | 'EMISMATCH'
  /** Rank that cannot be reached any more, or group that has failed. */
  | 'EPEER'
  /** Timeout: nothing arrived for `timeoutMs`. */
  | 'ETIMEDOUT'
  /** Communicator that is closed. */
  | 'ECLOSED'

export class CollectiveError extends Error {
  override readonly name = 'CollectiveError'
  readonly code: CollectiveErrorCode
  /** Rank that the error concerns; -1 if there is none. */
  readonly rank: number

  constructor(code: CollectiveErrorCode, message: string, rank = -1, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.rank = rank
  }
}
