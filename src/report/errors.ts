/**
 * Errors of saved results, as one table of stable codes.
 *
 * A message names the file, the position in it, what was expected there, and the remedy.
 */

/** Codes with the situation in which each is thrown. */
export const REPORT_ERRORS = {
  ERR_REPORT_NO_RESULTS: 'a directory or a file that should hold results does not exist or cannot be read',
  ERR_REPORT_JSON: 'run.json or plot.json is not JSON',
  ERR_REPORT_SCHEMA: 'run.json or plot.json is JSON, but not what the format says',
  ERR_REPORT_CSV: 'a file with raw timestamps is damaged',
  ERR_REPORT_OPTION: 'an option of the report names something that the results do not have, or a value is out of range',
} as const

export type ReportErrorCode = keyof typeof REPORT_ERRORS

export class ReportError extends Error {
  readonly code: ReportErrorCode

  constructor(code: ReportErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ReportError'
    this.code = code
  }
}
