/** Queue pairs of programs, and the multicast groups that they are attached to. */
import { nameOf, QpState, QpType } from '../../verbs/index.ts'
import { decode, encode, type ValuesOf } from '../struct.ts'
import type { Answer, Command } from './command.ts'
import { mapping, needsMapping } from './cq-verbs.ts'
import { bytesOf } from './device-verbs.ts'
import { fail } from './errors.ts'
import type { EventPipe } from './event-pipe.ts'
import type { MethodCall } from './method-call.ts'
import type { ProgramPd } from './plain-objects.ts'
import type { ProgramContext } from './program-context.ts'
import type { ProgramCq } from './program-cq.ts'
import type { ProgramQp } from './program-qp.ts'
import { type ProgramSrq, recvWqeBytes } from './program-srq.ts'
import { checkMask, modifications, queryBytes } from './qp-modify.ts'
import { makeQp } from './queues.ts'
import { Ring } from './ring.ts'
import {
  createQpAnswer,
  createQpRequest,
  eventsAnswer,
  exCreateQpRequest,
  exModifyQpAnswer,
  mcastRequest,
  mminfo,
  modifyQpRequest,
  objectRequest,
  postSendAnswer,
  postSendRequest,
  qpCap,
  queryQpRequest,
} from './structs.ts'
import type { ProgramQpType } from './waist.ts'

const sendWqeBytes = 208
const sgeBytes = 16
/** UVERBS_QP_… of the ioctl: bit 12 is what the command has as sq_sig_all. */
const sigAllFlag = 1 << 12
/** Minimum inline data: an ATOMIC WRITE carries its 8 bytes itself, whatever size the program requested. */
const leastInline = 16

type Cap = ValuesOf<typeof qpCap>

interface Init {
  type: number
  pd: ProgramPd
  sendCq: ProgramCq
  recvCq: ProgramCq
  srq: ProgramSrq | null
  cap: Cap
  sigAll: boolean
  flags: number
  userHandle: bigint
  events: EventPipe | null
}

function check(context: ProgramContext, verb: string, { type, cap, srq, flags }: Init): void {
  const { attr } = context.station.waist.context.device
  if (type !== QpType.RC && type !== QpType.UC && type !== QpType.UD)
    fail(
      'EOPNOTSUPP',
      `${verb}: qp_type is ${type}; this adapter has IBV_QPT_RC (2), IBV_QPT_UC (3) and IBV_QPT_UD (4)`,
    )
  if (flags !== 0) fail('EOPNOTSUPP', `${verb}: create_flags 0x${flags.toString(16)} are not supported by this adapter`)
  const limits: [keyof Cap, number][] = [
    ['max_send_wr', attr.maxQpWr],
    ['max_send_sge', attr.maxSge],
    ['max_inline_data', attr.maxInlineData],
    // With an SRQ the sizes of a receive queue mean nothing.
    ...(srq
      ? []
      : ([
          ['max_recv_wr', attr.maxQpWr],
          ['max_recv_sge', attr.maxSge],
        ] as [keyof Cap, number][])),
  ]
  for (const [name, most] of limits)
    if (cap[name] > most) fail('EINVAL', `${verb}: cap.${name} is ${cap[name]}; the device allows ${most}`)
}

/** Returns the capabilities for the provider: elements and inline data share their room, so both limits are raised to the larger one. */
function rounded(cap: Cap, srq: ProgramSrq | null): Cap {
  const inline = Math.max(cap.max_send_sge * sgeBytes, cap.max_inline_data)
  const own = srq ? { max_recv_wr: 0, max_recv_sge: 0 } : {}
  return { ...cap, ...own, max_inline_data: inline, max_send_sge: Math.floor(inline / sgeBytes) }
}

function create(context: ProgramContext, verb: string, driverRoom: number, init: Init): ProgramQp {
  check(context, verb, init)
  needsMapping(verb, driverRoom, 2 * mminfo.sizeBytes)
  const { type, pd, sendCq, recvCq, srq, sigAll, userHandle, events } = init
  const { station, file } = context
  const cap = rounded(init.cap, srq)
  const sendBytes = sendWqeBytes + Math.max(cap.max_inline_data, leastInline)
  const sendRing = new Ring(file, cap.max_send_wr, sendBytes, verb, `a send queue of ${cap.max_send_wr}`)
  let recvRing: Ring | null = null
  try {
    if (!srq)
      recvRing = new Ring(
        file,
        cap.max_recv_wr,
        recvWqeBytes(cap.max_recv_sge),
        verb,
        `a receive queue of ${cap.max_recv_wr}`,
      )
    return station.addQp((slot) => {
      let made: ProgramQp | null = null
      const qp = station.waist.createQp(
        pd.pd,
        {
          type: type as ProgramQpType,
          sendCq: sendCq.cq,
          recvCq: recvCq.cq,
          ...(srq ? { srq: srq.srq } : {}),
          cap: {
            maxSendWr: Math.max(1, cap.max_send_wr),
            maxRecvWr: cap.max_recv_wr,
            maxSendSge: Math.max(1, cap.max_send_sge),
            maxRecvSge: Math.max(1, cap.max_recv_sge),
            maxInlineData: Math.max(leastInline, cap.max_inline_data),
          },
          // Every request completes here; the program receives the completions that it requested.
          sqSigAll: true,
        },
        { refill: () => made?.refill() },
      )
      try {
        made = makeQp(context, slot, {
          ...{ qp, pd: pd.pd, sendCq, recvCq, srq, sendRing, recvRing, sigAll, userHandle, events },
          maxSendWr: Math.max(1, cap.max_send_wr),
          maxRecvWr: cap.max_recv_wr,
          maxSendSge: cap.max_send_sge,
          maxRecvSge: cap.max_recv_sge,
          maxInlineData: cap.max_inline_data,
          ahs: context.ahs,
        })
      } catch (error) {
        station.waist.forget(qp)
        qp.close()
        throw error
      }
      return made
    })
  } catch (error) {
    sendRing.close()
    recvRing?.close()
    throw error
  }
}

function undoing(context: ProgramContext, qp: ProgramQp): () => void {
  return () => {
    qp.close()
    context.remove(qp)
  }
}

function capOf({ parts }: ProgramQp): Cap {
  return {
    max_send_wr: parts.maxSendWr,
    max_recv_wr: parts.maxRecvWr,
    max_send_sge: parts.maxSendSge,
    max_recv_sge: parts.maxRecvSge,
    max_inline_data: parts.maxInlineData,
  }
}

/** Creates a queue pair by either command; `core` begins with the fields that both forms have. */
function createByCommand(context: ProgramContext, command: Command, core: Uint8Array, flags: number): Answer {
  const { call, verb, driverRoom } = command
  const request = decode(createQpRequest, core)
  const { pd_handle, send_cq_handle, recv_cq_handle, srq_handle, qp_type, is_srq, sq_sig_all, user_handle } = request
  const qp = create(context, verb, driverRoom, {
    type: qp_type,
    pd: context.find('pd', pd_handle, verb),
    sendCq: context.find('cq', send_cq_handle, verb),
    recvCq: context.find('cq', recv_cq_handle, verb),
    srq: is_srq !== 0 ? context.find('srq', srq_handle, verb) : null,
    cap: request,
    sigAll: sq_sig_all !== 0,
    flags,
    userHandle: user_handle,
    events: context.asyncFile(call, undefined, verb),
  })
  const { sendRing, recvRing } = qp.parts
  const answer = encode(createQpAnswer, {
    qp_handle: context.add(qp),
    qpn: qp.qp.qpNum,
    ...capOf(qp),
    response_length: createQpAnswer.sizeBytes,
  })
  return { core: answer, driver: mapping(recvRing, sendRing), undo: undoing(context, qp) }
}

export function createQp(context: ProgramContext, command: Command): Answer {
  const answer = createByCommand(context, command, command.core.subarray(8), 0)
  return { ...answer, core: answer.core!.subarray(0, 32) }
}

export function exCreateQp(context: ProgramContext, command: Command): Answer {
  const { comp_mask, create_flags, source_qpn } = decode(exCreateQpRequest, command.core)
  if (comp_mask !== 0 || source_qpn !== 0)
    fail('EINVAL', `${command.verb}: comp_mask is 0x${comp_mask.toString(16)}: indirection tables are for raw packets`)
  return createByCommand(context, command, command.core, create_flags)
}

export function createQpMethod(context: ProgramContext, method: MethodCall): () => void {
  const { call, verb } = method
  for (const name of ['xrcd', 'indirection', 'sourceQpn'])
    if (method.has(name)) fail('EOPNOTSUPP', `${verb}: attribute ${name} is not supported by this adapter`)
  const flags = method.number('flags')
  const qp = create(context, verb, method.driverRoom, {
    type: method.number('type'),
    pd: method.object(context, 'pd', 'pd'),
    sendCq: method.object(context, 'sendCq', 'cq'),
    recvCq: method.object(context, 'recvCq', 'cq'),
    srq: method.has('srq') ? method.object(context, 'srq', 'srq') : null,
    cap: decode(qpCap, method.bytes('cap')),
    sigAll: (flags & sigAllFlag) !== 0,
    flags: flags & ~sigAllFlag,
    userHandle: method.raw('userHandle'),
    events: context.asyncFile(call, method.descriptor('events'), verb),
  })
  const { sendRing, recvRing } = qp.parts
  method.give('handle', context.add(qp))
  method.answer('capAnswer', encode(qpCap, capOf(qp)))
  method.answer('qpnAnswer', bytesOf(qp.qp.qpNum, 4))
  method.answerDriver(mapping(recvRing, sendRing))
  return undoing(context, qp)
}

// --- in use ----------------------------------------------------------------------------------------------------------

export function modifyQp(context: ProgramContext, { core, verb }: Command): Answer {
  const request = decode(modifyQpRequest, core)
  const qp = context.find('qp', request.qp_handle, verb)
  const values = modifications(verb, request, core)
  const { state: from } = qp.qp
  const to = values.state ?? from
  checkMask(verb, qp.qp.type, from, to, request.attr_mask)
  if (values.curState !== undefined && values.curState !== from)
    fail(
      'EINVAL',
      `${verb}: cur_qp_state is ${nameOf(QpState, values.curState).toUpperCase()}, and the queue pair is in ${nameOf(QpState, from).toUpperCase()}`,
    )
  if (to === QpState.Reset) {
    qp.quiesce()
    qp.qp.modify(values)
    qp.reset()
    return {}
  }
  // What the program has posted before belongs to the state that ends.
  context.station.takeFrom(qp)
  qp.qp.modify(values)
  qp.modified()
  return {}
}

const rateLimit = 1 << 25

export function exModifyQp(context: ProgramContext, command: Command): Answer {
  const { attr_mask } = decode(modifyQpRequest, command.core)
  if ((attr_mask & rateLimit) !== 0)
    fail('EOPNOTSUPP', `${command.verb}: IBV_QP_RATE_LIMIT is not supported by this adapter`)
  modifyQp(context, command)
  return { core: encode(exModifyQpAnswer, { response_length: exModifyQpAnswer.sizeBytes }) }
}

export function queryQp(context: ProgramContext, { core, verb }: Command): Answer {
  const qp = context.find('qp', decode(queryQpRequest, core).handle, verb)
  const { sigAll, sendRing, recvRing } = qp.parts
  // As in the kernel: when its sizes are queried, a queue pair returns those of its rings, which are larger than requested.
  const rooms = { max_send_wr: sendRing.room, max_recv_wr: recvRing?.room ?? 0 }
  return { core: queryBytes(qp.qp.query().attr, { ...capOf(qp), ...rooms, sq_sig_all: sigAll ? 1 : 0 }) }
}

/** Executes a doorbell that is a command: it has an errno where the other has none. */
export function postSend(context: ProgramContext, { core, verb }: Command): Answer {
  const qp = context.find('qp', decode(postSendRequest, core).qp_handle, verb)
  const { state } = qp.qp
  if (state < QpState.Rts)
    fail(
      'EINVAL',
      `${verb}: the queue pair is in ${nameOf(QpState, state).toUpperCase()}; requests are posted from RTS on`,
    )
  context.station.takeFrom(qp)
  return { core: encode(postSendAnswer, { bad_wr: 0 }) }
}

function destroy(context: ProgramContext, verb: string, qp: ProgramQp): Uint8Array {
  if (qp.groups.size > 0)
    fail(
      'EBUSY',
      `${verb}: the queue pair is attached to ${qp.groups.size} multicast groups: ibv_detach_mcast comes first`,
    )
  qp.sendRest()
  qp.close()
  context.remove(qp)
  return encode(eventsAnswer, { events_reported: qp.reported() })
}

export function destroyQp(context: ProgramContext, { core, verb }: Command): Answer {
  return { core: destroy(context, verb, context.find('qp', decode(objectRequest, core).handle, verb, 'ENOENT')) }
}

export function destroyQpMethod(context: ProgramContext, method: MethodCall): void {
  method.answer('answer', destroy(context, method.verb, method.object(context, 'handle', 'qp')))
}

// --- multicast -------------------------------------------------------------------------------------------------------

export function attachMcast(context: ProgramContext, { core, verb }: Command): Answer {
  const { gid, qp_handle, mlid } = decode(mcastRequest, core)
  const qp = context.find('qp', qp_handle, verb)
  const name = Buffer.from(gid).toString('hex')
  // As the kernel: once more is no error.
  if (qp.groups.has(name)) return {}
  qp.qp.attachMcast(gid, mlid)
  qp.groups.set(name, gid)
  return {}
}

export function detachMcast(context: ProgramContext, { core, verb }: Command): Answer {
  const { gid, qp_handle, mlid } = decode(mcastRequest, core)
  const qp = context.find('qp', qp_handle, verb)
  const name = Buffer.from(gid).toString('hex')
  if (!qp.groups.has(name)) fail('EINVAL', `${verb}: the queue pair is not attached to the group ${name}`)
  qp.qp.detachMcast(gid, mlid)
  qp.groups.delete(name)
  return {}
}
