/**
 * Misuse of the RDMA CM throws an `RdmaCmError`. What the network or the peer did is an event with a status; only ids
 * without a channel, whose calls wait for their event, throw for that too (`event` is then what came).
 */

import type { EventId, IdEvent } from './event.ts'

export const rdmaCmErrorCodes = {
  EINVAL: 'an argument is wrong, or the id is in a state in which this call is not possible',
  EADDRINUSE: 'another id has the address and port',
  EADDRNOTAVAIL: 'the device does not have this address',
  EBUSY: 'the device is in use in this thread, with other limits',
  EBADF: 'the id or channel is closed',
  ENODEV: 'no device leads there',
  ENETUNREACH: 'this host has no route there',
  EHOSTUNREACH: 'a route of this host says that nothing leads there',
  EOPNOTSUPP: 'this kind of id cannot do that',
  ECONNREFUSED: 'the peer rejected the connection',
  ETIMEDOUT: 'the peer did not answer',
  EIO: 'the connection could not be made',
} as const
export type RdmaCmErrorCode = keyof typeof rdmaCmErrorCodes

export class RdmaCmError extends Error {
  override readonly name = 'RdmaCmError'
  readonly code: RdmaCmErrorCode
  /** The call, by its name here: `connect`, `bindAddr`, … */
  readonly call: string
  /** Event that was received, if an id without a channel waited for it. */
  declare readonly event: IdEvent<EventId> | undefined

  constructor(code: RdmaCmErrorCode, call: string, message: string, event?: IdEvent<EventId>) {
    super(`${call}: ${message} (${code})`)
    this.code = code
    this.call = call
    // Not in what is printed of an error: the id and all that hangs on it.
    Object.defineProperty(this, 'event', { value: event, enumerable: false })
  }
}
