/**
 * QP 1, the general services interface, over which management datagrams (MADs) travel. An adapter has one; here each connection manager, in
 * whatever thread or process, makes a queue pair of type GSI, and they share it:
 *
 *     out    a message carries QP 1 as its source (DETH on the wire, `wc.srcQp`), with the Q_Key of QP 1
 *     in     a message for QP 1 of a device goes to the GSI queue pair that it is meant for
 *
 * The message itself determines its recipient (InfiniBand Architecture volume 1, 12.6):
 *
 *     REQ, SIDR_REQ       service ID, and the IP address in the RDMA CM's header: the agent that has registered it for that
 *                         (`registerService`); of several that share it one (shared-services.ts)
 *     SIDR_REP            the request ID, which the requester has chosen
 *     all others          the communication ID of the receiving side
 *     REJ without that    all agents: it ends an attempt whose REQ may not have arrived
 *
 * These agents do not handle MADs of other classes than that of the communication manager: see mad-classes.ts.
 *
 * The IDs that an agent chooses begin with its slot in the table of agents (`commIdOf`). A message for no agent goes to the first agent of
 * the device that has read all its messages, which rejects it as an adapter would; without any agent it is dropped and counted.
 */
import { CmAttribute, CmaHdr, Mad, MadMethod, MgmtClass, u16, u32 } from '../../wire/index.ts'
import { VerbsError } from './errors.ts'
import { agentOf, agentSlotOf, agentWord, type GsiQueuePair, idBits } from './gsi-agents.ts'
import type { Host } from './host.ts'
import { Agent, Meta, maxAgents, maxServices, Qp, Service, serviceState } from './layout.ts'
import { madReceiver } from './mad-classes.ts'
import { ServedKind, servedOverlap, servedWords, servesAll } from './served.ts'
import { Sharers, unreadBy } from './shared-services.ts'

/** Bytes of a MAD that determine its recipient: of a REQ, up to the address after the RDMA CM's header of its private data. */
export const madDispatchBytes: number = Mad.length + 140 + CmaHdr.length

/** Offsets of fields after the MAD header. */
const serviceIdAt = Mad.length + 8
const remoteCommIdAt = Mad.length + 4
const requestIdAt = Mad.length
const reqPrivateDataAt = Mad.length + 140
const sidrReqPrivateDataAt = Mad.length + 16

// --- what an agent registers -----------------------------------------------------------------------------------------

/**
 * REQs and SIDR_REQs whose service ID agrees with this one in the bits of `mask`, and whose IP address is one of `served`, come to
 * `qp`. EADDRINUSE if another agent of the device has one that agrees and an address in common, unless it has the same, and gave the
 * same `group`, which is not 0: then each request comes to one of them.
 */
export function registerService(
  qp: GsiQueuePair,
  serviceId: bigint,
  mask: bigint = 0xffffffffffffffffn,
  group = 0,
  served: Int32Array = servesAll,
): void {
  const verb = 'registerService'
  const slot = agentSlotOf(verb, qp)
  const { host, index } = qp.pd.context.device
  const { i32, at } = host
  const wanted = serviceWords(serviceId, mask)
  const [idHigh, idLow, maskHigh, maskLow] = wanted
  host.control(() => {
    const used = at.meta + Meta.servicesUsed
    let free = -1
    for (let i = 0; i < i32[used]!; i++) {
      const s = at.services + i * Service.words
      if (i32[s + Service.state] === 0) {
        if (free < 0) free = s
        continue
      }
      if (i32[s + Service.state] !== serviceState.service || i32[s + Service.device] !== index) continue
      const differs =
        ((i32[s + Service.idHigh]! ^ idHigh) & i32[s + Service.maskHigh]! & maskHigh) |
        ((i32[s + Service.idLow]! ^ idLow) & i32[s + Service.maskLow]! & maskLow)
      if (differs !== 0 || !servedOverlap(i32, s + Service.served, served, 0)) continue
      const shared = group !== 0 && i32[s + Service.group] === group && i32[s + Service.agent] !== slot
      if (shared && isService(host, s, wanted, served)) continue
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
    i32[free + Service.group] = group
    i32[free + Service.turn] = 0
    i32[free + Service.qpNum] = qp.qpNum
    i32[free + Service.device] = index
    i32[free + Service.idHigh] = idHigh
    i32[free + Service.idLow] = idLow
    i32[free + Service.maskHigh] = maskHigh
    i32[free + Service.maskLow] = maskLow
    i32.set(served, free + Service.served)
    if (free === at.services + i32[used]! * Service.words) i32[used] = i32[used]! + 1
    Atomics.store(i32, free + Service.state, 1)
  })
}

/** Ends what `registerService` began; EINVAL if it did not. */
export function unregisterService(
  qp: GsiQueuePair,
  serviceId: bigint,
  mask: bigint = 0xffffffffffffffffn,
  served: Int32Array = servesAll,
): void {
  const verb = 'unregisterService'
  const slot = agentSlotOf(verb, qp)
  const { host } = qp.pd.context.device
  const { i32, at } = host
  const wanted = serviceWords(serviceId, mask)
  const found = host.control(() => {
    for (let i = 0; i < i32[at.meta + Meta.servicesUsed]!; i++) {
      const s = at.services + i * Service.words
      if (i32[s + Service.state] !== serviceState.service || i32[s + Service.agent] !== slot) continue
      if (!isService(host, s, wanted, served)) continue
      Atomics.store(i32, s + Service.state, 0)
      return true
    }
    return false
  })
  if (!found) throw new VerbsError('EINVAL', verb, `this agent has not registered 0x${serviceId.toString(16)}`)
}

/** Returns true if other agents of the device share a service with this ID. */
export function isServedByOthers(qp: GsiQueuePair, serviceId: bigint): boolean {
  const { host, index } = qp.pd.context.device
  const [high, low] = words(serviceId)
  for (let i = 0; i < host.i32[host.at.meta + Meta.servicesUsed]!; i++) {
    const s = host.at.services + i * Service.words
    if (host.i32[s + Service.group] === 0) continue
    const q = serverOf(host, s, index, high, low)
    if (q >= 0 && q !== host.qpWord(qp.slot)) return true
  }
  return false
}

function isService(host: Host, s: number, wanted: readonly number[], served: Int32Array): boolean {
  return (
    wanted.every((word, k) => host.i32[s + Service.idHigh + k] === word) &&
    served.every((word, k) => host.i32[s + Service.served + k] === word)
  )
}

/** Returns the words of a service ID and its mask, as in a record from `Service.idHigh` on. */
function serviceWords(serviceId: bigint, mask: bigint): [number, number, number, number] {
  return [...words(serviceId & mask), ...words(mask)]
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
  readonly #sharers: Sharers
  /** The address that the request is for, as `served.ts` has it; `all` where it names none. */
  readonly #to = new Int32Array(servedWords)
  readonly #toBytes = new Uint8Array(this.#to.buffer, 4)

  constructor(host: Host) {
    this.#host = host
    this.#sharers = new Sharers(host)
  }

  /**
   * Determines the recipients of the MAD u8[at, at + length), of which `madDispatchBytes` can be read; returns the number of `targets`.
   * Counts drops.
   */
  find(device: number, u8: Uint8Array, at: number, length: number): number {
    const host = this.#host
    const isMad = length === Mad.totalLength && u8[at + Mad.baseVersion] === 1
    if (isMad && u8[at + Mad.mgmtClass] !== MgmtClass.comm) {
      const q = madReceiver(host, device, u8, at)
      if (q < 0) {
        host.count(device, 'gsi_drops_no_agent')
        return 0
      }
      this.targets[0] = q
      return 1
    }
    if (!isMad || u8[at + Mad.method] !== MadMethod.send) {
      host.count(device, 'gsi_drops_malformed')
      return 0
    }
    const attribute = u16(u8, at + Mad.attributeId)
    let q = -1
    if (attribute === CmAttribute.REQ || attribute === CmAttribute.SIDR_REQ) {
      this.#readAddress(u8, at + (attribute === CmAttribute.REQ ? reqPrivateDataAt : sidrReqPrivateDataAt))
      q = this.#service(device, u8, at)
    } else {
      const id = u32(u8, at + (attribute === CmAttribute.SIDR_REP ? requestIdAt : remoteCommIdAt))
      if (id === 0 && attribute === CmAttribute.REJ) return this.#all(device)
      q = commAgentOf(host, device, id >>> idBits)
    }
    if (q < 0) q = this.#first(device)
    if (q < 0) {
      host.count(device, 'gsi_drops_no_agent')
      return 0
    }
    this.targets[0] = q
    return 1
  }

  /** Reads to which address a request is, from the RDMA CM's header if there is one. */
  #readAddress(u8: Uint8Array, header: number): void {
    const to = this.#to
    const version = u8[header + CmaHdr.ipVersion]! >>> 4
    to[0] = ServedKind.all
    if (u8[header + CmaHdr.version] !== 0 || (version !== 4 && version !== 6)) return
    to[0] = ServedKind.one
    const bytes = this.#toBytes
    const from = header + CmaHdr.destination
    for (let i = 0; i < 16; i++) bytes[i] = version === 6 || i >= 12 ? u8[from + i]! : i < 10 ? 0 : 0xff
  }

  /** Returns the agent that gets a request, −1 if no agent takes requests for its service. */
  #service(device: number, u8: Uint8Array, at: number): number {
    const high = u32(u8, at + serviceIdAt) | 0
    const low = u32(u8, at + serviceIdAt + 4) | 0
    let count = this.#servers(device, high, low)
    if (count === 0) {
      // An agent that serves other addresses knows best that this one is not served: an adapter's GID is in no family.
      this.#to[0] = ServedKind.all
      count = this.#servers(device, high, low)
    }
    return count > 1 ? this.#sharers.choose(count, requestKey(u8, at)) : this.#sharers.first(count)
  }

  /** Finds the agents that take requests for a service ID: one, or those that share it. Returns their number. */
  #servers(device: number, high: number, low: number): number {
    const { i32, at } = this.#host
    let count = 0
    for (let i = 0; i < i32[at.meta + Meta.servicesUsed]!; i++) {
      const s = at.services + i * Service.words
      const q = serverOf(this.#host, s, device, high, low)
      if (q < 0 || !servedOverlap(i32, s + Service.served, this.#to, 0)) continue
      this.#sharers.put(count++, q, s)
      if (i32[s + Service.group] === 0) break
    }
    return count
  }

  /** The first agent that has nothing left to read, or else the one with the least; −1 without any. */
  #first(device: number): number {
    const host = this.#host
    let found = -1
    let fewest = Number.POSITIVE_INFINITY
    for (let slot = 1; slot < host.i32[host.at.meta + Meta.agentsUsed]! && fewest > 0; slot++) {
      const q = commAgentOf(host, device, slot)
      if (q < 0) continue
      const unread = unreadBy(host, q)
      if (unread >= fewest) continue
      found = q
      fewest = unread
    }
    return found
  }

  #all(device: number): number {
    const host = this.#host
    let count = 0
    for (let slot = 1; slot < host.i32[host.at.meta + Meta.agentsUsed]!; slot++) {
      const q = commAgentOf(host, device, slot)
      if (q >= 0) this.targets[count++] = q
    }
    if (count === 0) host.count(device, 'gsi_drops_no_agent')
    return count
  }
}

/** Returns a key that identifies a request: a hash of its transaction ID and its sender's communication ID. */
function requestKey(u8: Uint8Array, at: number): number {
  const transaction = u32(u8, at + Mad.transactionId) ^ Math.imul(u32(u8, at + Mad.transactionId + 4), 0x9e3779b1)
  const key = Math.imul(transaction ^ u32(u8, at + requestIdAt), 0x85ebca6b)
  return key ^ (key >>> 15)
}

/** Returns the queue pair of the agent that takes requests for a service ID, if this record registers it; else −1. */
function serverOf(host: Host, s: number, device: number, high: number, low: number): number {
  const { i32 } = host
  if (i32[s + Service.state] !== 1 || i32[s + Service.device] !== device) return -1
  if (((i32[s + Service.idHigh]! ^ high) & i32[s + Service.maskHigh]!) !== 0) return -1
  if (((i32[s + Service.idLow]! ^ low) & i32[s + Service.maskLow]!) !== 0) return -1
  const q = agentOf(host, device, i32[s + Service.agent]!)
  return q >= 0 && i32[q + Qp.number] === i32[s + Service.qpNum] ? q : -1
}

/** The queue pair of an agent that is a communication manager, −1 if there is none. */
function commAgentOf(host: Host, device: number, slot: number): number {
  return host.i32[agentWord(host, slot) + Agent.takesMads] === 1 ? -1 : agentOf(host, device, slot)
}
