/** What the communication manager knows of one connection, and of one listener. */
import type { QpType } from '../../verbs/index.ts'
import type { CmPath, CmType } from '../../wire/index.ts'
import type { CmState } from './states.ts'

/**
 * A connection, or the asking for a QP of a service (SIDR). For all but the manager it is read-only except `context`.
 * `local` and `remote`, `responderResources` and `initiatorDepth` are as seen from here.
 */
export interface CmConnection<A> {
  readonly kind: 'connection' | 'sidr'
  /** IDLE at last: then it is forgotten, and its ids may be used again. */
  readonly state: CmState
  /** Who sent the REQ that counts. */
  readonly active: boolean
  readonly peerToPeer: boolean
  readonly serviceId: bigint
  readonly listener: CmListener<A> | undefined
  /** For SIDR the request id, on the side that asked. */
  readonly localCommId: number
  /** 0 as long as it is not known. */
  readonly remoteCommId: number
  readonly remoteCaGuid: bigint
  /** Where MADs to the peer go. */
  readonly peer: A
  readonly qpType: QpType
  readonly localQpn: number
  readonly remoteQpn: number
  /** The first PSN that each QP sends. */
  readonly sqPsn: number
  readonly rqPsn: number
  readonly remoteQkey: number
  readonly pkey: number
  readonly pathMtu: number
  readonly primary: CmPath
  /** Undefined if there is none. */
  readonly alternate: CmPath | undefined
  /** READs and atomics that the local QP serves at once, and that it has under way at once. */
  readonly responderResources: number
  readonly initiatorDepth: number
  readonly flowControl: boolean
  /** Whether the peer's QP has an SRQ. */
  readonly remoteSrq: boolean
  readonly retryCount: number
  readonly rnrRetryCount: number
  /** Code of the local ACK timeout of the QP. */
  readonly ackTimeout: number
  /** The messages that were sent last, for repetition. */
  readonly kept: ReadonlyMap<CmType, Uint8Array>
  /** Anything of the caller's. */
  context: unknown
}

export interface CmListener<A> {
  readonly serviceId: bigint
  readonly mask: bigint
  readonly backlog: number
  /** Requests that are not yet a connection. */
  readonly waiting: number
  readonly matches: ((request: never, from: A) => boolean) | undefined
  context: unknown
}
