/** Shared receive queues of programs. */

import { decode, encode } from '../struct.ts'
import type { Answer, Command } from './command.ts'
import { mapping, needsMapping } from './cq-verbs.ts'
import { bytesOf } from './device-verbs.ts'
import { fail } from './errors.ts'
import type { EventPipe } from './event-pipe.ts'
import type { MethodCall } from './method-call.ts'
import type { ProgramPd } from './plain-objects.ts'
import type { ProgramContext } from './program-context.ts'
import type { ProgramSrq } from './program-srq.ts'
import { makeSrq } from './queues.ts'
import {
  createSrqAnswer,
  createSrqRequest,
  createXsrqRequest,
  eventsAnswer,
  modifySrqDriverRequest,
  modifySrqRequest,
  objectRequest,
  querySrqAnswer,
  srqDriverAnswer,
} from './structs.ts'

/** IB_SRQT_BASIC; the others are XRC and tag matching. */
const basicType = 0
const changeMaxWr = 1
const changeLimit = 2

interface SrqInit {
  pd: ProgramPd
  maxWr: number
  maxSge: number
  limit: number
  userHandle: bigint
  events: EventPipe | null
}

function create(context: ProgramContext, verb: string, driverRoom: number, init: SrqInit): ProgramSrq {
  const { pd, maxWr, maxSge, limit } = init
  const { waist } = context.station
  const { maxSrqWr, maxSrqSge } = waist.context.device.attr
  if (maxWr < 1 || maxWr > maxSrqWr) fail('EINVAL', `${verb}: max_wr is ${maxWr}; an SRQ has 1 to ${maxSrqWr}`)
  if (maxSge > maxSrqSge) fail('EINVAL', `${verb}: max_sge is ${maxSge}; a receive has at most ${maxSrqSge}`)
  if (limit > maxWr) fail('EINVAL', `${verb}: srq_limit is ${limit}, more than max_wr ${maxWr}`)
  needsMapping(verb, driverRoom, srqDriverAnswer.sizeBytes)
  return context.station.addSrq((slot) =>
    makeSrq(
      context,
      context.station,
      slot,
      context.file,
      (owner) => waist.createSrq(pd.pd, { maxWr, maxSge: Math.max(1, maxSge) }, owner),
      init,
    ),
  )
}

function driverAnswer({ ring, number }: ProgramSrq): Uint8Array {
  return encode(srqDriverAnswer, { offset: ring.space.offset, size: ring.space.bytes, srq_num: number })
}

function undoing(context: ProgramContext, srq: ProgramSrq): () => void {
  return () => {
    srq.close()
    context.remove(srq)
  }
}

function commandAnswer(context: ProgramContext, srq: ProgramSrq): Answer {
  const { maxWr, maxSge, number } = srq
  const handle = context.add(srq)
  return {
    core: encode(createSrqAnswer, { srq_handle: handle, max_wr: maxWr, max_sge: maxSge, srqn: number }),
    driver: driverAnswer(srq),
    undo: undoing(context, srq),
  }
}

/** Fields that both commands of the kernel have. */
interface CreateRequest {
  readonly user_handle: bigint
  readonly pd_handle: number
  readonly max_wr: number
  readonly max_sge: number
  readonly srq_limit: number
}

function createByCommand(context: ProgramContext, command: Command, request: CreateRequest): Answer {
  const { call, verb, driverRoom } = command
  const srq = create(context, verb, driverRoom, {
    pd: context.find('pd', request.pd_handle, verb),
    maxWr: request.max_wr,
    maxSge: request.max_sge,
    limit: request.srq_limit,
    userHandle: request.user_handle,
    events: context.asyncFile(call, undefined, verb),
  })
  return commandAnswer(context, srq)
}

export function createSrq(context: ProgramContext, command: Command): Answer {
  return createByCommand(context, command, decode(createSrqRequest, command.core))
}

export function createXsrq(context: ProgramContext, command: Command): Answer {
  const request = decode(createXsrqRequest, command.core)
  checkType(command.verb, request.srq_type)
  return createByCommand(context, command, request)
}

function checkType(verb: string, type: number): void {
  if (type !== basicType) fail('EOPNOTSUPP', `${verb}: srq_type is ${type}; this adapter has IBV_SRQT_BASIC (0) only`)
}

export function createSrqMethod(context: ProgramContext, method: MethodCall): () => void {
  const { call, verb } = method
  checkType(verb, method.number('type'))
  const srq = create(context, verb, method.driverRoom, {
    pd: method.object(context, 'pd', 'pd'),
    maxWr: method.number('maxWr'),
    maxSge: method.number('maxSge'),
    limit: method.number('limit'),
    userHandle: method.raw('userHandle'),
    events: context.asyncFile(call, method.descriptor('events'), verb),
  })
  method.give('handle', context.add(srq))
  method.answer('maxWrAnswer', bytesOf(srq.maxWr, 4))
  method.answer('maxSgeAnswer', bytesOf(srq.maxSge, 4))
  method.answer('numberAnswer', bytesOf(srq.number, 4))
  method.answerDriver(driverAnswer(srq))
  return undoing(context, srq)
}

// --- in use ----------------------------------------------------------------------------------------------------------

export function modifySrq(context: ProgramContext, { core, driver, call, verb }: Command): Answer {
  const { srq_handle, attr_mask, max_wr, srq_limit } = decode(modifySrqRequest, core)
  const srq = context.find('srq', srq_handle, verb)
  const { maxSrqWr } = context.station.waist.context.device.attr
  const resizes = (attr_mask & changeMaxWr) !== 0
  if ((attr_mask & ~(changeMaxWr | changeLimit)) !== 0)
    fail(
      'EINVAL',
      `${verb}: srq_attr_mask is 0x${attr_mask.toString(16)}; its bits are IBV_SRQ_MAX_WR (1) and IBV_SRQ_LIMIT (2)`,
    )
  if (resizes && (max_wr < 1 || max_wr > maxSrqWr))
    fail('EINVAL', `${verb}: max_wr is ${max_wr}; an SRQ has 1 to ${maxSrqWr}`)
  const limit = (attr_mask & changeLimit) !== 0 ? srq_limit : srq.limit
  const room = resizes ? max_wr : srq.maxWr
  if (limit > room) fail('EINVAL', `${verb}: srq_limit is ${limit}, more than max_wr ${room}`)
  if (resizes) {
    if (driver.length < modifySrqDriverRequest.sizeBytes)
      fail('EINVAL', `${verb}: the provider does not say where it wants to know the new queue`)
    const { mmap_info_addr } = decode(modifySrqDriverRequest, driver)
    if (mmap_info_addr === Number.POSITIVE_INFINITY)
      fail('EFAULT', `${verb}: the address of the provider is none of a process`)
    srq.refill()
    srq.resize(max_wr)
    call.process.write(mmap_info_addr, mapping(srq.ring))
  }
  srq.limit = limit
  return {}
}

export function querySrq(context: ProgramContext, { core, verb }: Command): Answer {
  const { maxWr, maxSge, limit } = context.find('srq', decode(objectRequest, core).handle, verb)
  return { core: encode(querySrqAnswer, { max_wr: maxWr, max_sge: maxSge, srq_limit: limit }) }
}

function destroy(context: ProgramContext, srq: ProgramSrq): Uint8Array {
  srq.close()
  context.remove(srq)
  return encode(eventsAnswer, { events_reported: srq.reported() })
}

export function destroySrq(context: ProgramContext, { core, verb }: Command): Answer {
  return { core: destroy(context, context.find('srq', decode(objectRequest, core).handle, verb, 'ENOENT')) }
}

export function destroySrqMethod(context: ProgramContext, method: MethodCall): void {
  method.answer('answer', destroy(context, method.object(context, 'handle', 'srq')))
}
