/**
 * Misuse of the communication manager throws a `CmError`. Input from the network never throws: an invalid or unexpected message is dropped
 * and counted under one of the `dropReasons`.
 */
import type { MalformedReason } from '../../wire/index.ts'

export const cmErrorCodes = {
  ERR_CM_STATE: 'the connection is in a state in which this call is not possible',
  ERR_CM_PRIVATE_DATA: 'the private data is longer than the message has room for',
  ERR_CM_VALUE: 'a parameter is not what its field can hold',
  ERR_CM_IN_USE: 'somebody listens to this service already',
  ERR_CM_FULL: 'there are as many connections as the limit allows',
} as const
export type CmErrorCode = keyof typeof cmErrorCodes

export class CmError extends Error {
  override readonly name = 'CmError'
  readonly code: CmErrorCode
  /** The call, by its name here: `sendRep`, `listen`, … */
  readonly call: string

  constructor(code: CmErrorCode, call: string, message: string) {
    super(`${call}: ${message} (${code})`)
    this.code = code
    this.call = call
  }
}

/** Reasons for which a message that can be read is dropped. The names are stable. */
export const dropReasons = {
  unknownId: 'a pair of communication ids that no connection here has',
  foreignSource: 'a message that names a connection, from an address that is not the one of its peer',
  wrongQpn: 'a queue pair number that is not that of the connection, or cannot be one',
  unexpected: 'a message that the state of the connection does not expect',
  backlogFull: 'a request to a listener with as many requests waiting as its backlog allows',
  servedByOthers: 'a request for a service that this manager no longer listens to, but others do',
  tooMany: 'a request beyond the limits of all connections',
} as const
export type DropReason = keyof typeof dropReasons | MalformedReason
