/**
 * The attributes that verbs take and give, as libibverbs names them. Lengths in bytes, addresses as numbers below
 * 2^53 in the address space of the device, GIDs as 16-byte Uint8Arrays, GUIDs as bigint.
 */
import type {
  FlushSelectivity,
  GidType,
  LinkLayer,
  MwType,
  Opcode,
  PathMigState,
  PathMtu,
  PortState,
  QpState,
  QpType,
} from './constants.ts'

/** `ibv_device_attr`(`_ex`). Every limit is enforced. */
export interface DeviceAttr {
  fwVer: string
  nodeGuid: bigint
  sysImageGuid: bigint
  vendorId: number
  vendorPartId: number
  hwVer: number
  /** Largest registered region, bytes. */
  maxMrSize: number
  pageSizeCap: number
  maxQp: number
  maxQpWr: number
  /** Bit mask of supported access flags beyond the basic ones; see `Access`. */
  deviceCapFlags: number
  maxSge: number
  maxSgeRd: number
  maxCq: number
  maxCqe: number
  maxMr: number
  maxPd: number
  maxQpRdAtom: number
  maxQpInitRdAtom: number
  maxResRdAtom: number
  /** `none`, `hca` (atomic among operations of this device) or `glob` (also with the processor). */
  atomicCap: 'none' | 'hca' | 'glob'
  maxMw: number
  maxMcastGrp: number
  maxMcastQpAttach: number
  maxTotalMcastQpAttach: number
  maxAh: number
  maxSrq: number
  maxSrqWr: number
  maxSrqSge: number
  maxPkeys: number
  maxInlineData: number
  localCaAckDelay: number
  physPortCnt: number
  maxCompChannels: number
  /** The bits of a completion timestamp that are valid; 0: completions have none. */
  completionTimestampMask: number
}

/** `ibv_port_attr`. */
export interface PortAttr {
  state: PortState
  maxMtu: PathMtu
  activeMtu: PathMtu
  gidTblLen: number
  maxMsgSz: number
  badPkeyCntr: number
  qkeyViolCntr: number
  pkeyTblLen: number
  lid: number
  smLid: number
  lmc: number
  maxVlNum: number
  smSl: number
  activeWidth: number
  activeSpeed: number
  physState: number
  linkLayer: LinkLayer
}

export interface GidEntry {
  gid: Uint8Array
  gidIndex: number
  portNum: number
  gidType: GidType
  /** Interface index of the network device, 0 if there is none. */
  ndevIfindex: number
}

/** `ibv_ah_attr`, flattened: `grh` present means `isGlobal`. */
export interface AhAttr {
  dlid?: number
  sl?: number
  srcPathBits?: number
  staticRate?: number
  portNum?: number
  grh?: { dgid: Uint8Array; sgidIndex?: number; flowLabel?: number; hopLimit?: number; trafficClass?: number }
}

export interface QpCap {
  maxSendWr: number
  maxRecvWr: number
  maxSendSge: number
  maxRecvSge: number
  maxInlineData: number
}

/** `poster`: the thread that posts carries the request out. `thread`: a thread of its own plays the adapter. */
export type Engine = 'poster' | 'thread'

export interface OpenOptions {
  engine?: Engine
  /** Cores that the engine thread is pinned to, where permitted. */
  engineCores?: number[]
  /**
   * Middleware around the link of the device, the first nearest to the program: see `faults`, `tap` and `trace`. It is the
   * device's, so it is in force for all that use it in this process, until the last context of it closes; EBUSY if it is
   * open already without it.
   */
  wrap?: readonly Wrap[]
  /**
   * Of devices on a network: packets say that routers may mark them (ECT), marks are answered with CNPs, and CNPs slow
   * the sender down (DCQCN). The device's like `wrap`; off unless asked for here or by VERBENA_CONGESTION_CONTROL=1.
   */
  congestionControl?: boolean
}

/** A layer of middleware, as plain data so that the thread which runs it can be another one. */
export type Wrap = FaultsWrap | TapWrap | TraceWrap

/** What happens to packets, each with its probability from 0 to 1; times in milliseconds. */
export interface FaultRates {
  loss?: number
  duplication?: number
  /** The packet is held until the next one of its direction has passed, or `reorderMs` (default 2). */
  reordering?: number
  reorderMs?: number
  /** One bit is flipped. */
  corruption?: number
  /** Every packet comes later by this. */
  delayMs?: number
  /** And by up to this, at random. */
  jitterMs?: number
  /** What is sent, what comes, or both (the default). */
  direction?: 'out' | 'in' | 'both'
  /** The same seed and the same packets give the same faults. Default 1. */
  seed?: number
}

export interface FaultsWrap extends FaultRates {
  kind: 'faults'
}
export interface TapWrap {
  kind: 'tap'
  /** A pcapng file, made new. */
  path: string
}
export interface TraceWrap {
  kind: 'trace'
  /** Called in the thread that opened the device; standard error without it. */
  onLine?: (line: string) => void
}

export interface CqInit {
  compVector?: number
  /** Caller promises that one thread at a time polls; `IBV_CREATE_CQ_ATTR_SINGLE_THREADED`. */
  singleThreaded?: boolean
}

export interface SrqInit {
  maxWr: number
  maxSge?: number
  srqLimit?: number
}

/** What `srq.modify` can change; `srqLimit` arms the limit event, `maxWr` resizes. */
export interface SrqAttr {
  maxWr?: number
  srqLimit?: number
}

/** All attributes of `ibv_qp_attr` that modify takes; which are required and optional is in `qpTransitions`. */
export interface QpAttr {
  state: QpState
  curState: QpState
  pathMtu: PathMtu
  pathMigState: PathMigState
  qkey: number
  rqPsn: number
  sqPsn: number
  destQpNum: number
  accessFlags: number
  ah: AhAttr
  altAh: AhAttr
  pkeyIndex: number
  altPkeyIndex: number
  enSqdAsyncNotify: boolean
  maxRdAtomic: number
  maxDestRdAtomic: number
  minRnrTimer: number
  port: number
  timeout: number
  retryCnt: number
  rnrRetry: number
  altPort: number
  altTimeout: number
}

type Connected =
  | 'pathMtu'
  | 'pathMigState'
  | 'rqPsn'
  | 'sqPsn'
  | 'destQpNum'
  | 'accessFlags'
  | 'ah'
  | 'altAh'
  | 'altPkeyIndex'
  | 'altPort'
  | 'altTimeout'
type Reliable = 'maxRdAtomic' | 'maxDestRdAtomic' | 'minRnrTimer' | 'timeout' | 'retryCnt' | 'rnrRetry'
type Common = 'state' | 'curState' | 'pkeyIndex' | 'port' | 'enSqdAsyncNotify'

/** The types whose requests name their destination. */
type DatagramType = typeof QpType.UD | typeof QpType.GSI

/** Attributes that make sense for a QP of this type: others do not compile. */
export type QpAttrOf<T extends QpType> = T extends DatagramType
  ? Pick<QpAttr, Common | 'qkey' | 'sqPsn'>
  : T extends typeof QpType.UC
    ? Pick<QpAttr, Common | Connected>
    : Pick<QpAttr, Common | Connected | Reliable>

export type QpModify<T extends QpType> = Partial<QpAttrOf<T>>

/** `ibv_sge`: `addr` in the device's address space, `length` in bytes. */
export interface Sge {
  addr: number
  length: number
  lkey: number
}

/** `ibv_recv_wr`. */
export interface RecvWrInit {
  wrId?: number
  sgList?: readonly Sge[]
  next?: RecvWrInit | null
}

interface SendWrCommon {
  wrId?: number
  sendFlags?: number
  sgList?: readonly Sge[]
}
type Remote = { remoteAddr: number; rkey: number }
type O = typeof Opcode

/** The fields that each operation needs, `ibv_send_wr` with its unions resolved. */
export type SendOperation =
  | { opcode: O['Send'] }
  | { opcode: O['SendWithImm']; immData: number }
  | { opcode: O['SendWithInv']; invalidateRkey: number }
  | ({ opcode: O['Write'] | O['Read'] | O['AtomicWrite'] } & Remote)
  | ({ opcode: O['WriteWithImm']; immData: number } & Remote)
  | ({ opcode: O['AtomicCmpAndSwp']; compareAdd: bigint; swap: bigint } & Remote)
  | ({ opcode: O['AtomicFetchAndAdd']; compareAdd: bigint } & Remote)
  | ({ opcode: O['Flush']; flushLength: number; placement: number; selectivity: FlushSelectivity } & Remote)
  | { opcode: O['LocalInv']; invalidateRkey: number }
  | { opcode: O['BindMw']; bindMw: MwBind & { mw: { rkey: number; type: MwType }; rkey: number } }

/** `ibv_mw_bind_info`: an empty `length` unbinds. */
export interface MwBind {
  mr: { lkey: number }
  addr: number
  length: number
  accessFlags: number
}

type DatagramOperation = Extract<SendOperation, { opcode: O['Send'] | O['SendWithImm'] }> & {
  ah: AddressHandleLike
  remoteQpn: number
  remoteQkey: number
}
type UcOperation = Extract<
  SendOperation,
  {
    opcode:
      | O['Send']
      | O['SendWithImm']
      | O['SendWithInv']
      | O['Write']
      | O['WriteWithImm']
      | O['LocalInv']
      | O['BindMw']
  }
>

/** What an address handle looks like to a work request. */
export interface AddressHandleLike {
  readonly attr: Readonly<AhAttr>
  /** @internal A reference to the protection domain. */
  readonly pdRef: number
}

/** A send work request that a QP of type `T` accepts; `next` links a list. */
export type SendWrInit<T extends QpType = QpType> = SendWrCommon &
  (T extends DatagramType ? DatagramOperation : T extends typeof QpType.UC ? UcOperation : SendOperation) & {
    next?: SendWrInit<T> | null
  }
