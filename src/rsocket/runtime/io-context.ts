/**
 * Resources of one device that the streams of one thread share: the protection domain, the completion channel, and memory that is
 * registered for the program.
 */
import { every, inRootContext } from '../../memory/index.ts'
import {
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  type MemoryRegion,
  type ProtectionDomain,
  reapDead,
} from '../../verbs/index.ts'
import { StreamArena, type StreamLink, StreamQueues } from '../protocol/index.ts'
import { type EventSource, forget, givesTurns, leave, type Member, use } from './reactor.ts'

/** Longest wait for an event: after each, the service thread must drive the device. The channel itself checks more often. */
const sliceMs = 60_000
/** Longest wait while no member keeps the process alive: then a timer waits, which does not keep it alive either. */
const unheldMs = 10

/**
 * Interval at which streams that wait for their peer probe it, and at which threads of this process that ended without closing anything are
 * cleaned up.
 */
export const watchMs = 1000

/**
 * Time for which unused resources are kept: programs often open the next socket soon, and the resources that all sockets share take as long
 * to make as those that each socket has for itself. The CM, kept as long, must also serve last messages.
 */
export const keepMs = 250

/** Owner of a completion queue: it is notified when an event of the queue was taken. */
export interface CqOwner {
  tookEvent(cq: CompletionQueue): void
}

/** Number of intervals after which streams that wait for nothing are probed. */
const restEvery = 8

export interface Watched {
  /** True if the peer owes it buffer space, or the acknowledgement of sent data. */
  readonly waits: boolean
  probe(): void
}

const contexts = new Map<Context, IoContext>()

/** Number of contexts of this thread with members that keep the process alive. */
let held = 0
const heldListeners = new Set<() => void>()

/** True if the process is kept alive anyway, because sockets wait for their devices. */
export function processHeld(): boolean {
  return held > 0
}

/** Calls `released` whenever `processHeld` has become false, until the returned function is called. */
export function whenReleased(released: () => void): () => void {
  heldListeners.add(released)
  return () => heldListeners.delete(released)
}

interface Block {
  bytes: Uint8Array
  region: MemoryRegion
}

/** A resource that is kept ready for the next socket; closed before its device is. */
export interface Spare {
  close(): void
}

/** A link, with the device context whose events report its input. */
export interface BoundLink {
  readonly io: IoContext
  readonly connection: StreamLink
  close(): void
}

export class IoContext implements EventSource {
  readonly context: Context
  readonly pd: ProtectionDomain
  readonly channel: CompletionChannel
  /** Memory of its streams. */
  readonly arena: StreamArena
  /** Completion queues of its streams. */
  readonly queues: StreamQueues
  /** True for a device that works only while a thread polls it. */
  readonly driven: boolean
  spare: Spare | undefined
  #uses = 0
  #members = 0
  #refs = 0
  #waiting = false
  #held = false
  #timer: NodeJS.Timeout | undefined
  /** True if a check is scheduled whether nothing keeps the process alive still. */
  #unrefPending = false
  readonly #blocks: Block[] = []
  readonly #streams = new Set<Watched>()
  #watches = 0
  readonly #endWatch: () => void
  #closing: NodeJS.Timeout | undefined
  #lookedAt = performance.now()

  constructor(context: Context) {
    this.context = context
    this.pd = context.allocPd()
    this.channel = context.createCompChannel()
    this.arena = new StreamArena(this.pd)
    this.queues = new StreamQueues(
      (cqe, pair, crowded) => this.createCq(cqe, pair, crowded),
      context.device.attr.maxCqe,
    )
    this.driven = context.device.driven
    this.#endWatch = inRootContext(() => every(watchMs, () => this.#watch()))
  }

  /** Returns the `IoContext` of a context in this thread. Each call is paired with a `release`. */
  static acquire(context: Context): IoContext {
    let io = contexts.get(context)
    if (io === undefined) {
      io = new IoContext(context)
      contexts.set(context, io)
    }
    io.#uses++
    clearTimeout(io.#closing)
    return io
  }

  release(): void {
    if (--this.#uses > 0) return
    leave(this)
    // Memory of the program lives no longer than its sockets.
    if (this.hasBlocks) this.#close()
    else this.#closing = inRootContext(() => setTimeout(() => this.#close(), keepMs).unref())
  }

  /** Closes the contexts that are kept though unused, since their device context may be about to close. */
  static closeUnused(): void {
    for (const io of contexts.values()) if (io.#uses === 0) io.#close()
  }

  #close(): void {
    contexts.delete(this.context)
    this.#holds(false)
    clearTimeout(this.#closing)
    this.#endWatch()
    this.spare?.close()
    this.queues.close()
    this.arena.close()
    for (const { bytes, region } of this.#blocks) {
      region.close()
      this.context.free(bytes)
    }
    this.channel.wake()
    this.channel.close()
    this.pd.close()
  }

  /** Probes the stream once a second while it waits for its peer, otherwise at longer intervals, until `drop`. */
  keep(stream: Watched): void {
    this.#streams.add(stream)
  }

  /** Number of streams that are probed. */
  get streams(): number {
    return this.#streams.size
  }

  drop(stream: Watched): void {
    this.#streams.delete(stream)
  }

  /** Creates a completion queue. `crowded`: many queue pairs, which come and go, are to complete to it. */
  createCq(cqe: number, owner: CqOwner, crowded = false): CompletionQueue {
    const { channel } = this
    return this.context.createCq(cqe, { singleThreaded: true, channel, cqContext: owner, inLoop: true, crowded })
  }

  /** True if members are watched in the event loop. */
  get hasMembers(): boolean {
    return this.#members > 0
  }

  /** Drives the device and hands completions on to the streams. */
  poll(): void {
    this.queues.poll()
  }

  #watch(): void {
    // On a device that processes share, dead threads are detected in other ways as well.
    if (this.context.device.host.segment.name === null || this.#watches % restEvery === 0) this.#reapDead()
    this.queues.trim()
    if (this.#streams.size > 0) this.poll()
    if (this.#members > 0) this.queues.armAnew()
    const turn = this.#watches++ % restEvery
    let i = 0
    for (const stream of this.#streams) if (i++ % restEvery === turn || stream.waits) stream.probe()
  }

  #reapDead(): void {
    const now = performance.now()
    if (now - this.#lookedAt < watchMs / 2) return
    this.#lookedAt = now
    reapDead(this.context.device.host)
  }

  // --- memory of the program ---------------------------------------------------------------------------------------

  /** Allocates memory that is registered for sending; it lives as long as this object. */
  alloc(bytes: number): Uint8Array {
    const piece = this.context.alloc(bytes)
    this.#blocks.push({ bytes: piece, region: this.pd.regMr(piece, 0) })
    return piece
  }

  /** Returns the key with which `buffer` can be sent from where it is, −1 if it is not memory from `alloc`. */
  lkeyOf(buffer: Uint8Array): number {
    for (const { bytes, region } of this.#blocks)
      if (
        bytes.buffer === buffer.buffer &&
        buffer.byteOffset >= bytes.byteOffset &&
        buffer.byteOffset + buffer.length <= bytes.byteOffset + bytes.length
      )
        return region.lkey
    return -1
  }

  get hasBlocks(): boolean {
    return this.#blocks.length > 0
  }

  // --- waiting -----------------------------------------------------------------------------------------------------

  #took(cq: CompletionQueue): void {
    cq.ackEvents(1)
    ;(cq.cqContext as CqOwner).tookEvent(cq)
    // Members that are not active rely on the queue being armed.
    if (this.#members > 0 && !givesTurns()) this.queues.arm()
  }

  /** Takes the available events: their members become active. */
  collect(): void {
    while (this.channel.hasEvent) {
      const cq = this.channel.tryGetEvent()
      if (cq !== null) this.#took(cq)
    }
  }

  /** Blocks this thread until there is an event, at most `ms`. */
  sleep(ms: number): void {
    const cq = this.channel.getEvent(ms)
    if (cq === null) {
      this.#reapDead()
      this.queues.armAnew()
      return
    }
    this.#took(cq)
  }

  /** Adds a member that is watched in the event loop; with `ref` it keeps the process alive. */
  addMember(ref: boolean): void {
    this.#members++
    if (ref) this.#refs++
    use(this)
    this.#changed()
  }

  dropMember(member: Member, ref: boolean): void {
    this.#members--
    if (ref) this.#refs--
    if (this.#members === 0) leave(this)
    this.#changed()
    forget(member)
  }

  ref(more: 1 | -1): void {
    this.#refs += more
    this.#changed()
  }

  /** Re-evaluates whether the process is kept alive. */
  #changed(): void {
    this.#holds(this.#refs > 0)
    if (!this.#waiting) {
      // While members get turns, the reactor begins the wait when they rest.
      if (this.#members > 0 && !givesTurns()) this.wait()
      return
    }
    if (this.#timer !== undefined && this.#refs > 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#waiting = false
      this.wait()
    } else if (this.#refs === 0 && this.#timer === undefined && !this.#unrefPending) {
      this.#unrefPending = true
      inRootContext(this.#letGoSoon)
    }
  }

  /** Waits in the event loop for an event. */
  wait(): void {
    if (this.#members === 0 || this.channel.closed) return
    this.queues.arm()
    // Completions that came before that have made members active: they rest later.
    if (givesTurns()) return
    if (this.#waiting) {
      // Members got turns since the wait began: other threads may drive the device again.
      this.context.device.rest(this.#timer === undefined)
      return
    }
    this.#waiting = true
    inRootContext(this.#beginWaiting)
  }

  readonly #letGoSoon = (): void => {
    setImmediate(() => {
      this.#unrefPending = false
      if (this.#refs === 0 && this.#waiting && this.#timer === undefined && !this.channel.closed) this.channel.wake()
    })
  }

  #holds(holds: boolean): void {
    if (holds === this.#held) return
    this.#held = holds
    held += holds ? 1 : -1
    if (held === 0) for (const released of [...heldListeners]) released()
  }

  readonly #beginWaiting = (): void => {
    if (this.#refs === 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        this.#waited()
      }, unheldMs).unref()
    } else void this.channel.whenEvent(sliceMs).then(() => this.#waited())
  }

  #waited(): void {
    this.#waiting = false
    if (this.channel.closed) return
    this.collect()
    // The reactor begins the next wait when the members rest.
    if (!givesTurns()) this.wait()
  }
}
