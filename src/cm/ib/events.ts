/** The options of the communication manager, and its events. `A` is an address as in parameters.ts. */
import type { CmPath, CmReq } from '../../wire/index.ts'
import type { CmConnection, CmListener } from './connection.ts'
import type { DropReason } from './errors.ts'
import type { CmLimits } from './limits.ts'
import type { CmMessageOf, RejParams } from './parameters.ts'

/** Fields of each event; `message` is the one that caused it. Its bytes are a copy and may be kept. */
export type CmEvent<A> = { connection: CmConnection<A> } & (
  | { type: 'reqReceived'; message: CmMessageOf<'REQ'>; listener: CmListener<A> | undefined; from: A }
  | { type: 'repReceived'; message: CmMessageOf<'REP'> }
  | { type: 'rtuReceived'; message: CmMessageOf<'RTU'> }
  | { type: 'mraReceived'; message: CmMessageOf<'MRA'> }
  | { type: 'rejReceived'; message: CmMessageOf<'REJ'> }
  | { type: 'dreqReceived'; message: CmMessageOf<'DREQ'> }
  | { type: 'drepReceived'; message: CmMessageOf<'DREP'> }
  | { type: 'lapReceived'; message: CmMessageOf<'LAP'> }
  | { type: 'aprReceived'; message: CmMessageOf<'APR'> }
  | { type: 'sidrReqReceived'; message: CmMessageOf<'SIDR_REQ'>; listener: CmListener<A>; from: A }
  | { type: 'sidrRepReceived'; message: CmMessageOf<'SIDR_REP'> }
  /** The QP of a passive side got data before the RTU came (`ib_cm_notify`, IB_EVENT_COMM_EST). */
  | { type: 'userEstablished' }
  /** No answer to any repetition: the request has failed. A DREQ goes on in TIMEWAIT. */
  | { type: 'reqError' | 'repError' | 'dreqError' | 'lapError' | 'sidrReqError' }
  /** A request was dropped: the program took too long to answer it, or a request of another sender needed its room. */
  | { type: 'reqDropped' }
  /** The peer has lost this connection: it requests another one with the same QP. */
  | { type: 'staleConnection' }
  /** The QP number may be used again; the connection is gone. */
  | { type: 'timewaitExit' }
)
export type CmEventType = CmEvent<unknown>['type']

export interface CmOptions<A> {
  /** GUID of the adapter. */
  caGuid: bigint
  /** A number from 0 to below 1, not to be guessed: PSNs and transaction ids are made with it. */
  random: () => number
  /** Returns a communication id, 32 bits and not 0, that is not easily guessed. Called again if it is in use. Random without it. */
  commIds?: () => number
  /** Sends a MAD of 256 bytes to QP 1. It must not call `receive` before it returns. */
  send: (mad: Uint8Array, to: A) => void
  event: (event: CmEvent<A>) => void
  /** Returns the same string for the same sender. Messages about a connection count only if its peer is their sender. */
  addressKey: (address: A) => string
  /** Returns true if MADs of the peer at the far end of `path` may come from `address`: for peers that send them on another path. */
  addressOnPath?: (address: A, path: CmPath) => boolean
  /** Called for each message that is dropped, and for each connection that ends early; `CmCounters` has the sums. */
  count?: (what: DropReason | 'evicted' | 'expired') => void
  /** Returns the REJ for a REQ that must not reach any listener: wrong GID, P_Key, … */
  check?: (request: CmReq, from: A) => RejParams | undefined
  /** Returns true if another manager of the adapter listens to a service: that one receives a request when it is repeated. */
  servedByOthers?: (serviceId: bigint) => boolean
  /** Code of the adapter's delay in answering; default 15 (134 ms). */
  caAckDelay?: number
  limits?: Partial<CmLimits>
}
