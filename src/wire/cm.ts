/**
 * The messages of the communication manager: MADs of class 0x07 on QP 1. Each message is one table of fields, whose
 * offsets count from the end of the MAD header. Source: InfiniBand Architecture Specification, volume 1, 12.6 and 12.11,
 * tables 106 to 120.
 *
 *     active            passive            active            passive
 *       REQ  ───────────>                    SIDR_REQ ────────>
 *           <───── (MRA) REP, or REJ                 <──────── SIDR_REP
 *       RTU  ───────────>
 *       DREQ ───────────>  (either side)     LAP ─────────────>
 *           <─────────── DREP                    <──────────── APR
 */
import { CmAttribute, type CmBodies, type CmMessage, type CmPath, type CmType } from './cm-messages.ts'
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

const bodyLength = Mad.totalLength - Mad.length

/** Returns the fields of the path of a REQ, primary or alternate, that begins at `byte`. */
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

/** Codec of the body of each message, by its name. */
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

/** Returns the name of an attribute id of the CM class: REQ, REP, …; undefined if the id is not known. */
export function cmType(attributeId: number): CmType | undefined {
  return typeOf.get(attributeId)
}

/** Parses the CM message in the first 256 bytes of b[start, end), the payload of a UD SEND to QP 1. */
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

/** Writes the 256 bytes of the message and returns the offset after them. A value that does not fit throws a WireError. */
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

/** Decoded messages and path whose bytes are all zeros; each is decoded once. */
const zeroMessages: Partial<CmBodies> = {}
let zeroPath: CmPath | undefined

function zeroMessage<T extends CmType>(type: T): CmBodies[T] {
  const known: CmBodies[T] | undefined = zeroMessages[type]
  if (known !== undefined) return known
  const zero = cmCodecs[type].read(new Uint8Array(bodyLength), 0)
  Object.assign(zeroMessages, { [type]: zero })
  return zero
}

/** Returns a message whose missing fields are zero. */
export function cmMessage<T extends CmType>(
  type: T,
  transactionId: bigint,
  fields: Partial<CmBodies[T]>,
): { type: T; transactionId: bigint } & CmBodies[T] {
  return { type, transactionId, ...zeroMessage(type), ...fields }
}

/** Returns a path whose missing fields are zero. */
export function cmPath(fields: Partial<CmPath>): CmPath {
  zeroPath ??= group(reqPath(0)).read(new Uint8Array(44), 0)
  return { ...zeroPath, ...fields }
}
