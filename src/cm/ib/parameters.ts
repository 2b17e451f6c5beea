/**
 * Parameters of the calls of the communication manager; events.ts has those of its events. Names are those of the messages (`CmReq`,
 * `CmRep`, … of wire/) and of the kernel's `ib_cm`; times within messages are codes (timeouts.ts), times of calls nanoseconds. `A` is an
 * address of MADs, as source and destination; only the caller knows its form.
 */
import type { QpType } from '../../verbs/provider/index.ts'
import type { CmMessage, CmPath, CmType } from '../../wire/index.ts'

/** A message of one type, as it was received. */
export type CmMessageOf<T extends CmType> = Extract<CmMessage, { type: T }>

/** Maximum bytes of private data in each message. */
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
  /** Destination of the REQ. */
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
  /** READs and atomics that the local QP serves at a time; default 0. */
  responderResources?: number
  /** Outstanding READs and atomics of the local QP; default 0. */
  initiatorDepth?: number
  flowControl?: boolean
  srq?: boolean
  /** Default 7. */
  retryCount?: number
  /** Default 7: without limit. */
  rnrRetryCount?: number
  /** Code of the maximum time that the peer may take to answer; default 20 (4.3 s). */
  remoteCmResponseTimeout?: number
  /** Code of the maximum time that this end may take to answer; default 20. */
  localCmResponseTimeout?: number
  /** Maximum number of repetitions of a message; default 15. */
  maxCmRetries?: number
  /** Both ends send a REQ, and the comparison of their GUIDs and QP numbers decides which end is active. */
  peerToPeer?: boolean
  /** Anything of the caller's; `connection.context`. */
  context?: unknown
}

export interface RepParams extends WithPrivateData {
  qpNum: number
  startingPsn?: number
  qkey?: number
  /** At most the REQ's initiator depth, which is the default; a higher value is lowered to it. */
  responderResources?: number
  /** At most the REQ's responder resources, which is the default; a higher value is lowered to it. */
  initiatorDepth?: number
  /** 0 accepted, 1 not supported, 2 the alternate path is rejected. */
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
  /** Code of the further time that the answer will take; default 24 (69 s). */
  serviceTimeout?: number
  /** Flag: no MRA is sent unless the peer repeats its message, which then gets it. */
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
  /** Mask of the bits of the service ID that count; all without it. */
  mask?: bigint
  /** Maximum number of requests that are not yet a connection. Default 1024. */
  backlog?: number
  /** One more is dropped, so that the peer repeats it (the default), or rejected: REJ 3 (no resources), SIDR_REP 3. */
  whenFull?: 'drop' | 'reject'
  /** Returns true for a request that is meant for this listener: several may listen to a service id if each has this function. */
  matches?: (request: CmMessageOf<'REQ'> | CmMessageOf<'SIDR_REQ'>, from: A) => boolean
  context?: unknown
}
