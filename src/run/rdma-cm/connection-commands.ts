/** Commands of connections: connect, listen, accept, reject, disconnect. */
import type { ConnParam } from '../../cm/index.ts'
import { fail } from '../errnos.ts'
import { decode } from '../struct.ts'
import type { Command } from './command.ts'
import { idOf } from './id-commands.ts'
import * as s from './structs.ts'

/** Returns the `rdma_ucm_conn_param` at `at`; undefined if it is not valid, which has a meaning for accept. */
function connParam(request: Uint8Array, at: number): ConnParam | undefined {
  const bytes = request.subarray(at, at + s.connParam.sizeBytes)
  const param = decode(s.connParam, bytes)
  if (param.valid === 0) return undefined
  const { private_data_len: length, retry_count, rnr_retry_count } = param
  return {
    privateData: bytes.slice(s.connPrivateDataAt, s.connPrivateDataAt + length),
    qpNum: param.qp_num & 0xffffff,
    srq: param.srq !== 0,
    responderResources: param.responder_resources,
    initiatorDepth: param.initiator_depth,
    flowControl: param.flow_control !== 0,
    // The kernel takes larger ones for the most, 7.
    retryCount: Math.min(7, retry_count),
    rnrRetryCount: Math.min(7, rnr_retry_count),
    ...(param.qkey === 0 ? {} : { qkey: param.qkey & 0x7fffffff }),
  }
}

export function connect(command: Command): undefined {
  const { verb, request } = command
  const id = idOf(command, decode(s.connect, request).id)
  const param = connParam(request, 0)
  if (param === undefined) fail('EINVAL', `${verb}: conn_param is not valid`)
  id.cm.connect(param)
}

export function listen(command: Command): undefined {
  const { id, backlog } = decode(s.listen, command.request)
  idOf(command, id).cm.listen(Math.max(0, backlog))
}

/** Accepts a request; or, without parameters, notes that the queue pair of the active side is ready. */
export function accept(command: Command): undefined {
  const { verb, request } = command
  const { uid, id: number } = decode(s.accept, request)
  const id = idOf(command, number)
  const param = connParam(request, 8)
  if (param === undefined) {
    id.cm.establish()
    return
  }
  if (id.isLost) fail('EINVAL', `${verb}: nothing came of this connection: the peer has given up, or rejected it`)
  const before = id.uid
  // Events from here on are reported to the program with this identifier.
  id.uid = uid
  try {
    id.cm.accept(param)
  } catch (error) {
    id.uid = before
    throw error
  }
}

const consumerReject = 28
const vendorOption = 35

export function reject(command: Command): undefined {
  const { verb, request } = command
  const { id, private_data_len: length, reason } = decode(s.reject, request)
  const { cm } = idOf(command, id)
  if (reason !== 0 && reason !== consumerReject && reason !== vendorOption)
    fail('EINVAL', `${verb}: programs reject with reason ${consumerReject} or ${vendorOption}, not ${reason}`)
  cm.reject(request.slice(8, 8 + length), reason || consumerReject)
}

export function disconnect(command: Command): undefined {
  idOf(command, decode(s.disconnect, command.request).id).cm.disconnect()
}

const commEst = 4

export function notify(command: Command): undefined {
  const { id, event } = decode(s.notify, command.request)
  const { cm } = idOf(command, id)
  // Data arrived before the peer's message that it is ready; other events mean nothing to connections.
  if (event === commEst) cm.notifyEstablished()
}
