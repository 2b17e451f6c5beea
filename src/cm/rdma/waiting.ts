/** Ids without a channel: which event a call waits for, and what it throws when another one comes. */
import { CmEventType, errno } from './constants.ts'
import { RdmaCmError, type RdmaCmErrorCode } from './errors.ts'
import type { CmEvent } from './event.ts'

/** Events that end the waiting: what it waits for may come no more. */
export const failures: ReadonlySet<CmEventType> = new Set([
  CmEventType.AddrError,
  CmEventType.RouteError,
  CmEventType.ConnectError,
  CmEventType.Unreachable,
  CmEventType.Rejected,
  CmEventType.DeviceRemoval,
  CmEventType.MulticastError,
])

export function failureOf(call: string, event: CmEvent): RdmaCmError {
  return new RdmaCmError(codeOf(event), call, textOf(event), event)
}

function codeOf({ type, status }: CmEvent): RdmaCmErrorCode {
  if (type === CmEventType.AddrError) return 'ENODEV'
  if (type === CmEventType.Rejected) return 'ECONNREFUSED'
  return status === -errno.ETIMEDOUT ? 'ETIMEDOUT' : 'EIO'
}

function textOf(event: CmEvent): string {
  const { type, status, id } = event
  const peer = id.peerAddress === undefined ? 'the peer' : `${id.peerAddress.address} port ${id.peerAddress.port}`
  if (type === CmEventType.Rejected) return `${peer} rejected the connection (${event.statusText})`
  if (type === CmEventType.AddrError) return `no device leads to ${peer}`
  if (status === -errno.ETIMEDOUT) return `${peer} did not answer`
  return `the connection to ${peer} failed (${event.statusText})`
}
