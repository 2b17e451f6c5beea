/** Completion channels and completion queues of programs. */

import { decode, encode } from '../struct.ts'
import type { Answer, Command } from './command.ts'
import { bytesOf, completionVectors } from './device-verbs.ts'
import { fail } from './errors.ts'
import type { EventPipe } from './event-pipe.ts'
import type { MethodCall } from './method-call.ts'
import type { ProgramContext } from './program-context.ts'
import type { ProgramCq } from './program-cq.ts'
import { makeCq } from './queues.ts'
import type { Ring } from './ring.ts'
import {
  channelAnswer,
  createCqAnswer,
  createCqRequest,
  destroyCqAnswer,
  exCreateCqAnswer,
  exCreateCqRequest,
  mminfo,
  notifyCqRequest,
  objectRequest,
  resizeCqAnswer,
  resizeCqRequest,
} from './structs.ts'

/** Returns the offsets at which the program maps queues; zeros stand for a queue that does not exist. */
export function mapping(...rings: (Ring | null)[]): Uint8Array {
  const bytes = new Uint8Array(mminfo.sizeBytes * rings.length)
  rings.forEach((ring, i) => {
    if (ring) bytes.set(encode(mminfo, { offset: ring.space.offset, size: ring.space.bytes }), i * mminfo.sizeBytes)
  })
  return bytes
}

/** Throws EINVAL for a provider that has no room for mappings, and so cannot use the queues. */
export function needsMapping(verb: string, driverRoom: number, bytes: number): void {
  if (driverRoom < bytes)
    fail('EINVAL', `${verb}: the provider has room for ${driverRoom} bytes; where the queues are takes ${bytes}`)
}

export function createCompChannel(context: ProgramContext, { call }: Command): Answer {
  return { core: encode(channelAnswer, { fd: context.addChannel(call) }) }
}

// --- create ----------------------------------------------------------------------------------------------------------

interface CqInit {
  cqe: number
  vector: number
  flags: number
  userHandle: bigint
  channel: EventPipe | null
  events: EventPipe | null
}

function create(context: ProgramContext, verb: string, driverRoom: number, init: CqInit): ProgramCq {
  const { maxCqe } = context.station.waist.context.device.attr
  if (init.vector >= completionVectors)
    fail('EINVAL', `${verb}: comp_vector is ${init.vector}; 0 to ${completionVectors - 1} are allowed`)
  if (init.cqe < 1 || init.cqe > maxCqe) fail('EINVAL', `${verb}: cqe is ${init.cqe}; a queue has 1 to ${maxCqe}`)
  if (init.flags !== 0)
    fail('EOPNOTSUPP', `${verb}: flags 0x${init.flags.toString(16)} are not supported by this adapter`)
  needsMapping(verb, driverRoom, mminfo.sizeBytes)
  return context.station.addCq((device, wakes) =>
    makeCq(context, device, wakes, context.file, init.cqe, init.userHandle, init.channel, init.events),
  )
}

function undoing(context: ProgramContext, cq: ProgramCq): () => void {
  return () => {
    context.station.forgetCq(cq)
    cq.close()
    context.remove(cq)
  }
}

export function createCq(context: ProgramContext, { core, call, verb, driverRoom }: Command): Answer {
  const { user_handle, cqe, comp_vector, comp_channel } = decode(createCqRequest, core)
  const cq = create(context, verb, driverRoom, {
    cqe,
    vector: comp_vector,
    flags: 0,
    userHandle: user_handle,
    channel: comp_channel < 0 ? null : context.channel(call, comp_channel, verb),
    events: context.asyncFile(call, undefined, verb),
  })
  const answer = encode(createCqAnswer, { cq_handle: context.add(cq), cqe: cq.cqe })
  return { core: answer, driver: mapping(cq.ring), undo: undoing(context, cq) }
}

export function exCreateCq(context: ProgramContext, { core, call, verb, driverRoom }: Command): Answer {
  const { user_handle, cqe, comp_vector, comp_channel, comp_mask, flags, reserved } = decode(exCreateCqRequest, core)
  if (comp_mask !== 0 || reserved !== 0)
    fail('EINVAL', `${verb}: comp_mask is 0x${comp_mask.toString(16)}, and has no bits`)
  const cq = create(context, verb, driverRoom, {
    cqe,
    vector: comp_vector,
    flags,
    userHandle: user_handle,
    channel: comp_channel < 0 ? null : context.channel(call, comp_channel, verb),
    events: context.asyncFile(call, undefined, verb),
  })
  const response_length = exCreateCqAnswer.sizeBytes
  const answer = encode(exCreateCqAnswer, { cq_handle: context.add(cq), cqe: cq.cqe, response_length })
  return { core: answer, driver: mapping(cq.ring), undo: undoing(context, cq) }
}

export function createCqMethod(context: ProgramContext, method: MethodCall): () => void {
  const { call, verb } = method
  const channel = method.descriptor('channel')
  const cq = create(context, verb, method.driverRoom, {
    cqe: method.number('cqe'),
    vector: method.number('vector'),
    flags: method.number('flags'),
    userHandle: method.raw('userHandle'),
    channel: channel === undefined ? null : context.channel(call, channel, verb),
    events: context.asyncFile(call, method.descriptor('events'), verb),
  })
  method.give('handle', context.add(cq))
  method.answer('cqeAnswer', bytesOf(cq.cqe, 4))
  method.answerDriver(mapping(cq.ring))
  return undoing(context, cq)
}

// --- in use ----------------------------------------------------------------------------------------------------------

export function resizeCq(context: ProgramContext, { core, verb, driverRoom }: Command): Answer {
  const { cq_handle, cqe } = decode(resizeCqRequest, core)
  const cq = context.find('cq', cq_handle, verb)
  const { maxCqe } = context.station.waist.context.device.attr
  if (cqe < 1 || cqe > maxCqe) fail('EINVAL', `${verb}: cqe is ${cqe}; a queue has 1 to ${maxCqe}`)
  needsMapping(verb, driverRoom, mminfo.sizeBytes)
  context.station.poll(cq)
  cq.resize(cqe)
  return { core: encode(resizeCqAnswer, { cqe: cq.cqe }), driver: mapping(cq.ring) }
}

export function reqNotifyCq(context: ProgramContext, { core, verb }: Command): Answer {
  const { cq_handle, solicited_only } = decode(notifyCqRequest, core)
  context.find('cq', cq_handle, verb).arm(solicited_only !== 0)
  return {}
}

/** Sets moderation, without effect: an event may come without delay. */
export function modifyCq(context: ProgramContext, { core, verb }: Command): Answer {
  const { cq_handle } = decode(notifyCqRequest, core)
  context.find('cq', cq_handle, verb)
  return {}
}

function destroy(context: ProgramContext, cq: ProgramCq): Uint8Array {
  // EBUSY comes before anything is taken from the program's events.
  cq.cq.close()
  context.station.forgetCq(cq)
  const { completion, asynchronous } = cq.reported()
  cq.close()
  context.remove(cq)
  return encode(destroyCqAnswer, { comp_events_reported: completion, async_events_reported: asynchronous })
}

export function destroyCq(context: ProgramContext, { core, verb }: Command): Answer {
  return { core: destroy(context, context.find('cq', decode(objectRequest, core).handle, verb, 'ENOENT')) }
}

export function destroyCqMethod(context: ProgramContext, method: MethodCall): void {
  method.answer('answer', destroy(context, method.object(context, 'handle', 'cq')))
}
