/**
 * QP 1, the general services interface, over which management datagrams (MADs) travel. An adapter has one; here each
 * connection manager, in whatever thread or process, makes a queue pair of type GSI, and they share it:
 *
 *     out    a message says that it comes from QP 1 (DETH on the wire, `wc.srcQp`), with the Q_Key of QP 1
 *     in     a message for QP 1 of a device goes to the GSI queue pair that it is meant for
 *
 * The message itself determines its recipient (InfiniBand Architecture volume 1, 12.6):
 *
 *     REQ, SIDR_REQ       service ID: the agent that has registered it (`registerService`)
 *     SIDR_REP            the request ID, which the requester has chosen
 *     all others          the communication ID of the receiving side
 *     REJ without that    all agents: it ends an attempt whose REQ may not have arrived
 *
 * The IDs that an agent chooses begin with its slot in the table of agents (`commIdOf`). A message for no agent goes to the
 * first agent of the device, which rejects it as an adapter would; without any agent it is dropped and counted.
 */
import { CmAttribute, Mad, MadMethod, MgmtClass, u16, u32 } from '../../wire/index.ts'
import { QpType } from './constants.ts'
import type { Device } from './device.ts'
import { VerbsError } from './errors.ts'
import type { Host } from './host.ts'
import { Agent, Meta, maxAgents, maxServices, Qp, Service } from './layout.ts'

export const gsiQpn = 1
/** The Q_Key of QP 1 (10.2.5). */
export const gsiQkey = 0x80010000

/** Bits of a communication ID below the slot of its agent. */
const idBits = 22

/** Bytes of a MAD that determine its recipient. */
export const madDispatchBytes: number = Mad.length + 16

/** Offsets behind the MAD header. */
const serviceIdAt = Mad.length + 8
const remoteCommIdAt = Mad.length + 4
const requestIdAt = Mad.length

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
  Atomics.store(i32, agent + Agent.qpNum, i32[q + Qp.number]!)
}

/** Removes the agent and all its services from the tables. */
export function dropAgent(host: Host, q: number): void {
  const { i32, at } = host
  const slot = i32[q + Qp.agent]! - 1
  if (slot < 0) return
  for (let i = 0; i < i32[at.meta + Meta.servicesUsed]!; i++) {
    const service = at.services + i * Service.words
    if (i32[service + Service.state] === 1 && i32[service + Service.agent] === slot)
      Atomics.store(i32, service + Service.state, 0)
  }
  Atomics.store(i32, agentWord(host, slot) + Agent.qpNum, 0)
}

function agentWord(host: Host, slot: number): number {
  return host.at.agents + slot * Agent.words
}

// --- what an agent registers -----------------------------------------------------------------------------------------

/** What is needed here of a queue pair of type GSI. */
export interface GsiQueuePair {
  readonly type: QpType
  readonly qpNum: number
  readonly slot: number
  readonly pd: { readonly context: { readonly device: Device } }
  assertOpen(verb: string): void
}

/** The slot of the agent that this queue pair is. */
function agentSlotOf(verb: string, qp: GsiQueuePair): number {
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

/** What distinguishes the agent in a slot of this segment from those that had the slot before; 0 if there is none. */
export function agentAt(qp: GsiQueuePair, slot: number): number {
  const { host } = qp.pd.context.device
  return slot < maxAgents ? Atomics.load(host.i32, agentWord(host, slot) + Agent.qpNum) : 0
}

/**
 * REQs and SIDR_REQs whose service ID agrees with this one in the bits of `mask` come to `qp`. EADDRINUSE if another
 * agent of the device has one that agrees.
 */
export function registerService(qp: GsiQueuePair, serviceId: bigint, mask: bigint = 0xffffffffffffffffn): void {
  const verb = 'registerService'
  const slot = agentSlotOf(verb, qp)
  const { host, index } = qp.pd.context.device
  const { i32, at } = host
  const [idHigh, idLow, maskHigh, maskLow] = [...words(serviceId & mask), ...words(mask)]
  host.control(() => {
    const used = at.meta + Meta.servicesUsed
    let free = -1
    for (let i = 0; i < i32[used]!; i++) {
      const s = at.services + i * Service.words
      if (i32[s + Service.state] === 0) {
        if (free < 0) free = s
        continue
      }
      if (i32[s + Service.device] !== index) continue
      const differs =
        ((i32[s + Service.idHigh]! ^ idHigh) & i32[s + Service.maskHigh]! & maskHigh) |
        ((i32[s + Service.idLow]! ^ idLow) & i32[s + Service.maskLow]! & maskLow)
      if (differs !== 0) continue
      const q = host.qpWord(i32[at.agents + i32[s + Service.agent]! * Agent.words + Agent.qpSlot]!)
      const taken = i32[q + Qp.number] === i32[s + Service.qpNum]
      if (taken && host.segment.attachmentAlive(i32[q + Qp.owner]!))
        throw new VerbsError(
          'EADDRINUSE',
          verb,
          `another agent listens for service ID 0x${serviceId.toString(16)} already`,
        )
      // Its thread ended without closing it.
      Atomics.store(i32, s + Service.state, 0)
      if (free < 0) free = s
    }
    if (free < 0) {
      if (i32[used]! >= maxServices)
        throw new VerbsError('ENOMEM', verb, `all ${maxServices} services of the segment are in use`)
      free = at.services + i32[used]! * Service.words
    }
    i32[free + Service.agent] = slot
    i32[free + Service.qpNum] = qp.qpNum
    i32[free + Service.device] = index
    i32[free + Service.idHigh] = idHigh
    i32[free + Service.idLow] = idLow
    i32[free + Service.maskHigh] = maskHigh
    i32[free + Service.maskLow] = maskLow
    if (free === at.services + i32[used]! * Service.words) i32[used] = i32[used]! + 1
    Atomics.store(i32, free + Service.state, 1)
  })
}

/** Ends what `registerService` began; EINVAL if it did not. */
export function unregisterService(qp: GsiQueuePair, serviceId: bigint, mask: bigint = 0xffffffffffffffffn): void {
  const verb = 'unregisterService'
  const slot = agentSlotOf(verb, qp)
  const { host } = qp.pd.context.device
  const { i32, at } = host
  const wanted = [...words(serviceId & mask), ...words(mask)]
  const found = host.control(() => {
    for (let i = 0; i < i32[at.meta + Meta.servicesUsed]!; i++) {
      const s = at.services + i * Service.words
      if (i32[s + Service.state] === 0 || i32[s + Service.agent] !== slot) continue
      if (!wanted.every((word, k) => i32[s + Service.idHigh + k] === word)) continue
      Atomics.store(i32, s + Service.state, 0)
      return true
    }
    return false
  })
  if (!found) throw new VerbsError('EINVAL', verb, `this agent has not registered 0x${serviceId.toString(16)}`)
}

function words(value: bigint): [number, number] {
  return [Number((value >> 32n) & 0xffffffffn) | 0, Number(value & 0xffffffffn) | 0]
}

// --- the recipient of a message ----------------------------------------------------------------------------------------------

/** Finds for a device the queue pairs that a message for QP 1 is meant for. */
export class GsiDispatch {
  /** First words of the queue pairs that `find` found. */
  readonly targets: Int32Array = new Int32Array(maxAgents)
  readonly #host: Host

  constructor(host: Host) {
    this.#host = host
  }

  /** The MAD u8[at, at + length), of which `madDispatchBytes` can be read; how many `targets` there are. Counts drops. */
  find(device: number, u8: Uint8Array, at: number, length: number): number {
    const host = this.#host
    if (
      length !== Mad.totalLength ||
      u8[at + Mad.baseVersion] !== 1 ||
      u8[at + Mad.mgmtClass] !== MgmtClass.comm ||
      u8[at + Mad.method] !== MadMethod.send
    ) {
      host.count(device, 'gsi_drops_malformed')
      return 0
    }
    const attribute = u16(u8, at + Mad.attributeId)
    let q = -1
    if (attribute === CmAttribute.REQ || attribute === CmAttribute.SIDR_REQ)
      q = this.#service(device, u32(u8, at + serviceIdAt) | 0, u32(u8, at + serviceIdAt + 4) | 0)
    else {
      const id = u32(u8, at + (attribute === CmAttribute.SIDR_REP ? requestIdAt : remoteCommIdAt))
      if (id === 0 && attribute === CmAttribute.REJ) return this.#all(device)
      q = this.#agent(device, id >>> idBits)
    }
    if (q < 0) q = this.#first(device)
    if (q < 0) {
      host.count(device, 'gsi_drops_no_agent')
      return 0
    }
    this.targets[0] = q
    return 1
  }

  #service(device: number, high: number, low: number): number {
    const { i32, at } = this.#host
    for (let i = 0; i < i32[at.meta + Meta.servicesUsed]!; i++) {
      const s = at.services + i * Service.words
      if (i32[s + Service.state] !== 1 || i32[s + Service.device] !== device) continue
      if (((i32[s + Service.idHigh]! ^ high) & i32[s + Service.maskHigh]!) !== 0) continue
      if (((i32[s + Service.idLow]! ^ low) & i32[s + Service.maskLow]!) !== 0) continue
      const q = this.#agent(device, i32[s + Service.agent]!)
      if (q >= 0 && i32[q + Qp.number] === i32[s + Service.qpNum]) return q
    }
    return -1
  }

  /** The queue pair of an agent, −1 if there is none or it is another device's. */
  #agent(device: number, slot: number): number {
    const host = this.#host
    const { i32, at } = host
    if (slot >= maxAgents) return -1
    const agent = at.agents + slot * Agent.words
    const number = Atomics.load(i32, agent + Agent.qpNum)
    if (number === 0 || i32[agent + Agent.device] !== device) return -1
    const q = host.qpWord(i32[agent + Agent.qpSlot]!)
    return i32[q + Qp.number] === number ? q : -1
  }

  #first(device: number): number {
    for (let slot = 1; slot < this.#host.i32[this.#host.at.meta + Meta.agentsUsed]!; slot++) {
      const q = this.#agent(device, slot)
      if (q >= 0) return q
    }
    return -1
  }

  #all(device: number): number {
    const host = this.#host
    let count = 0
    for (let slot = 1; slot < host.i32[host.at.meta + Meta.agentsUsed]!; slot++) {
      const q = this.#agent(device, slot)
      if (q >= 0) this.targets[count++] = q
    }
    if (count === 0) host.count(device, 'gsi_drops_no_agent')
    return count
  }
}
