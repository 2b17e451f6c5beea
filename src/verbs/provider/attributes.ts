/**
 * The attributes that verbs take and give, as libibverbs names them. Lengths in bytes, addresses as numbers below
 * 2^53 in the address space of the device, GIDs as 16-byte Uint8Arrays, GUIDs as bigint.
 */
import type { GidType, LinkLayer, PathMigState, PathMtu, PortState, QpState, QpType } from './constants.ts'
import type { SendOperation, UcOpcode, UdOpcode } from './operations.ts'

/** `ibv_device_attr`(`_ex`). Every limit is enforced. */
export interface DeviceAttr {
  /** Version of the firmware, as text. */
  fwVer: string
  /** GUID of the node. */
  nodeGuid: bigint
  /** GUID of the system image. */
  sysImageGuid: bigint
  /** IEEE number of the vendor. */
  vendorId: number
  /** The kind of adapter: 1 shared memory, 2 network. */
  vendorPartId: number
  /** Version of the hardware. */
  hwVer: number
  /** Largest registered region, bytes. */
  maxMrSize: number
  /** Bit mask of supported page sizes. */
  pageSizeCap: number
  /** Queue pairs. */
  maxQp: number
  /** Outstanding work requests of one queue. */
  maxQpWr: number
  /** Bit mask of supported access flags beyond the basic ones; see `Access`. */
  deviceCapFlags: number
  /** Scatter/gather elements of a work request. */
  maxSge: number
  /** Scatter/gather elements of a READ. */
  maxSgeRd: number
  /** Completion queues. */
  maxCq: number
  /** Completions of one completion queue. */
  maxCqe: number
  /** Memory regions. */
  maxMr: number
  /** Protection domains. */
  maxPd: number
  /** READs and atomics of a peer that a QP takes at a time. */
  maxQpRdAtom: number
  /** READs and atomics that a QP may have outstanding. */
  maxQpInitRdAtom: number
  /** READs and atomics of peers that the device takes at a time. */
  maxResRdAtom: number
  /** `none`, `hca` (atomic among operations of this device) or `glob` (also with the processor). */
  atomicCap: 'none' | 'hca' | 'glob'
  /** Memory windows. */
  maxMw: number
  /** Multicast groups. */
  maxMcastGrp: number
  /** QPs attached to one multicast group. */
  maxMcastQpAttach: number
  /** QPs attached to multicast groups, together. */
  maxTotalMcastQpAttach: number
  /** Address handles. */
  maxAh: number
  /** Shared receive queues. */
  maxSrq: number
  /** Outstanding requests of a shared receive queue. */
  maxSrqWr: number
  /** Scatter/gather elements of a receive in a shared receive queue. */
  maxSrqSge: number
  /** Entries of the P_Key table. */
  maxPkeys: number
  /** Bytes of inline data in a send work request. */
  maxInlineData: number
  /** Longest time until this end acknowledges: 4.096 µs · 2^localCaAckDelay. */
  localCaAckDelay: number
  /** Ports; they count from 1. */
  physPortCnt: number
  /** Completion channels. */
  maxCompChannels: number
  /** The bits of a completion timestamp that are valid; 0: completions have none. */
  completionTimestampMask: number
}

/** `ibv_port_attr`. */
export interface PortAttr {
  /** The logical state. */
  state: PortState
  /** Largest MTU that the port supports, bytes. */
  maxMtu: PathMtu
  /** MTU in force, bytes. */
  activeMtu: PathMtu
  /** Entries of the GID table. */
  gidTblLen: number
  /** Largest message, bytes. */
  maxMsgSz: number
  /** Packets with a wrong P_Key. */
  badPkeyCntr: number
  /** Packets with a wrong Q_Key. */
  qkeyViolCntr: number
  /** Entries of the P_Key table. */
  pkeyTblLen: number
  /** Local identifier; 0 on Ethernet. */
  lid: number
  /** LID of the subnet manager. */
  smLid: number
  /** LID mask control: low bits of the LID that select a path. */
  lmc: number
  /** Virtual lanes, encoded as in PortInfo. */
  maxVlNum: number
  /** Service level towards the subnet manager. */
  smSl: number
  /** Link width, encoded: 1, 2, 4, 8 for 1x, 4x, 8x, 12x. */
  activeWidth: number
  /** Link speed per lane, encoded as in PortInfo. */
  activeSpeed: number
  /** Physical state; 5 is link up. */
  physState: number
  /** InfiniBand or Ethernet. */
  linkLayer: LinkLayer
}

/** `ibv_gid_entry`. */
export interface GidEntry {
  /** 16 bytes. */
  gid: Uint8Array
  /** Index of the entry in the table. */
  gidIndex: number
  /** Port of the entry, counted from 1. */
  portNum: number
  /** InfiniBand, RoCE v1 or RoCE v2. */
  gidType: GidType
  /** Interface index of the network device, 0 if there is none. */
  ndevIfindex: number
}

/** `ibv_ah_attr`, flattened: `grh` present means `isGlobal`. */
export interface AhAttr {
  /** Destination LID; of InfiniBand. */
  dlid?: number
  /** Service level, 0 to 15. */
  sl?: number
  /** Low bits of the source LID, 0 to 127. */
  srcPathBits?: number
  /** Limit of the rate, encoded; 0 is none. */
  staticRate?: number
  /** The port of this end, counted from 1. */
  portNum?: number
  /** The global route: `dgid` is the destination's GID, 16 bytes; `sgidIndex` is that of the source in the port's table. */
  grh?: { dgid: Uint8Array; sgidIndex?: number; flowLabel?: number; hopLimit?: number; trafficClass?: number }
}

/** `ibv_qp_cap`: sizes of a queue pair. */
export interface QpCap {
  /** Outstanding send work requests. */
  maxSendWr: number
  /** Outstanding receive work requests. */
  maxRecvWr: number
  /** Scatter/gather elements of a send. */
  maxSendSge: number
  /** Scatter/gather elements of a receive. */
  maxRecvSge: number
  /** Bytes that a send work request can carry itself. */
  maxInlineData: number
}

/** `poster`: the thread that posts executes the request. `thread`: a thread of its own plays the adapter. */
export type Engine = 'poster' | 'thread'

/** Options of `openDevice`. */
export interface OpenOptions {
  /** Default `poster`. */
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
   * Congestion control of devices on a network: packets indicate that routers may mark them (ECT), marks are answered with CNPs, and CNPs
   * slow the sender down (DCQCN). It applies to the device, like `wrap`; default off, unless VERBENA_CONGESTION_CONTROL=1.
   */
  congestionControl?: boolean
  /**
   * Flag of `roce`: false does not wait until the thread runs that answers peers while the program computes, and which this call starts.
   * That thread takes about as long to start as the library took to load. Default true; with middleware, or without koffi, the call always
   * waits.
   */
  waitForService?: boolean
  /** @internal True if this thread hosts queue pairs, and drives the device itself where middleware makes it the only one that does. */
  drives?: boolean
  /** Flag of named segments: the segment must be in use already; ENODEV if it is not, instead of creating it. */
  existing?: boolean
}

/** A layer of middleware, as plain data so that the thread which runs it can be another one. */
export type Wrap = FaultsWrap | TapWrap | TraceWrap

/** Probabilities of packet faults, each from 0 to 1; times in milliseconds. */
export interface FaultRates {
  /** The packet is dropped. */
  loss?: number
  /** The packet comes twice. */
  duplication?: number
  /** The packet is held until the next one of its direction has passed, or `reorderMs` (default 2). */
  reordering?: number
  /** Milliseconds after which a held packet goes on alone. */
  reorderMs?: number
  /** Probability that one bit of the packet is flipped. */
  corruption?: number
  /** Delay of every packet. */
  delayMs?: number
  /** Maximum of an additional random delay. */
  jitterMs?: number
  /** Direction of the packets: sent, received, or both (the default). */
  direction?: 'out' | 'in' | 'both'
  /** The same seed and the same packets give the same faults. Default 1. */
  seed?: number
}

/** A layer that damages traffic; see `faults`. */
export interface FaultsWrap extends FaultRates {
  /** Kind of the layer. */
  kind: 'faults'
}
/** A layer that records all packets in a file; see `tap`. */
export interface TapWrap {
  /** Kind of the layer. */
  kind: 'tap'
  /** A pcapng file, made new. */
  path: string
}
/** A layer that describes each packet in a line; see `trace`. */
export interface TraceWrap {
  /** Kind of the layer. */
  kind: 'trace'
  /** Called in the thread that opened the device; standard error without it. */
  onLine?: (line: string) => void
}

/** `ibv_cq_init_attr_ex`. */
export interface CqInit {
  /** Completion vector; there is only 0. */
  compVector?: number
  /** The caller promises that one thread at a time polls; `IBV_CREATE_CQ_ATTR_SINGLE_THREADED`. */
  singleThreaded?: boolean
}

/** `ibv_srq_init_attr`. */
export interface SrqInit {
  /** Outstanding receives. */
  maxWr: number
  /** Scatter/gather elements of a receive; default 1. */
  maxSge?: number
  /** The limit event comes when fewer receives are left; 0 (the default) for none. */
  srqLimit?: number
  /** @internal True if the receives of the queue are posted when a message finds none: see `Host.refill`. */
  hosted?: boolean
}

/** Attributes that `srq.modify` can change; `srqLimit` arms the limit event, `maxWr` resizes the queue. */
export interface SrqAttr {
  /** Outstanding receives. */
  maxWr?: number
  /** The limit event comes when fewer receives are left; 0 for none. */
  srqLimit?: number
}

/** Attributes of `ibv_qp_attr` that modify takes; `qpTransitions` defines which are required and optional. */
export interface QpAttr {
  /** The state to move to. */
  state: QpState
  /** EINVAL unless the QP is in this state. */
  curState: QpState
  /** Bytes. */
  pathMtu: PathMtu
  /** State of automatic path migration. */
  pathMigState: PathMigState
  /** Q_Key of a UD QP; 32 bits. */
  qkey: number
  /** PSN of the first packet that is expected; 24 bits. */
  rqPsn: number
  /** PSN of the first packet that is sent; 24 bits. */
  sqPsn: number
  /** QP number of the peer; 24 bits. */
  destQpNum: number
  /** Bits of `Access` that peers get. */
  accessFlags: number
  /** The path to the peer. */
  ah: AhAttr
  /** The alternate path. */
  altAh: AhAttr
  /** Index in the P_Key table. */
  pkeyIndex: number
  /** The same for the alternate path. */
  altPkeyIndex: number
  /** Makes the event SqDrained when the send queue has drained. */
  enSqdAsyncNotify: boolean
  /** READs and atomics that may be outstanding here. */
  maxRdAtomic: number
  /** READs and atomics that the peer may have outstanding. */
  maxDestRdAtomic: number
  /** Time that the peer must wait after an RNR NAK; encoded, 0 to 31. */
  minRnrTimer: number
  /** The port of this end, counted from 1. */
  port: number
  /** Local ACK timeout, 4.096 µs · 2^timeout; 0 waits for ever. */
  timeout: number
  /** Retries after time-outs and sequence errors, 0 to 7. */
  retryCnt: number
  /** Retries after RNR NAKs, 0 to 6; 7 retries for ever. */
  rnrRetry: number
  /** The port of the alternate path. */
  altPort: number
  /** Local ACK timeout of the alternate path. */
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

/** Attributes that `qp.modify` takes. */
export type QpModify<T extends QpType> = Partial<QpAttrOf<T>>

/** `ibv_sge`: `addr` in the device's address space, `length` in bytes. */
export interface Sge {
  /** Device address of the first byte. */
  addr: number
  /** Bytes. */
  length: number
  /** The local key of the region that holds them. */
  lkey: number
}

/** `ibv_recv_wr`. */
export interface RecvWrInit {
  /** ID that the completion returns; an integer from 0 to 2^53 − 1. */
  wrId?: number
  /** Scatter list for the message. */
  sgList?: readonly Sge[]
  /** The next request of a list that is posted together. */
  next?: RecvWrInit | null
}

interface SendWrCommon {
  /** ID that the completion returns; an integer from 0 to 2^53 − 1. */
  wrId?: number
  /** Bits of `SendFlag`. */
  sendFlags?: number
  /** Gather list of the message, or scatter list of a response. */
  sgList?: readonly Sge[]
}

type UcOperation = Extract<SendOperation, { opcode: UcOpcode }>
type DatagramOperation = Extract<SendOperation, { opcode: UdOpcode }> & {
  ah: AddressHandleLike
  remoteQpn: number
  remoteQkey: number
}

/** Part of an address handle that a work request needs. */
export interface AddressHandleLike {
  /** Address vector of the destination. */
  readonly attr: Readonly<AhAttr>
  /** @internal A reference to the protection domain. */
  readonly pdRef: number
}

/** A send work request that a QP of type `T` accepts; `next` links a list. */
export type SendWrInit<T extends QpType = QpType> = SendWrCommon &
  (T extends DatagramType ? DatagramOperation : T extends typeof QpType.UC ? UcOperation : SendOperation) & {
    next?: SendWrInit<T> | null
  }
