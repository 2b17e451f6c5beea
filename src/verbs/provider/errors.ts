/**
 * Misuse of the verbs throws a `VerbsError`: a stable code (the errno that libibverbs returns), the verb, the error and its remedy. Errors
 * of the network or the peer never throw: they are completion statuses or events.
 */

/** Meanings of the error codes. */
export const verbsErrorCodes = {
  EINVAL: 'an argument or attribute is wrong',
  ENOMEM: 'a queue is full or a limit of the device is reached',
  EBUSY: 'other objects still use this one',
  EPERM: 'the operation is not permitted',
  ENODEV: 'there is no such device',
  ENODATA: 'a table has no such entry',
  EOPNOTSUPP: 'the device does not support this',
  EADDRINUSE: 'another socket has the address and port',
  EACCES: 'the system does not allow it',
  EBADF: 'the object is closed',
  ENOSPC: 'no shared memory is left',
  EMFILE: 'too many files are open',
  ENXIO: 'the shared segment is not usable',
  ETIMEDOUT: 'another thread holds a lock and does not respond',
} as const

/** A code of `verbsErrorCodes`. */
export type VerbsErrorCode = keyof typeof verbsErrorCodes

/** Misuse of a verb; the message describes the error and its remedy. */
export class VerbsError extends Error {
  override readonly name = 'VerbsError'
  /** Code of the error; stable. */
  readonly code: VerbsErrorCode
  /** The verb that was called, by its name here: `postSend`, `modify`, … */
  readonly verb: string
  /** The first work request of a linked list that was not posted (`bad_wr`). */
  badWr?: object
  /** `device-in-use`, with EADDRINUSE of `openDevice`: another process has the adapter, whatever IP port was requested. */
  reason?: 'device-in-use'

  constructor(code: VerbsErrorCode, verb: string, message: string) {
    super(`${verb}: ${message} (${code})`)
    this.code = code
    this.verb = verb
  }
}

/** Errors of memory and of the system, identified by their names: this folder imports nothing that calls the system. */
const systemErrors: readonly string[] = ['SegmentError', 'NativeError']

/** Converts an error of memory or of the system to an error of `verb`; returns other errors unchanged. */
export function asVerbsError(error: unknown, verb: string): unknown {
  if (!(error instanceof Error) || !systemErrors.includes(error.name)) return error
  const { code } = error as Error & { code: string }
  return new VerbsError(Object.hasOwn(verbsErrorCodes, code) ? (code as VerbsErrorCode) : 'ENXIO', verb, error.message)
}
