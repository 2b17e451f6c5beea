/** Explanations of RDMA CM events that report a failure: a sentence with the addresses, and what can be done. */
import { type CmEvent, CmEventType, SidrStatus } from '../../cm/index.ts'
import { LinkLayer, QpType } from '../../verbs/index.ts'
import { CmRejReason } from '../../wire/index.ts'

/** Explains an event; undefined if it reports no failure. `adapters`: those of the run, as text. */
export function whyEventFailed(event: CmEvent, adapters: string): string | undefined {
  const why = cause(event, adapters)
  return why === undefined ? undefined : `${event.name}: ${why}`
}

function cause(event: CmEvent, adapters: string): string | undefined {
  const { type, status, id, statusText } = event
  const peer = id.peerAddress === undefined ? 'the peer' : `${id.peerAddress.address} port ${id.peerAddress.port}`
  switch (type) {
    case CmEventType.AddrError:
      return addressCause(statusText, id.peerAddress?.address ?? 'the address', adapters)
    case CmEventType.RouteError:
      return `no path leads to ${peer} (${statusText}) from the adapters of this run: ${adapters}`
    case CmEventType.Rejected:
      return `${peer} has rejected the connection: ${rejectionCause(event)}`
    case CmEventType.Unreachable:
      if (status > 0) return `${peer} ${sidrCause(status)}`
      return `${peer} did not answer (${statusText}): ${silenceCause(event)}`
    case CmEventType.ConnectError:
      return `the connection to ${peer} failed (${statusText}): ${connectCause(status)}`
    case CmEventType.MulticastError:
      return `the group could not be joined (${statusText}) with the adapters of this run: ${adapters}`
    default:
      return undefined
  }
}

function addressCause(statusText: string, address: string, adapters: string): string {
  const what =
    statusText === 'ENETUNREACH' || statusText === 'EHOSTUNREACH'
      ? `this host has no route to ${address} (${statusText})`
      : `no adapter of this run leads to ${address} (${statusText})`
  return `${what}; it has ${adapters}: adapters in shared memory (shm:…) lead to addresses of this host and to their GIDs, --device roce and roce:ADDRESS to other hosts`
}

function rejectionCause(event: CmEvent): string {
  const { status, id } = event
  switch (status) {
    case CmRejReason.InvalidServiceId:
      return `reason 8, invalid service ID: ${id.nobodyListens}; start the server first, with the same port and port space`
    case CmRejReason.ConsumerReject:
      return 'reason 28, consumer reject: the program there called rdma_reject or destroyed the id that came with the request; Linux says so, too, where one listens on this port of another address'
    case CmRejReason.NoResources:
      return 'reason 3, no resources: the other end has no room for another connection'
    case CmRejReason.StaleConnection:
      return 'reason 10, stale connection: the other end still has a connection with this queue pair; ask again'
    case CmRejReason.Timeout:
      return 'reason 4, timeout: the other end had no answer to its reply in time (rdma_accept, or rdma_establish, of this end)'
    default:
      return event.statusText
  }
}

function sidrCause(status: number): string {
  if (status === SidrStatus.Unsupported)
    return 'has no service of this port (SIDR status 1): nobody listens there; start the server first, with the same port and port space'
  if (status === SidrStatus.Reject)
    return 'has rejected the request (SIDR status 2): the program there called rdma_reject'
  return `has no queue pair for this (SIDR status ${status})`
}

/** Requests are repeated by the communication manager: who is silent has gone, or never got them. */
function silenceCause({ id }: CmEvent): string {
  const asked = `the requests from ${id.localAddress.address} were repeated`
  const isEthernet = id.verbs?.queryPort(1).linkLayer === LinkLayer.Ethernet
  const nobody = isEthernet ? 'nothing that speaks RoCEv2 (UDP port 4791) is at that address' : 'has ended'
  if (id.qpType === QpType.UD) return `${asked}; the program there is silent, or ${nobody}`
  return `${asked}; the program there has called neither rdma_accept nor rdma_reject, or ${nobody}`
}

function connectCause(status: number): string {
  if (status === CmRejReason.StaleConnection)
    return 'the other end has begun anew with the queue pair of this connection; ask again'
  return 'the queue pair could not be made ready with what the other end has answered'
}
