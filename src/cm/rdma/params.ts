/** Parameters of programs for `connect` and `accept`, checked, and values that the parts of an id share. */
import type {
  CompletionQueue,
  Context,
  ProtectionDomain,
  QpCap,
  QpType,
  SharedReceiveQueue,
} from '../../verbs/index.ts'
import { describe } from '../../verbs/provider/index.ts'
import { RdmaCmError } from './errors.ts'

/** `rdma_conn_param`. */
export interface ConnParam {
  privateData?: Uint8Array
  /** READs and atomics that this end serves at a time, and may have outstanding. Default: as many as the device can. */
  responderResources?: number
  initiatorDepth?: number
  /** Default true. */
  flowControl?: boolean
  /** Default 7. */
  retryCount?: number
  /** Retries while the peer has no receive posted; default 7: without limit. */
  rnrRetryCount?: number
  /** Number of a queue pair that is not the id's, and whether that one has an SRQ. */
  qpNum?: number
  srq?: boolean
  /** UD: the Q_Key of the queue pair; default 0x01234567. */
  qkey?: number
}

/** `ibv_qp_init_attr` of `createQp`; what is not given is made: completion queues with channels, the protection domain. */
export interface IdQpInit {
  pd?: ProtectionDomain
  sendCq?: CompletionQueue
  recvCq?: CompletionQueue
  srq?: SharedReceiveQueue
  cap?: Partial<QpCap>
  sqSigAll?: boolean
  qpContext?: unknown
}

/** `rdma_set_option`, and times that the kernel's has no option for. */
export interface IdOptionValues {
  /** Type of service: the traffic class of what is sent (`RDMA_OPTION_ID_TOS`). */
  tos: number
  /** Lets several ids bind one address and port as long as none listens (`RDMA_OPTION_ID_REUSEADDR`). */
  reuseAddr: boolean
  /**
   * Not 0: ids of different threads and processes that give the same number bind one address and port, and all of them may
   * listen (SO_REUSEPORT). Each request comes to one of them.
   */
  reusePort: number
  /** Listening on `::` takes IPv6 alone (`RDMA_OPTION_ID_AFONLY`). */
  afOnly: boolean
  /** Local ACK timeout of the queue pair, a code: 4.096 µs · 2^code (`RDMA_OPTION_ID_ACK_TIMEOUT`). */
  ackTimeout: number
  /** RNR timer of the queue pair, a code from 0 to 31; default 12, 0.64 ms. */
  minRnrTimer: number
  /** Maximum time for an answer of the peer's communication manager, a code; default 20, 4.3 s. */
  responseTimeout: number
  /** Maximum number of repetitions of a message to it; default 15. */
  maxRetries: number
}

export const defaultOptions: IdOptionValues = {
  tos: 0,
  reuseAddr: false,
  reusePort: 0,
  afOnly: false,
  ackTimeout: 0,
  minRnrTimer: 12,
  responseTimeout: 20,
  maxRetries: 15,
}

const optionLimits: Partial<Record<keyof IdOptionValues, number>> = {
  tos: 255,
  reusePort: 0x7fffffff,
  ackTimeout: 31,
  minRnrTimer: 31,
  responseTimeout: 31,
  maxRetries: 15,
}

/** Throws EINVAL unless the option is one and its value is legal. */
export function checkOption<K extends keyof IdOptionValues>(name: K, value: IdOptionValues[K]): void {
  if (!(name in defaultOptions))
    throw new RdmaCmError('EINVAL', 'setOption', `there is no option ${name}; there are ${Object.keys(defaultOptions)}`)
  const limit = optionLimits[name]
  if (limit === undefined) {
    if (typeof value !== 'boolean') throw new RdmaCmError('EINVAL', 'setOption', `${name} must be true or false`)
  } else checkInteger('setOption', name, value, limit)
}

function checkInteger(call: string, name: string, value: unknown, max: number): void {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max)
    throw new RdmaCmError('EINVAL', call, `${name} must be an integer from 0 to ${max}, not ${describe(value)}`)
}

export function checkPrivateData(call: string, value: unknown, max: number): Uint8Array {
  if (value === undefined) return new Uint8Array(0)
  if (!(value instanceof Uint8Array)) throw new RdmaCmError('EINVAL', call, 'privateData must be a Uint8Array')
  if (value.length > max)
    throw new RdmaCmError('EINVAL', call, `privateData has ${value.length} bytes; ${max} is the most that fits here`)
  return value
}

/** A `ConnParam` with everything filled in. */
export interface FullParam {
  privateData: Uint8Array
  responderResources: number
  initiatorDepth: number
  flowControl: boolean
  retryCount: number
  rnrRetryCount: number
  qpNum: number | undefined
  srq: boolean | undefined
  qkey: number | undefined
}

/** Checks a parameter; `most` has upper bounds, which are the defaults, too. */
export function fullParam(
  call: string,
  param: ConnParam,
  privateBytes: number,
  context: Context,
  most: { responderResources?: number; initiatorDepth?: number } = {},
): FullParam {
  if (typeof param !== 'object' || param === null)
    throw new RdmaCmError('EINVAL', call, 'param must be an object such as { privateData }')
  const privateData = checkPrivateData(call, param.privateData, privateBytes)
  const attr = context.queryDevice()
  const resources = Math.min(255, attr.maxQpRdAtom, most.responderResources ?? 255)
  const depth = Math.min(255, attr.maxQpInitRdAtom, most.initiatorDepth ?? 255)
  const given = {
    responderResources: resources,
    initiatorDepth: depth,
    retryCount: 7,
    rnrRetryCount: 7,
    ...clean(param),
  }
  checkInteger(call, 'responderResources', given.responderResources, 255)
  checkInteger(call, 'initiatorDepth', given.initiatorDepth, 255)
  checkInteger(call, 'retryCount', given.retryCount, 7)
  checkInteger(call, 'rnrRetryCount', given.rnrRetryCount, 7)
  if (param.qpNum !== undefined) checkInteger(call, 'qpNum', param.qpNum, 0xffffff)
  if (param.qkey !== undefined) checkInteger(call, 'qkey', param.qkey, 0x7fffffff)
  return {
    privateData,
    responderResources: Math.min(resources, given.responderResources),
    initiatorDepth: Math.min(depth, given.initiatorDepth),
    flowControl: param.flowControl ?? true,
    retryCount: given.retryCount,
    rnrRetryCount: given.rnrRetryCount,
    qpNum: param.qpNum,
    srq: param.srq,
    qkey: param.qkey,
  }
}

function clean<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T
}

/** QP types that ids have. */
export type IdQpType = typeof QpType.RC | typeof QpType.UC | typeof QpType.UD
