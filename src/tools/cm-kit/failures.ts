/** Events that mean failure, as errors that explain what to do. */
import { type CmEvent, CmEventType, type CmId } from '../../index.ts'
import { EndError } from '../kit/index.ts'

/** Reasons of a rejection that the user can act on (InfiniBand specification, 12.6.7.2). */
const invalidServiceId = 8
const consumerReject = 28
const etimedout = -110

const failures: Partial<Record<CmEventType, string>> = {
  [CmEventType.AddrError]: 'ADDR_ERROR',
  [CmEventType.RouteError]: 'ROUTE_ERROR',
  [CmEventType.ConnectError]: 'CONNECT_ERROR',
  [CmEventType.Unreachable]: 'UNREACHABLE',
  [CmEventType.Rejected]: 'REJECTED',
  [CmEventType.Disconnected]: 'PEER_GONE',
  [CmEventType.DeviceRemoval]: 'DEVICE_REMOVAL',
  [CmEventType.MulticastError]: 'MULTICAST_ERROR',
}

/** Error for an event that prevents what the program wanted, with the event's numbers for `--json`. */
export class CmFailure extends EndError {
  readonly event: CmEvent

  constructor(code: string, message: string, event: CmEvent) {
    super(code, message)
    this.event = event
  }

  /** True if no process listens there, or not yet. */
  get nobody(): boolean {
    const { type, status } = this.event
    return type === CmEventType.Unreachable || (type === CmEventType.Rejected && status === invalidServiceId)
  }
}

/** Returns the error of an event; undefined if the event is not a failure. */
export function eventError(event: CmEvent): CmFailure | undefined {
  const code = failures[event.type]
  if (code === undefined) return undefined
  return new CmFailure(code, `${event.name}, error ${event.status}: ${explanation(event)}`, event)
}

function explanation(event: CmEvent): string {
  const { type, status, id } = event
  const peer = peerText(id)
  if (type === CmEventType.Disconnected) return `${peer} ended the connection`
  if (type === CmEventType.AddrError)
    return `no device leads to ${peer}: which address does the server have? (--device)`
  if (type === CmEventType.Rejected) {
    if (status === invalidServiceId) return `nobody listens on ${peer}: start the server there first, or give --wait`
    if (status === consumerReject) return `${peer} refused the connection: it has as many as it wants`
    return `${peer} refused the connection (${event.statusText})`
  }
  if (type === CmEventType.Unreachable && status === etimedout)
    return `${peer} does not answer: is the server running there, and does its device have this address?`
  return `the connection to ${peer} could not be made`
}

/** Returns the peer as `10.0.0.7 port 7174`. */
export function peerText(id: CmId): string {
  const { peerAddress } = id
  return peerAddress === undefined ? 'the peer' : `${peerAddress.address} port ${peerAddress.port}`
}
