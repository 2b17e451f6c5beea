/** An opened device, as seen by one thread: its limits, its memory, its events, and everything made from it. */
import type { CqInit, DeviceAttr, Engine, GidEntry, OpenOptions, PortAttr } from '../provider/attributes.ts'
import { EventType, nameOf, type QpType } from '../provider/constants.ts'
import { type Device, findDevice } from '../provider/device.ts'
import { asVerbsError, VerbsError } from '../provider/errors.ts'
import { elementKind, type Host } from '../provider/host.ts'
import { Ctx, Dev, Key, keyKind, Pd, Qp, Srq } from '../provider/layout.ts'
import { createRecord, giveRecord, recordOf, recordOfHandle, slotOf, stale } from '../provider/records.ts'
import { describe } from '../provider/work-request.ts'
import { CompletionChannel, CompletionQueue, type CqHandle } from './completion-queue.ts'
import { checkInteger, checkObject, Handle, plural } from './handle.ts'
import { MemoryRegion, type MrHandle } from './memory-region.ts'
import { type PdHandle, ProtectionDomain } from './protection-domain.ts'
import { type QpHandle, QueuePair } from './queue-pair.ts'
import { SharedReceiveQueue, type SrqHandle } from './shared-receive-queue.ts'

/** `ibv_async_event`: what happened, and to which object of this context. */
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

const memberNames: Readonly<Record<keyof Members, string>> = {
  pds: 'protection domain',
  cqs: 'completion queue',
  channels: 'completion channel',
  srqs: 'shared receive queue',
  mrs: 'memory region',
  mws: 'memory window',
  ahs: 'address handle',
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
    throw asVerbsError(error, 'openDevice')
  }
}

export class Context extends Handle {
  readonly device: Device
  readonly engine: Engine
  readonly slot: number
  readonly #host: Host
  readonly #word: number
  /** Those made in this context, by reference. */
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
    this.#word = createRecord(host, 'context', 'openDevice', 0, (c) => {
      i32[c + Ctx.device] = device.index
      i32[c + Ctx.owner] = host.segment.me
      i32[c + Ctx.engine] = this.engine === 'thread' ? 1 : 0
      i32[c + Ctx.state] = 1
    })
    this.slot = slotOf(i32[this.#word + Ctx.ref]!)
    try {
      device.open(this.slot, options)
    } catch (error) {
      host.control(() => giveRecord(host, 'context', this.#word))
      throw error
    }
  }

  get name(): string {
    return this.device.name
  }

  // --- queries -----------------------------------------------------------------------------------------------------

  /** `ibv_query_device_ex`: limits and identity of the device. */
  queryDevice(): DeviceAttr {
    this.assertOpen('queryDevice')
    return { ...this.device.attr }
  }

  #port(verb: string, port: number): void {
    this.assertOpen(verb)
    checkInteger(verb, 'port', port, 1, this.device.attr.physPortCnt)
  }

  /** `ibv_query_port`; ports count from 1. */
  queryPort(port: number): PortAttr {
    this.#port('queryPort', port)
    const { i32 } = this.#host
    const dev = this.#host.deviceWord(this.device.index)
    return { ...this.device.port, qkeyViolCntr: i32[dev + Dev.qkeyViolations]!, badPkeyCntr: i32[dev + Dev.badPkeys]! }
  }

  /** The 16 bytes of an entry of the GID table; ENODATA if there is no entry `index`. */
  queryGid(port: number, index: number): Uint8Array {
    return this.#gid('queryGid', port, index).gid
  }

  /** ENODATA if the table has no entry `index`. */
  queryGidEx(port: number, index: number): GidEntry {
    return this.#gid('queryGidEx', port, index)
  }

  #gid(verb: string, port: number, index: number): GidEntry {
    this.#port(verb, port)
    checkInteger(verb, 'index', index, 0, 0xffff)
    const { gids } = this.device
    const entry = gids[index]
    if (!entry)
      throw new VerbsError(
        'ENODATA',
        verb,
        `the GID table has ${plural(gids.length, 'entry', 'entries')}; there is no entry ${index}`,
      )
    return { ...entry, gid: entry.gid.slice() }
  }

  /** All entries of the GID tables of all ports. */
  queryGidTable(): GidEntry[] {
    this.assertOpen('queryGidTable')
    return this.device.gids.map((entry) => ({ ...entry, gid: entry.gid.slice() }))
  }

  /** An entry of the P_Key table; EINVAL if there is no entry `index`. */
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

  /** `ibv_alloc_pd`. ENOMEM if the segment has no record left. */
  allocPd(): ProtectionDomain {
    this.assertOpen('allocPd')
    return new ProtectionDomain(this)
  }

  /** `ibv_create_comp_channel`. Used by the thread that creates it. */
  createCompChannel(): CompletionChannel {
    this.assertOpen('createCompChannel')
    return new CompletionChannel(this)
  }

  /** `ibv_create_cq`. `cqe`: completions that must fit, 1 to `maxCqe`. ENOMEM if the table of CQs or the segment is full. */
  createCq(cqe: number, init: CqInit & { channel?: CompletionChannel; cqContext?: unknown } = {}): CompletionQueue {
    this.assertOpen('createCq')
    return CompletionQueue.create(this, cqe, init)
  }

  // Objects of other threads of the segment, by their `handle`. An import is this thread's view of the same object: it is
  // used as the original. Closing it destroys nothing. When the owner closes the object, or ends, every verb of the import
  // throws EBADF, also when another object has come in its place. Only the owner's context gets asynchronous events.

  /** EINVAL if the protection domain is closed. */
  importPd(handle: PdHandle): ProtectionDomain {
    this.assertOpen('importPd')
    return new ProtectionDomain(this, recordOfHandle(this.#host, 'importPd', 'pd', handle))
  }

  /** EINVAL if the region is deregistered. */
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

  /** EINVAL if the CQ is closed. */
  importCq(handle: CqHandle): CompletionQueue {
    this.assertOpen('importCq')
    const cq = recordOfHandle(this.#host, 'importCq', 'cq', handle)
    return new CompletionQueue(this, cq, false, null, undefined)
  }

  /** EINVAL if the SRQ is closed. */
  importSrq(handle: SrqHandle): SharedReceiveQueue {
    this.assertOpen('importSrq')
    const srq = recordOfHandle(this.#host, 'importSrq', 'srq', handle)
    return new SharedReceiveQueue(this.#importedPd(this.#host.i32[srq + Srq.pd]!), srq, false)
  }

  /** A QP with its protection domain, CQs and SRQ. EINVAL if the QP is closed, or was made on another device. */
  importQp<T extends QpType = QpType>(handle: QpHandle & { type: T }): QueuePair<T> {
    this.assertOpen('importQp')
    const host = this.#host
    const { i32 } = host
    const q = recordOfHandle(host, 'importQp', 'qp', handle)
    if (i32[q + Qp.type] !== handle.type)
      throw new VerbsError('EINVAL', 'importQp', 'the handle names another type than its QP has')
    // Its requests are the work of that device; this one would take them for its own.
    if (i32[q + Qp.device] !== this.device.index)
      throw new VerbsError('EINVAL', 'importQp', `this QP was made on another device than ${this.device.name}`)
    const pd = this.#importedPd(i32[q + Qp.pd]!)
    const cq = (slot: number): CompletionQueue => new CompletionQueue(this, host.cqWord(slot), false, null, undefined)
    const sendCq = cq(i32[q + Qp.sendCq]!)
    const recvCq = i32[q + Qp.recvCq] === i32[q + Qp.sendCq] ? sendCq : cq(i32[q + Qp.recvCq]!)
    const srq = i32[q + Qp.srq]!
    return new QueuePair<T>(pd, q, handle.type, false, {
      sendCq,
      recvCq,
      ...(srq >= 0 ? { srq: new SharedReceiveQueue(pd, host.srqWord(srq), false) } : {}),
      qpContext: undefined,
    })
  }

  #importedPd(slot: number): ProtectionDomain {
    return new ProtectionDomain(this, this.#host.at.pds + slot * Pd.words)
  }

  adopt<K extends keyof Members>(kind: K, member: Members[K] extends Set<infer M> ? M : never): void {
    ;(this.#members[kind] as Set<unknown>).add(member)
  }

  disown<K extends keyof Members>(kind: K, member: Members[K] extends Set<infer M> ? M : never): void {
    ;(this.#members[kind] as Set<unknown>).delete(member)
  }

  adoptQp(qp: QueuePair): void {
    this.#qps.set(qp.ref, qp)
  }

  disownQp(qp: QueuePair): void {
    this.#qps.delete(qp.ref)
  }

  // --- asynchronous events -----------------------------------------------------------------------------------------

  /** The next asynchronous event, or null if there is none now. Events of objects that were closed meanwhile are dropped. */
  pollAsyncEvent(): AsyncEvent | null {
    this.assertOpen('pollAsyncEvent')
    const { i32, segment } = this.#host
    const c = this.#word
    if (i32[this.#host.pendingCount] !== 0 || this.device.driven) this.device.progress()
    let event: AsyncEvent | null = null
    while (event === null) {
      if (Atomics.load(i32, c + Ctx.eventTail) === i32[c + Ctx.eventHead]) return null
      segment.lock(c + Ctx.eventLock)
      const head = i32[c + Ctx.eventHead]!
      if (i32[c + Ctx.eventTail] !== head) {
        const e = c + Ctx.events + (head & (Ctx.eventSlots - 1)) * 4
        event = this.#event(i32[e]! as EventType, i32[e + 1]!, i32[e + 2]!, i32[e + 3]!)
        Atomics.store(i32, c + Ctx.eventHead, (head + 1) | 0)
      }
      segment.unlock(c + Ctx.eventLock)
    }
    return event
  }

  /** Null if the object that `ref` names is gone. */
  #event(type: EventType, kind: number, ref: number, number: number): AsyncEvent | null {
    const event: AsyncEvent = { type, name: nameOf(EventType, type) }
    if (kind === elementKind.qp) {
      const qp = this.#qps.get(ref)
      if (!qp || recordOf(this.#host, 'qp', ref) === stale) return null
      event.qp = qp
      event.qpNum = number
    } else if (kind === elementKind.cq) {
      for (const cq of this.#members.cqs) if (cq.ref === ref) event.cq = cq
      if (!event.cq) return null
    } else if (kind === elementKind.srq) {
      for (const srq of this.#members.srqs) if (srq.ref === ref) event.srq = srq
      if (!event.srq) return null
    } else if (kind === elementKind.port) event.portNum = ref
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
    for (const [kind, members] of Object.entries(this.#members) as [keyof Members, Set<unknown>][]) {
      if (members.size > 0)
        throw new VerbsError('EBUSY', 'close', `still open in this context: ${plural(members.size, memberNames[kind])}`)
    }
    // Those in protection domains and with CQs that were imported.
    if (this.#qps.size > 0)
      throw new VerbsError('EBUSY', 'close', `still open in this context: ${plural(this.#qps.size, 'queue pair')}`)
    this.markClosed()
    for (const at of this.#buffers) this.#host.segment.free(at)
    this.#end()
  }

  #end(): void {
    this.device.close(this.slot)
    const { segment } = this.#host
    this.#host.control(() => giveRecord(this.#host, 'context', this.#word))
    segment.notify(this.#word + Ctx.eventTail)
  }
}
