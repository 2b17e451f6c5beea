/**
 * The commands of the kernel's uverbs that are served, as data: those of write(2), which libraries since rdma-core 22 wrap in the
 * ioctl INVOKE_WRITE, and the methods of ioctl(2) objects. Sizes are those of the kernel's own tables (UAPI_DEF_WRITE_IO,
 * UVERBS_ATTR_…); decoding, checking, and the description of a command follow from them. What is missing is answered as by a
 * kernel that does not have it: EOPNOTSUPP for a write command, EPROTONOSUPPORT for a method, whereupon libraries try another way.
 */

export interface WriteCommand {
  readonly number: number
  /** Bit 31 of the command: sizes count in 8 bytes, and lengths may grow. */
  readonly extended: boolean
  /** The function of the library that sends it. */
  readonly verb: string
  /** The least bytes of the request, with the address of the response where it has one. */
  readonly requestBytes: number
  /** The least bytes of room for the response; 0: it has none, and its request begins at once. */
  readonly responseBytes: number
  /** All bytes of a request that are known; others have to be zero. */
  readonly knownBytes?: number
}

/** By the names of the kernel, without IB_USER_VERBS_CMD_. */
export const writeCommands = {
  GET_CONTEXT: { number: 0, extended: false, verb: 'ibv_open_device', requestBytes: 8, responseBytes: 8 },
  QUERY_DEVICE: { number: 1, extended: false, verb: 'ibv_query_device', requestBytes: 8, responseBytes: 176 },
  QUERY_PORT: { number: 2, extended: false, verb: 'ibv_query_port', requestBytes: 16, responseBytes: 40 },
  ALLOC_PD: { number: 3, extended: false, verb: 'ibv_alloc_pd', requestBytes: 8, responseBytes: 4 },
  DEALLOC_PD: { number: 4, extended: false, verb: 'ibv_dealloc_pd', requestBytes: 4, responseBytes: 0 },
  CREATE_AH: { number: 5, extended: false, verb: 'ibv_create_ah', requestBytes: 56, responseBytes: 4 },
  DESTROY_AH: { number: 8, extended: false, verb: 'ibv_destroy_ah', requestBytes: 4, responseBytes: 0 },
  REG_MR: { number: 9, extended: false, verb: 'ibv_reg_mr', requestBytes: 40, responseBytes: 12 },
  REREG_MR: { number: 11, extended: false, verb: 'ibv_rereg_mr', requestBytes: 48, responseBytes: 8 },
  DEREG_MR: { number: 13, extended: false, verb: 'ibv_dereg_mr', requestBytes: 4, responseBytes: 0 },
  ALLOC_MW: { number: 14, extended: false, verb: 'ibv_alloc_mw', requestBytes: 16, responseBytes: 8 },
  DEALLOC_MW: { number: 16, extended: false, verb: 'ibv_dealloc_mw', requestBytes: 4, responseBytes: 0 },
  CREATE_COMP_CHANNEL: {
    number: 17,
    extended: false,
    verb: 'ibv_create_comp_channel',
    requestBytes: 8,
    responseBytes: 4,
  },
  CREATE_CQ: { number: 18, extended: false, verb: 'ibv_create_cq', requestBytes: 32, responseBytes: 8 },
  RESIZE_CQ: { number: 19, extended: false, verb: 'ibv_resize_cq', requestBytes: 16, responseBytes: 8 },
  DESTROY_CQ: { number: 20, extended: false, verb: 'ibv_destroy_cq', requestBytes: 16, responseBytes: 8 },
  REQ_NOTIFY_CQ: { number: 23, extended: false, verb: 'ibv_req_notify_cq', requestBytes: 8, responseBytes: 0 },
  CREATE_QP: { number: 24, extended: false, verb: 'ibv_create_qp', requestBytes: 56, responseBytes: 32 },
  QUERY_QP: { number: 25, extended: false, verb: 'ibv_query_qp', requestBytes: 16, responseBytes: 128 },
  MODIFY_QP: { number: 26, extended: false, verb: 'ibv_modify_qp', requestBytes: 112, responseBytes: 0 },
  DESTROY_QP: { number: 27, extended: false, verb: 'ibv_destroy_qp', requestBytes: 16, responseBytes: 4 },
  POST_SEND: { number: 28, extended: false, verb: 'ibv_post_send', requestBytes: 24, responseBytes: 4 },
  ATTACH_MCAST: { number: 30, extended: false, verb: 'ibv_attach_mcast', requestBytes: 24, responseBytes: 0 },
  DETACH_MCAST: { number: 31, extended: false, verb: 'ibv_detach_mcast', requestBytes: 24, responseBytes: 0 },
  CREATE_SRQ: { number: 32, extended: false, verb: 'ibv_create_srq', requestBytes: 32, responseBytes: 16 },
  MODIFY_SRQ: { number: 33, extended: false, verb: 'ibv_modify_srq', requestBytes: 16, responseBytes: 0 },
  QUERY_SRQ: { number: 34, extended: false, verb: 'ibv_query_srq', requestBytes: 16, responseBytes: 16 },
  DESTROY_SRQ: { number: 35, extended: false, verb: 'ibv_destroy_srq', requestBytes: 16, responseBytes: 4 },
  CREATE_XSRQ: { number: 39, extended: false, verb: 'ibv_create_srq_ex', requestBytes: 48, responseBytes: 16 },
  EX_QUERY_DEVICE: { number: 1, extended: true, verb: 'ibv_query_device_ex', requestBytes: 8, responseBytes: 184 },
  EX_CREATE_CQ: { number: 18, extended: true, verb: 'ibv_create_cq_ex', requestBytes: 32, responseBytes: 16 },
  EX_CREATE_QP: {
    number: 24,
    extended: true,
    verb: 'ibv_create_qp_ex',
    requestBytes: 52,
    knownBytes: 64,
    responseBytes: 40,
  },
  EX_MODIFY_QP: {
    number: 26,
    extended: true,
    verb: 'ibv_modify_qp',
    requestBytes: 112,
    knownBytes: 120,
    responseBytes: 8,
  },
  EX_MODIFY_CQ: { number: 57, extended: true, verb: 'ibv_modify_cq', requestBytes: 16, responseBytes: 0 },
} as const

export type WriteCommandName = keyof typeof writeCommands

// --- ioctl -----------------------------------------------------------------------------------------------------------

/**
 * What an attribute is. `in` is a value or a structure of the program's, `out` an address for one of ours; `object` the handle of
 * an object that is there, `new` of one that is made; `descriptor` and `newDescriptor` likewise by number of a descriptor.
 */
export type AttributeKind = 'in' | 'out' | 'object' | 'new' | 'descriptor' | 'newDescriptor'

export interface Attribute {
  readonly id: number
  readonly kind: AttributeKind
  /** Of `in` and `out`: the least length. */
  readonly bytes?: number
  /** Of `in`: what is longer has to be zero behind this. */
  readonly knownBytes?: number
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

/** By object and method of the kernel, without UVERBS_OBJECT_ and UVERBS_METHOD_. */
export const methods = {
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
    attributes: { port: { id: 0, kind: 'in', bytes: 1 }, answer: { id: 1, kind: 'out', bytes: 40 } },
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
      entry: { id: 3, kind: 'out', bytes: 32 },
    },
  },
  PD_DESTROY: { object: 1, method: 0, verb: 'ibv_dealloc_pd', attributes: { handle: { id: 0, kind: 'object' } } },
  CQ_CREATE: {
    object: 3,
    method: 0,
    verb: 'ibv_create_cq_ex',
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
    attributes: { handle: { id: 0, kind: 'object' }, answer: { id: 1, kind: 'out', bytes: 8 } },
  },
  QP_CREATE: {
    object: 4,
    method: 0,
    verb: 'ibv_create_qp_ex',
    attributes: {
      handle: { id: 0, kind: 'new' },
      xrcd: { id: 1, kind: 'object', optional: true },
      pd: { id: 2, kind: 'object', optional: true },
      srq: { id: 3, kind: 'object', optional: true },
      sendCq: { id: 4, kind: 'object', optional: true },
      recvCq: { id: 5, kind: 'object', optional: true },
      indirection: { id: 6, kind: 'object', optional: true },
      userHandle: { id: 7, kind: 'in', bytes: 8 },
      cap: { id: 8, kind: 'in', bytes: 20 },
      type: { id: 9, kind: 'in', bytes: 4 },
      flags: { id: 10, kind: 'in', bytes: 4, optional: true },
      sourceQpn: { id: 11, kind: 'in', bytes: 4, optional: true },
      events: { id: 12, kind: 'descriptor', optional: true },
      capAnswer: { id: 13, kind: 'out', bytes: 20 },
      qpnAnswer: { id: 14, kind: 'out', bytes: 4 },
    },
  },
  QP_DESTROY: {
    object: 4,
    method: 1,
    verb: 'ibv_destroy_qp',
    attributes: { handle: { id: 0, kind: 'object' }, answer: { id: 1, kind: 'out', bytes: 4 } },
  },
  SRQ_CREATE: {
    object: 5,
    method: 0,
    verb: 'ibv_create_srq_ex',
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
    attributes: { handle: { id: 0, kind: 'object' }, answer: { id: 1, kind: 'out', bytes: 4 } },
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
} as const

export type MethodName = keyof typeof methods
