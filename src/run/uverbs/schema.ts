/**
 * The commands of the kernel's uverbs that are served, as data: those of write(2), which libraries since rdma-core 22 wrap in the
 * ioctl INVOKE_WRITE, and the methods of ioctl(2) objects. Sizes are those of the kernel's own tables (UAPI_DEF_WRITE_IO,
 * UVERBS_ATTR_…); decoding, checking, and the description of a command follow from them. What is missing is answered as by a
 * kernel that does not have it: EOPNOTSUPP for a write command, EPROTONOSUPPORT for a method, whereupon libraries try another way.
 */

import type { Struct } from '../struct.ts'
import {
  allocMwAnswer,
  allocMwRequest,
  channelAnswer,
  contextAnswer,
  createAhAnswer,
  createAhRequest,
  createCqAnswer,
  createCqRequest,
  createQpAnswer,
  createQpRequest,
  createSrqAnswer,
  createSrqRequest,
  createXsrqRequest,
  destroyCqAnswer,
  deviceAnswer,
  eventsAnswer,
  exCreateCqRequest,
  exCreateQpRequest,
  exDeviceAnswer,
  gidEntry,
  handleOnly,
  mcastRequest,
  modifyCqRequest,
  modifyQpRequest,
  modifySrqRequest,
  notifyCqRequest,
  objectRequest,
  pdAnswer,
  portAnswer,
  portRequest,
  postSendRequest,
  qpCap,
  queryQpAnswer,
  queryQpRequest,
  querySrqAnswer,
  regMrAnswer,
  regMrRequest,
  reregMrAnswer,
  reregMrRequest,
  resizeCqAnswer,
  resizeCqRequest,
} from './structs.ts'

/** RDMA_DRIVER_RXE, whose provider is the one that is served. */
export const rxeDriver = 14

export interface WriteCommand {
  readonly number: number
  /** Bit 31 of the command: sizes count in 8 bytes, and lengths may grow. */
  readonly extended: boolean
  /** The function of the library that sends it. */
  readonly verb: string
  /** Minimum bytes of the request, with the address of the response if it has one. */
  readonly requestBytes: number
  /** Minimum bytes of room for the response; 0: it has none, and its request begins at once. */
  readonly responseBytes: number
  /** Bytes of all known fields of a request; others have to be zero. */
  readonly knownBytes?: number
  /** The structures that the request has, from byte `requestAt` on; and those of the response. */
  readonly request?: readonly Struct[]
  readonly requestAt?: number
  readonly answer?: readonly Struct[]
}

/** The names of the kernel, without IB_USER_VERBS_CMD_. */
export type WriteCommandName =
  | 'GET_CONTEXT'
  | 'QUERY_DEVICE'
  | 'QUERY_PORT'
  | 'ALLOC_PD'
  | 'DEALLOC_PD'
  | 'CREATE_AH'
  | 'DESTROY_AH'
  | 'REG_MR'
  | 'REREG_MR'
  | 'DEREG_MR'
  | 'ALLOC_MW'
  | 'DEALLOC_MW'
  | 'CREATE_COMP_CHANNEL'
  | 'CREATE_CQ'
  | 'RESIZE_CQ'
  | 'DESTROY_CQ'
  | 'REQ_NOTIFY_CQ'
  | 'CREATE_QP'
  | 'QUERY_QP'
  | 'MODIFY_QP'
  | 'DESTROY_QP'
  | 'POST_SEND'
  | 'ATTACH_MCAST'
  | 'DETACH_MCAST'
  | 'CREATE_SRQ'
  | 'MODIFY_SRQ'
  | 'QUERY_SRQ'
  | 'DESTROY_SRQ'
  | 'CREATE_XSRQ'
  | 'EX_QUERY_DEVICE'
  | 'EX_CREATE_CQ'
  | 'EX_CREATE_QP'
  | 'EX_MODIFY_QP'
  | 'EX_MODIFY_CQ'

export const writeCommands: Readonly<Record<WriteCommandName, WriteCommand>> = {
  GET_CONTEXT: {
    number: 0,
    extended: false,
    verb: 'ibv_open_device',
    requestBytes: 8,
    responseBytes: 8,
    answer: [contextAnswer],
  },
  QUERY_DEVICE: {
    number: 1,
    extended: false,
    verb: 'ibv_query_device',
    requestBytes: 8,
    responseBytes: 176,
    answer: [deviceAnswer],
  },
  QUERY_PORT: {
    number: 2,
    extended: false,
    verb: 'ibv_query_port',
    requestBytes: 16,
    responseBytes: 40,
    request: [portRequest],
    answer: [portAnswer],
  },
  ALLOC_PD: { number: 3, extended: false, verb: 'ibv_alloc_pd', requestBytes: 8, responseBytes: 4, answer: [pdAnswer] },
  DEALLOC_PD: {
    number: 4,
    extended: false,
    verb: 'ibv_dealloc_pd',
    requestBytes: 4,
    responseBytes: 0,
    request: [handleOnly],
  },
  CREATE_AH: {
    number: 5,
    extended: false,
    verb: 'ibv_create_ah',
    requestBytes: 56,
    responseBytes: 4,
    request: [createAhRequest],
    answer: [createAhAnswer],
  },
  DESTROY_AH: {
    number: 8,
    extended: false,
    verb: 'ibv_destroy_ah',
    requestBytes: 4,
    responseBytes: 0,
    request: [handleOnly],
  },
  REG_MR: {
    number: 9,
    extended: false,
    verb: 'ibv_reg_mr',
    requestBytes: 40,
    responseBytes: 12,
    request: [regMrRequest],
    answer: [regMrAnswer],
  },
  REREG_MR: {
    number: 11,
    extended: false,
    verb: 'ibv_rereg_mr',
    requestBytes: 48,
    responseBytes: 8,
    request: [reregMrRequest],
    answer: [reregMrAnswer],
  },
  DEREG_MR: {
    number: 13,
    extended: false,
    verb: 'ibv_dereg_mr',
    requestBytes: 4,
    responseBytes: 0,
    request: [handleOnly],
  },
  ALLOC_MW: {
    number: 14,
    extended: false,
    verb: 'ibv_alloc_mw',
    requestBytes: 16,
    responseBytes: 8,
    request: [allocMwRequest],
    answer: [allocMwAnswer],
  },
  DEALLOC_MW: {
    number: 16,
    extended: false,
    verb: 'ibv_dealloc_mw',
    requestBytes: 4,
    responseBytes: 0,
    request: [handleOnly],
  },
  CREATE_COMP_CHANNEL: {
    number: 17,
    extended: false,
    verb: 'ibv_create_comp_channel',
    requestBytes: 8,
    responseBytes: 4,
    answer: [channelAnswer],
  },
  CREATE_CQ: {
    number: 18,
    extended: false,
    verb: 'ibv_create_cq',
    requestBytes: 32,
    responseBytes: 8,
    request: [createCqRequest],
    answer: [createCqAnswer],
  },
  RESIZE_CQ: {
    number: 19,
    extended: false,
    verb: 'ibv_resize_cq',
    requestBytes: 16,
    responseBytes: 8,
    request: [resizeCqRequest],
    answer: [resizeCqAnswer],
  },
  DESTROY_CQ: {
    number: 20,
    extended: false,
    verb: 'ibv_destroy_cq',
    requestBytes: 16,
    responseBytes: 8,
    request: [objectRequest],
    answer: [destroyCqAnswer],
  },
  REQ_NOTIFY_CQ: {
    number: 23,
    extended: false,
    verb: 'ibv_req_notify_cq',
    requestBytes: 8,
    responseBytes: 0,
    request: [notifyCqRequest],
  },
  CREATE_QP: {
    number: 24,
    extended: false,
    verb: 'ibv_create_qp',
    requestBytes: 56,
    responseBytes: 32,
    request: [createQpRequest],
    requestAt: 8,
    answer: [createQpAnswer],
  },
  QUERY_QP: {
    number: 25,
    extended: false,
    verb: 'ibv_query_qp',
    requestBytes: 16,
    responseBytes: 128,
    request: [queryQpRequest],
    answer: [queryQpAnswer],
  },
  MODIFY_QP: {
    number: 26,
    extended: false,
    verb: 'ibv_modify_qp',
    requestBytes: 112,
    responseBytes: 0,
    request: [modifyQpRequest],
  },
  DESTROY_QP: {
    number: 27,
    extended: false,
    verb: 'ibv_destroy_qp',
    requestBytes: 16,
    responseBytes: 4,
    request: [objectRequest],
    answer: [eventsAnswer],
  },
  POST_SEND: {
    number: 28,
    extended: false,
    verb: 'ibv_post_send',
    requestBytes: 24,
    responseBytes: 4,
    request: [postSendRequest],
  },
  ATTACH_MCAST: {
    number: 30,
    extended: false,
    verb: 'ibv_attach_mcast',
    requestBytes: 24,
    responseBytes: 0,
    request: [mcastRequest],
  },
  DETACH_MCAST: {
    number: 31,
    extended: false,
    verb: 'ibv_detach_mcast',
    requestBytes: 24,
    responseBytes: 0,
    request: [mcastRequest],
  },
  CREATE_SRQ: {
    number: 32,
    extended: false,
    verb: 'ibv_create_srq',
    requestBytes: 32,
    responseBytes: 16,
    request: [createSrqRequest],
    answer: [createSrqAnswer],
  },
  MODIFY_SRQ: {
    number: 33,
    extended: false,
    verb: 'ibv_modify_srq',
    requestBytes: 16,
    responseBytes: 0,
    request: [modifySrqRequest],
  },
  QUERY_SRQ: {
    number: 34,
    extended: false,
    verb: 'ibv_query_srq',
    requestBytes: 16,
    responseBytes: 16,
    request: [objectRequest],
    answer: [querySrqAnswer],
  },
  DESTROY_SRQ: {
    number: 35,
    extended: false,
    verb: 'ibv_destroy_srq',
    requestBytes: 16,
    responseBytes: 4,
    request: [objectRequest],
    answer: [eventsAnswer],
  },
  CREATE_XSRQ: {
    number: 39,
    extended: false,
    verb: 'ibv_create_srq_ex',
    requestBytes: 48,
    responseBytes: 16,
    request: [createXsrqRequest],
    answer: [createSrqAnswer],
  },
  EX_QUERY_DEVICE: {
    number: 1,
    extended: true,
    verb: 'ibv_query_device_ex',
    requestBytes: 8,
    responseBytes: 184,
    answer: [deviceAnswer, exDeviceAnswer],
  },
  EX_CREATE_CQ: {
    number: 18,
    extended: true,
    verb: 'ibv_create_cq_ex',
    requestBytes: 32,
    responseBytes: 16,
    request: [exCreateCqRequest],
    answer: [createCqAnswer],
  },
  EX_CREATE_QP: {
    number: 24,
    extended: true,
    verb: 'ibv_create_qp_ex',
    requestBytes: 52,
    knownBytes: 64,
    responseBytes: 40,
    request: [createQpRequest, exCreateQpRequest],
    answer: [createQpAnswer],
  },
  EX_MODIFY_QP: {
    number: 26,
    extended: true,
    verb: 'ibv_modify_qp',
    requestBytes: 112,
    knownBytes: 120,
    responseBytes: 8,
    request: [modifyQpRequest],
  },
  EX_MODIFY_CQ: {
    number: 57,
    extended: true,
    verb: 'ibv_modify_cq',
    requestBytes: 16,
    responseBytes: 0,
    request: [modifyCqRequest],
  },
}

// --- ioctl -----------------------------------------------------------------------------------------------------------

/**
 * Kind of an attribute. `in` is a value or a structure of the program, `out` an address for one of ours; `object` is the handle of an
 * existing object, `new` of a new one; `descriptor` and `newDescriptor` likewise by number of a descriptor.
 */
export type AttributeKind = 'in' | 'out' | 'object' | 'new' | 'descriptor' | 'newDescriptor'

export interface Attribute {
  readonly id: number
  readonly kind: AttributeKind
  /** Minimum length, for `in` and `out`. */
  readonly bytes?: number
  /** Length, for `in`, after which all further bytes have to be zero. */
  readonly knownBytes?: number
  /** Structure of the attribute, unless it is a number. */
  readonly struct?: Struct
  readonly optional?: true
}

export interface Method {
  readonly object: number
  readonly method: number
  readonly verb: string
  readonly attributes: Readonly<Record<string, Attribute>>
}

/** Driver data is a part of every method that has any, under these numbers. */
export const driverIn = 0x1000
export const driverOut = 0x1001

/** Object and method of the kernel, without UVERBS_OBJECT_ and UVERBS_METHOD_. */
export type MethodName =
  | 'INVOKE_WRITE'
  | 'QUERY_PORT'
  | 'GET_CONTEXT'
  | 'QUERY_CONTEXT'
  | 'QUERY_GID_TABLE'
  | 'QUERY_GID_ENTRY'
  | 'PD_DESTROY'
  | 'CQ_CREATE'
  | 'CQ_DESTROY'
  | 'QP_CREATE'
  | 'QP_DESTROY'
  | 'SRQ_CREATE'
  | 'SRQ_DESTROY'
  | 'AH_DESTROY'
  | 'MR_DESTROY'
  | 'MR_QUERY'
  | 'MW_DESTROY'
  | 'ASYNC_EVENT_ALLOC'

export const methods: Readonly<Record<MethodName, Method>> = {
  INVOKE_WRITE: {
    object: 0,
    method: 0,
    verb: 'write command',
    attributes: {
      coreIn: { id: 0, kind: 'in', bytes: 4, optional: true },
      coreOut: { id: 1, kind: 'out', bytes: 0, optional: true },
      command: { id: 2, kind: 'in', bytes: 4 },
    },
  },
  QUERY_PORT: {
    object: 0,
    method: 2,
    verb: 'ibv_query_port',
    attributes: {
      port: { id: 0, kind: 'in', bytes: 1 },
      answer: { id: 1, kind: 'out', bytes: 40, struct: portAnswer },
    },
  },
  GET_CONTEXT: {
    object: 0,
    method: 3,
    verb: 'ibv_open_device',
    attributes: {
      vectors: { id: 0, kind: 'out', bytes: 4, optional: true },
      support: { id: 1, kind: 'out', bytes: 8, optional: true },
    },
  },
  QUERY_CONTEXT: {
    object: 0,
    method: 4,
    verb: 'ibv_import_device',
    attributes: {
      vectors: { id: 0, kind: 'out', bytes: 4, optional: true },
      support: { id: 1, kind: 'out', bytes: 8, optional: true },
    },
  },
  QUERY_GID_TABLE: {
    object: 0,
    method: 5,
    verb: 'ibv_query_gid_table',
    attributes: {
      entryBytes: { id: 0, kind: 'in', bytes: 4 },
      flags: { id: 1, kind: 'in', bytes: 4, optional: true },
      entries: { id: 2, kind: 'out', bytes: 0 },
      count: { id: 3, kind: 'out', bytes: 8 },
    },
  },
  QUERY_GID_ENTRY: {
    object: 0,
    method: 6,
    verb: 'ibv_query_gid_ex',
    attributes: {
      port: { id: 0, kind: 'in', bytes: 4 },
      index: { id: 1, kind: 'in', bytes: 4 },
      flags: { id: 2, kind: 'in', bytes: 4, optional: true },
      entry: { id: 3, kind: 'out', bytes: 32, struct: gidEntry },
    },
  },
  PD_DESTROY: { object: 1, method: 0, verb: 'ibv_dealloc_pd', attributes: { handle: { id: 0, kind: 'object' } } },
  CQ_CREATE: {
    object: 3,
    method: 0,
    verb: 'ibv_create_cq',
    attributes: {
      handle: { id: 0, kind: 'new' },
      cqe: { id: 1, kind: 'in', bytes: 4 },
      userHandle: { id: 2, kind: 'in', bytes: 8 },
      channel: { id: 3, kind: 'descriptor', optional: true },
      vector: { id: 4, kind: 'in', bytes: 4 },
      flags: { id: 5, kind: 'in', bytes: 4, optional: true },
      cqeAnswer: { id: 6, kind: 'out', bytes: 4 },
      events: { id: 7, kind: 'descriptor', optional: true },
    },
  },
  CQ_DESTROY: {
    object: 3,
    method: 1,
    verb: 'ibv_destroy_cq',
    attributes: {
      handle: { id: 0, kind: 'object' },
      answer: { id: 1, kind: 'out', bytes: 8, struct: destroyCqAnswer },
    },
  },
  QP_CREATE: {
    object: 4,
    method: 0,
    verb: 'ibv_create_qp',
    attributes: {
      handle: { id: 0, kind: 'new' },
      xrcd: { id: 1, kind: 'object', optional: true },
      pd: { id: 2, kind: 'object', optional: true },
      srq: { id: 3, kind: 'object', optional: true },
      sendCq: { id: 4, kind: 'object', optional: true },
      recvCq: { id: 5, kind: 'object', optional: true },
      indirection: { id: 6, kind: 'object', optional: true },
      userHandle: { id: 7, kind: 'in', bytes: 8 },
      cap: { id: 8, kind: 'in', bytes: 20, struct: qpCap },
      type: { id: 9, kind: 'in', bytes: 4 },
      flags: { id: 10, kind: 'in', bytes: 4, optional: true },
      sourceQpn: { id: 11, kind: 'in', bytes: 4, optional: true },
      events: { id: 12, kind: 'descriptor', optional: true },
      capAnswer: { id: 13, kind: 'out', bytes: 20, struct: qpCap },
      qpnAnswer: { id: 14, kind: 'out', bytes: 4 },
    },
  },
  QP_DESTROY: {
    object: 4,
    method: 1,
    verb: 'ibv_destroy_qp',
    attributes: { handle: { id: 0, kind: 'object' }, answer: { id: 1, kind: 'out', bytes: 4, struct: eventsAnswer } },
  },
  SRQ_CREATE: {
    object: 5,
    method: 0,
    verb: 'ibv_create_srq',
    attributes: {
      handle: { id: 0, kind: 'new' },
      pd: { id: 1, kind: 'object' },
      xrcd: { id: 2, kind: 'object', optional: true },
      cq: { id: 3, kind: 'object', optional: true },
      userHandle: { id: 4, kind: 'in', bytes: 8 },
      maxWr: { id: 5, kind: 'in', bytes: 4 },
      maxSge: { id: 6, kind: 'in', bytes: 4 },
      limit: { id: 7, kind: 'in', bytes: 4 },
      maxTags: { id: 8, kind: 'in', bytes: 4, optional: true },
      type: { id: 9, kind: 'in', bytes: 4 },
      events: { id: 10, kind: 'descriptor', optional: true },
      maxWrAnswer: { id: 11, kind: 'out', bytes: 4 },
      maxSgeAnswer: { id: 12, kind: 'out', bytes: 4 },
      numberAnswer: { id: 13, kind: 'out', bytes: 4, optional: true },
    },
  },
  SRQ_DESTROY: {
    object: 5,
    method: 1,
    verb: 'ibv_destroy_srq',
    attributes: { handle: { id: 0, kind: 'object' }, answer: { id: 1, kind: 'out', bytes: 4, struct: eventsAnswer } },
  },
  AH_DESTROY: { object: 6, method: 0, verb: 'ibv_destroy_ah', attributes: { handle: { id: 0, kind: 'object' } } },
  MR_DESTROY: { object: 7, method: 1, verb: 'ibv_dereg_mr', attributes: { handle: { id: 0, kind: 'object' } } },
  MR_QUERY: {
    object: 7,
    method: 3,
    verb: 'ibv_import_mr',
    attributes: {
      handle: { id: 0, kind: 'object' },
      lkey: { id: 1, kind: 'out', bytes: 4 },
      rkey: { id: 2, kind: 'out', bytes: 4 },
      length: { id: 3, kind: 'out', bytes: 8 },
      iova: { id: 4, kind: 'out', bytes: 8, optional: true },
    },
  },
  MW_DESTROY: { object: 8, method: 0, verb: 'ibv_dealloc_mw', attributes: { handle: { id: 0, kind: 'object' } } },
  ASYNC_EVENT_ALLOC: {
    object: 16,
    method: 0,
    verb: 'ibv_open_device',
    attributes: { descriptor: { id: 0, kind: 'newDescriptor' } },
  },
}

// --- what is not served ----------------------------------------------------------------------------------------------

/** Commands of the kernel that this adapter does not have, by number; those from 2^31 on are extended ones. */
export const unservedCommands: ReadonlyMap<number, string> = new Map([
  [6, 'ibv_modify_ah'],
  [7, 'ibv_query_ah'],
  [10, 'ibv_reg_mr'],
  [12, 'ibv_query_mr'],
  [15, 'ibv_bind_mw'],
  [21, 'ibv_poll_cq'],
  [22, 'ibv_peek_cq'],
  [29, 'ibv_post_recv'],
  [36, 'ibv_post_srq_recv'],
  [37, 'ibv_open_xrcd'],
  [38, 'ibv_close_xrcd'],
  [40, 'ibv_open_qp'],
  [0x80000032, 'ibv_create_flow'],
  [0x80000033, 'ibv_destroy_flow'],
  [0x80000034, 'ibv_create_wq'],
  [0x80000035, 'ibv_modify_wq'],
  [0x80000036, 'ibv_destroy_wq'],
  [0x80000037, 'ibv_create_rwq_ind_table'],
  [0x80000038, 'ibv_destroy_rwq_ind_table'],
])

/** The functions of the methods that it does not have, by object and method; and those of other objects by object. */
export const unservedMethods: ReadonlyMap<string, string> = new Map([
  ['7 0', 'ibv_reg_dm_mr'],
  ['7 2', 'ibv_advise_mr'],
  ['7 4', 'ibv_reg_dmabuf_mr'],
  ['7 5', 'ibv_reg_mr_ex'],
  ['0 7', 'ibv_query_port_speed'],
  ['0 8', 'ibv_query_device_ex'],
  ['9', 'ibv_create_flow'],
  ['10', 'ibv_open_xrcd'],
  ['11', 'ibv_create_rwq_ind_table'],
  ['12', 'ibv_create_wq'],
  ['13', 'ibv_create_flow_action_esp'],
  ['14', 'ibv_alloc_dm'],
  ['15', 'ibv_create_counters'],
  ['17', 'ibv_alloc_dmah'],
  ['18', 'ibv_export_dmabuf'],
  ['19', 'ibv_create_comp_cntr'],
])

/** Methods among these that the library tries first and can do without: it takes another path, or omits a value. */
export const optionalMethods: ReadonlySet<string> = new Set(['0 7', '0 8'])
