/** Errors of the promise forms, with Node's codes. */
import { Errno, type ErrnoName, errnoName, errnoText } from '../protocol/index.ts'

/** Error of a failed call, in the form of Node's system errors: `code` is the name, `errno` the negative number, `syscall` the call. */
export class RSocketError extends Error {
  override readonly name = 'RSocketError'
  readonly code: ErrnoName
  readonly errno: number
  readonly syscall: string
  declare address?: string
  declare port?: number

  /** `errno` may have either sign. `detail` replaces the text of the number. */
  constructor(errno: number, syscall: string, detail?: string) {
    const code = errnoName(errno)
    super(`${syscall} ${code}: ${detail ?? errnoText(errno)}`)
    this.code = code
    this.errno = -Math.abs(errno)
    this.syscall = syscall
  }
}

/** Returns the error number for an error that a lower layer threw; rethrows programming errors. */
export function errnoOf(error: unknown): { errno: number; message: string } {
  if (!(error instanceof Error) || !('code' in error)) throw error
  const errno = Errno[error.code as ErrnoName] as number | undefined
  return { errno: errno ?? Errno.EIO, message: error.message }
}
