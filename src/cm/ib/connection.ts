/** State of one connection, and of one listener, in the communication manager. */
import { QpType } from '../../verbs/provider/index.ts'
import { type CmPath, type CmType, cmPath } from '../../wire/index.ts'
import type { Timed } from './deadlines.ts'
import type { ListenOptions } from './parameters.ts'
import type { Shares } from './shares.ts'
import type { CmState } from './state-names.ts'

/**
 * A connection, or a request for the QP of a service (SIDR). For all but the manager it is read-only except `context`. `local` and
 * `remote`, `responderResources` and `initiatorDepth` are as seen from here.
 */
export interface CmConnection<A> {
  readonly kind: 'connection' | 'sidr'
  /** State; finally IDLE: then the connection is dropped, and its ids may be used again. */
  readonly state: CmState
  /** True if this end sent the REQ that counts. */
  readonly active: boolean
  readonly peerToPeer: boolean
  readonly serviceId: bigint
  readonly listener: CmListener<A> | undefined
  /** Communication id of this end; for SIDR the request id, on the requesting side. */
  readonly localCommId: number
  /** Communication id of the peer; 0 as long as it is not known. */
  readonly remoteCommId: number
  readonly remoteCaGuid: bigint
  /** Destination of MADs to the peer. */
  readonly peer: A
  readonly qpType: QpType
  readonly localQpn: number
  /** QP number of the peer; 0 as long as it is not known. */
  readonly remoteQpn: number
  /** First PSN that the local QP expects, which this end sends to the peer, and the first that it sends, which the peer has sent. */
  readonly rqPsn: number
  readonly sqPsn: number
  readonly remoteQkey: number
  readonly pkey: number
  readonly pathMtu: number
  readonly primary: CmPath
  /** Alternate path; undefined if there is none. */
  readonly alternate: CmPath | undefined
  /** READs and atomics that the local QP serves at a time, and that it may have outstanding. */
  readonly responderResources: number
  readonly initiatorDepth: number
  readonly flowControl: boolean
  /** True if the peer's QP has an SRQ. */
  readonly remoteSrq: boolean
  readonly retryCount: number
  readonly rnrRetryCount: number
  /** Code of the local ACK timeout of the QP. */
  readonly ackTimeout: number
  /** Anything of the caller's. */
  context: unknown
}

export interface CmListener<A> {
  readonly serviceId: bigint
  readonly mask: bigint
  readonly backlog: number
  readonly whenFull: 'drop' | 'reject'
  /** Requests that are not yet a connection. */
  readonly waiting: number
  readonly matches: ListenOptions<A>['matches']
  context: unknown
}

/** The manager's view of a connection. */
export class Connection<A> implements CmConnection<A>, Timed {
  readonly kind: 'connection' | 'sidr'
  readonly serviceId: bigint
  readonly localCommId: number
  state: CmState
  active: boolean
  peerToPeer = false
  listener: Listener<A> | undefined
  remoteCommId = 0
  remoteCaGuid = 0n
  peer: A
  /** `addressKey` of `peer`. */
  readonly peerKey: string
  qpType: QpType = QpType.RC
  localQpn = 0
  remoteQpn = 0
  sqPsn = 0
  rqPsn = 0
  remoteQkey = 0
  pkey = 0xffff
  pathMtu = 1
  primary: CmPath = noPath
  alternate: CmPath | undefined
  responderResources = 0
  initiatorDepth = 0
  flowControl = false
  remoteSrq = false
  retryCount = 7
  rnrRetryCount = 7
  ackTimeout = 0
  context: unknown

  /** Flag: its owner wants no more events. */
  closed = false
  remoteKnown = false
  deadlineNs = 0
  /** Time at which the wait for the RTU began; time at which waiting ends, whatever number of repetitions is left. */
  repliedNs = 0
  giveUpNs: number = Number.POSITIVE_INFINITY
  place = -1
  /** Time after which an answer is late, maximum number of repetitions of a message, and number of repetitions left. */
  responseNs = 0
  maxRetries = 0
  retriesLeft = 0
  /** Time for which its own last answer is kept. */
  answerNs = 0
  /** Codes: the path's packet lifetime, and the service timeout that the peer requested in an MRA. */
  packetLifeTime = 0
  serviceTimeout = 0
  /** Transaction id of the REQ, which all messages until the RTU have; and of the last DREQ or LAP that was received. */
  transactionId = 0n
  requestTransactionId = 0n
  /** Transaction id of our own LAP. */
  lapTransactionId = 0n
  /** Transaction id of the LAP that was answered last. */
  answeredLap: bigint | undefined
  /** Alternate path that is not yet agreed on. */
  proposed: CmPath | undefined
  /** Keys under which the registry has it; undefined if it does not. */
  remoteKey: string | undefined
  qpnKey: string | undefined
  /** Last messages sent, for repetition. */
  readonly kept: Map<CmType, Uint8Array> = new Map()

  constructor(
    kind: 'connection' | 'sidr',
    state: CmState,
    localCommId: number,
    serviceId: bigint,
    peer: A,
    peerKey: string,
  ) {
    this.kind = kind
    this.state = state
    this.active = state === 'IDLE'
    this.localCommId = localCommId
    this.serviceId = serviceId
    this.peer = peer
    this.peerKey = peerKey
  }
}

export interface Listener<A> extends CmListener<A> {
  waiting: number
  closed: boolean
  readonly halfOpen: Shares<Connection<A>>
}

const noPath: CmPath = cmPath({ localGid: new Uint8Array(16), remoteGid: new Uint8Array(16) })
