/** Error of a request that cannot be met: the command line prints the message and ends with exit code 2. */
export class MappingError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_REPLAY_MAPPING'
}
