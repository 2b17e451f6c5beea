/**
 * The names and numbers of libibverbs (rdma-core, verbs.h), in TypeScript's casing: `IBV_WC_RNR_RETRY_EXC_ERR` is
 * `WcStatus.RnrRetryExcErr`. Each is a frozen object of numbers with a type of the same name.
 */

/** `GSI` is QP 1, over which management datagrams travel; in libibverbs only the kernel can make one (`IB_QPT_GSI`). */
export const QpType = { GSI: 1, RC: 2, UC: 3, UD: 4 } as const
export type QpType = (typeof QpType)[keyof typeof QpType]

/** `ibv_qp_state`. */
export const QpState = { Reset: 0, Init: 1, Rtr: 2, Rts: 3, Sqd: 4, Sqe: 5, Err: 6 } as const
export type QpState = (typeof QpState)[keyof typeof QpState]

/** `ibv_mig_state`. */
export const PathMigState = { Migrated: 0, Rearm: 1, Armed: 2 } as const
export type PathMigState = (typeof PathMigState)[keyof typeof PathMigState]

/** Operations of a send work request (`ibv_wr_opcode`). */
export const Opcode = {
  Write: 0,
  WriteWithImm: 1,
  Send: 2,
  SendWithImm: 3,
  Read: 4,
  AtomicCmpAndSwp: 5,
  AtomicFetchAndAdd: 6,
  LocalInv: 7,
  BindMw: 8,
  SendWithInv: 9,
  Flush: 14,
  AtomicWrite: 15,
} as const
export type Opcode = (typeof Opcode)[keyof typeof Opcode]

/** `ibv_send_flags`. */
export const SendFlag = { Fence: 1, Signaled: 2, Solicited: 4, Inline: 8 } as const

/** `ibv_access_flags`. */
export const Access = {
  LocalWrite: 1,
  RemoteWrite: 2,
  RemoteRead: 4,
  RemoteAtomic: 8,
  MwBind: 16,
  ZeroBased: 32,
  OnDemand: 64,
  HugeTlb: 128,
  FlushGlobal: 256,
  FlushPersistent: 512,
  RelaxedOrdering: 0x100000,
} as const

/** `ibv_rereg_mr_flags`. */
export const ReregFlag = { ChangeTranslation: 1, ChangePd: 2, ChangeAccess: 4 } as const

/** `ibv_mw_type`. */
export const MwType = { Type1: 1, Type2: 2 } as const
export type MwType = (typeof MwType)[keyof typeof MwType]

/** Placement types of FLUSH (InfiniBand 1.5, Annex A19): visible to all, or persistent. */
export const FlushPlacement = { Global: 1, Persistent: 2 } as const
/** Range that a FLUSH covers: a part of the memory region, or all of it. */
export const FlushSelectivity = { Range: 0, Mr: 1 } as const
export type FlushSelectivity = (typeof FlushSelectivity)[keyof typeof FlushSelectivity]

/** `ibv_wc_status`. */
export const WcStatus = {
  Success: 0,
  LocLenErr: 1,
  LocQpOpErr: 2,
  LocEecOpErr: 3,
  LocProtErr: 4,
  WrFlushErr: 5,
  MwBindErr: 6,
  BadRespErr: 7,
  LocAccessErr: 8,
  RemInvReqErr: 9,
  RemAccessErr: 10,
  RemOpErr: 11,
  RetryExcErr: 12,
  RnrRetryExcErr: 13,
  LocRddViolErr: 14,
  RemInvRdReqErr: 15,
  RemAbortErr: 16,
  InvEecnErr: 17,
  InvEecStateErr: 18,
  FatalErr: 19,
  RespTimeoutErr: 20,
  GeneralErr: 21,
} as const
export type WcStatus = (typeof WcStatus)[keyof typeof WcStatus]

/** `ibv_wc_opcode`. */
export const WcOpcode = {
  Send: 0,
  Write: 1,
  Read: 2,
  CompSwap: 3,
  FetchAdd: 4,
  BindMw: 5,
  LocalInv: 6,
  Flush: 8,
  AtomicWrite: 9,
  Recv: 128,
  RecvRdmaWithImm: 129,
} as const
export type WcOpcode = (typeof WcOpcode)[keyof typeof WcOpcode]

/** `ibv_wc_flags`. */
export const WcFlag = { Grh: 1, WithImm: 2, WithInv: 8 } as const

/** `ibv_event_type`. */
export const EventType = {
  CqErr: 0,
  QpFatal: 1,
  QpReqErr: 2,
  QpAccessErr: 3,
  CommEst: 4,
  SqDrained: 5,
  PathMig: 6,
  PathMigErr: 7,
  DeviceFatal: 8,
  PortActive: 9,
  PortErr: 10,
  LidChange: 11,
  PkeyChange: 12,
  SmChange: 13,
  SrqErr: 14,
  SrqLimitReached: 15,
  QpLastWqeReached: 16,
  ClientReregister: 17,
  GidChange: 18,
} as const
export type EventType = (typeof EventType)[keyof typeof EventType]

/** `ibv_port_state`. */
export const PortState = { Nop: 0, Down: 1, Init: 2, Armed: 3, Active: 4, ActiveDefer: 5 } as const
export type PortState = (typeof PortState)[keyof typeof PortState]

/** `ibv_gid_type`. */
export const GidType = { Ib: 0, RoceV1: 1, RoceV2: 2 } as const
export type GidType = (typeof GidType)[keyof typeof GidType]

/** Link layer of a port (`IBV_LINK_LAYER_…`). */
export const LinkLayer = { InfiniBand: 1, Ethernet: 2 } as const
export type LinkLayer = (typeof LinkLayer)[keyof typeof LinkLayer]

/** Names of the values of each table, made on first use. */
const names = new Map<object, Map<number, string>>()

/** The key of `value` in one of the objects above, as in `nameOf(QpState, 3) === 'Rts'`; the number itself if there is none. */
export function nameOf(table: Readonly<Record<string, number>>, value: number): string {
  let map = names.get(table)
  if (!map) {
    map = new Map(Object.entries(table).map(([name, number]) => [number, name]))
    names.set(table, map)
  }
  return map.get(value) ?? String(value)
}

const statusTexts = [
  'success',
  'local length error: the message does not fit the request, the receive buffer or the MTU',
  'local QP operation error: this QP type cannot execute the operation',
  'local EE context operation error',
  'local protection error: a scatter/gather element has a wrong lkey, protection domain, bounds or access',
  'work request flushed: the QP is in the error state',
  'memory window bind error',
  'bad response',
  'local access error',
  'remote invalid request error: the responder rejected the operation, its length or its alignment',
  'remote access error: rkey, bounds or permission rejected by the responder',
  'remote operation error: the responder could not complete the operation (look at its own completions)',
  'transport retry counter exceeded: the peer does not answer',
  'RNR retry counter exceeded: the peer had no receive work request posted',
  'local RDD violation error',
  'remote invalid RD request',
  'remote aborted error',
  'invalid EE context number',
  'invalid EE context state',
  'fatal error',
  'response timeout error',
  'general error',
] as const

/** Returns a description of a completion status; `ibv_wc_status_str`. */
export function wcStatusText(status: number): string {
  return statusTexts[status] ?? `unknown status ${status}`
}

/** The path MTUs that there are, bytes. */
export const PathMtus = [256, 512, 1024, 2048, 4096] as const
export type PathMtu = (typeof PathMtus)[number]

/** The default P_Key, with full membership: entry 0 of the table. */
export const defaultPkey = 0xffff

/** Destination QP number of multicast messages. */
export const multicastQpn = 0xffffff

/** Bytes that a UD receive buffer keeps for the GRH before the payload. */
export const grhLength = 40
