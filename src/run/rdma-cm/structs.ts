/**
 * The structures of commands (rdma_user_cm.h, ib_user_sa.h) as offsets from the end of the command's header. Requests that are answered
 * have the address of the response in `response`.
 */

export const createId = {
  sizeBytes: 24,
  fields: { uid: [0, 'raw'], response: [8, 'u64'], ps: [16, 'u16'], qp_type: [18, 'u8'] },
} as const
/** Request of destroy, and of leaving a group, where `id` is that of the join. */
export const destroyId = { sizeBytes: 16, fields: { response: [0, 'u64'], id: [8, 'u32'] } } as const
export const migrateId = { sizeBytes: 16, fields: { response: [0, 'u64'], id: [8, 'u32'], fd: [12, 's32'] } } as const
/** Answer of one number: of an id, or the number of events that were reported. */
export const oneNumber = { sizeBytes: 4, fields: { value: [0, 'u32'] } } as const

/** Addresses are at `addr`, … : see addresses.ts. */
export const bindIp = { sizeBytes: 40, fields: { addr: [8, 'in6'], id: [36, 'u32'] } } as const
export const bind = {
  sizeBytes: 136,
  fields: { id: [0, 'u32'], addr_size: [4, 'u16'], addr: [8, 'storage'] },
} as const
export const resolveIp = {
  sizeBytes: 64,
  fields: { src: [0, 'in6'], dst: [28, 'in6'], id: [56, 'u32'], timeout_ms: [60, 's32'] },
} as const
export const resolveAddr = {
  sizeBytes: 272,
  fields: {
    id: [0, 'u32'],
    timeout_ms: [4, 's32'],
    src_size: [8, 'u16'],
    dst_size: [10, 'u16'],
    src: [16, 'storage'],
    dst: [144, 'storage'],
  },
} as const
export const resolveRoute = { sizeBytes: 8, fields: { id: [0, 'u32'], timeout_ms: [4, 's32'] } } as const

export const queryRoute = { sizeBytes: 16, fields: { response: [0, 'u64'], id: [8, 'u32'] } } as const
/** Two routes of 64 bytes (`userRoute`) are at 8, addresses at 136 and 164. Libraries of before rdma-core 30 take 200 bytes. */
export const queryRouteAnswer = {
  sizeBytes: 208,
  fields: {
    node_guid: [0, 'be64'],
    src: [136, 'in6'],
    dst: [164, 'in6'],
    num_paths: [192, 'u32'],
    port_num: [196, 'u8'],
    ibdev_index: [200, 'u32'],
  },
} as const
/** `ib_user_path_rec`. */
export const userRoute = {
  sizeBytes: 64,
  fields: {
    dgid: [0, 'gid'],
    sgid: [16, 'gid'],
    dlid: [32, 'be16'],
    slid: [34, 'be16'],
    reversible: [44, 'u32'],
    mtu: [48, 'u32'],
    pkey: [52, 'be16'],
    hop_limit: [54, 'u8'],
    traffic_class: [55, 'u8'],
    numb_path: [56, 'u8'],
    sl: [57, 'u8'],
    mtu_selector: [58, 'u8'],
    rate_selector: [59, 'u8'],
    rate: [60, 'u8'],
    packet_life_time_selector: [61, 'u8'],
    packet_life_time: [62, 'u8'],
  },
} as const

export const query = { sizeBytes: 16, fields: { response: [0, 'u64'], id: [8, 'u32'], option: [12, 'u32'] } } as const
export const queryAddrAnswer = {
  sizeBytes: 280,
  fields: {
    node_guid: [0, 'be64'],
    port_num: [8, 'u8'],
    pkey: [10, 'u16'],
    src_size: [12, 'u16'],
    dst_size: [14, 'u16'],
    src: [16, 'storage'],
    dst: [144, 'storage'],
    ibdev_index: [272, 'u32'],
  },
} as const
/** Records of paths follow it. */
export const queryPathAnswer = { sizeBytes: 8, fields: { num_paths: [0, 'u32'] } } as const
/** `ib_path_rec_data`: flags, and a PathRecord as subnet administrators send it. */
export const pathData = {
  sizeBytes: 72,
  fields: {
    flags: [0, 'u32'],
    dgid: [16, 'gid'],
    sgid: [32, 'gid'],
    dlid: [48, 'be16'],
    slid: [50, 'be16'],
    hop_limit: [55, 'u8'],
    traffic_class: [56, 'u8'],
    reversible_paths: [57, 'u8'],
    pkey: [58, 'be16'],
    mtu: [62, 'u8'],
    rate: [63, 'u8'],
    life_time: [64, 'u8'],
  },
} as const

export const connParam = {
  sizeBytes: 272,
  fields: {
    qp_num: [0, 'u32'],
    qkey: [4, 'u32'],
    private_data_len: [264, 'u8'],
    srq: [265, 'u8'],
    responder_resources: [266, 'u8'],
    initiator_depth: [267, 'u8'],
    flow_control: [268, 'u8'],
    retry_count: [269, 'u8'],
    rnr_retry_count: [270, 'u8'],
    valid: [271, 'u8'],
  },
} as const
/** Offset of private data in it, up to 256 bytes. */
export const connPrivateDataAt = 8
export const udParam = {
  sizeBytes: 304,
  fields: { qp_num: [0, 'u32'], qkey: [4, 'u32'], private_data_len: [296, 'u8'] },
} as const
export const udAhAttrAt = 8
export const udPrivateDataAt = 40
/** `ib_uverbs_ah_attr`. */
export const ahAttr = {
  sizeBytes: 32,
  fields: {
    dgid: [0, 'gid'],
    flow_label: [16, 'u32'],
    sgid_index: [20, 'u8'],
    hop_limit: [21, 'u8'],
    traffic_class: [22, 'u8'],
    dlid: [24, 'u16'],
    sl: [26, 'u8'],
    src_path_bits: [27, 'u8'],
    static_rate: [28, 'u8'],
    is_global: [29, 'u8'],
    port_num: [30, 'u8'],
  },
} as const

/** Request with a connection's parameters at 0; ECE, which libraries before rdma-core 32 leave out, comes after `reserved`. */
export const connect = { sizeBytes: 288, leastBytes: 280, fields: { id: [272, 'u32'] } } as const
/** Request with a connection's parameters at 8. */
export const accept = { sizeBytes: 296, leastBytes: 288, fields: { uid: [0, 'raw'], id: [280, 'u32'] } } as const
export const listen = { sizeBytes: 8, fields: { id: [0, 'u32'], backlog: [4, 's32'] } } as const
/** Private data, up to 256 bytes, is at 8. */
export const reject = {
  sizeBytes: 264,
  fields: { id: [0, 'u32'], private_data_len: [4, 'u8'], reason: [5, 'u8'] },
} as const
export const disconnect = { sizeBytes: 4, fields: { id: [0, 'u32'] } } as const
export const notify = { sizeBytes: 8, fields: { id: [0, 'u32'], event: [4, 'u32'] } } as const
export const setOption = {
  sizeBytes: 24,
  fields: { optval: [0, 'u64'], id: [8, 'u32'], level: [12, 'u32'], optname: [16, 'u32'], optlen: [20, 'u32'] },
} as const

export const initQpAttr = {
  sizeBytes: 16,
  fields: { response: [0, 'u64'], id: [8, 'u32'], qp_state: [12, 'u32'] },
} as const
/** `ib_uverbs_qp_attr`; address vectors are at 40 and 72. */
export const qpAttr = {
  sizeBytes: 144,
  fields: {
    qp_attr_mask: [0, 'u32'],
    qp_state: [4, 'u32'],
    cur_qp_state: [8, 'u32'],
    path_mtu: [12, 'u32'],
    path_mig_state: [16, 'u32'],
    qkey: [20, 'u32'],
    rq_psn: [24, 'u32'],
    sq_psn: [28, 'u32'],
    dest_qp_num: [32, 'u32'],
    qp_access_flags: [36, 'u32'],
    pkey_index: [124, 'u16'],
    alt_pkey_index: [126, 'u16'],
    max_rd_atomic: [130, 'u8'],
    max_dest_rd_atomic: [131, 'u8'],
    min_rnr_timer: [132, 'u8'],
    port_num: [133, 'u8'],
    timeout: [134, 'u8'],
    retry_cnt: [135, 'u8'],
    rnr_retry: [136, 'u8'],
    alt_port_num: [137, 'u8'],
    alt_timeout: [138, 'u8'],
  },
} as const
export const qpAttrAhAt = 40
export const qpAttrAltAhAt = 72

export const getEvent = { sizeBytes: 8, fields: { response: [0, 'u64'] } } as const
/** Parameters are at 20. Libraries take 324 bytes at least. */
export const event = {
  sizeBytes: 336,
  fields: { uid: [0, 'raw'], id: [8, 'u32'], event: [12, 'u32'], status: [16, 's32'] },
} as const
export const eventParamAt = 20

export const joinIpMcast = {
  sizeBytes: 48,
  fields: { response: [0, 'u64'], uid: [8, 'raw'], addr: [16, 'in6'], id: [44, 'u32'] },
} as const
export const joinMcast = {
  sizeBytes: 152,
  fields: {
    response: [0, 'u64'],
    uid: [8, 'raw'],
    id: [16, 'u32'],
    addr_size: [20, 'u16'],
    join_flags: [22, 'u16'],
    addr: [24, 'storage'],
  },
} as const
