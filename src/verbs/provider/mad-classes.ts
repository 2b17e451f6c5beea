/**
 * Recipients of MADs of other classes than that of the communication manager, as in the kernel's registry of agents (ib_register_mad_agent
 * of Linux): a request goes to the agent that has registered its class, version and method, for vendor classes also its OUI; a response
 * goes back to the agent that chose the upper half of its transaction ID, whose upper bits are the slot of the agent's queue pair.
 */
import { isMadResponse, isVendorClass2, Mad, u24, u32 } from '../../wire/index.ts'
import { VerbsError } from './errors.ts'
import { agentOf, agentSlotOf, agentSlotOfCommId, agentWord, type GsiQueuePair } from './gsi-agents.ts'
import type { Host } from './host.ts'
import { Agent, MadClass, Meta, maxServices, Qp, Service, serviceState } from './layout.ts'

/** Requests that an agent receives. */
export interface MadMethods {
  readonly mgmtClass: number
  readonly classVersion: number
  /** OUI of a vendor class, else 0. */
  readonly oui: number
  /** Four words, a bit for each method. */
  readonly methods: Int32Array
}

/** Offset of the OUI in MADs of classes that have one. */
const ouiAt = 37
const methodWords = 4
const methodMask = 0x7f

/** Makes the queue pair get MADs from now on, and no messages of the communication manager; called before it is connected. */
export function takeMads(qp: GsiQueuePair): void {
  const { host } = qp.pd.context.device
  Atomics.store(host.i32, agentWord(host, agentSlotOf('takeMads', qp)) + Agent.takesMads, 1)
}

/** Requests of these methods come to `qp`, for the agent that it calls `id`. EINVAL if another one of the device has one of them. */
export function registerMads(qp: GsiQueuePair, id: number, wanted: MadMethods): void {
  const verb = 'registerMads'
  const slot = agentSlotOf(verb, qp)
  const { host, index } = qp.pd.context.device
  const { i32, at } = host
  host.control(() => {
    const used = at.meta + Meta.servicesUsed
    let free = -1
    for (let i = 0; i < i32[used]!; i++) {
      const s = at.services + i * Service.words
      if (i32[s + MadClass.state] === serviceState.free) {
        if (free < 0) free = s
        continue
      }
      if (i32[s + MadClass.state] !== serviceState.madClass || i32[s + MadClass.device] !== index) continue
      if (!isClass(i32, s, wanted.mgmtClass, wanted.classVersion, wanted.oui) || !sharesMethod(i32, s, wanted)) continue
      if (isThere(host, s))
        throw new VerbsError(
          'EINVAL',
          verb,
          `another agent has registered methods of class 0x${wanted.mgmtClass.toString(16)} already`,
        )
      // Its thread ended without closing it.
      Atomics.store(i32, s + MadClass.state, serviceState.free)
      if (free < 0) free = s
    }
    const next = at.services + i32[used]! * Service.words
    if (free < 0) {
      if (i32[used]! >= maxServices)
        throw new VerbsError('ENOMEM', verb, `all ${maxServices} services of the segment are in use`)
      free = next
    }
    i32.fill(0, free, free + Service.words)
    i32[free + MadClass.agent] = slot
    i32[free + MadClass.qpNum] = qp.qpNum
    i32[free + MadClass.device] = index
    i32[free + MadClass.mgmtClass] = wanted.mgmtClass
    i32[free + MadClass.classVersion] = wanted.classVersion
    i32[free + MadClass.oui] = wanted.oui
    i32[free + MadClass.id] = id
    i32.set(wanted.methods, free + MadClass.methods)
    if (free === next) i32[used] = i32[used]! + 1
    Atomics.store(i32, free + MadClass.state, serviceState.madClass)
  })
}

/** Ends what was registered for this agent. */
export function unregisterMads(qp: GsiQueuePair, id: number): void {
  const slot = agentSlotOf('unregisterMads', qp)
  const { host } = qp.pd.context.device
  const { i32, at } = host
  host.control(() => {
    for (let i = 0; i < i32[at.meta + Meta.servicesUsed]!; i++) {
      const s = at.services + i * Service.words
      const isClassRecord = i32[s + MadClass.state] === serviceState.madClass
      if (isClassRecord && i32[s + MadClass.agent] === slot && i32[s + MadClass.id] === id)
        Atomics.store(i32, s + MadClass.state, serviceState.free)
    }
  })
}

/**
 * Returns the queue pair that gets a MAD, of which `madDispatchBytes` are at u8[at]; −1 if none does. `madAgentId`, or the transaction ID
 * of a response, identifies the agent among those of the queue pair.
 */
export function madReceiver(host: Host, device: number, u8: Uint8Array, at: number): number {
  const method = u8[at + Mad.method]!
  if (isMadResponse(method)) return madAgentOf(host, device, agentSlotOfCommId(u32(u8, at + Mad.transactionId)))
  const s = findClass(host, device, u8, at)
  return s < 0 ? -1 : madAgentOf(host, device, host.i32[s + MadClass.agent]!)
}

/** Returns the ID by which its queue pair names the agent that a request is for, −1 if there is none. */
export function madAgentId(host: Host, device: number, u8: Uint8Array, at: number): number {
  const s = findClass(host, device, u8, at)
  return s < 0 ? -1 : host.i32[s + MadClass.id]!
}

function findClass(host: Host, device: number, u8: Uint8Array, at: number): number {
  const { i32 } = host
  const mgmtClass = u8[at + Mad.mgmtClass]!
  const version = u8[at + Mad.classVersion]!
  const method = u8[at + Mad.method]! & methodMask
  const oui = isVendorClass2(mgmtClass) ? u24(u8, at + ouiAt) : 0
  for (let i = 0; i < i32[host.at.meta + Meta.servicesUsed]!; i++) {
    const s = host.at.services + i * Service.words
    if (i32[s + MadClass.state] !== serviceState.madClass || i32[s + MadClass.device] !== device) continue
    if (!isClass(i32, s, mgmtClass, version, oui)) continue
    if ((i32[s + MadClass.methods + (method >>> 5)]! & (1 << (method & 31))) !== 0 && isThere(host, s)) return s
  }
  return -1
}

function isClass(i32: Int32Array, s: number, mgmtClass: number, classVersion: number, oui: number): boolean {
  return (
    i32[s + MadClass.mgmtClass] === mgmtClass &&
    i32[s + MadClass.classVersion] === classVersion &&
    i32[s + MadClass.oui] === oui
  )
}

function sharesMethod(i32: Int32Array, s: number, { methods }: MadMethods): boolean {
  for (let k = 0; k < methodWords; k++) if ((i32[s + MadClass.methods + k]! & methods[k]!) !== 0) return true
  return false
}

/** Returns true if its queue pair is still the one that registered, of a thread that lives. */
function isThere(host: Host, s: number): boolean {
  const { i32 } = host
  const q = agentOf(host, i32[s + MadClass.device]!, i32[s + MadClass.agent]!)
  return q >= 0 && i32[q + Qp.number] === i32[s + MadClass.qpNum] && host.segment.attachmentAlive(i32[q + Qp.owner]!)
}

function madAgentOf(host: Host, device: number, slot: number): number {
  const q = agentOf(host, device, slot)
  return q >= 0 && host.i32[agentWord(host, slot) + Agent.takesMads] === 1 ? q : -1
}
