/**
 * The messages of the communication manager: MADs of class 0x07 on QP 1. Each message is one table of fields, whose
 * offsets count from behind the MAD header. Source: InfiniBand Architecture Specification, volume 1, 12.6 and 12.11,
 * tables 106 to 120.
 *
 *     active            passive            active            passive
 *       REQ  ───────────>                    SIDR_REQ ────────>
 *           <───── (MRA) REP, or REJ                 <──────── SIDR_REP
 *       RTU  ───────────>
 *       DREQ ───────────>  (either side)     LAP ─────────────>
 *           <─────────── DREP                    <──────────── APR
 */
import {
  bits,
  bytesField,
  type Fields,
  flag,
  group,
  HeaderCodec,
  u8Field,
  u16Field,
  u24Field,
  u32Field,
  u64Field,
} from './codec.ts'
import { isMalformed, type MalformedReason, WireError } from './errors.ts'
import { Mad, type MadFields, MadMethod, MgmtClass, madCodec } from './mad.ts'

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

/** What a REQ and a LAP say of a path. GIDs have 16 bytes; timeouts are 4.096 µs * 2^code. */
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
  /** 1 is 256 bytes, 5 is 4096. */
  pathMtu: number
  rdcExists: boolean
  rnrRetryCount: number
  maxCmRetries: number
  srq: boolean
  extendedTransportType: number
  primary: CmPath
  /** All zeros if there is none. */
  alternate: CmPath
  sapSupported: boolean
  /** 92 bytes. */
  privateData: Uint8Array
}

export interface CmMra {
  localCommId: number
  remoteCommId: number
  /** 0 REQ, 1 REP, 2 LAP. */
  messageMraed: number
  serviceTimeout: number
  /** 222 bytes. */
  privateData: Uint8Array
}

export interface CmRej {
  localCommId: number
  remoteCommId: number
  /** 0 REQ, 1 REP, 2 another. */
  messageRejected: number
  /** How many bytes of additionalInfo count. */
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
  /** 0 accepted, 1 not supported, 2 the alternate path is refused. */
  failoverAccepted: number
  endToEndFlowControl: boolean
  rnrRetryCount: number
  srq: boolean
  localCaGuid: bigint
  /** 196 bytes. */
  privateData: Uint8Array
}

/** RTU and DREP. */
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
  /** 0 valid, 1 not supported, 2 rejected, 3 no QP, 4 redirect, 5 version not supported. */
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

/** What each message carries. */
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

/** A CM message; `type` tells which. */
export type CmMessage = { [T in CmType]: { type: T; transactionId: bigint } & CmBodies[T] }[CmType]

const bodyLength = Mad.totalLength - Mad.length

/** The path of a REQ, primary or alternate, which begins at `byte`. */
function reqPath(byte: number): Fields<CmPath> {
  return {
    localLid: u16Field(byte),
    remoteLid: u16Field(byte + 2),
    localGid: bytesField(byte + 4, 16),
    remoteGid: bytesField(byte + 20, 16),
    flowLabel: bits(byte + 36, 0, 20),
    packetRate: bits(byte + 39, 2, 6),
    trafficClass: u8Field(byte + 40),
    hopLimit: u8Field(byte + 41),
    serviceLevel: bits(byte + 42, 0, 4),
    subnetLocal: flag(byte + 42, 0x08),
    localAckTimeout: bits(byte + 43, 0, 5),
  }
}

const ids = { localCommId: u32Field(0), remoteCommId: u32Field(4) }
const endOf = (byte: number): { privateData: ReturnType<typeof bytesField> } => ({
  privateData: bytesField(byte, bodyLength - byte),
})

/** The body of each message, by its name. */
export const cmCodecs: { readonly [T in CmType]: HeaderCodec<CmBodies[T]> } = {
  REQ: new HeaderCodec('REQ', bodyLength, {
    localCommId: u32Field(0),
    serviceId: u64Field(8),
    localCaGuid: u64Field(16),
    localQkey: u32Field(28),
    localQpn: u24Field(32),
    responderResources: u8Field(35),
    localEecn: u24Field(36),
    initiatorDepth: u8Field(39),
    remoteEecn: u24Field(40),
    remoteCmResponseTimeout: bits(43, 0, 5),
    transportServiceType: bits(43, 5, 2),
    endToEndFlowControl: flag(43, 0x01),
    startingPsn: u24Field(44),
    localCmResponseTimeout: bits(47, 0, 5),
    retryCount: bits(47, 5, 3),
    pkey: u16Field(48),
    pathMtu: bits(50, 0, 4),
    rdcExists: flag(50, 0x08),
    rnrRetryCount: bits(50, 5, 3),
    maxCmRetries: bits(51, 0, 4),
    srq: flag(51, 0x08),
    extendedTransportType: bits(51, 5, 3),
    primary: group(reqPath(52)),
    alternate: group(reqPath(96)),
    sapSupported: flag(139, 0x04),
    ...endOf(140),
  }),
  MRA: new HeaderCodec('MRA', bodyLength, {
    ...ids,
    messageMraed: bits(8, 0, 2),
    serviceTimeout: bits(9, 0, 5),
    ...endOf(10),
  }),
  REJ: new HeaderCodec(
    'REJ',
    bodyLength,
    {
      ...ids,
      messageRejected: bits(8, 0, 2),
      additionalInfoLength: bits(9, 0, 7),
      reason: u16Field(10),
      additionalInfo: bytesField(12, 72),
      ...endOf(84),
    },
    (b, at) => (b[at + 9]! >>> 1 > 72 ? 'additionalInfoLength' : undefined),
  ),
  REP: new HeaderCodec('REP', bodyLength, {
    ...ids,
    localQkey: u32Field(8),
    localQpn: u24Field(12),
    localEecn: u24Field(16),
    startingPsn: u24Field(20),
    responderResources: u8Field(24),
    initiatorDepth: u8Field(25),
    targetAckDelay: bits(26, 0, 5),
    failoverAccepted: bits(26, 5, 2),
    endToEndFlowControl: flag(26, 0x01),
    rnrRetryCount: bits(27, 0, 3),
    srq: flag(27, 0x10),
    localCaGuid: u64Field(28),
    ...endOf(36),
  }),
  RTU: new HeaderCodec('RTU', bodyLength, { ...ids, ...endOf(8) }),
  DREQ: new HeaderCodec('DREQ', bodyLength, { ...ids, remoteQpn: u24Field(8), ...endOf(12) }),
  DREP: new HeaderCodec('DREP', bodyLength, { ...ids, ...endOf(8) }),
  SIDR_REQ: new HeaderCodec('SIDR_REQ', bodyLength, {
    requestId: u32Field(0),
    pkey: u16Field(4),
    serviceId: u64Field(8),
    ...endOf(16),
  }),
  SIDR_REP: new HeaderCodec(
    'SIDR_REP',
    bodyLength,
    {
      requestId: u32Field(0),
      status: u8Field(4),
      additionalInfoLength: u8Field(5),
      qpn: u24Field(8),
      serviceId: u64Field(12),
      qkey: u32Field(20),
      additionalInfo: bytesField(24, 72),
      ...endOf(96),
    },
    (b, at) => (b[at + 5]! > 72 ? 'additionalInfoLength' : undefined),
  ),
  LAP: new HeaderCodec('LAP', bodyLength, {
    ...ids,
    remoteQpn: u24Field(12),
    remoteCmResponseTimeout: bits(15, 0, 5),
    alternate: group({
      localLid: u16Field(20),
      remoteLid: u16Field(22),
      localGid: bytesField(24, 16),
      remoteGid: bytesField(40, 16),
      flowLabel: bits(56, 0, 20),
      trafficClass: u8Field(59),
      hopLimit: u8Field(60),
      packetRate: bits(61, 2, 6),
      serviceLevel: bits(62, 0, 4),
      subnetLocal: flag(62, 0x08),
      localAckTimeout: bits(63, 0, 5),
    }),
    ...endOf(64),
  }),
  APR: new HeaderCodec(
    'APR',
    bodyLength,
    {
      ...ids,
      additionalInfoLength: u8Field(8),
      status: u8Field(9),
      additionalInfo: bytesField(12, 72),
      ...endOf(84),
    },
    (b, at) => (b[at + 8]! > 72 ? 'additionalInfoLength' : undefined),
  ),
}

const typeOf = new Map<number, CmType>(Object.entries(CmAttribute).map(([type, id]) => [id, type as CmType]))

/** The name of an attribute id of the CM class: REQ, REP, …; undefined if there is none. */
export function cmType(attributeId: number): CmType | undefined {
  return typeOf.get(attributeId)
}

/** The CM message b[start, end), of which 256 bytes count: the payload of a UD SEND to QP 1. */
export function parseCm(b: Uint8Array, start: number, end: number): CmMessage | MalformedReason {
  if (end - start < Mad.totalLength) return 'tooShort'
  const mad = madCodec.parse(b, start, end)
  if (isMalformed(mad)) return mad
  if (mad.mgmtClass !== MgmtClass.comm) return 'madClass'
  if (mad.classVersion !== 2) return 'madVersion'
  if (mad.method !== MadMethod.send) return 'madMethod'
  const type = cmType(mad.attributeId)
  if (type === undefined) return 'cmAttribute'
  const codec: HeaderCodec<CmBodies[CmType]> = cmCodecs[type]
  const body = codec.parse(b, start + Mad.length, end)
  if (isMalformed(body)) return body
  return { type, transactionId: mad.transactionId, ...body } as CmMessage
}

/** Writes the 256 bytes of the message and returns the offset behind them. A value that does not fit throws a WireError. */
export function emitCm(message: CmMessage, b: Uint8Array, at: number): number {
  if (at + Mad.totalLength > b.length)
    throw new WireError('ERR_WIRE_SPACE', `${message.type}: a MAD of 256 bytes does not fit at ${at} of ${b.length}`)
  const mad: MadFields = {
    baseVersion: 1,
    mgmtClass: MgmtClass.comm,
    classVersion: 2,
    method: MadMethod.send,
    status: 0,
    classSpecific: 0,
    transactionId: message.transactionId,
    attributeId: CmAttribute[message.type],
    attributeModifier: 0,
  }
  const codec: HeaderCodec<CmBodies[CmType]> = cmCodecs[message.type]
  return codec.emit(message, b, madCodec.emit(mad, b, at))
}

/** A message whose fields that are not given are zero. */
export function cmMessage<T extends CmType>(
  type: T,
  transactionId: bigint,
  fields: Partial<CmBodies[T]>,
): { type: T; transactionId: bigint } & CmBodies[T] {
  const zero = cmCodecs[type].read(new Uint8Array(bodyLength), 0)
  return { type, transactionId, ...zero, ...fields }
}

/** A path all of whose fields that are not given are zero. */
export function cmPath(fields: Partial<CmPath>): CmPath {
  return { ...group(reqPath(0)).read(new Uint8Array(44), 0), ...fields }
}

/** Why a connection was rejected (12.6.7.2, table 109). */
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
