/** Builds messages from the parameters of a call and the state of the connection. A value that does not fit throws a CmError. */
import { QpType } from '../../verbs/provider/index.ts'
import {
  type CmBodies,
  type CmMessage,
  type CmPath,
  CmRejReason,
  type CmType,
  cmMessage,
  cmPath,
  emitCm,
  Mad,
  WireError,
} from '../../wire/index.ts'
import type { Connection } from './connection.ts'
import { CmError } from './errors.ts'
import {
  type AprParams,
  type CmMessageOf,
  type LapParams,
  privateDataLimit,
  type RejParams,
  type RepParams,
  type ReqParams,
  type SidrRepParams,
  type SidrReqParams,
  type WithPrivateData,
} from './parameters.ts'

/** Returns 256 bytes. `call` names the call in errors. */
export function build<T extends CmType>(
  call: string,
  type: T,
  transactionId: bigint,
  fields: Partial<CmBodies[T]>,
): Uint8Array {
  const data = (fields as WithPrivateData).privateData
  const limit = privateDataLimit[type]
  if (data !== undefined && data.length > limit)
    throw new CmError(
      'ERR_CM_PRIVATE_DATA',
      call,
      `${data.length} bytes of private data, a ${type} has room for ${limit}`,
    )
  const mad = new Uint8Array(Mad.totalLength)
  try {
    emitCm(cmMessage(type, transactionId, fields) as unknown as CmMessage, mad, 0)
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    throw new CmError('ERR_CM_VALUE', call, error.message)
  }
  return mad
}

const data = (p: WithPrivateData): WithPrivateData =>
  p.privateData === undefined ? {} : { privateData: p.privateData }

export function pathOf(call: string, path: Partial<CmPath>): CmPath {
  for (const gid of [path.localGid, path.remoteGid])
    if (gid?.length !== 16)
      throw new CmError('ERR_CM_VALUE', call, 'a path needs localGid and remoteGid of 16 bytes each')
  return cmPath(path)
}

/** Returns a path as the other end sees it. */
export function turned(path: CmPath): CmPath {
  const { localLid, remoteLid, localGid, remoteGid } = path
  return { ...path, localLid: remoteLid, remoteLid: localLid, localGid: remoteGid, remoteGid: localGid }
}

export function hasPath(path: CmPath): boolean {
  return path.localLid !== 0 || path.remoteLid !== 0 || isNotZero(path.localGid) || isNotZero(path.remoteGid)
}

function isNotZero(gid: Uint8Array): boolean {
  return gid.some((byte) => byte !== 0)
}

export function buildReq<A>(c: Connection<A>, p: ReqParams<A>, caGuid: bigint): Uint8Array {
  if (!Number.isInteger(p.pathMtu) || p.pathMtu < 1 || p.pathMtu > 5)
    throw new CmError('ERR_CM_VALUE', 'sendReq', `pathMtu is a code from 1 (256 bytes) to 5 (4096), not ${p.pathMtu}`)
  if (c.qpType !== QpType.RC && c.qpType !== QpType.UC)
    throw new CmError('ERR_CM_VALUE', 'sendReq', 'a connection has QPs of type RC or UC; for UD there is sendSidrReq')
  return build('sendReq', 'REQ', c.transactionId, {
    localCommId: c.localCommId,
    serviceId: p.serviceId,
    localCaGuid: caGuid,
    localQkey: p.qkey ?? 0,
    localQpn: c.localQpn,
    responderResources: c.responderResources,
    initiatorDepth: c.initiatorDepth,
    remoteCmResponseTimeout: p.remoteCmResponseTimeout ?? 20,
    transportServiceType: c.qpType === QpType.UC ? 1 : 0,
    endToEndFlowControl: c.flowControl,
    startingPsn: c.rqPsn,
    localCmResponseTimeout: p.localCmResponseTimeout ?? 20,
    retryCount: c.retryCount,
    pkey: c.pkey,
    pathMtu: c.pathMtu,
    rnrRetryCount: c.rnrRetryCount,
    maxCmRetries: c.maxRetries,
    srq: p.srq ?? false,
    primary: c.primary,
    ...(c.alternate === undefined ? {} : { alternate: c.alternate }),
    ...data(p),
  })
}

interface Ids {
  localCommId: number
  remoteCommId: number
}
const idsOf = (c: Ids): Ids => ({
  localCommId: c.localCommId,
  remoteCommId: c.remoteCommId,
})

/** Values that the passive side grants: these fields of the connection change when the REP is sent. */
export type Granted = Pick<
  Connection<unknown>,
  'initiatorDepth' | 'responderResources' | 'flowControl' | 'rqPsn' | 'localQpn'
>

export function buildRep<A>(
  c: Connection<A>,
  granted: Granted,
  p: RepParams,
  caGuid: bigint,
  caAckDelay: number,
): Uint8Array {
  return build('sendRep', 'REP', c.transactionId, {
    ...idsOf(c),
    localQkey: p.qkey ?? 0,
    localQpn: granted.localQpn,
    startingPsn: granted.rqPsn,
    responderResources: granted.responderResources,
    initiatorDepth: granted.initiatorDepth,
    targetAckDelay: caAckDelay,
    failoverAccepted: p.failoverAccepted ?? 0,
    endToEndFlowControl: granted.flowControl,
    rnrRetryCount: p.rnrRetryCount ?? 7,
    srq: p.srq ?? false,
    localCaGuid: caGuid,
    ...data(p),
  })
}

/** Builds an RTU or a DREP. */
export function buildIds<A>(call: string, type: 'RTU' | 'DREP', c: Connection<A>, p: WithPrivateData = {}): Uint8Array {
  const tid = type === 'RTU' ? c.transactionId : c.requestTransactionId
  return build(call, type, tid, { ...idsOf(c), ...data(p) })
}

/** Builds the DREQ of a connection, or of the ids and QP number that are left of one. */
export function buildDreq(
  c: Readonly<{ localCommId: number; remoteCommId: number; remoteQpn: number }>,
  tid: bigint,
  p: WithPrivateData = {},
): Uint8Array {
  return build('sendDreq', 'DREQ', tid, { ...idsOf(c), remoteQpn: c.remoteQpn, ...data(p) })
}

/** Returns the code of the message that an MRA or REJ answers: 0 REQ, 1 REP, 2 another (LAP in an MRA). */
export function aboutOf<A>(c: Connection<A>): number {
  if (c.state === 'REQ_RCVD' || c.state === 'MRA_REQ_SENT') return 0
  return c.state === 'REP_RCVD' || c.state === 'MRA_REP_SENT' ? 1 : 2
}

export function buildMra<A>(c: Connection<A>, serviceTimeout: number, p: WithPrivateData): Uint8Array {
  const messageMraed = aboutOf(c)
  const tid = messageMraed === 2 ? c.requestTransactionId : c.transactionId
  return build('sendMra', 'MRA', tid, { ...idsOf(c), messageMraed, serviceTimeout, ...data(p) })
}

export function buildRej<A>(c: Connection<A>, p: RejParams, about: number = aboutOf(c)): Uint8Array {
  return build('sendRej', 'REJ', c.transactionId, {
    ...idsOf(c),
    messageRejected: about,
    reason: p.reason ?? CmRejReason.ConsumerReject,
    ...additional('sendRej', p.additionalInfo),
    ...data(p),
  })
}

export function buildLap<A>(c: Connection<A>, path: CmPath, tid: bigint, p: LapParams): Uint8Array {
  return build('sendLap', 'LAP', tid, {
    ...idsOf(c),
    remoteQpn: c.remoteQpn,
    remoteCmResponseTimeout: p.remoteCmResponseTimeout ?? 20,
    alternate: path,
    ...data(p),
  })
}

export function buildApr<A>(c: Connection<A>, p: AprParams): Uint8Array {
  return build('sendApr', 'APR', c.requestTransactionId, {
    ...idsOf(c),
    status: p.status ?? 0,
    ...additional('sendApr', p.additionalInfo),
    ...data(p),
  })
}

export function buildSidrReq<A>(c: Connection<A>, p: SidrReqParams<A>): Uint8Array {
  const { localCommId: requestId, serviceId, pkey } = c
  return build('sendSidrReq', 'SIDR_REQ', c.transactionId, { requestId, pkey, serviceId, ...data(p) })
}

/** `requestId` is the peer's. */
export function buildSidrRep(
  request: Pick<CmMessageOf<'SIDR_REQ'>, 'transactionId' | 'requestId' | 'serviceId'>,
  p: SidrRepParams,
): Uint8Array {
  const { requestId, serviceId } = request
  return build('sendSidrRep', 'SIDR_REP', request.transactionId, {
    requestId,
    serviceId,
    status: p.status ?? 0,
    qpn: p.qpNum ?? 0,
    qkey: p.qkey ?? 0,
    ...additional('sendSidrRep', p.additionalInfo),
    ...data(p),
  })
}

export function additional(
  call: string,
  info: Uint8Array | undefined,
): { additionalInfo?: Uint8Array; additionalInfoLength?: number } {
  if (info === undefined) return {}
  if (info.length > 72)
    throw new CmError('ERR_CM_VALUE', call, `additional information has at most 72 bytes, not ${info.length}`)
  return { additionalInfo: info, additionalInfoLength: info.length }
}

/** Returns the GUID in the form of the additional information of a REJ for a timeout. */
export function guidBytes(guid: bigint): Uint8Array {
  return Uint8Array.from({ length: 8 }, (_, i) => Number((guid >> BigInt(56 - 8 * i)) & 0xffn))
}
