/**
 * The attributes of queue pairs, as programs modify and query them (`ibv_modify_qp`): bits of attr_mask, and which of them each
 * transition needs and takes, after the table that all devices of this library share.
 */
import { nameOf, type PathMtu, type QpAttr, type QpModify, QpState, QpType, qpTransitions } from '../../verbs/index.ts'
import { decode, encode, type ValuesOf } from '../struct.ts'
import { fail } from './errors.ts'
import { ahAttr } from './memory-verbs.ts'
import { allBits, bitsOf, namesOf, qpMask } from './qp-mask.ts'
import { type modifyQpRequest, qpDest, queryQpAnswer } from './structs.ts'

const required = new Map<string, { needs: number; takes: number }>()
for (const { from, to, attributes } of qpTransitions)
  for (const type of [QpType.RC, QpType.UC, QpType.UD]) {
    const needs = bitsOf(attributes[type].required)
    required.set(`${type} ${from} ${to}`, { needs, takes: needs | bitsOf(attributes[type].optional) })
  }

/** EINVAL unless a queue pair of this type may go from one state to the other with exactly these attributes. */
export function checkMask(verb: string, type: QpType, from: QpState, to: QpState, mask: number): void {
  const unknown = mask & ~allBits
  if (unknown !== 0)
    fail('EINVAL', `${verb}: attr_mask has bits 0x${(unknown >>> 0).toString(16)}, which this adapter does not have`)
  const arrow = `${nameOf(QpType, type)} from ${stateName(from)} to ${stateName(to)}`
  const found = required.get(`${type} ${from} ${to}`)
  if (found === undefined || (type === QpType.RC && from === QpState.Sqe)) {
    const next = qpTransitions.filter((t) => t.from === from && t.to !== from).map((t) => stateName(t.to))
    fail(
      'EINVAL',
      `${verb}: ${arrow} is no transition; from ${stateName(from)} there are those to ${[...new Set(next)].join(', ')}`,
    )
  }
  const missing = found.needs & ~mask
  if (missing !== 0) fail('EINVAL', `${verb}: ${arrow} needs ${namesOf(missing)}; attr_mask lacks it`)
  const extra = mask & ~(found.takes | qpMask.STATE.bit)
  if (extra !== 0)
    fail(
      'EINVAL',
      `${verb}: ${arrow} does not take ${namesOf(extra)}; it takes ${namesOf(found.takes) || 'no attributes'}`,
    )
}

const stateName = (state: QpState): string => nameOf(QpState, state).toUpperCase()

type Request = ValuesOf<typeof modifyQpRequest>

/** Returns the attributes that a request modifies; without the state if the request does not set it. */
export function modifications(verb: string, request: Request, core: Uint8Array): QpModify<typeof QpType.RC> {
  const mask = request.attr_mask
  const values: Partial<QpAttr> = {}
  const has = (name: keyof typeof qpMask): boolean => (mask & qpMask[name].bit) !== 0
  if (has('STATE')) values.state = state(verb, 'qp_state', request.qp_state)
  if (has('CUR_STATE')) values.curState = state(verb, 'cur_qp_state', request.cur_qp_state)
  if (has('EN_SQD_ASYNC_NOTIFY')) values.enSqdAsyncNotify = request.en_sqd_async_notify !== 0
  // Rights that a queue pair has none of, as that of binding windows, are the region's.
  if (has('ACCESS_FLAGS')) values.accessFlags = request.qp_access_flags & qpAccess
  if (has('PKEY_INDEX')) values.pkeyIndex = request.pkey_index
  if (has('PORT')) values.port = request.port_num
  if (has('QKEY')) values.qkey = request.qkey
  if (has('AV')) values.ah = path(core, 0)
  if (has('PATH_MTU')) {
    if (request.path_mtu < 1 || request.path_mtu > 5)
      fail('EINVAL', `${verb}: path_mtu is ${request.path_mtu}; IBV_MTU_256 to IBV_MTU_4096 are 1 to 5`)
    values.pathMtu = (128 << request.path_mtu) as PathMtu
  }
  if (has('TIMEOUT')) values.timeout = request.timeout
  if (has('RETRY_CNT')) values.retryCnt = request.retry_cnt
  if (has('RNR_RETRY')) values.rnrRetry = request.rnr_retry
  // Packet sequence numbers and queue pair numbers have 24 bits; higher bits are ignored.
  if (has('RQ_PSN')) values.rqPsn = request.rq_psn & 0xffffff
  if (has('SQ_PSN')) values.sqPsn = request.sq_psn & 0xffffff
  if (has('DEST_QPN')) values.destQpNum = request.dest_qp_num & 0xffffff
  if (has('MAX_QP_RD_ATOMIC')) values.maxRdAtomic = request.max_rd_atomic
  if (has('MAX_DEST_RD_ATOMIC')) values.maxDestRdAtomic = request.max_dest_rd_atomic
  if (has('MIN_RNR_TIMER')) values.minRnrTimer = request.min_rnr_timer
  if (has('PATH_MIG_STATE')) values.pathMigState = request.path_mig_state as QpAttr['pathMigState']
  if (has('ALT_PATH')) {
    values.altAh = path(core, 32)
    values.altPkeyIndex = request.alt_pkey_index
    values.altPort = request.alt_port_num
    values.altTimeout = request.alt_timeout
  }
  return values as QpModify<typeof QpType.RC>
}

/** Local write, remote write, read and atomic, and the two of FLUSH. */
const qpAccess = 0x30f

function state(verb: string, name: string, value: number): QpState {
  if (value > QpState.Err) fail('EINVAL', `${verb}: ${name} is ${value}; IBV_QPS_RESET to IBV_QPS_ERR are 0 to 6`)
  return value as QpState
}

/** Returns a path; one that names no port is by that of the queue pair. */
function path(core: Uint8Array, at: number): QpAttr['ah'] {
  const values = decode(qpDest, core.subarray(at, at + qpDest.sizeBytes))
  return ahAttr({ ...values, port_num: values.port_num === 0 ? 1 : values.port_num })
}

// --- query -----------------------------------------------------------------------------------------------------------

function destBytes(attr: QpAttr['ah']): Uint8Array {
  const { grh } = attr
  return encode(qpDest, {
    dlid: attr.dlid ?? 0,
    sl: attr.sl ?? 0,
    src_path_bits: attr.srcPathBits ?? 0,
    static_rate: attr.staticRate ?? 0,
    port_num: attr.portNum ?? 1,
    is_global: grh ? 1 : 0,
    ...(grh
      ? {
          dgid: grh.dgid,
          sgid_index: grh.sgidIndex ?? 0,
          flow_label: grh.flowLabel ?? 0,
          hop_limit: grh.hopLimit ?? 0,
          traffic_class: grh.trafficClass ?? 0,
        }
      : {}),
  })
}

/** Returns the answer of `ibv_query_qp`; `own` has the values that differ between the program and this process. */
export function queryBytes(attr: QpAttr, own: Partial<ValuesOf<typeof queryQpAnswer>>): Uint8Array {
  const bytes = encode(queryQpAnswer, {
    qkey: attr.qkey,
    rq_psn: attr.rqPsn,
    sq_psn: attr.sqPsn,
    dest_qp_num: attr.destQpNum,
    qp_access_flags: attr.accessFlags,
    pkey_index: attr.pkeyIndex,
    alt_pkey_index: attr.altPkeyIndex,
    qp_state: attr.state,
    cur_qp_state: attr.curState,
    path_mtu: attr.pathMtu > 0 ? Math.log2(attr.pathMtu) - 7 : 0,
    path_mig_state: attr.pathMigState,
    max_rd_atomic: attr.maxRdAtomic,
    max_dest_rd_atomic: attr.maxDestRdAtomic,
    min_rnr_timer: attr.minRnrTimer,
    port_num: attr.port,
    timeout: attr.timeout,
    retry_cnt: attr.retryCnt,
    rnr_retry: attr.rnrRetry,
    alt_port_num: attr.altPort,
    alt_timeout: attr.altTimeout,
    ...own,
  })
  bytes.set(destBytes(attr.ah), 0)
  bytes.set(destBytes(attr.altAh), qpDest.sizeBytes)
  return bytes
}
