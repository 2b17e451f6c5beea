/** Codes of the errors of the library: misuse, and windows that cannot be read or do not fit each other. */

export type MonitorErrorCode =
  /** Invalid option, field or rule. */
  | 'ERR_MONITOR_VALUE'
  /** Two windows that have different sketches, lengths or times. */
  | 'ERR_MONITOR_MISMATCH'
  /** Bytes without a window, or with one of another version. */
  | 'ERR_MONITOR_BYTES'
  /** Exact counting that needs more memory than it may take. */
  | 'ERR_MONITOR_MEMORY'

/** Error of the monitor: the message names the subject and the remedy, the code is stable. */
export class MonitorError extends Error {
  readonly code: MonitorErrorCode

  constructor(code: MonitorErrorCode, message: string) {
    super(`${message} (${code})`)
    this.name = 'MonitorError'
    this.code = code
  }
}
