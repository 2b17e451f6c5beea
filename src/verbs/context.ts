/** An opened device, as seen by one thread: its limits, its memory, its events, and everything made from it. */
import { SegmentError } from '../memory/index.ts'
import type { CqInit, DeviceAttr, Engine, GidEntry, OpenOptions, PortAttr } from './attributes.ts'
import { CompletionChannel, CompletionQueue, type CqHandle, destroyCq } from './completion-queue.ts'
import { EventType, nameOf, type QpType } from './constants.ts'
import { type Device, deviceAt, findDevice } from './device.ts'
import { VerbsError } from './errors.ts'
import { checkInteger, checkObject, Handle } from './handle.ts'
import { elementKind, type Host } from './host.ts'
import {
  Chan,
  Cq,
  Ctx,
  Dev,
  Key,
  keyKind,
  keySlots,
  Meta,
  maxContexts,
  maxCqs,
  maxPds,
  maxQps,
  maxSrqs,
  Pd,
  Qp,
  Srq,
} from './layout.ts'
import { destroyKey, MemoryRegion, type MrHandle } from './memory-region.ts'
import { reapPorts } from './ports.ts'
import { type PdHandle, ProtectionDomain } from './protection-domain.ts'
import { destroyQp, type QpHandle, QueuePair } from './queue-pair.ts'
import { destroySrq, SharedReceiveQueue, type SrqHandle } from './shared-receive-queue.ts'
import { describe } from './work-request.ts'

/** `ibv_async_event`. The object is given if it was made or imported in this context; its number always. */
export interface AsyncEvent {
  type: EventType
  /** The name of `type`, as in `EventType`. */
  name: string
  qp?: QueuePair
  qpNum?: number
  cq?: CompletionQueue
  srq?: SharedReceiveQueue
  portNum?: number
}

interface Members {
  pds: Set<ProtectionDomain>
  cqs: Set<CompletionQueue>
  channels: Set<CompletionChannel>
  srqs: Set<SharedReceiveQueue>
  mrs: Set<Handle>
  mws: Set<Handle>
  ahs: Set<Handle>
}

/** Opens a device by name: `shm0`, `shm1`, `shm:NAME`, …; see `getDeviceList`. */
export function openDevice(name = 'shm0', options: OpenOptions = {}): Context {
  if (typeof name !== 'string') throw new VerbsError('EINVAL', 'openDevice', 'the name of a device is a string')
  checkObject('openDevice', 'options', options)
  if (options.engine !== undefined && options.engine !== 'poster' && options.engine !== 'thread')
    throw new VerbsError('EINVAL', 'openDevice', `engine must be 'poster' or 'thread', not ${describe(options.engine)}`)
  if (options.wrap !== undefined && !Array.isArray(options.wrap))
    throw new VerbsError('EINVAL', 'openDevice', `wrap must be a list of layers, not ${describe(options.wrap)}`)
  try {
    return new Context(findDevice(name), options)
  } catch (error) {
    if (error instanceof SegmentError) throw new VerbsError(error.code, 'openDevice', error.message)
    throw error
  }
}

export class Context extends Handle {
  readonly device: Device
  readonly engine: Engine
  readonly slot: number
  readonly #host: Host
  readonly #word: number
  readonly #qps = new Map<number, QueuePair>()
  readonly #buffers = new Set<number>()
  readonly #members: Members = {
    pds: new Set(),
    cqs: new Set(),
    channels: new Set(),
    srqs: new Set(),
    mrs: new Set(),
    mws: new Set(),
    ahs: new Set(),
  }

  /** Use `openDevice`. */
  constructor(device: Device, options: OpenOptions) {
    super('Context')
    this.device = device
    this.engine = options.engine ?? 'poster'
    const { host } = device
    this.#host = host
    const { i32 } = host
    this.slot = host.control(() => {
      const slot = host.takeSlot(host.at.contexts, Ctx.words, maxContexts, Meta.contextsUsed, 'openDevice', 'contexts')
      const c = host.ctxWord(slot)
      i32[c + Ctx.device] = device.index
      i32[c + Ctx.owner] = host.segment.me
      i32[c + Ctx.engine] = this.engine === 'thread' ? 1 : 0
      i32[c + Ctx.state] = 1
      return slot
    })
    this.#word = host.ctxWord(this.slot)
    try {
      device.open(this.slot, options)
    } catch (error) {
      i32[this.#word + Ctx.state] = 0
      throw error
    }
  }

  get name(): string {
    return this.device.name
  }

  // --- queries -----------------------------------------------------------------------------------------------------

  queryDevice(): DeviceAttr {
    this.assertOpen('queryDevice')
    return { ...this.device.attr }
  }

  #port(verb: string, port: number): void {
    this.assertOpen(verb)
    checkInteger(verb, 'port', port, 1, this.device.attr.physPortCnt)
  }

  queryPort(port: number): PortAttr {
    this.#port('queryPort', port)
    const { i32 } = this.#host
    const dev = this.#host.deviceWord(this.device.index)
    return { ...this.device.port, qkeyViolCntr: i32[dev + Dev.qkeyViolations]!, badPkeyCntr: i32[dev + Dev.badPkeys]! }
  }

  queryGid(port: number, index: number): Uint8Array {
    return this.queryGidEx(port, index).gid
  }

  /** ENODATA if the table has no entry `index`. */
  queryGidEx(port: number, index: number): GidEntry {
    this.#port('queryGidEx', port)
    checkInteger('queryGidEx', 'index', index, 0, 0xffff)
    const entry = this.device.gids[index]
    if (!entry)
      throw new VerbsError(
        'ENODATA',
        'queryGidEx',
        `the GID table has ${this.device.gids.length} entries; there is no entry ${index}`,
      )
    return { ...entry, gid: entry.gid.slice() }
  }

  queryGidTable(): GidEntry[] {
    this.assertOpen('queryGidTable')
    return this.device.gids.map((entry) => ({ ...entry, gid: entry.gid.slice() }))
  }

  queryPkey(port: number, index: number): number {
    this.#port('queryPkey', port)
    checkInteger('queryPkey', 'index', index, 0, this.device.pkeys.length - 1)
    return this.device.pkeys[index]!
  }

  /** Index of a P_Key in the table; EINVAL if it is not there. */
  getPkeyIndex(port: number, pkey: number): number {
    this.#port('getPkeyIndex', port)
    checkInteger('getPkeyIndex', 'pkey', pkey, 0, 0xffff)
    const index = this.device.pkeys.indexOf(pkey)
    if (index < 0) throw new VerbsError('EINVAL', 'getPkeyIndex', `P_Key 0x${pkey.toString(16)} is not in the table`)
    return index
  }

  /** Counters of the device by name: messages, errors, and everything that was dropped. */
  counters(): Record<string, number> {
    this.assertOpen('counters')
    return this.#host.counters(this.device.index)
  }

  // --- memory ------------------------------------------------------------------------------------------------------

  /** Memory that the device can reach: page aligned, zeroed, shared with every thread of the segment. */
  alloc(bytes: number): Uint8Array {
    this.assertOpen('alloc')
    checkInteger('alloc', 'bytes', bytes, 1, this.#host.segment.sizeBytes)
    const at = this.#host.allocate(bytes, 'alloc')
    this.#buffers.add(at)
    return new Uint8Array(this.#host.segment.buffer, at, bytes)
  }

  /** The bytes at a device address, wherever they were allocated. */
  view(addr: number, length: number): Uint8Array {
    this.assertOpen('view')
    const { segment } = this.#host
    checkInteger('view', 'addr', addr, segment.heapStart, segment.sizeBytes)
    checkInteger('view', 'length', length, 0, segment.sizeBytes - addr)
    return new Uint8Array(segment.buffer, addr, length)
  }

  /** Gives memory from `alloc` back. Deregister it first: the pages are handed out again. */
  free(buffer: Uint8Array): void {
    this.assertOpen('free')
    if (
      !(buffer instanceof Uint8Array) ||
      buffer.buffer !== this.#host.segment.buffer ||
      !this.#buffers.delete(buffer.byteOffset)
    )
      throw new VerbsError('EINVAL', 'free', 'this buffer was not allocated by this context, or was freed already')
    this.#host.segment.free(buffer.byteOffset)
  }

  // --- objects -----------------------------------------------------------------------------------------------------

  allocPd(): ProtectionDomain {
    this.assertOpen('allocPd')
    return new ProtectionDomain(this)
  }

  createCompChannel(): CompletionChannel {
    this.assertOpen('createCompChannel')
    return new CompletionChannel(this)
  }

  /** `cqe`: completions that must fit. */
  createCq(cqe: number, init: CqInit & { channel?: CompletionChannel; cqContext?: unknown } = {}): CompletionQueue {
    this.assertOpen('createCq')
    return CompletionQueue.create(this, cqe, init)
  }

  // Objects of other threads of the segment, by their `handle`. Closing an import does not destroy the object.

  importPd(handle: PdHandle): ProtectionDomain {
    this.#checkHandle('importPd', handle, 'pd', maxPds)
    return new ProtectionDomain(this, handle)
  }

  importMr(handle: MrHandle): MemoryRegion {
    this.assertOpen('importMr')
    if (handle?.kind !== 'mr' || typeof handle.lkey !== 'number')
      throw new VerbsError('EINVAL', 'importMr', 'this is not the handle of a memory region')
    const { i32 } = this.#host
    const entry = this.#host.findKey(handle.lkey | 0)
    if (entry < 0 || i32[entry + Key.kind] !== keyKind.region)
      throw new VerbsError('EINVAL', 'importMr', 'there is no such memory region any more')
    return new MemoryRegion(this.#importedPd(i32[entry + Key.pd]!), entry, false)
  }

  importCq(handle: CqHandle): CompletionQueue {
    this.#checkHandle('importCq', handle, 'cq', maxCqs)
    const { i32 } = this.#host
    const cq = this.#host.cqWord(handle.slot)
    if (i32[cq + Cq.state] === 0 || i32[cq + Cq.number] !== handle.number)
      throw new VerbsError('EINVAL', 'importCq', 'there is no such CQ any more')
    return new CompletionQueue(this, handle.slot, false, null, undefined)
  }

  importSrq(handle: SrqHandle): SharedReceiveQueue {
    this.#checkHandle('importSrq', handle, 'srq', maxSrqs)
    const { i32 } = this.#host
    const srq = this.#host.srqWord(handle.slot)
    if (i32[srq + Srq.state] !== 1 || i32[srq + Srq.generation] !== handle.generation)
      throw new VerbsError('EINVAL', 'importSrq', 'there is no such SRQ any more')
    return new SharedReceiveQueue(this.#importedPd(i32[srq + Srq.pd]!), handle.slot, false)
  }

  importQp<T extends QpType = QpType>(handle: QpHandle & { type: T }): QueuePair<T> {
    this.#checkHandle('importQp', handle, 'qp', maxQps)
    const { i32 } = this.#host
    const q = this.#host.qpWord(handle.slot)
    if (i32[q + Qp.number] !== handle.qpNum || i32[q + Qp.type] !== handle.type)
      throw new VerbsError('EINVAL', 'importQp', 'there is no such QP any more')
    const pd = this.#importedPd(i32[q + Qp.pd]!)
    const cq = (slot: number): CompletionQueue =>
      this.importCq({ kind: 'cq', slot, number: i32[this.#host.cqWord(slot) + Cq.number]! })
    const sendCq = cq(i32[q + Qp.sendCq]!)
    const recvCq = i32[q + Qp.recvCq] === i32[q + Qp.sendCq] ? sendCq : cq(i32[q + Qp.recvCq]!)
    const srq = i32[q + Qp.srq]!
    const qp = new QueuePair<T>(pd, handle.slot, handle.type, false, {
      sendCq,
      recvCq,
      ...(srq >= 0 ? { srq: new SharedReceiveQueue(pd, srq, false) } : {}),
      qpContext: undefined,
    })
    this.#qps.set(handle.slot, qp as unknown as QueuePair)
    return qp
  }

  #checkHandle(verb: string, handle: { kind: string; slot: number } | null, kind: string, max: number): void {
    this.assertOpen(verb)
    if (typeof handle !== 'object' || handle === null || handle.kind !== kind)
      throw new VerbsError('EINVAL', verb, `this is not a handle of kind '${kind}'`)
    checkInteger(verb, 'handle.slot', handle.slot, 0, max - 1)
  }

  #importedPd(slot: number): ProtectionDomain {
    const generation = this.#host.i32[this.#host.at.pds + slot * Pd.words + Pd.generation]!
    return new ProtectionDomain(this, { kind: 'pd', slot, generation })
  }

  /** A number that no other object of this slot had. */
  nextGeneration(): number {
    return Atomics.add(this.#host.i32, this.#host.at.meta + Meta.generation, 1) + 1
  }

  adopt<K extends keyof Members>(kind: K, member: Members[K] extends Set<infer M> ? M : never): void {
    ;(this.#members[kind] as Set<unknown>).add(member)
  }

  disown<K extends keyof Members>(kind: K, member: Members[K] extends Set<infer M> ? M : never): void {
    ;(this.#members[kind] as Set<unknown>).delete(member)
  }

  adoptQp(qp: QueuePair): void {
    this.#qps.set(qp.slot, qp)
  }

  disownQp(qp: QueuePair): void {
    this.#qps.delete(qp.slot)
  }

  // --- asynchronous events -----------------------------------------------------------------------------------------

  /** The next asynchronous event, or null if there is none now. */
  pollAsyncEvent(): AsyncEvent | null {
    this.assertOpen('pollAsyncEvent')
    const { i32, segment } = this.#host
    const c = this.#word
    if (i32[this.#host.pendingCount] !== 0 || this.device.driven) this.device.progress()
    if (Atomics.load(i32, c + Ctx.eventTail) === i32[c + Ctx.eventHead]) return null
    segment.lock(c + Ctx.eventLock)
    const head = i32[c + Ctx.eventHead]!
    let event: AsyncEvent | null = null
    if (i32[c + Ctx.eventTail] !== head) {
      const e = c + Ctx.events + (head & (Ctx.eventSlots - 1)) * 4
      event = this.#event(i32[e]! as EventType, i32[e + 1]!, i32[e + 2]!)
      Atomics.store(i32, c + Ctx.eventHead, (head + 1) | 0)
    }
    segment.unlock(c + Ctx.eventLock)
    return event
  }

  #event(type: EventType, kind: number, slot: number): AsyncEvent {
    const event: AsyncEvent = { type, name: nameOf(EventType, type) }
    if (kind === elementKind.qp) {
      event.qpNum = this.#host.i32[this.#host.qpWord(slot) + Qp.number]!
      const qp = this.#qps.get(slot)
      if (qp) event.qp = qp
    } else if (kind === elementKind.cq) {
      for (const cq of this.#members.cqs) if (cq.slot === slot) event.cq = cq
    } else if (kind === elementKind.srq) {
      for (const srq of this.#members.srqs) if (srq.slot === slot) event.srq = srq
    } else if (kind === elementKind.port) event.portNum = slot
    return event
  }

  /** Blocks this thread until there is an event, at most `timeoutMs`; then null. */
  getAsyncEvent(timeoutMs: number = Number.POSITIVE_INFINITY): AsyncEvent | null {
    const { i32, segment, pendingCount } = this.#host
    const end = performance.now() + timeoutMs
    for (;;) {
      const tail = Atomics.load(i32, this.#word + Ctx.eventTail)
      const event = this.pollAsyncEvent()
      if (event) return event
      const left = end - performance.now()
      if (left <= 0) return null
      this.device.rest()
      segment.wait(this.#word + Ctx.eventTail, tail, Math.min(left, i32[pendingCount] !== 0 ? 1 : 1000))
    }
  }

  /** Events as they come: `for await (const event of context.asyncEvents())`. Ends when the context closes. */
  async *asyncEvents(): AsyncGenerator<AsyncEvent, void, undefined> {
    const { i32, segment } = this.#host
    while (!this.closed) {
      const tail = Atomics.load(i32, this.#word + Ctx.eventTail)
      const event = this.pollAsyncEvent()
      if (event) yield event
      else {
        this.device.rest()
        await segment.waitAsync(this.#word + Ctx.eventTail, tail, 100)
      }
    }
  }

  /** Kept for those who know `ibv_ack_async_event`: events need no acknowledgement here. */
  ackAsyncEvent(_event: AsyncEvent): void {}

  // --- the end -----------------------------------------------------------------------------------------------------

  /** EBUSY while anything that was made from it is open; memory from `alloc` is freed. */
  close(): void {
    this.assertOpen('close')
    for (const [kind, members] of Object.entries(this.#members) as [string, Set<unknown>][]) {
      if (members.size > 0)
        throw new VerbsError('EBUSY', 'close', `${members.size} ${kind} of this context are still open`)
    }
    this.markClosed()
    for (const at of this.#buffers) this.#host.segment.free(at)
    this.#end()
  }

  #end(): void {
    this.device.close(this.slot)
    const { i32, segment } = this.#host
    i32[this.#word + Ctx.state] = 0
    Atomics.add(i32, this.#word + Ctx.eventTail, 0)
    segment.notify(this.#word + Ctx.eventTail)
  }
}

/**
 * Destroys everything that a thread owned, as the kernel destroys what a process leaves behind; how many objects there
 * were.
 */
export function reapAttachment(host: Host, owner: number): number {
  const { i32, at } = host
  let reaped = 0
  const each = (
    table: number,
    words: number,
    used: number,
    stateWord: number,
    ownerWord: number,
    destroy: (word: number) => void,
  ): void => {
    for (let slot = 0; slot < i32[at.meta + used]!; slot++) {
      const word = table + slot * words
      if (i32[word + stateWord] !== 0 && i32[word + ownerWord] === owner) {
        destroy(word)
        reaped++
      }
    }
  }
  each(at.qps, Qp.words, Meta.qpsUsed, Qp.number, Qp.owner, (q) => destroyQp(host, q))
  each(at.srqs, Srq.words, Meta.srqsUsed, Srq.state, Srq.owner, (srq) => destroySrq(host, srq))
  each(at.cqs, Cq.words, Meta.cqsUsed, Cq.state, Cq.owner, (cq) => {
    host.dropChannelEvents(cq)
    destroyCq(host, cq)
  })
  if (i32[at.meta + Meta.keysUsed]! > 0) {
    for (let slot = 0; slot < keySlots; slot++) {
      const entry = at.keys + slot * Key.words
      const kind = i32[entry + Key.kind]!
      if (kind !== keyKind.free && kind !== keyKind.deleted && i32[entry + Key.owner] === owner) {
        destroyKey(host, entry)
        reaped++
      }
    }
  }
  const drop = (word: number): void => {
    i32[word] = 0
  }
  each(at.channels, Chan.words, Meta.channelsUsed, Chan.state, Chan.owner, drop)
  each(at.pds, Pd.words, Meta.pdsUsed, Pd.state, Pd.owner, (pd) => {
    const device = i32[host.ctxWord(i32[pd + Pd.context]!) + Ctx.device]!
    Atomics.sub(i32, host.deviceWord(device) + Dev.ahs, i32[pd + Pd.ahs]!)
    drop(pd)
  })
  const devices = new Set<number>()
  each(at.contexts, Ctx.words, Meta.contextsUsed, Ctx.state, Ctx.owner, (c) => {
    devices.add(i32[c + Ctx.device]!)
    drop(c)
  })
  for (const index of devices) deviceAt(host, index)?.closeUnused?.()
  reaped += reapPorts(host, owner)
  return reaped
}
