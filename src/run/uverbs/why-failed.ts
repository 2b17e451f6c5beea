/**
 * Explanations of requests and receives that completed with an error, as far as this side can know: a sentence with the values, and the
 * limits.
 */
import { Access, nameOf, QpState, QpType, type QueuePair, WcStatus, wcStatusText } from '../../verbs/index.ts'
import { type Host, layout, refusalOf } from '../../verbs/provider/index.ts'
import type { Receive, Request } from './request-records.ts'
import { accessNames, hex } from './value-names.ts'

const { Qp } = layout

/** State of a failed request's queue pair. */
export interface Failed {
  readonly host: Host
  readonly qp: QueuePair
  /** True if its peers' queue pairs are in the tables of `host`, so that the peers' access rights can be looked up. */
  readonly seesPeers: boolean
}

/** Access rights that an operation needs at the peer, and for its own memory. */
const needs: Readonly<Record<string, { remote: number; local: number }>> = {
  IBV_WR_RDMA_WRITE: { remote: Access.RemoteWrite, local: 0 },
  IBV_WR_RDMA_WRITE_WITH_IMM: { remote: Access.RemoteWrite, local: 0 },
  IBV_WR_RDMA_READ: { remote: Access.RemoteRead, local: Access.LocalWrite },
  IBV_WR_ATOMIC_CMP_AND_SWP: { remote: Access.RemoteAtomic, local: Access.LocalWrite },
  IBV_WR_ATOMIC_FETCH_AND_ADD: { remote: Access.RemoteAtomic, local: Access.LocalWrite },
  IBV_WR_ATOMIC_WRITE: { remote: Access.RemoteWrite, local: 0 },
  IBV_WR_FLUSH: { remote: Access.FlushGlobal, local: 0 },
}
const rnrForever = 7

/** Explains a failed request; undefined for one that was flushed: the cause is another request. */
export function whyRequestFailed(failed: Failed, request: Request, status: number): string | undefined {
  if (status === WcStatus.WrFlushErr) return undefined
  return `ibv_post_send: ${request.opcode} wr_id ${request.wrId}: ${cause(failed, request, status)}`
}

function cause(failed: Failed, request: Request, status: number): string {
  const { qp } = failed
  const { attr } = qp.query()
  const peer = `queue pair ${hex(attr.destQpNum)}`
  switch (status) {
    case WcStatus.LocProtErr:
    case WcStatus.LocAccessErr:
      return `local protection error: ${localCause(failed, request)}`
    case WcStatus.LocLenErr:
      return `local length error: ${request.length} bytes; ${lengthLimit(qp, request)}`
    case WcStatus.LocQpOpErr:
      return needs[request.opcode]?.local && attr.maxRdAtomic === 0
        ? 'local QP operation error: max_rd_atomic of this queue pair is 0; READs and atomics need 1 or more'
        : wcStatusText(status)
    case WcStatus.RemAccessErr:
      return `remote access error: ${remoteCause(failed, request, attr.destQpNum)}`
    case WcStatus.RemInvReqErr:
      return `remote invalid request error: ${invalidCause(failed, request, attr.destQpNum)}`
    case WcStatus.RnrRetryExcErr: {
      const tried = attr.rnrRetry + 1
      return `RNR retry exceeded: ${peer} had no receive posted, tried ${tried} time${tried === 1 ? '' : 's'}; rnr_retry is ${attr.rnrRetry} (${rnrForever}: without end)`
    }
    case WcStatus.RetryExcErr:
      return `retry exceeded: ${unanswered(failed, attr.destQpNum)}; timeout is ${attr.timeout}, retry_cnt ${attr.retryCnt}`
    case WcStatus.RemOpErr:
      return `remote operation error: ${peer} could not complete it: its own completion says why`
    default:
      return wcStatusText(status)
  }
}

function lengthLimit({ type, pd }: QueuePair, { opcode }: Request): string {
  if (opcode.startsWith('IBV_WR_ATOMIC')) return 'an atomic operation has 8'
  const { maxMsgSz, activeMtu } = pd.context.queryPort(1)
  return type === QpType.UD
    ? `a datagram has at most ${activeMtu}, the active_mtu of the port`
    : `a message has at most ${maxMsgSz}, the max_msg_sz of the port`
}

const at = (addr: string, length: number, name: string, key: string): string =>
  `${length} bytes at ${addr} with ${name} ${key}`

/** Explains the first element that its key does not permit. */
function localCause({ host, qp }: Failed, { sges, opcode }: Request): string {
  const access = needs[opcode]?.local ?? 0
  const pd = host.i32[host.qpWord(qp.slot) + Qp.pd]!
  for (const [i, { addr, length, lkey }] of sges.entries()) {
    if (length === 0) continue
    const refusal = refusalOf(host, Number(lkey) | 0, pd, Number(addr), length, access, -1)
    if (refusal !== null) return `sg_list[${i}] is ${at(addr, length, 'lkey', lkey)}: ${refusal}`
  }
  return 'its keys permit it, but the memory is not there any more: it was unmapped since it was registered'
}

function remoteCause(failed: Failed, { fields, length, opcode }: Request, destQpNum: number): string {
  const { host, seesPeers } = failed
  const { remote_addr, rkey, invalidate_rkey } = fields
  if (rkey === undefined) return `the peer has nothing that invalidate_rkey ${invalidate_rkey} could invalidate`
  const asked = at(String(remote_addr), length, 'rkey', String(rkey))
  const d = seesPeers ? host.findQp(destQpNum) : -1
  const access = needs[opcode]?.remote ?? 0
  if (d < 0)
    return `${asked}: the peer does not permit it, or its memory is not there any more; it needs ${accessNames(access)} of the region behind that key`
  const refusal = refusalOf(
    host,
    Number(rkey) | 0,
    host.i32[d + Qp.pd]!,
    Number(remote_addr),
    length,
    access,
    host.qpSlot(d),
  )
  return `${asked}: ${refusal ?? 'the memory of the peer is not there any more'}`
}

function invalidCause({ host, seesPeers }: Failed, { fields, opcode, length }: Request, destQpNum: number): string {
  const access = needs[opcode]?.remote ?? 0
  const peer = `queue pair ${hex(destQpNum)}`
  const d = seesPeers ? host.findQp(destQpNum) : -1
  if (d >= 0) {
    const missing = access & ~host.i32[d + Qp.accessFlags]!
    if (missing !== 0)
      return `qp_access_flags of ${peer} lacks ${accessNames(missing)}; it has ${accessNames(host.i32[d + Qp.accessFlags]!)}`
    if (needs[opcode]?.local && host.i32[d + Qp.maxDestRdAtomic] === 0)
      return `max_dest_rd_atomic of ${peer} is 0; READs and atomics need 1 or more`
  }
  if (opcode.startsWith('IBV_WR_ATOMIC') && Number(fields.remote_addr) % 8 !== 0)
    return `remote_addr is ${fields.remote_addr}; atomic operations need a multiple of 8`
  if (access === 0) return `${length} bytes are more than the receive of ${peer} has room for`
  return `${peer} does not permit it: its qp_access_flags need ${accessNames(access)}`
}

function unanswered({ host, seesPeers }: Failed, destQpNum: number): string {
  const peer = `queue pair ${hex(destQpNum)}`
  if (!seesPeers) return `${peer} does not answer`
  const d = host.findQp(destQpNum)
  if (d < 0) return `there is no ${peer} on this adapter`
  const state = nameOf(QpState, host.i32[d + Qp.state]!).toUpperCase()
  return `${peer} is in ${state}; it answers in RTR and RTS to the queue pair that its own dest_qp_num names`
}

/** Explains a failed receive. */
export function whyReceiveFailed(
  { host, qp }: Failed,
  receive: Receive | undefined,
  status: number,
): string | undefined {
  if (status === WcStatus.WrFlushErr) return undefined
  const wrId = receive === undefined ? '' : ` wr_id ${receive.wrId}`
  const verb = `${receive?.srq === undefined ? 'ibv_post_recv' : 'ibv_post_srq_recv'}:${wrId}`
  if (status === WcStatus.LocLenErr)
    return `${verb}: local length error: the message is longer than the ${receive?.length ?? ''} bytes of the receive`
  if (status !== WcStatus.LocProtErr || receive === undefined) return `${verb}: ${wcStatusText(status)}`
  const pd = host.i32[host.qpWord(qp.slot) + Qp.pd]!
  for (const [i, { addr, length, lkey }] of receive.sges.entries()) {
    if (length === 0) continue
    const refusal = refusalOf(host, Number(lkey) | 0, pd, Number(addr), length, Access.LocalWrite, -1)
    if (refusal !== null)
      return `${verb}: local protection error: sg_list[${i}] is ${at(addr, length, 'lkey', lkey)}: ${refusal}`
  }
  return `${verb}: local protection error: the memory is not there any more, or there are more elements than max_recv_sge`
}
