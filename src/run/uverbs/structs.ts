/**
 * The structures of commands (ib_user_verbs.h, ib_user_ioctl_verbs.h), as offsets from the end of the command's header. Requests
 * that are answered begin with the address of the response, which is read only where a command comes by write(2).
 */

/** Mapping of a queue for the program: offset in the file, and length. */
export const mminfo = { sizeBytes: 16, fields: { offset: [0, 'u64'], size: [8, 'u32'] } } as const

// --- device ----------------------------------------------------------------------------------------------------------

export const contextAnswer = { sizeBytes: 8, fields: { async_fd: [0, 's32'], num_comp_vectors: [4, 'u32'] } } as const

export const deviceAnswer = {
  sizeBytes: 176,
  fields: {
    fw_ver: [0, 'raw'],
    node_guid: [8, 'be64'],
    sys_image_guid: [16, 'be64'],
    max_mr_size: [24, 'u64'],
    page_size_cap: [32, 'u64'],
    vendor_id: [40, 'u32'],
    vendor_part_id: [44, 'u32'],
    hw_ver: [48, 'u32'],
    max_qp: [52, 'u32'],
    max_qp_wr: [56, 'u32'],
    device_cap_flags: [60, 'u32'],
    max_sge: [64, 'u32'],
    max_sge_rd: [68, 'u32'],
    max_cq: [72, 'u32'],
    max_cqe: [76, 'u32'],
    max_mr: [80, 'u32'],
    max_pd: [84, 'u32'],
    max_qp_rd_atom: [88, 'u32'],
    max_res_rd_atom: [96, 'u32'],
    max_qp_init_rd_atom: [100, 'u32'],
    atomic_cap: [108, 'u32'],
    max_mw: [120, 'u32'],
    max_mcast_grp: [132, 'u32'],
    max_mcast_qp_attach: [136, 'u32'],
    max_total_mcast_qp_attach: [140, 'u32'],
    max_ah: [144, 'u32'],
    max_srq: [156, 'u32'],
    max_srq_wr: [160, 'u32'],
    max_srq_sge: [164, 'u32'],
    max_pkeys: [168, 'u16'],
    local_ca_ack_delay: [170, 'u8'],
    phys_port_cnt: [171, 'u8'],
  },
} as const
export const exDeviceRequest = { sizeBytes: 8, fields: { comp_mask: [0, 'u32'], reserved: [4, 'u32'] } } as const
/** Fields after the 176 bytes of the plain answer. */
export const exDeviceAnswer = {
  sizeBytes: 304,
  fields: {
    comp_mask: [176, 'u32'],
    response_length: [180, 'u32'],
    device_cap_flags_ex: [224, 'raw'],
  },
} as const

export const portRequest = { sizeBytes: 16, fields: { port_num: [8, 'u8'] } } as const
/** Answer of both forms; that of write(2) is the first 40 bytes. */
export const portAnswer = {
  sizeBytes: 48,
  fields: {
    port_cap_flags: [0, 'u32'],
    max_msg_sz: [4, 'u32'],
    bad_pkey_cntr: [8, 'u32'],
    qkey_viol_cntr: [12, 'u32'],
    gid_tbl_len: [16, 'u32'],
    pkey_tbl_len: [20, 'u16'],
    lid: [22, 'u16'],
    sm_lid: [24, 'u16'],
    state: [26, 'u8'],
    max_mtu: [27, 'u8'],
    active_mtu: [28, 'u8'],
    lmc: [29, 'u8'],
    max_vl_num: [30, 'u8'],
    sm_sl: [31, 'u8'],
    subnet_timeout: [32, 'u8'],
    init_type_reply: [33, 'u8'],
    active_width: [34, 'u8'],
    active_speed: [35, 'u8'],
    phys_state: [36, 'u8'],
    link_layer: [37, 'u8'],
    flags: [38, 'u8'],
    port_cap_flags2: [40, 'u16'],
    active_speed_ex: [44, 'u16'],
  },
} as const

export const gidEntry = {
  sizeBytes: 32,
  fields: {
    gid: [0, 'gid'],
    gid_index: [16, 'u32'],
    port_num: [20, 'u32'],
    gid_type: [24, 'u32'],
    netdev_ifindex: [28, 'u32'],
  },
} as const

// --- protection domains, memory, addresses -------------------------------------------------------------------------

export const handleOnly = { sizeBytes: 4, fields: { handle: [0, 'u32'] } } as const
export const pdAnswer = { sizeBytes: 4, fields: { pd_handle: [0, 'u32'] } } as const

export const regMrRequest = {
  sizeBytes: 40,
  fields: {
    start: [8, 'u64'],
    length: [16, 'u64'],
    hca_va: [24, 'u64'],
    pd_handle: [32, 'u32'],
    access_flags: [36, 'u32'],
  },
} as const
export const regMrAnswer = {
  sizeBytes: 12,
  fields: { mr_handle: [0, 'u32'], lkey: [4, 'u32'], rkey: [8, 'u32'] },
} as const
export const reregMrRequest = {
  sizeBytes: 48,
  fields: {
    mr_handle: [8, 'u32'],
    flags: [12, 'u32'],
    start: [16, 'u64'],
    length: [24, 'u64'],
    hca_va: [32, 'u64'],
    pd_handle: [40, 'u32'],
    access_flags: [44, 'u32'],
  },
} as const
export const reregMrAnswer = { sizeBytes: 8, fields: { lkey: [0, 'u32'], rkey: [4, 'u32'] } } as const

export const allocMwRequest = { sizeBytes: 16, fields: { pd_handle: [8, 'u32'], mw_type: [12, 'u8'] } } as const
export const allocMwAnswer = { sizeBytes: 8, fields: { mw_handle: [0, 'u32'], rkey: [4, 'u32'] } } as const

export const createAhRequest = {
  sizeBytes: 56,
  fields: {
    user_handle: [8, 'raw'],
    pd_handle: [16, 'u32'],
    dgid: [24, 'gid'],
    flow_label: [40, 'u32'],
    sgid_index: [44, 'u8'],
    hop_limit: [45, 'u8'],
    traffic_class: [46, 'u8'],
    dlid: [48, 'u16'],
    sl: [50, 'u8'],
    src_path_bits: [51, 'u8'],
    static_rate: [52, 'u8'],
    is_global: [53, 'u8'],
    port_num: [54, 'u8'],
  },
} as const
export const createAhAnswer = { sizeBytes: 4, fields: { ah_handle: [0, 'u32'] } } as const
export const ahDriverAnswer = { sizeBytes: 8, fields: { ah_num: [0, 'u32'] } } as const

export const mcastRequest = {
  sizeBytes: 24,
  fields: { gid: [0, 'gid'], qp_handle: [16, 'u32'], mlid: [20, 'u16'] },
} as const

// --- completion queues -----------------------------------------------------------------------------------------------

export const channelAnswer = { sizeBytes: 4, fields: { fd: [0, 's32'] } } as const
export const createCqRequest = {
  sizeBytes: 32,
  fields: {
    user_handle: [8, 'raw'],
    cqe: [16, 'u32'],
    comp_vector: [20, 'u32'],
    comp_channel: [24, 's32'],
  },
} as const
export const createCqAnswer = { sizeBytes: 8, fields: { cq_handle: [0, 'u32'], cqe: [4, 'u32'] } } as const
export const exCreateCqRequest = {
  sizeBytes: 32,
  fields: {
    user_handle: [0, 'raw'],
    cqe: [8, 'u32'],
    comp_vector: [12, 'u32'],
    comp_channel: [16, 's32'],
    comp_mask: [20, 'u32'],
    flags: [24, 'u32'],
    reserved: [28, 'u32'],
  },
} as const
export const exCreateCqAnswer = {
  sizeBytes: 16,
  fields: {
    cq_handle: [0, 'u32'],
    cqe: [4, 'u32'],
    comp_mask: [8, 'u32'],
    response_length: [12, 'u32'],
  },
} as const
export const resizeCqRequest = { sizeBytes: 16, fields: { cq_handle: [8, 'u32'], cqe: [12, 'u32'] } } as const
export const resizeCqAnswer = { sizeBytes: 8, fields: { cqe: [0, 'u32'] } } as const
/** Request of all commands that name one object and have an answer. */
export const objectRequest = { sizeBytes: 16, fields: { handle: [8, 'u32'] } } as const
export const destroyCqAnswer = {
  sizeBytes: 8,
  fields: { comp_events_reported: [0, 'u32'], async_events_reported: [4, 'u32'] },
} as const
export const notifyCqRequest = { sizeBytes: 8, fields: { cq_handle: [0, 'u32'], solicited_only: [4, 'u32'] } } as const
export const modifyCqRequest = { sizeBytes: 16, fields: { cq_handle: [0, 'u32'], attr_mask: [4, 'u32'] } } as const

// --- queue pairs -----------------------------------------------------------------------------------------------------

/** Fields of both forms, 48 bytes: after the response's address in the plain one. */
export const createQpRequest = {
  sizeBytes: 48,
  fields: {
    user_handle: [0, 'raw'],
    pd_handle: [8, 'u32'],
    send_cq_handle: [12, 'u32'],
    recv_cq_handle: [16, 'u32'],
    srq_handle: [20, 'u32'],
    max_send_wr: [24, 'u32'],
    max_recv_wr: [28, 'u32'],
    max_send_sge: [32, 'u32'],
    max_recv_sge: [36, 'u32'],
    max_inline_data: [40, 'u32'],
    sq_sig_all: [44, 'u8'],
    qp_type: [45, 'u8'],
    is_srq: [46, 'u8'],
  },
} as const
/** Fields after them in the extended form. */
export const exCreateQpRequest = {
  sizeBytes: 64,
  fields: { comp_mask: [48, 'u32'], create_flags: [52, 'u32'], source_qpn: [60, 'u32'] },
} as const
/** The plain answer is the first 32 bytes. */
export const createQpAnswer = {
  sizeBytes: 40,
  fields: {
    qp_handle: [0, 'u32'],
    qpn: [4, 'u32'],
    max_send_wr: [8, 'u32'],
    max_recv_wr: [12, 'u32'],
    max_send_sge: [16, 'u32'],
    max_recv_sge: [20, 'u32'],
    max_inline_data: [24, 'u32'],
    response_length: [36, 'u32'],
  },
} as const
/** `ib_uverbs_qp_cap`. */
export const qpCap = {
  sizeBytes: 20,
  fields: {
    max_send_wr: [0, 'u32'],
    max_recv_wr: [4, 'u32'],
    max_send_sge: [8, 'u32'],
    max_recv_sge: [12, 'u32'],
    max_inline_data: [16, 'u32'],
  },
} as const

/** `ib_uverbs_qp_dest`: at 0 in requests that modify and answers of queries, the alternate path at 32. */
export const qpDest = {
  sizeBytes: 32,
  fields: {
    dgid: [0, 'gid'],
    flow_label: [16, 'u32'],
    dlid: [20, 'u16'],
    sgid_index: [24, 'u8'],
    hop_limit: [25, 'u8'],
    traffic_class: [26, 'u8'],
    sl: [27, 'u8'],
    src_path_bits: [28, 'u8'],
    static_rate: [29, 'u8'],
    is_global: [30, 'u8'],
    port_num: [31, 'u8'],
  },
} as const
/** Request of both forms; the extended one has a rate limit and four more bytes after it. */
export const modifyQpRequest = {
  sizeBytes: 112,
  fields: {
    qp_handle: [64, 'u32'],
    attr_mask: [68, 'u32'],
    qkey: [72, 'u32'],
    rq_psn: [76, 'u32'],
    sq_psn: [80, 'u32'],
    dest_qp_num: [84, 'u32'],
    qp_access_flags: [88, 'u32'],
    pkey_index: [92, 'u16'],
    alt_pkey_index: [94, 'u16'],
    qp_state: [96, 'u8'],
    cur_qp_state: [97, 'u8'],
    path_mtu: [98, 'u8'],
    path_mig_state: [99, 'u8'],
    en_sqd_async_notify: [100, 'u8'],
    max_rd_atomic: [101, 'u8'],
    max_dest_rd_atomic: [102, 'u8'],
    min_rnr_timer: [103, 'u8'],
    port_num: [104, 'u8'],
    timeout: [105, 'u8'],
    retry_cnt: [106, 'u8'],
    rnr_retry: [107, 'u8'],
    alt_port_num: [108, 'u8'],
    alt_timeout: [109, 'u8'],
  },
} as const
export const exModifyQpAnswer = { sizeBytes: 8, fields: { response_length: [4, 'u32'] } } as const

export const queryQpRequest = { sizeBytes: 16, fields: { handle: [8, 'u32'], attr_mask: [12, 'u32'] } } as const
export const queryQpAnswer = {
  sizeBytes: 128,
  fields: {
    max_send_wr: [64, 'u32'],
    max_recv_wr: [68, 'u32'],
    max_send_sge: [72, 'u32'],
    max_recv_sge: [76, 'u32'],
    max_inline_data: [80, 'u32'],
    qkey: [84, 'u32'],
    rq_psn: [88, 'u32'],
    sq_psn: [92, 'u32'],
    dest_qp_num: [96, 'u32'],
    qp_access_flags: [100, 'u32'],
    pkey_index: [104, 'u16'],
    alt_pkey_index: [106, 'u16'],
    qp_state: [108, 'u8'],
    cur_qp_state: [109, 'u8'],
    path_mtu: [110, 'u8'],
    path_mig_state: [111, 'u8'],
    sq_draining: [112, 'u8'],
    max_rd_atomic: [113, 'u8'],
    max_dest_rd_atomic: [114, 'u8'],
    min_rnr_timer: [115, 'u8'],
    port_num: [116, 'u8'],
    timeout: [117, 'u8'],
    retry_cnt: [118, 'u8'],
    rnr_retry: [119, 'u8'],
    alt_port_num: [120, 'u8'],
    alt_timeout: [121, 'u8'],
    sq_sig_all: [122, 'u8'],
  },
} as const
export const eventsAnswer = { sizeBytes: 4, fields: { events_reported: [0, 'u32'] } } as const
export const postSendRequest = { sizeBytes: 24, fields: { qp_handle: [8, 'u32'] } } as const
export const postSendAnswer = { sizeBytes: 4, fields: { bad_wr: [0, 'u32'] } } as const

// --- shared receive queues -------------------------------------------------------------------------------------------

export const createSrqRequest = {
  sizeBytes: 32,
  fields: {
    user_handle: [8, 'raw'],
    pd_handle: [16, 'u32'],
    max_wr: [20, 'u32'],
    max_sge: [24, 'u32'],
    srq_limit: [28, 'u32'],
  },
} as const
export const createXsrqRequest = {
  sizeBytes: 48,
  fields: {
    user_handle: [8, 'raw'],
    srq_type: [16, 'u32'],
    pd_handle: [20, 'u32'],
    max_wr: [24, 'u32'],
    max_sge: [28, 'u32'],
    srq_limit: [32, 'u32'],
  },
} as const
export const createSrqAnswer = {
  sizeBytes: 16,
  fields: {
    srq_handle: [0, 'u32'],
    max_wr: [4, 'u32'],
    max_sge: [8, 'u32'],
    srqn: [12, 'u32'],
  },
} as const
/** mminfo, and the number of the SRQ. */
export const srqDriverAnswer = {
  sizeBytes: 24,
  fields: { offset: [0, 'u64'], size: [8, 'u32'], srq_num: [16, 'u32'] },
} as const
export const modifySrqRequest = {
  sizeBytes: 16,
  fields: {
    srq_handle: [0, 'u32'],
    attr_mask: [4, 'u32'],
    max_wr: [8, 'u32'],
    srq_limit: [12, 'u32'],
  },
} as const
export const modifySrqDriverRequest = { sizeBytes: 8, fields: { mmap_info_addr: [0, 'u64'] } } as const
export const querySrqAnswer = {
  sizeBytes: 16,
  fields: { max_wr: [0, 'u32'], max_sge: [4, 'u32'], srq_limit: [8, 'u32'] },
} as const
