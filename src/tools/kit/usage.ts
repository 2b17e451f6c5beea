/** Errors in the command line. */
import { notValid, quoted } from '../../spelling/index.ts'

/** Error of a request of the user that cannot be met. The command line prints the message and ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** Option or argument that is wrong, as it is typed: `--size`. */
  readonly option: string

  constructor(option: string, message: string) {
    super(`${option}: ${message}`)
    this.option = option
  }
}

/**
 * Returns the error of an option's value: "--size: '9' is not valid. Expected a, b or c, for example: --size a".
 *
 * @param expected description of legal values, or the list of all
 * @param example a legal value
 */
export function wrongValue(
  option: string,
  text: unknown,
  expected: string | readonly string[],
  example?: string | number,
): UsageError {
  const typed = example === undefined ? undefined : `${option} ${example}`
  return new UsageError(option, notValid(quoted(text), expected, typed))
}
