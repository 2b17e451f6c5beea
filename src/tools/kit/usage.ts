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
