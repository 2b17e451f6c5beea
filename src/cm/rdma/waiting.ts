/** Calls that wait: which event ends one, and what it throws when another one comes. */
import { CmEventType, errno } from './constants.ts'
import { RdmaCmError, type RdmaCmErrorCode } from './errors.ts'
import type { EventId, IdEvent } from './event.ts'

/** Events of failures: after one of them the awaited event never comes. */
export const failures: ReadonlySet<CmEventType> = new Set([
  CmEventType.AddrError,
  CmEventType.RouteError,
  CmEventType.ConnectError,
  CmEventType.Unreachable,
  CmEventType.Rejected,
  CmEventType.DeviceRemoval,
  CmEventType.MulticastError,
])

/** Returns a predicate: true for an event that ends a call of this id that waits for one of these. */
export function endsCall<Id extends EventId, Event extends IdEvent<Id>>(
  id: Id,
  wanted: readonly CmEventType[],
): (event: Event) => boolean {
  return (event) => event.id === id && (wanted.includes(event.type) || failures.has(event.type))
}

/** The event that a call waited for. Throws if it reports a failure, or if there is none. */
export function outcome<Event extends IdEvent<EventId>>(
  call: string,
  event: Event | undefined,
  wanted: readonly CmEventType[],
): Event {
  if (event === undefined) throw new RdmaCmError('EBADF', call, 'the id was closed, or went to another channel')
  if (!wanted.includes(event.type)) throw failureOf(call, event)
  return event
}

function failureOf(call: string, event: IdEvent<EventId>): RdmaCmError {
  return new RdmaCmError(codeOf(event), call, textOf(event), event)
}

const addrErrors = ['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL'] as const

function codeOf({ type, status }: IdEvent<EventId>): RdmaCmErrorCode {
  if (type === CmEventType.AddrError) return addrErrors.find((code) => status === -errno[code]) ?? 'ENODEV'
  if (type === CmEventType.Rejected) return 'ECONNREFUSED'
  return status === -errno.ETIMEDOUT ? 'ETIMEDOUT' : 'EIO'
}

function textOf(event: IdEvent<EventId>): string {
  const { type, status, id } = event
  const peer = id.peerAddress === undefined ? 'the peer' : `${id.peerAddress.address} port ${id.peerAddress.port}`
  if (type === CmEventType.Rejected) return `${peer} rejected the connection (${event.statusText})`
  if (type === CmEventType.AddrError)
    return status === -errno.ENETUNREACH ? `this host has no route to ${peer}` : `no device leads to ${peer}`
  if (status === -errno.ETIMEDOUT) return `${peer} did not answer`
  return `the connection to ${peer} failed (${event.statusText})`
}
