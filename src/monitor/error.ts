/** What the library throws: misuse, and windows that cannot be read or do not fit each other. */

export type MonitorErrorCode =
  /** An option, a field or a rule is not what it must be. */
  | 'ERR_MONITOR_VALUE'
  /** Two windows have different sketches, lengths or times. */
  | 'ERR_MONITOR_MISMATCH'
  /** The bytes hold no window, or one of another version. */
  | 'ERR_MONITOR_BYTES'
  /** Exact counting needs more memory than it may take. */
  | 'ERR_MONITOR_MEMORY'

/** The message names the subject and what to do, the code is stable. */
export class MonitorError extends Error {
  readonly code: MonitorErrorCode

  constructor(code: MonitorErrorCode, message: string) {
    super(`${message} (${code})`)
    this.name = 'MonitorError'
    this.code = code
  }
}
