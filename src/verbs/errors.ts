/**
 * Misuse of the verbs throws a `VerbsError`: a stable code (the errno that libibverbs returns), the verb, what was
 * wrong and what to do. What the network or the peer did never throws: it is a completion status or an event.
 */

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
  ENXIO: 'the shared segment is not usable',
  ETIMEDOUT: 'another thread holds a lock and does not answer',
} as const

export type VerbsErrorCode = keyof typeof verbsErrorCodes

export class VerbsError extends Error {
  override readonly name = 'VerbsError'
  readonly code: VerbsErrorCode
  /** The verb that was called, by its name here: `postSend`, `modify`, … */
  readonly verb: string
  /** The first work request of a linked list that was not posted (`bad_wr`). */
  badWr?: object
  /** `device-in-use`, with EADDRINUSE of `openDevice`: another process has the adapter, whatever IP port was asked for. */
  reason?: 'device-in-use'

  constructor(code: VerbsErrorCode, verb: string, message: string) {
    super(`${verb}: ${message} (${code})`)
    this.code = code
    this.verb = verb
  }
}
