/**
 * What the calls of the communication manager take and what its events give. Names are those of the messages
 * (`CmReq`, `CmRep`, … of wire/) and of the kernel's `ib_cm`; times within messages are codes (timeouts.ts), times of
 * calls nanoseconds. `A` is an address that MADs go to and come from; what it is, only the caller knows.
 */
import type { QpType } from '../../verbs/provider/index.ts'
import type { CmMessage, CmPath, CmRej, CmReq, CmType } from '../../wire/index.ts'
import type { CmConnection, CmListener } from './connection.ts'
import type { DropReason } from './errors.ts'

/** A message of one type, as it was received. */
export type CmMessageOf<T extends CmType> = Extract<CmMessage, { type: T }>

/** How many bytes of private data each message has room for. */
export const privateDataLimit: Readonly<Record<CmType, number>> = {
  REQ: 92,
  MRA: 222,
  REJ: 148,
  REP: 196,
  RTU: 224,
  DREQ: 220,
  DREP: 224,
  SIDR_REQ: 216,
  SIDR_REP: 136,
  LAP: 168,
  APR: 148,
}

export interface WithPrivateData {
  /** At most `privateDataLimit` bytes; zeros follow. A longer one throws ERR_CM_PRIVATE_DATA. */
  privateData?: Uint8Array
}

export interface ReqParams<A> extends WithPrivateData {
  serviceId: bigint
  /** Where the REQ goes. */
  to: A
  qpNum: number
  /** RC or UC; default RC. */
  qpType?: QpType
  /** The first PSN that the local QP expects and the peer is to send; random without it. */
  startingPsn?: number
  /** As seen from here: `localGid` is this end's. Fields that are not given are zero; `localAckTimeout` has a default. */
  primary: Partial<CmPath>
  alternate?: Partial<CmPath>
  /** Code of the time from one end to the other; default 16 (268 ms). */
  packetLifeTime?: number
  pathMtu: number
  /** Default 0xffff. */
  pkey?: number
  qkey?: number
  /** READs and atomics that the local QP serves at once; default 0. */
  responderResources?: number
  /** READs and atomics that the local QP has under way at once; default 0. */
  initiatorDepth?: number
  flowControl?: boolean
  srq?: boolean
  /** Default 7. */
  retryCount?: number
  /** Default 7: for ever. */
  rnrRetryCount?: number
  /** Code: how long the peer may take to answer; default 20 (4.3 s). */
  remoteCmResponseTimeout?: number
  /** Code: how long this end may take to answer; default 20. */
  localCmResponseTimeout?: number
  /** How often a message is repeated; default 15. */
  maxCmRetries?: number
  /** Both ends send a REQ, and the comparison of their GUIDs and QP numbers decides who is active. */
  peerToPeer?: boolean
  /** Anything of the caller's; `connection.context`. */
  context?: unknown
}

export interface RepParams extends WithPrivateData {
  qpNum: number
  startingPsn?: number
  qkey?: number
  /** At most what the REQ's initiator depth asks for, which is the default; more is lowered to it. */
  responderResources?: number
  /** At most the REQ's responder resources, which is the default; more is lowered to it. */
  initiatorDepth?: number
  /** 0 accepted, 1 not supported, 2 the alternate path is refused. */
  failoverAccepted?: number
  flowControl?: boolean
  srq?: boolean
  rnrRetryCount?: number
}

export interface RejParams extends WithPrivateData {
  /** `CmRejReason`; default ConsumerReject. */
  reason?: number
  /** At most 72 bytes. */
  additionalInfo?: Uint8Array
}

export interface MraParams extends WithPrivateData {
  /** Code: how much longer the answer will take; default 24 (69 s). */
  serviceTimeout?: number
  /** Nothing is sent unless the peer repeats its message, which then gets the MRA. */
  whenRepeated?: boolean
}

export interface LapParams extends WithPrivateData {
  alternate: Partial<CmPath>
  remoteCmResponseTimeout?: number
}

export interface AprParams extends WithPrivateData {
  /** `AprStatus`; default Loaded. */
  status?: number
  /** At most 72 bytes. */
  additionalInfo?: Uint8Array
}

export interface SidrReqParams<A> extends WithPrivateData {
  serviceId: bigint
  to: A
  /** Default 0xffff. */
  pkey?: number
  /** The wait for each answer, nanoseconds; default 4.3 s and twice 268 ms. */
  responseNs?: number
  /** Default 15. */
  maxCmRetries?: number
  context?: unknown
}

export interface SidrRepParams extends WithPrivateData {
  /** `SidrStatus`; default Success. */
  status?: number
  qpNum?: number
  qkey?: number
  /** At most 72 bytes. */
  additionalInfo?: Uint8Array
}

/** Status of a SIDR_REP (12.11.2.2, table 120). */
export const SidrStatus = {
  Success: 0,
  Unsupported: 1,
  Reject: 2,
  NoQp: 3,
  Redirect: 4,
  UnsupportedVersion: 5,
} as const

/** Status of an APR (12.6.10). */
export const AprStatus = {
  Loaded: 0,
  InvalidCommId: 1,
  Unsupported: 2,
  Rejected: 3,
  Redirect: 4,
  IsCurrent: 5,
  InvalidQpn: 6,
  InvalidLid: 7,
  InvalidGid: 8,
  InvalidFlowLabel: 9,
  InvalidTrafficClass: 10,
  InvalidHopLimit: 11,
  InvalidPacketRate: 12,
  InvalidServiceLevel: 13,
} as const

export interface ListenOptions<A> {
  /** The bits of the service ID that count; all without it. */
  mask?: bigint
  /** Requests that are not yet a connection, at most. Default 1024. */
  backlog?: number
  /** One more is dropped, so that the peer repeats it (the default), or refused: REJ 3 (no resources), SIDR_REP 3. */
  whenFull?: 'drop' | 'reject'
  /** More than one may listen to a service id if each says what is meant for it. */
  matches?: (request: CmMessageOf<'REQ'> | CmMessageOf<'SIDR_REQ'>, from: A) => boolean
  context?: unknown
}

/** What each event brings; `message` is the one that caused it. Its bytes are a copy and may be kept. */
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
  /** No answer to any repetition; what was asked for has failed, but DREQ, which goes on in TIMEWAIT. */
  | { type: 'reqError' | 'repError' | 'dreqError' | 'lapError' | 'sidrReqError' }
  /** A request is no more: the program took too long to answer it, or a request of another sender needed its room. */
  | { type: 'reqDropped' }
  /** The peer has forgotten this connection: it asks for another one with the same QP. */
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
  /** A communication id, 32 bits and not 0, that is not easily guessed. Asked again if it is in use. Random without it. */
  commIds?: () => number
  /** Puts a MAD of 256 bytes on its way to QP 1. It must not call `receive` before it returns. */
  send: (mad: Uint8Array, to: A) => void
  event: (event: CmEvent<A>) => void
  /** The same string for the same sender. Messages about a connection count only if its peer is their sender. */
  addressKey: (address: A) => string
  /** Whether MADs of the peer at the far end of `path` may come from `address`: for peers that use another path for them. */
  addressOnPath?: (address: A, path: CmPath) => boolean
  /** Told of each message that is dropped, and of what ends before its time; `CmCounters` has the sums. */
  count?: (what: DropReason | 'evicted' | 'expired') => void
  /** What to refuse a REQ with, before any listener sees it: wrong GID, P_Key, … */
  check?: (request: CmReq, from: A) => RejParams | undefined
  /** Code of the adapter's delay in answering; default 15 (134 ms). */
  caAckDelay?: number
  limits?: Partial<CmLimits>
}

export interface CmLimits {
  /** Connections in all states, with requests that nobody has answered yet. Default 65,536. */
  connections: number
  /** Requests of all listeners that are not yet a connection. Default 16,384. */
  halfOpen: number
  /** Answers (REJ, SIDR_REP) that are kept for peers that repeat their request. Default 4096. */
  answers: number
  /** Connections in TIMEWAIT. Default 16,384. */
  timewait: number
  /** No wait for an answer is longer than this, whatever a message says; default 68.7 s. */
  waitNs: number
  /**
   * Nor are all repetitions of a REP until its RTU comes, or of a DREQ until its DREP comes, nor what the program takes to
   * answer a request; default 137 s, more than the defaults of Linux want.
   */
  exchangeNs: number
  /** Where there is no more room for requests, those wait at least so long for their RTU; default 1 s. */
  rtuNs: number
}

/** The additional information of a REJ for an invalid path MTU: the code of the greatest that is accepted, in four bits. */
export function mtuInfo(code: number): Uint8Array {
  return Uint8Array.of(code << 4)
}

/** What such a REJ accepts; undefined if it does not say. Senders that put the bits at the other end are understood. */
export function acceptedMtu({ additionalInfo, additionalInfoLength }: CmRej): number | undefined {
  if (additionalInfoLength < 1) return undefined
  const [byte = 0] = additionalInfo
  return [byte >> 4, byte & 15].find((code) => code >= 1 && code <= 5)
}

/** Codes of path MTUs, 1 for 256 bytes to 5 for 4096. */
export function mtuCode(bytes: number): number {
  return Math.log2(bytes) - 7
}

export function mtuBytes(code: number): number {
  return 128 << code
}
