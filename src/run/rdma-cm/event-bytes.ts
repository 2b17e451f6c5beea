/** Events in the form that programs receive: `rdma_ucm_event_resp`. */
import type { CmEvent } from '../../cm/index.ts'
import { CmEventType } from '../../cm/index.ts'
import { type AhAttr, QpType } from '../../verbs/index.ts'
import { encode } from '../struct.ts'
import { ProgramId, ProgramJoin } from './program-id.ts'
import * as s from './structs.ts'

/** Object of an event: counters of the events that the program has seen, and the number and `uid` of the event. */
export interface Subject {
  readonly counted: readonly { reported: number }[]
  readonly number: number
  readonly uid: bigint
}

/** Returns the subject of an event; undefined for one that no program can receive. */
export function subjectOf(event: CmEvent): Subject | undefined {
  const id = event.id.context
  if (!(id instanceof ProgramId)) return undefined
  const listener = event.listenId?.context
  // The request is the listener's, and the id is the new one's.
  if (listener instanceof ProgramId) return { counted: [listener], number: id.number, uid: listener.uid }
  const join = event.param.context
  if (join instanceof ProgramJoin) return { counted: [id, join], number: join.number, uid: join.uid }
  return { counted: [id], number: id.number, uid: id.uid }
}

export function eventBytes(event: CmEvent, { number, uid }: Subject): Uint8Array {
  const bytes = encode(s.event, { uid, id: number, event: event.type, status: event.status })
  const isUd = event.id.qpType === QpType.UD
  bytes.set(isUd ? udBytes(event) : connBytes(event), s.eventParamAt)
  return bytes
}

/** Events of the end of a connection: their private data are not passed to the program, whatever the message carried. */
const silent: ReadonlySet<number> = new Set([CmEventType.Disconnected, CmEventType.TimewaitExit])

/** Returns the private data of an event, as much as there is room for. */
export function privateDataOf({ type, param }: CmEvent): Uint8Array {
  return silent.has(type) ? new Uint8Array(0) : param.privateData.subarray(0, 255)
}

function connBytes(event: CmEvent): Uint8Array {
  const { param } = event
  const privateData = privateDataOf(event)
  const bytes = encode(s.connParam, {
    qp_num: param.qpNum ?? 0,
    private_data_len: privateData.length,
    srq: Number(param.srq ?? false),
    responder_resources: param.responderResources ?? 0,
    initiator_depth: param.initiatorDepth ?? 0,
    flow_control: Number(param.flowControl ?? false),
    retry_count: param.retryCount ?? 0,
    rnr_retry_count: param.rnrRetryCount ?? 0,
  })
  bytes.set(privateData, s.connPrivateDataAt)
  return bytes
}

function udBytes(event: CmEvent): Uint8Array {
  const { qpNum = 0, qkey = 0, ahAttr } = event.param
  const data = privateDataOf(event)
  const bytes = encode(s.udParam, { qp_num: qpNum, qkey, private_data_len: data.length })
  if (ahAttr !== undefined) bytes.set(ahBytes(ahAttr), s.udAhAttrAt)
  bytes.set(data, s.udPrivateDataAt)
  return bytes
}

/** `ib_uverbs_ah_attr`. */
export function ahBytes({ grh, ...attr }: AhAttr): Uint8Array {
  return encode(s.ahAttr, {
    dlid: attr.dlid ?? 0,
    sl: attr.sl ?? 0,
    src_path_bits: attr.srcPathBits ?? 0,
    static_rate: attr.staticRate ?? 0,
    is_global: grh ? 1 : 0,
    port_num: attr.portNum ?? 1,
    ...(grh
      ? {
          dgid: grh.dgid,
          flow_label: grh.flowLabel ?? 0,
          sgid_index: grh.sgidIndex ?? 0,
          hop_limit: grh.hopLimit ?? 0,
          traffic_class: grh.trafficClass ?? 0,
        }
      : {}),
  })
}
