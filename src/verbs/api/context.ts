/** An opened device, as seen by one thread: its limits, its memory, its events, and everything made from it. */
import { untilLook } from '../../memory/index.ts'
import { checkInteger, checkObject, describe, plural } from '../provider/arguments.ts'
import type { DeviceAttr, Engine, GidEntry, OpenOptions, PortAttr } from '../provider/attributes.ts'
import { EventType, nameOf, type QpType } from '../provider/constants.ts'
import { type Device, findDevice } from '../provider/device.ts'
import { asVerbsError, VerbsError } from '../provider/errors.ts'
import { elementKind } from '../provider/events.ts'
import type { Host } from '../provider/host.ts'
import { Ctx, Dev, Key, keyKind, Pd, Qp, Srq } from '../provider/layout.ts'
import { createRecord, giveRecord, recordOf, recordOfHandle, slotOf, stale } from '../provider/records.ts'
import { nameDevice, noteSubscribers } from './channels.ts'
import { CompletionChannelObject } from './completion-channel.ts'
import { CompletionQueueObject } from './completion-queue.ts'
import { Handle } from './handle.ts'
import { MemoryRegionObject } from './memory-region.ts'
import type {
  AsyncEvent,
  CompletionChannel,
  CompletionQueue,
  Context,
  CqHandle,
  CqOptions,
  MemberKind,
  MemoryRegion,
  MrHandle,
  PdHandle,
  ProtectionDomain,
  QpHandle,
  QueuePair,
  SharedReceiveQueue,
  SrqHandle,
  VerbsObject,
} from './objects.ts'
import { ProtectionDomainObject } from './protection-domain.ts'
import { QueuePairObject } from './queue-pair.ts'
import { SharedReceiveQueueObject } from './shared-receive-queue.ts'

const memberNames: Readonly<Record<MemberKind, string>> = {
  pd: 'protection domain',
  cq: 'completion queue',
  channel: 'completion channel',
  srq: 'shared receive queue',
  mr: 'memory region',
  mw: 'memory window',
  ah: 'address handle',
  // Those in protection domains and with CQs that were imported.
  qp: 'queue pair',
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
    return new ContextObject(findDevice(name, options), options)
  } catch (error) {
    throw asVerbsError(error, 'openDevice')
  }
}

class ContextObject extends Handle implements Context {
  readonly device: Device
  readonly engine: Engine
  readonly slot: number
  readonly #host: Host
  readonly #word: number
  /** Arrays that `alloc` returned. They are kept by array, not by address: another allocation may get the pages of a freed one. */
  readonly #buffers = new Set<Uint8Array>()
  /** Open objects that were created in this context, by kind. */
  readonly #members: Readonly<Record<MemberKind, Set<VerbsObject>>> = {
    pd: new Set(),
    cq: new Set(),
    channel: new Set(),
    srq: new Set(),
    mr: new Set(),
    mw: new Set(),
    ah: new Set(),
    qp: new Set(),
  }
  /** Queue pairs by reference, for events. */
  readonly #qps = new Map<number, QueuePair>()

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
      nameDevice(host, device.index, device.name)
      noteSubscribers()
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
    const [qkeyViolCntr, badPkeyCntr] = [i32[dev + Dev.qkeyViolations]! >>> 0, i32[dev + Dev.badPkeys]! >>> 0]
    return { ...this.device.port, qkeyViolCntr, badPkeyCntr }
  }

  queryGid(port: number, index: number): Uint8Array {
    return this.#gid('queryGid', port, index).gid
  }

  queryGidEx(port: number, index: number): GidEntry {
    return this.#gid('queryGidEx', port, index)
  }

  #gid(verb: string, port: number, index: number): GidEntry {
    this.#port(verb, port)
    checkInteger(verb, 'index', index, 0, 0xffff)
    const { gids } = this.device
    const entry = gids.find(({ gidIndex }) => gidIndex === index)
    if (!entry)
      throw new VerbsError(
        'ENODATA',
        verb,
        `the GID table has ${plural(gids.length, 'entry', 'entries')}; there is no entry ${index}`,
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

  getPkeyIndex(port: number, pkey: number): number {
    this.#port('getPkeyIndex', port)
    checkInteger('getPkeyIndex', 'pkey', pkey, 0, 0xffff)
    const index = this.device.pkeys.indexOf(pkey)
    if (index < 0) throw new VerbsError('EINVAL', 'getPkeyIndex', `P_Key 0x${pkey.toString(16)} is not in the table`)
    return index
  }

  counters(): Record<string, number> {
    this.assertOpen('counters')
    return this.#host.counters(this.device.index)
  }

  // --- memory ------------------------------------------------------------------------------------------------------

  alloc(bytes: number): Uint8Array {
    this.assertOpen('alloc')
    checkInteger('alloc', 'bytes', bytes, 1, this.#host.segment.sizeBytes)
    const at = this.#host.allocate(bytes, 'alloc')
    const buffer = new Uint8Array(this.#host.segment.buffer, at, bytes)
    this.#buffers.add(buffer)
    return buffer
  }

  view(addr: number, length: number): Uint8Array {
    this.assertOpen('view')
    const { segment } = this.#host
    checkInteger('view', 'addr', addr, segment.heapStart, segment.sizeBytes)
    checkInteger('view', 'length', length, 0, segment.sizeBytes - addr)
    return new Uint8Array(segment.buffer, addr, length)
  }

  free(buffer: Uint8Array): void {
    this.assertOpen('free')
    if (!this.#buffers.delete(buffer)) throw new VerbsError('EINVAL', 'free', this.#noBuffer(buffer))
    this.#host.segment.free(buffer.byteOffset)
  }

  #noBuffer(buffer: unknown): string {
    if (!ArrayBuffer.isView(buffer) || buffer.buffer !== this.#host.segment.buffer)
      return 'this buffer was not allocated by this context'
    return 'this is no array that alloc of this context returned, or it was freed already: a view of a buffer does not free it'
  }

  forget(buffer: Uint8Array): void {
    this.#buffers.delete(buffer)
  }

  // --- objects -----------------------------------------------------------------------------------------------------

  allocPd(): ProtectionDomain {
    this.assertOpen('allocPd')
    return new ProtectionDomainObject(this)
  }

  createCompChannel(): CompletionChannel {
    this.assertOpen('createCompChannel')
    return new CompletionChannelObject(this)
  }

  createCq(cqe: number, init: CqOptions = {}): CompletionQueue {
    this.assertOpen('createCq')
    return CompletionQueueObject.create(this, cqe, init)
  }

  // Objects of other threads of the segment, by their `handle`. An import is this thread's view of the same object: it is
  // used as the original. Closing it destroys nothing. When the owner closes the object, or ends, every verb of the import
  // throws EBADF, also when another object has come in its place. Only the owner's context gets asynchronous events.

  importPd(handle: PdHandle): ProtectionDomain {
    this.assertOpen('importPd')
    return new ProtectionDomainObject(this, recordOfHandle(this.#host, 'importPd', 'pd', handle))
  }

  importMr(handle: MrHandle): MemoryRegion {
    this.assertOpen('importMr')
    if (handle?.kind !== 'mr' || typeof handle.lkey !== 'number')
      throw new VerbsError('EINVAL', 'importMr', 'this is not the handle of a memory region')
    const { i32 } = this.#host
    const entry = this.#host.findKey(handle.lkey | 0)
    if (entry < 0 || i32[entry + Key.kind] !== keyKind.region)
      throw new VerbsError('EINVAL', 'importMr', 'there is no such memory region any more')
    return new MemoryRegionObject(this.#importedPd(i32[entry + Key.pd]!), entry, false)
  }

  importCq(handle: CqHandle): CompletionQueue {
    this.assertOpen('importCq')
    const cq = recordOfHandle(this.#host, 'importCq', 'cq', handle)
    return this.#importedCq(cq)
  }

  #importedCq(cq: number): CompletionQueue {
    this.device.leavesLoop?.()
    return new CompletionQueueObject(this, cq, false, null, undefined)
  }

  importSrq(handle: SrqHandle): SharedReceiveQueue {
    this.assertOpen('importSrq')
    const srq = recordOfHandle(this.#host, 'importSrq', 'srq', handle)
    return new SharedReceiveQueueObject(this.#importedPd(this.#host.i32[srq + Srq.pd]!), srq, false)
  }

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
    const cq = (slot: number): CompletionQueue => this.#importedCq(host.cqWord(slot))
    const sendCq = cq(i32[q + Qp.sendCq]!)
    const recvCq = i32[q + Qp.recvCq] === i32[q + Qp.sendCq] ? sendCq : cq(i32[q + Qp.recvCq]!)
    const srq = i32[q + Qp.srq]!
    return new QueuePairObject<T>(pd, q, handle.type, false, {
      sendCq,
      recvCq,
      ...(srq >= 0 ? { srq: new SharedReceiveQueueObject(pd, host.srqWord(srq), false) } : {}),
      qpContext: undefined,
    })
  }

  #importedPd(slot: number): ProtectionDomain {
    return new ProtectionDomainObject(this, this.#host.at.pds + slot * Pd.words)
  }

  adopt(kind: MemberKind, member: VerbsObject): void {
    this.#members[kind].add(member)
    if (kind === 'qp') this.#qps.set((member as QueuePair).ref, member as QueuePair)
  }

  disown(kind: MemberKind, member: VerbsObject): void {
    this.#members[kind].delete(member)
    if (kind === 'qp') this.#qps.delete((member as QueuePair).ref)
  }

  // --- asynchronous events -----------------------------------------------------------------------------------------

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
      for (const cq of this.#members.cq as Set<CompletionQueue>) if (cq.ref === ref) event.cq = cq
      if (!event.cq) return null
    } else if (kind === elementKind.srq) {
      for (const srq of this.#members.srq as Set<SharedReceiveQueue>) if (srq.ref === ref) event.srq = srq
      if (!event.srq) return null
    } else if (kind === elementKind.port) event.portNum = ref
    return event
  }

  getAsyncEvent(timeoutMs: number = Number.POSITIVE_INFINITY): AsyncEvent | null {
    const { i32, segment, pendingCount } = this.#host
    const end = performance.now() + timeoutMs
    for (;;) {
      const sequence = Atomics.load(i32, this.#word + Ctx.eventSequence)
      const event = this.pollAsyncEvent()
      if (event) return event
      const left = end - performance.now()
      if (left <= 0) return null
      this.device.rest(false)
      this.device.leavesLoop?.()
      segment.parking.park(
        this.#word + Ctx.eventSequence,
        sequence,
        Math.min(left, i32[pendingCount] !== 0 ? 1 : untilLook(1000)),
      )
    }
  }

  /** Events as they come: `for await (const event of context.asyncEvents())`. Ends when the context closes. */
  async *asyncEvents(): AsyncGenerator<AsyncEvent, void, undefined> {
    const { i32, segment } = this.#host
    while (!this.closed) {
      const sequence = Atomics.load(i32, this.#word + Ctx.eventSequence)
      const event = this.pollAsyncEvent()
      if (event) yield event
      else {
        this.device.rest(true)
        await segment.parking.waitInLoop(this.#word + Ctx.eventSequence, sequence, untilLook(100))
      }
    }
  }

  ackAsyncEvent(_event: AsyncEvent): void {}

  // --- the end -----------------------------------------------------------------------------------------------------

  close(): void {
    this.assertOpen('close')
    for (const [kind, members] of Object.entries(this.#members) as [MemberKind, Set<VerbsObject>][]) {
      if (members.size > 0)
        throw new VerbsError('EBUSY', 'close', `still open in this context: ${plural(members.size, memberNames[kind])}`)
    }
    this.markClosed()
    for (const { byteOffset } of this.#buffers) this.#host.segment.free(byteOffset)
    this.#end()
  }

  #end(): void {
    this.device.close(this.slot)
    this.#host.wakeForEvents(this.#word)
    this.#host.control(() => giveRecord(this.#host, 'context', this.#word))
  }
}
