/**
 * The objects of the verbs as programs see them. They name each other in circles (a queue pair its protection domain, that its
 * context, the context the queue pairs that it imports), so their declarations stand together in this file; each class beside
 * it implements one of them and knows the others only by these.
 *
 * Every object belongs to the thread that made it. Another thread, or another process on the same named segment, makes an
 * *import* from its `handle`:
 *
 *   - An import is used as the original, in the thread that imported it.
 *   - Closing an import ends the import only.
 *   - When the owner closes the object, or ends, every verb of its imports throws EBADF, also when another object has taken its
 *     record by then.
 *   - Asynchronous events go to the context of the owner only.
 *
 * Members that are marked as internal are left out of the package's declarations (`stripInternal`).
 */
import type {
  AhAttr,
  CqInit,
  DeviceAttr,
  Engine,
  GidEntry,
  PortAttr,
  QpAttr,
  QpCap,
  QpModify,
  RecvWrInit,
  SendWrInit,
  SrqAttr,
  SrqInit,
} from '../provider/attributes.ts'
import type { EventType, MwType, QpState, QpType } from '../provider/constants.ts'
import type { Device } from '../provider/device.ts'
import type { MwBind } from '../provider/operations.ts'
import type { WorkCompletion } from '../provider/work-completion.ts'
import type { RecvWorkRequest, SendWorkRequest } from '../provider/work-request.ts'
import type { WorkRequestBuilder } from './builder.ts'

/** Base of all objects: they are closed once and used only before. */
export interface VerbsObject extends Disposable {
  /** True if `close` was called here. */
  readonly closed: boolean
  /** Ends the object. EBADF if it is closed already, EBUSY while other objects need it. */
  close(): void
  /** @internal Throws EBADF if the object is closed, here or by the thread that made it. */
  assertOpen(verb: string): void
}

// --- handles: what another thread or process imports; plain data, to be posted or sent as JSON -----------------------

/** Handle of a protection domain, for `context.importPd`. */
export interface PdHandle {
  /** Kind of the object. */
  kind: 'pd'
  /** Reference to the object; it names no other object that later takes its slot. */
  ref: number
}

/** Handle of a memory region, for `context.importMr`. */
export interface MrHandle {
  /** Kind of the object. */
  kind: 'mr'
  /** The key of the region. */
  lkey: number
}

/** Handle of a completion queue, for `context.importCq`. */
export interface CqHandle {
  /** Kind of the object. */
  kind: 'cq'
  /** Reference to the object; it names no other object that later takes its slot. */
  ref: number
}

/** Handle of a shared receive queue, for `context.importSrq`. */
export interface SrqHandle {
  /** Kind of the object. */
  kind: 'srq'
  /** Reference to the object; it names no other object that later takes its slot. */
  ref: number
}

/** Handle of a queue pair, for `context.importQp`. */
export interface QpHandle {
  /** Kind of the object. */
  kind: 'qp'
  /** Reference to the object; it names no other object that later takes its slot. */
  ref: number
  /** The number that peers send to. */
  qpNum: number
  /** Type of the queue pair. */
  type: QpType
}

// --- context ---------------------------------------------------------------------------------------------------------

/** `ibv_async_event`: an asynchronous event, and the object of this context to which it happened. */
export interface AsyncEvent {
  /** Type of the event. */
  type: EventType
  /** The name of `type`, as in `EventType`. */
  name: string
  /** The queue pair to which it happened. */
  qp?: QueuePair
  /** Number of the queue pair. */
  qpNum?: number
  /** The completion queue to which it happened. */
  cq?: CompletionQueue
  /** The shared receive queue to which it happened. */
  srq?: SharedReceiveQueue
  /** The port to which it happened, counted from 1. */
  portNum?: number
}

/** Options of `createCq`. */
export interface CqOptions extends CqInit {
  /** Channel of the queue's events (`reqNotify`); without one, the queue can only be polled. */
  channel?: CompletionChannel
  /** Value of the program, kept as `cq.cqContext`. */
  cqContext?: unknown
  /** @internal True if the queue is polled from the event loop, and its waits notify the device in other ways (`Device.leavesLoop`). */
  inLoop?: boolean
  /** @internal True if queue pairs that complete to it come and go: no grace period passes when the second one comes. */
  crowded?: boolean
  /** @internal True if completions show `solicitedFlag` in `wcFlags` where the sender requested a solicited event. */
  tellsSolicited?: boolean
}

/** The kinds of objects that a context counts. */
export type MemberKind = 'pd' | 'cq' | 'channel' | 'srq' | 'mr' | 'mw' | 'ah' | 'qp'

/**
 * `ibv_context`: an opened device, its limits, its memory, its events, and everything made from it. Used by the thread that
 * opened it; other threads open the device too.
 */
export interface Context extends VerbsObject {
  /** The name that the device was opened by. */
  readonly name: string
  /** Thread that executes requests: the posting thread, or a thread of the adapter. */
  readonly engine: Engine

  /** `ibv_query_device_ex`: limits and identity of the device. EBADF if the context is closed. */
  queryDevice(): DeviceAttr
  /** `ibv_query_port`; ports count from 1. EINVAL if there is no such port. */
  queryPort(port: number): PortAttr
  /** `ibv_query_gid`: the 16 bytes of an entry of the GID table. ENODATA if the table has no entry `index`. */
  queryGid(port: number, index: number): Uint8Array
  /** `ibv_query_gid_ex`: an entry of the GID table. ENODATA if the table has no entry `index`. */
  queryGidEx(port: number, index: number): GidEntry
  /** `ibv_query_gid_table`: all entries of the GID tables of all ports. */
  queryGidTable(): GidEntry[]
  /** `ibv_query_pkey`: an entry of the P_Key table. EINVAL if the table has no entry `index`. */
  queryPkey(port: number, index: number): number
  /** `ibv_get_pkey_index`: the index of a P_Key in the table. EINVAL if it is not there. */
  getPkeyIndex(port: number, pkey: number): number
  /** Counters of the device by name, since it was made: messages, errors, and everything that was dropped. */
  counters(): Record<string, number>

  /**
   * `bytes` of memory that the device can reach: page aligned, zeroed, shared with every thread of the segment. ENOMEM or ENOSPC
   * if the segment, or the system, has no more.
   */
  alloc(bytes: number): Uint8Array
  /** The `length` bytes at a device address, in whatever thread they were allocated. EINVAL outside of the segment's heap. */
  view(addr: number, length: number): Uint8Array
  /**
   * Gives memory from `alloc` back. Deregister it first: the pages are handed out again. EINVAL unless `buffer` is the array itself that
   * `alloc` of this context returned, and was not freed before.
   */
  free(buffer: Uint8Array): void
  /** @internal Forgets this memory, which is freed with a region. */
  forget(buffer: Uint8Array): void

  /** `ibv_alloc_pd`. ENOMEM if the segment has no record left. */
  allocPd(): ProtectionDomain
  /** `ibv_create_comp_channel`. ENOMEM if the segment has no record left. */
  createCompChannel(): CompletionChannel
  /**
   * `ibv_create_cq` for at least `cqe` completions, 1 to `maxCqe`. ENOMEM if the table of CQs or the segment is full, EINVAL if
   * the channel is of another context.
   */
  createCq(cqe: number, init?: CqOptions): CompletionQueue

  /** An import of a protection domain; EINVAL if it is closed. */
  importPd(handle: PdHandle): ProtectionDomain
  /** An import of a memory region; EINVAL if it is deregistered. */
  importMr(handle: MrHandle): MemoryRegion
  /** An import of a CQ: both threads poll the same completions. EINVAL if the CQ is closed. */
  importCq(handle: CqHandle): CompletionQueue
  /** An import of an SRQ; EINVAL if it is closed. */
  importSrq(handle: SrqHandle): SharedReceiveQueue
  /** An import of a QP with its protection domain, CQs and SRQ. EINVAL if it is closed, or was made on another device. */
  importQp<T extends QpType = QpType>(handle: QpHandle & { type: T }): QueuePair<T>

  /** The next asynchronous event, or null if there is none now. Events of objects that were closed meanwhile are dropped. */
  pollAsyncEvent(): AsyncEvent | null
  /** `ibv_get_async_event`: blocks this thread until there is an event, at most `timeoutMs`; then null. */
  getAsyncEvent(timeoutMs?: number): AsyncEvent | null
  /** Events as they come: `for await (const event of context.asyncEvents())`. Ends when the context closes. */
  asyncEvents(): AsyncGenerator<AsyncEvent, void, undefined>
  /** Does nothing: events need no acknowledgement here. It exists for programs that expect `ibv_ack_async_event`. */
  ackAsyncEvent(event: AsyncEvent): void

  /** `ibv_close_device`: frees memory from `alloc`. EBUSY while anything that was made from it is open. */
  close(): void

  /** @internal */
  readonly device: Device
  /** @internal Number of its record. */
  readonly slot: number
  /** @internal Counts `member` as one of this context, which cannot be closed before it. */
  adopt(kind: MemberKind, member: VerbsObject): void
  /** @internal */
  disown(kind: MemberKind, member: VerbsObject): void
}

// --- protection domain, memory ---------------------------------------------------------------------------------------

/** Memory that can be registered: bytes from `context.alloc`, or a range of device addresses, in bytes. */
export type Registrable = Uint8Array | { addr: number; length: number }

/**
 * Bytes in the memory of another process.
 *
 * @internal
 */
export interface ProcessRange {
  /** The process, by its number here. */
  pid: number
  /** Address of the first byte in that process. */
  address: number
  /** Bytes. */
  length: number
}

/** Options of `createQp`. */
export interface QpInit<T extends QpType> {
  /** RC, UC, UD or GSI. */
  type: T
  /** Completion queue of sends; belongs to the context of the protection domain. */
  sendCq: CompletionQueue
  /** Completion queue of receives; may be `sendCq`. */
  recvCq: CompletionQueue
  /** Receives are taken from it, and none are posted to the QP itself. */
  srq?: SharedReceiveQueue
  /** Sizes of the queues; missing ones are as in `defaultCap`. */
  cap?: Partial<QpCap>
  /** True if every send work request makes a completion, signaled or not. */
  sqSigAll?: boolean
  /** Value of the program, kept as `qp.qpContext`. */
  qpContext?: unknown
  /** @internal True if the receives of the queue pair are posted when a message finds none: see `Host.refill`. */
  hosted?: boolean
}

/** `ibv_pd`: objects that may be used together. Used by the thread that made or imported it. */
export interface ProtectionDomain extends VerbsObject {
  /** The context that it was made or imported in. */
  readonly context: Context
  /** Handle for `context.importPd` in another thread. */
  readonly handle: PdHandle

  /**
   * `ibv_reg_mr`: registers memory from `context.alloc`. `access` has bits of `Access`; `iova` is the address that work requests
   * use for its first byte (default: its address in the segment; with `ZeroBased`: 0). EINVAL if the device cannot reach the
   * memory or the rights contradict each other, ENOMEM if the device has `maxMr` regions, EOPNOTSUPP for `FlushPersistent`.
   */
  regMr(buffer: Registrable, access: number, options?: { iova?: number }): MemoryRegion
  /**
   * @internal `regMr` of memory of another process, which the caller has started: the kernel lets an ancestor read and write it. The
   * default of `iova` is the address there. Only this thread touches the memory. A request that meets a page that is no longer mapped ends
   * with an error, and so does any request once the process has ended or has executed another program. EOPNOTSUPP if the device cannot do
   * that, EPERM if the kernel does not permit it, EINVAL if the first or the last byte is not mapped or there is no such process.
   */
  regProcessMr(range: ProcessRange, access: number, options?: { iova?: number }): MemoryRegion
  /** `ibv_alloc_mw`: a window without rights until it is bound. ENOMEM if the device has `maxMw` of them. */
  allocMw(type: MwType): MemoryWindow
  /**
   * `ibv_create_qp`: a queue pair in RESET. EINVAL names what is wrong with `init`: its CQs and SRQ must be of this context.
   * ENOMEM if the table of QPs, or the segment, is full; EBADF if a CQ or SRQ is closed.
   */
  createQp<T extends QpType>(init: QpInit<T>): QueuePair<T>
  /** `ibv_create_srq`: receives for QPs of any type. ENOMEM if the table of SRQs, or the segment, is full. */
  createSrq(init: SrqInit): SharedReceiveQueue
  /**
   * `ibv_create_ah`: the path to a port for UD requests. EINVAL names the field that is wrong, ENOMEM if the device has `maxAh`
   * of them.
   */
  createAh(attr: AhAttr): AddressHandle
  /**
   * `ibv_create_ah_from_wc`: the return path to the sender of a UD message, from its completion and the GRH in the first 40 bytes
   * of its buffer. It begins at the address that the message was sent to; EINVAL if the port has no such GID. A message that came
   * over a multicast group is answered from the first GID of the sender's kind.
   */
  createAhFromWc(port: number, wc: WorkCompletion, grh: Uint8Array): AddressHandle
  /** `ibv_dealloc_pd`. EBUSY while anything belongs to it. */
  close(): void

  /** @internal Number of its record in the table of protection domains. */
  readonly slot: number
  /** @internal A reference to its record. */
  readonly ref: number
  /** @internal First word of its record. */
  readonly word: number
}

/**
 * `ibv_mr`: rights to a range of memory, accessed by a random key. Any thread of the segment uses the keys; the thread that registered the
 * region changes and closes it.
 */
export interface MemoryRegion extends VerbsObject {
  /** The protection domain that it belongs to. */
  readonly pd: ProtectionDomain
  /** The key of local accesses, in scatter/gather elements; 32 bits, unsigned. */
  readonly lkey: number
  /** The key that peers need; 32 bits, unsigned. */
  readonly rkey: number
  /** First address of the region, as work requests name it; 0 for a zero-based one. */
  readonly addr: number
  /** Bytes. */
  readonly length: number
  /** Bits of `Access`. */
  readonly access: number
  /** Handle for `context.importMr` in another thread. */
  readonly handle: MrHandle

  /**
   * `ibv_rereg_mr`: changes what `flags` (of `ReregFlag`) select; the keys stay. EINVAL if anything is wrong, EBUSY while windows are bound
   * to the region: nothing is changed then.
   */
  rereg(flags: number, changes: { pd?: ProtectionDomain; buffer?: Registrable; access?: number }): void
  /** @internal The same for memory of another process, in place of `buffer`. */
  rereg(flags: number, changes: { pd?: ProtectionDomain; access?: number; process?: ProcessRange; iova?: number }): void
  /**
   * `ibv_dereg_mr`. When it returns no adapter touches the memory any more. EBUSY while windows are bound to the region.
   */
  close(): void

  /**
   * @internal `close` without waiting for operations of other threads, which may still use it until it is reclaimed; `memory` from
   * `context.alloc` that begins where it does is freed then. No window is bound to it.
   */
  discard(memory?: Uint8Array): void
  /** @internal Whether no operation of another thread can use it any more, after `discard`. */
  readonly reclaimed: boolean
}

/**
 * `ibv_mw`: remote rights to a part of a memory region, given and taken by work requests. Used by the thread that allocated it.
 */
export interface MemoryWindow extends VerbsObject {
  /** The protection domain that it belongs to. */
  readonly pd: ProtectionDomain
  /** 1: bound by `qp.bindMw`; 2: by a work request. */
  readonly type: MwType
  /** The present key. Of a type 2 window: set it to the key that the last bind gave. */
  rkey: number
  /** `ibv_dealloc_mw`; a bound window is unbound. */
  close(): void
}

/** `ibv_ah`: the path to a port, for UD requests. Used by the thread that created it. */
export interface AddressHandle extends VerbsObject {
  /** The protection domain that it belongs to. */
  readonly pd: ProtectionDomain
  /** Address vector that the handle was created or last modified with. */
  readonly attr: Readonly<AhAttr>
  /** Changes the address vector; requests that were posted keep their path. EINVAL names the field that is wrong. */
  modify(attr: AhAttr): void
  /** The address vector as it is now. */
  query(): AhAttr
  /** `ibv_destroy_ah`; requests that were posted with it keep their path. */
  close(): void

  /** @internal A reference to the protection domain. */
  readonly pdRef: number
  /** @internal Copies the address vector into a work request. */
  copyTo(i32: Int32Array, av: number): void
}

// --- completion queue and channel ------------------------------------------------------------------------------------

/**
 * `ibv_cq`. Any thread that has it, or an import of it, may poll and arm it, also several at a time. One that is
 * `singleThreaded` is polled by one thread only, which also resets and closes its QPs.
 */
export interface CompletionQueue extends VerbsObject {
  /** The context that it was made or imported in. */
  readonly context: Context
  /** Channel of its events, null if the queue can only be polled. */
  readonly channel: CompletionChannel | null
  /** Value that was passed to `createCq`. */
  readonly cqContext: unknown
  /** The completion that extended polling (`startPoll`, `nextPoll`) stands at. */
  readonly current: WorkCompletion
  /** Handle for `context.importCq` in another thread. */
  readonly handle: CqHandle
  /** Completions that fit. */
  readonly cqe: number
  /** True if `poll` would find a completion without a call of the device's `progress` first. */
  readonly filled: boolean

  /**
   * `ibv_poll_cq`: takes up to `max` completions (default: all that fit) into `wc`; returns their number, 0 if there are none, −1 if the CQ
   * overran and all that it had kept was taken. EBADF if the CQ is closed. Allocates nothing.
   */
  poll(wc: WorkCompletion[], max?: number): number
  /** `ibv_start_poll`: true if there is a completion; then it is in `current`. */
  startPoll(): boolean
  /** `ibv_next_poll`: the same for the next completion. */
  nextPoll(): boolean
  /** Does nothing: no poll needs to be ended here. It exists for programs that expect `ibv_end_poll`. */
  endPoll(): void
  /**
   * `ibv_req_notify_cq`: the next completion (with `solicitedOnly`: the next solicited one, or one with an error) makes an event
   * on the channel. Poll once more after arming. An armed "any" is not weakened to "solicited". EINVAL without a channel.
   */
  reqNotify(solicitedOnly?: boolean): void
  /** `ibv_ack_cq_events`: acknowledges events taken from the channel; all must be before the CQ is closed. EINVAL if `count` is more. */
  ackEvents(count: number): void
  /** `ibv_resize_cq` to at least `cqe`; completions that are in the CQ stay. EINVAL if they would not fit. */
  resize(cqe: number): void
  /** `ibv_destroy_cq`. EBUSY while QPs use it; blocks until all events that were taken are acknowledged. */
  close(): void

  /** @internal Number of its record in the table of CQs. */
  readonly slot: number
  /** @internal A reference to its record. */
  readonly ref: number
}

/**
 * `ibv_comp_channel`: events of completion queues that were armed. Used by the thread that created it; `wake` too.
 */
export interface CompletionChannel extends VerbsObject {
  /** The context that it was made or imported in. */
  readonly context: Context
  /**
   * True if an event is pending.
   *
   * @internal
   */
  readonly hasEvent: boolean
  /** The CQ of the next event, or null if there is none now. */
  tryGetEvent(): CompletionQueue | null
  /** `ibv_get_cq_event`: blocks this thread until there is an event, at most `timeoutMs`; then null. For worker threads. */
  getEvent(timeoutMs?: number): CompletionQueue | null
  /** `getEvent` for the event loop, which goes on meanwhile. Null also after `wake`, or when the channel closes. */
  nextEvent(timeoutMs?: number): Promise<CompletionQueue | null>
  /**
   * Like `nextEvent`, but the event is left where it is: take it with `tryGetEvent`. Use it if the CQ may be closed meanwhile:
   * `close` blocks until every event that was taken has been acknowledged.
   */
  whenEvent(timeoutMs?: number): Promise<void>
  /** Makes `nextEvent` and `whenEvent` of this thread end. */
  wake(): void
  /** Events as they come, without blocking the event loop: `for await (const cq of channel)`. Ends when the channel closes. */
  [Symbol.asyncIterator](): AsyncGenerator<CompletionQueue, void, undefined>
  /** `ibv_destroy_comp_channel`. EBUSY while CQs use it. */
  close(): void

  /** @internal Number of its record in the table of channels. */
  readonly slot: number
  /** @internal A CQ that sends its events here was made. */
  attached(cq: CompletionQueue): void
  /** @internal */
  detached(cq: CompletionQueue): void
}

// --- queues of work requests -----------------------------------------------------------------------------------------

/** `ibv_srq`. Any thread that has it, or an import of it, may post to it, also several at a time. */
export interface SharedReceiveQueue extends VerbsObject {
  /** The protection domain that it belongs to. */
  readonly pd: ProtectionDomain
  /** Handle for `context.importSrq` in another thread. */
  readonly handle: SrqHandle
  /**
   * `ibv_post_srq_recv`: posts a receive request and all that are linked to it. ENOMEM when `maxWr` are posted, EINVAL for more
   * than `maxSge` elements; `badWr` of the error is the first that was not posted.
   */
  postRecv(wr: RecvWorkRequest | RecvWrInit): void
  /**
   * `ibv_modify_srq`: `srqLimit` arms the limit event (it fires once), `maxWr` resizes; posted receives stay. EINVAL if that does not fit.
   */
  modify(attr: SrqAttr): void
  /** `ibv_query_srq`. `srqLimit` is 0 when no limit event is armed. */
  query(): Required<SrqAttr> & { maxSge: number }
  /** `ibv_destroy_srq`. EBUSY while QPs use it. */
  close(): void

  /** @internal Number of its record in the table of SRQs. */
  readonly slot: number
  /** @internal A reference to its record. */
  readonly ref: number
}

/** Result of `qp.query`. */
export interface QpQuery<T extends QpType = QpType> {
  /** The attributes as they are now. */
  attr: QpAttr
  /** Values that the QP was created with. */
  initAttr: {
    type: T
    cap: QpCap
    sqSigAll: boolean
    sendCq: CompletionQueue
    recvCq: CompletionQueue
    srq: SharedReceiveQueue | null
  }
}

/**
 * `ibv_qp`. Any thread that has it, or an import of it, may post, modify and query it, also several at a time; the order of their
 * requests is that in which they post. Only the thread that created it closes it.
 */
export interface QueuePair<T extends QpType = QpType> extends VerbsObject {
  /** The protection domain that it belongs to. */
  readonly pd: ProtectionDomain
  /** RC, UC, UD or GSI. */
  readonly type: T
  /** The number that peers send to; 24 bits. */
  readonly qpNum: number
  /** Completion queue of sends. */
  readonly sendCq: CompletionQueue
  /** Completion queue of receives. */
  readonly recvCq: CompletionQueue
  /** Shared receive queue of the QP, null if receives are posted to the QP itself. */
  readonly srq: SharedReceiveQueue | null
  /** The sizes of its queues. */
  readonly cap: Readonly<QpCap>
  /** Value that was passed to `createQp`. */
  readonly qpContext: unknown
  /** Handle for `context.importQp` in another thread. */
  readonly handle: QpHandle
  /** The state now; errors change it. */
  readonly state: QpState
  /** `ibv_wr_start` and its companions. */
  readonly wr: WorkRequestBuilder

  /**
   * `ibv_modify_qp`: changes attributes and, with `state`, the state. Which attributes each transition requires and takes is in
   * `qpTransitions`. EINVAL names the attribute that is missing, superfluous or wrong; EPERM for a Q_Key with its highest bit set.
   *
   * RESET forgets all requests and completions of the QP; with a `singleThreaded` CQ only the thread that polls it may do
   * that. A path that is changed in SQD or RTS may mix with the old one in a packet that is sent again just then; the peer
   * drops it as it drops any that went astray, and it is sent once more.
   */
  modify(attr: QpModify<T>): void
  /** `ibv_query_qp`: the current attributes. */
  query(): QpQuery<T>
  /**
   * `ibv_post_send`: posts a send work request and all that are linked to it. ENOMEM if the send queue is full, EINVAL for the
   * first that cannot be posted (`badWr`); those before it are posted. Outcomes are completions on `sendCq`.
   */
  postSend(wr: SendWorkRequest | SendWrInit<T>): void
  /**
   * `ibv_post_recv`: posts a receive work request and all that are linked to it. EINVAL in RESET and on a QP with an SRQ, ENOMEM if
   * the receive queue is full; `badWr` of the error is the first that was not posted. Outcomes are completions on `recvCq`.
   */
  postRecv(wr: RecvWorkRequest | RecvWrInit): void
  /** `ibv_bind_mw`: binds a window of type 1; an empty length unbinds. Afterwards `mw.rkey` is the new key. Errors as of `postSend`. */
  bindMw(mw: MemoryWindow, info: MwBind, options?: { wrId?: number; sendFlags?: number }): void
  /**
   * `ibv_attach_mcast`: lets this UD QP receive messages to the multicast group `gid` (16 bytes: ff…, or an IPv4 group as ::ffff:224.0.0.0
   * and above). EINVAL if it is attached already, ENOMEM if the group or the table is full, and the error of the device if it cannot join
   * the group: then the QP is not attached. A device with addresses in several networks joins the group in the network of the GID
   * `sgidIndex`, or without it in the network to which the host's routes lead; all QPs of the device in the same.
   */
  attachMcast(gid: Uint8Array, lid?: number, sgidIndex?: number): void
  /** `ibv_detach_mcast`: ends what `attachMcast` began; EINVAL if the QP is not attached. */
  detachMcast(gid: Uint8Array, lid?: number): void
  /**
   * `ibv_destroy_qp`; outstanding requests vanish without completions, and completions from the CQs. EBUSY while it is attached
   * to a multicast group.
   */
  close(): void

  /** @internal `close` without waiting for operations of other threads: its memory is used for nothing else before it is reclaimed. */
  discard(): void
  /** @internal Whether no thread can complete requests of it any more, after `discard`. */
  readonly reclaimed: boolean

  /** @internal Number of its record in the table of QPs. */
  readonly slot: number
  /** @internal A reference to its record. */
  readonly ref: number
}
