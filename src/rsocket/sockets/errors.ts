/** Errors of the promise forms, with Node's codes. */
import { Errno, type ErrnoName, errnoName, errnoText } from '../protocol/index.ts'

/** What failed, in the form of Node's system errors: `code` is the name, `errno` the negative number, `syscall` the call. */
export class RSocketError extends Error {
  override readonly name = 'RSocketError'
  readonly code: ErrnoName
  readonly errno: number
  readonly syscall: string
  declare address?: string
  declare port?: number

  /** `errno` may have either sign. `detail` says more than the number does. */
  constructor(errno: number, syscall: string, detail?: string) {
    const code = errnoName(errno)
    super(`${syscall} ${code}: ${detail ?? errnoText(errno)}`)
    this.code = code
    this.errno = -Math.abs(errno)
    this.syscall = syscall
  }
}

/** The error number for what a layer below threw; a programming error is thrown on. */
export function errnoOf(error: unknown): { errno: number; message: string } {
  if (!(error instanceof Error) || !('code' in error)) throw error
  const errno = Errno[error.code as ErrnoName] as number | undefined
  return { errno: errno ?? Errno.EIO, message: error.message }
}
