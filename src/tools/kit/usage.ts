/** Errors of what a person typed. */
import { notValid, quoted } from '../../spelling/index.ts'

/** What a person asked for and cannot have. The command line prints the message and ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The option or argument that is wrong, as it is typed: `--size`. */
  readonly option: string

  constructor(option: string, message: string) {
    super(`${option}: ${message}`)
    this.option = option
  }
}

/**
 * The value of an option is wrong: "--size: '9' is not valid. Expected a, b or c, for example: --size a".
 *
 * @param expected in words, or all values that there are
 * @param example a value
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
