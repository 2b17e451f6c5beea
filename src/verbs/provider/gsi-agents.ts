/**
 * The queue pairs of type GSI of a segment: each is an agent, in a table whose slots begin the IDs by which answers find it (see gsi.ts and
 * mad-classes.ts).
 */
import { QpType } from './constants.ts'
import type { Device } from './device.ts'
import { VerbsError } from './errors.ts'
import type { Host } from './host.ts'
import { Agent, Meta, maxAgents, Qp, Service, serviceState } from './layout.ts'

export const gsiQpn = 1
/** IBA 10.2.5: the Q_Key of QP 1. */
export const gsiQkey = 0x80010000

/** Bits of a communication ID below the slot of its agent. */
export const idBits = 22

// --- agents, under the control lock ----------------------------------------------------------------------------------

export function takeAgent(host: Host): number {
  const { i32, at } = host
  const used = at.meta + Meta.agentsUsed
  // Slot 0 stays free, so that no communication ID is 0.
  for (let slot = 1; slot < Math.max(1, i32[used]!); slot++) if (i32[agentWord(host, slot)] === 0) return slot
  const slot = Math.max(1, i32[used]!)
  if (slot >= maxAgents)
    throw new VerbsError('ENOMEM', 'createQp', `all ${maxAgents - 1} GSI queue pairs of the segment are in use`)
  i32[used] = slot + 1
  return slot
}

/** Makes the agent of a GSI queue pair known, now that it has a number. */
export function nameAgent(host: Host, q: number): void {
  const { i32 } = host
  const agent = agentWord(host, i32[q + Qp.agent]! - 1)
  i32[agent + Agent.device] = i32[q + Qp.device]!
  i32[agent + Agent.qpSlot] = host.qpSlot(q)
  i32[agent + Agent.takesMads] = 0
  Atomics.store(i32, agent + Agent.qpNum, i32[q + Qp.number]!)
}

/** Removes the agent and all its services from the tables. */
export function dropAgent(host: Host, q: number): void {
  const { i32, at } = host
  const slot = i32[q + Qp.agent]! - 1
  if (slot < 0) return
  for (let i = 0; i < i32[at.meta + Meta.servicesUsed]!; i++) {
    const service = at.services + i * Service.words
    if (i32[service + Service.state] !== serviceState.free && i32[service + Service.agent] === slot)
      Atomics.store(i32, service + Service.state, 0)
  }
  Atomics.store(i32, agentWord(host, slot) + Agent.qpNum, 0)
  notifyAgents(host)
}

/** Wakes all agents, so that they look for connections to an agent that has ended, and for connections that other agents have left. */
export function notifyAgents(host: Host): void {
  const { i32, at } = host
  for (let slot = 1; slot < i32[at.meta + Meta.agentsUsed]!; slot++) {
    const agent = agentWord(host, slot)
    const number = Atomics.load(i32, agent + Agent.qpNum)
    if (number === 0) continue
    const q = host.qpWord(i32[agent + Agent.qpSlot]!)
    if (i32[q + Qp.number] === number) host.wakeChannel(host.cqWord(i32[q + Qp.recvCq]!))
  }
}

export function agentWord(host: Host, slot: number): number {
  return host.at.agents + slot * Agent.words
}

/** Properties of a queue pair of type GSI that are needed here. */
export interface GsiQueuePair {
  readonly type: QpType
  readonly qpNum: number
  readonly slot: number
  readonly pd: { readonly context: { readonly device: Device } }
  assertOpen(verb: string): void
}

/** The slot of the agent that this queue pair is. */
export function agentSlotOf(verb: string, qp: GsiQueuePair): number {
  qp.assertOpen(verb)
  const { host } = qp.pd.context.device
  if (qp.type !== QpType.GSI) throw new VerbsError('EINVAL', verb, 'qp must be a queue pair of type QpType.GSI')
  return host.i32[host.qpWord(qp.slot) + Qp.agent]! - 1
}

/**
 * The communication ID number `serial` of this agent: 32 bits, never 0. Messages that name it come to `qp`. Only the
 * lower 22 bits of `serial` count.
 */
export function commIdOf(qp: GsiQueuePair, serial: number): number {
  return ((agentSlotOf('commIdOf', qp) << idBits) | (serial & ((1 << idBits) - 1))) >>> 0
}

/** The slot of the agent that chose a communication ID. */
export function agentSlotOfCommId(commId: number): number {
  return commId >>> idBits
}

/** Returns the number that distinguishes the agent in a slot of this segment from earlier agents of the slot; 0 if there is none. */
export function agentAt(qp: GsiQueuePair, slot: number): number {
  const { host } = qp.pd.context.device
  return slot < maxAgents ? Atomics.load(host.i32, agentWord(host, slot) + Agent.qpNum) : 0
}

/** The queue pair of an agent, −1 if there is none or it is another device's. */
export function agentOf(host: Host, device: number, slot: number): number {
  const { i32 } = host
  if (slot >= maxAgents) return -1
  const agent = agentWord(host, slot)
  const number = Atomics.load(i32, agent + Agent.qpNum)
  if (number === 0 || i32[agent + Agent.device] !== device) return -1
  const q = host.qpWord(i32[agent + Agent.qpSlot]!)
  return i32[q + Qp.number] === number ? q : -1
}
