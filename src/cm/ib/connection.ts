/** What the communication manager knows of one connection, and of one listener. */
import { QpType } from '../../verbs/provider/index.ts'
import { type CmPath, type CmType, cmPath } from '../../wire/index.ts'
import type { Timed } from './deadlines.ts'
import type { ListenOptions } from './parameters.ts'
import type { Shares } from './shares.ts'
import type { CmState } from './state-names.ts'

/**
 * A connection, or the asking for a QP of a service (SIDR). For all but the manager it is read-only except `context`.
 * `local` and `remote`, `responderResources` and `initiatorDepth` are as seen from here.
 */
export interface CmConnection<A> {
  readonly kind: 'connection' | 'sidr'
  /** IDLE at last: then it is forgotten, and its ids may be used again. */
  readonly state: CmState
  /** Whether this end sent the REQ that counts. */
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
  /** 0 as long as it is not known. */
  readonly remoteQpn: number
  /** The first PSN that the local QP expects, which this end tells the peer, and the first that it sends: the peer tells that. */
  readonly rqPsn: number
  readonly sqPsn: number
  readonly remoteQkey: number
  readonly pkey: number
  readonly pathMtu: number
  readonly primary: CmPath
  /** Undefined if there is none. */
  readonly alternate: CmPath | undefined
  /** READs and atomics that the local QP serves at a time, and that it may have outstanding. */
  readonly responderResources: number
  readonly initiatorDepth: number
  readonly flowControl: boolean
  /** Whether the peer's QP has an SRQ. */
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

  /** Its owner wants no more events. */
  closed = false
  remoteKnown = false
  deadlineNs = 0
  /** When the wait for the RTU began; when waiting ends, however many repetitions are left. */
  repliedNs = 0
  giveUpNs: number = Number.POSITIVE_INFINITY
  place = -1
  /** How long an answer may take, how often a message is repeated, and how often it still will be. */
  responseNs = 0
  maxRetries = 0
  retriesLeft = 0
  /** How long its own last answer is kept. */
  answerNs = 0
  /** Codes: of the path, and what the peer asked for in an MRA. */
  packetLifeTime = 0
  serviceTimeout = 0
  /** Of the REQ, which all messages until the RTU have; and of the last DREQ or LAP that came. */
  transactionId = 0n
  requestTransactionId = 0n
  /** Of our own LAP. */
  lapTransactionId = 0n
  /** Of the LAP that was answered last. */
  answeredLap: bigint | undefined
  /** An alternate path that is not yet agreed on. */
  proposed: CmPath | undefined
  /** The keys under which it is found; undefined where it is not. */
  remoteKey: string | undefined
  qpnKey: string | undefined
  /** The messages that were sent last, for repetition. */
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
