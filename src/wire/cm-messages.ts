/**
 * Fields of the messages of the communication manager; cm.ts reads and writes them. Source: InfiniBand Architecture
 * Specification, volume 1, 12.6 and 12.11.
 */

/** Attribute ids. */
export const CmAttribute = {
  REQ: 0x10,
  MRA: 0x11,
  REJ: 0x12,
  REP: 0x13,
  RTU: 0x14,
  DREQ: 0x15,
  DREP: 0x16,
  SIDR_REQ: 0x17,
  SIDR_REP: 0x18,
  LAP: 0x19,
  APR: 0x1a,
} as const
export type CmType = keyof typeof CmAttribute

/** Path in a REQ or a LAP. GIDs have 16 bytes; timeouts are 4.096 µs * 2^code. */
export interface CmPath {
  localLid: number
  remoteLid: number
  localGid: Uint8Array
  remoteGid: Uint8Array
  flowLabel: number
  packetRate: number
  trafficClass: number
  hopLimit: number
  serviceLevel: number
  subnetLocal: boolean
  localAckTimeout: number
}

/** Timeouts are codes: 4.096 µs * 2^code. `transportServiceType`: 0 RC, 1 UC, 2 RD, 3 see extendedTransportType (1 XRC). */
export interface CmReq {
  localCommId: number
  serviceId: bigint
  localCaGuid: bigint
  localQkey: number
  localQpn: number
  responderResources: number
  localEecn: number
  initiatorDepth: number
  remoteEecn: number
  remoteCmResponseTimeout: number
  transportServiceType: number
  endToEndFlowControl: boolean
  startingPsn: number
  localCmResponseTimeout: number
  retryCount: number
  pkey: number
  /** Code of the path MTU: 1 is 256 bytes, 5 is 4096. */
  pathMtu: number
  rdcExists: boolean
  rnrRetryCount: number
  maxCmRetries: number
  srq: boolean
  extendedTransportType: number
  primary: CmPath
  /** Zeros if there is no alternate path. */
  alternate: CmPath
  sapSupported: boolean
  /** 92 bytes. */
  privateData: Uint8Array
}

export interface CmMra {
  localCommId: number
  remoteCommId: number
  /** Message that is acknowledged: 0 REQ, 1 REP, 2 LAP. */
  messageMraed: number
  serviceTimeout: number
  /** 222 bytes. */
  privateData: Uint8Array
}

export interface CmRej {
  localCommId: number
  remoteCommId: number
  /** Message that is rejected: 0 REQ, 1 REP, 2 another. */
  messageRejected: number
  /** Number of valid bytes in `additionalInfo`. */
  additionalInfoLength: number
  /** CmRejReason. */
  reason: number
  /** 72 bytes. */
  additionalInfo: Uint8Array
  /** 148 bytes. */
  privateData: Uint8Array
}

export interface CmRep {
  localCommId: number
  remoteCommId: number
  localQkey: number
  localQpn: number
  localEecn: number
  startingPsn: number
  responderResources: number
  initiatorDepth: number
  targetAckDelay: number
  /** Failover status: 0 accepted, 1 not supported, 2 the alternate path is rejected. */
  failoverAccepted: number
  endToEndFlowControl: boolean
  rnrRetryCount: number
  srq: boolean
  localCaGuid: bigint
  /** 196 bytes. */
  privateData: Uint8Array
}

/** Fields of RTU and DREP. */
export interface CmIds {
  localCommId: number
  remoteCommId: number
  /** 224 bytes. */
  privateData: Uint8Array
}

export interface CmDreq {
  localCommId: number
  remoteCommId: number
  remoteQpn: number
  /** 220 bytes. */
  privateData: Uint8Array
}

export interface CmSidrReq {
  requestId: number
  pkey: number
  serviceId: bigint
  /** 216 bytes. */
  privateData: Uint8Array
}

export interface CmSidrRep {
  requestId: number
  /** Status: 0 valid, 1 not supported, 2 rejected, 3 no QP, 4 redirect, 5 version not supported. */
  status: number
  additionalInfoLength: number
  qpn: number
  serviceId: bigint
  qkey: number
  /** 72 bytes. */
  additionalInfo: Uint8Array
  /** 136 bytes. */
  privateData: Uint8Array
}

export interface CmLap {
  localCommId: number
  remoteCommId: number
  remoteQpn: number
  remoteCmResponseTimeout: number
  alternate: CmPath
  /** 168 bytes. */
  privateData: Uint8Array
}

export interface CmApr {
  localCommId: number
  remoteCommId: number
  additionalInfoLength: number
  /** 0 accepted. */
  status: number
  /** 72 bytes. */
  additionalInfo: Uint8Array
  /** 148 bytes. */
  privateData: Uint8Array
}

/** Fields of each message, by its name. */
export interface CmBodies {
  REQ: CmReq
  MRA: CmMra
  REJ: CmRej
  REP: CmRep
  RTU: CmIds
  DREQ: CmDreq
  DREP: CmIds
  SIDR_REQ: CmSidrReq
  SIDR_REP: CmSidrRep
  LAP: CmLap
  APR: CmApr
}

/** CM message; `type` is the discriminant. */
export type CmMessage = { [T in CmType]: { type: T; transactionId: bigint } & CmBodies[T] }[CmType]

/** Reasons for which a connection is rejected (12.6.7.2, table 109). */
export const CmRejReason = {
  NoQp: 1,
  NoEec: 2,
  NoResources: 3,
  Timeout: 4,
  UnsupportedRequest: 5,
  InvalidCommId: 6,
  InvalidCommInstance: 7,
  InvalidServiceId: 8,
  InvalidTransportServiceType: 9,
  StaleConnection: 10,
  RdcNotExistent: 11,
  InvalidPrimaryRemoteGid: 12,
  InvalidPrimaryRemoteLid: 13,
  InvalidPrimarySl: 14,
  InvalidPrimaryTrafficClass: 15,
  InvalidPrimaryHopLimit: 16,
  InvalidPrimaryPacketRate: 17,
  InvalidAlternateRemoteGid: 18,
  InvalidAlternateRemoteLid: 19,
  InvalidAlternateSl: 20,
  InvalidAlternateTrafficClass: 21,
  InvalidAlternateHopLimit: 22,
  InvalidAlternatePacketRate: 23,
  PortCmRedirection: 24,
  PortRedirection: 25,
  InvalidPathMtu: 26,
  InsufficientResponderResources: 27,
  ConsumerReject: 28,
  InvalidRnrRetryCount: 29,
  DuplicateLocalCommId: 30,
  InvalidClassVersion: 31,
  InvalidPrimaryFlowLabel: 32,
  InvalidAlternateFlowLabel: 33,
} as const

/** Returns the text of a `CmRejReason`: 8 is "invalid service id". */
export function rejReasonText(reason: number): string {
  const name = Object.entries(CmRejReason).find(([, code]) => code === reason)?.[0]
  return name === undefined ? 'not known' : name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
}
