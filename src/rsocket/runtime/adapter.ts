/**
 * What the streams of one thread share of one device: protection domain, completion channel, memory of the program that
 * is registered.
 */
import { inRootContext } from '../../memory/index.ts'
import {
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  type MemoryRegion,
  type ProtectionDomain,
  reapDead,
} from '../../verbs/index.ts'
import type { StreamLink } from '../protocol/index.ts'
import { type EventSource, forget, givesTurns, heat, leave, type Member, use } from './loop.ts'

/** Longest time without a look around, for what makes no event. */
const sliceMs = 100
/** The same while no member keeps the process alive: then nothing may wait that would. */
const unheldMs = 10

/**
 * How often streams that wait for their peer ask whether it still lives, and threads of this process are looked for that
 * ended without closing anything.
 */
export const watchMs = 1000

/** Who is given time when a completion queue has an event. */
export interface CqOwner {
  readonly member: Member
}

export interface Watched {
  probe(): void
}

const adapters = new Map<Context, Adapter>()

interface Piece {
  bytes: Uint8Array
  region: MemoryRegion
}

/** A link with the adapter whose events report what comes on it. */
export interface Line {
  readonly adapter: Adapter
  readonly connection: StreamLink
  close(): void
}

export class Adapter implements EventSource {
  readonly context: Context
  readonly pd: ProtectionDomain
  readonly channel: CompletionChannel
  /** A device that does its work only when a thread gives it time. */
  readonly driven: boolean
  #uses = 0
  #members = 0
  #refs = 0
  #waiting = false
  #timer: NodeJS.Timeout | undefined
  /** Soon it is looked whether still nobody keeps the process alive. */
  #letsGo = false
  readonly #pieces: Piece[] = []
  readonly #streams = new Set<Watched>()
  readonly #watchdog: NodeJS.Timeout
  #lookedAt = performance.now()

  constructor(context: Context) {
    this.context = context
    this.pd = context.allocPd()
    this.channel = context.createCompChannel()
    this.driven = context.device.driven
    this.#watchdog = inRootContext(() => setInterval(() => this.#watch(), watchMs).unref())
  }

  /** The adapter of a context in this thread; each call wants one `release`. */
  static acquire(context: Context): Adapter {
    let adapter = adapters.get(context)
    if (adapter === undefined) {
      adapter = new Adapter(context)
      adapters.set(context, adapter)
    }
    adapter.#uses++
    return adapter
  }

  release(): void {
    if (--this.#uses > 0) return
    adapters.delete(this.context)
    leave(this)
    clearInterval(this.#watchdog)
    for (const { bytes, region } of this.#pieces) {
      region.close()
      this.context.free(bytes)
    }
    this.channel.wake()
    this.channel.close()
    this.pd.close()
  }

  /** From now on, until `drop`, the stream is asked now and then whether it has to look after its peer. */
  keep(stream: Watched): void {
    this.#streams.add(stream)
  }

  /** How many there are. */
  get streams(): number {
    return this.#streams.size
  }

  drop(stream: Watched): void {
    this.#streams.delete(stream)
  }

  /** A completion queue whose events are those of the owner's member. */
  createCq(cqe: number, owner: CqOwner): CompletionQueue {
    return this.context.createCq(cqe, { singleThreaded: true, channel: this.channel, cqContext: owner })
  }

  #watch(): void {
    this.#reapDead()
    for (const stream of this.#streams) stream.probe()
  }

  #reapDead(): void {
    const now = performance.now()
    if (now - this.#lookedAt < watchMs / 2) return
    this.#lookedAt = now
    const { host } = this.context.device
    for (const dead of host.segment.deadAttachments()) reapDead(host, dead)
  }

  // --- memory of the program ---------------------------------------------------------------------------------------

  /** Memory that is registered for sending; it lives as long as the adapter. */
  alloc(bytes: number): Uint8Array {
    const piece = this.context.alloc(bytes)
    this.#pieces.push({ bytes: piece, region: this.pd.regMr(piece, 0) })
    return piece
  }

  /** The key with which `buffer` can be sent from where it is, −1 if it is no memory from `alloc`. */
  lkeyOf(buffer: Uint8Array): number {
    for (const { bytes, region } of this.#pieces)
      if (
        bytes.buffer === buffer.buffer &&
        buffer.byteOffset >= bytes.byteOffset &&
        buffer.byteOffset + buffer.length <= bytes.byteOffset + bytes.length
      )
        return region.lkey
    return -1
  }

  get hasPieces(): boolean {
    return this.#pieces.length > 0
  }

  // --- waiting -----------------------------------------------------------------------------------------------------

  #took(cq: CompletionQueue): void {
    cq.ackEvents(1)
    heat((cq.cqContext as CqOwner).member)
  }

  /** Takes events: their members are hot. */
  collect(): void {
    for (let cq = this.channel.tryGetEvent(); cq !== null; cq = this.channel.tryGetEvent()) this.#took(cq)
  }

  /** Blocks this thread until there is an event, at most so long. */
  sleep(ms: number): void {
    const cq = this.channel.getEvent(ms)
    if (cq === null) {
      this.#reapDead()
      return
    }
    cq.ackEvents(1)
    if (this.#members > 0) heat((cq.cqContext as CqOwner).member)
  }

  /** A member more is watched in the event loop; with `ref` it keeps the process alive. */
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

  /** Whether the process is kept alive may be different now. */
  #changed(): void {
    if (!this.#waiting) {
      // While sockets get turns, their end begins the waiting.
      if (this.#members > 0 && !givesTurns()) this.wait()
      return
    }
    if (this.#timer !== undefined && this.#refs > 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#waiting = false
      this.wait()
    } else if (this.#refs === 0 && this.#timer === undefined && !this.#letsGo) {
      this.#letsGo = true
      inRootContext(this.#letGoSoon)
    }
  }

  /** Waits in the event loop for an event. */
  wait(): void {
    if (this.#members === 0 || this.channel.closed) return
    if (this.#waiting) {
      // Sockets have been given turns since the waiting began: the device is left to others again.
      this.context.device.rest()
      return
    }
    this.#waiting = true
    inRootContext(this.#beginWaiting)
  }

  readonly #letGoSoon = (): void => {
    setImmediate(() => {
      this.#letsGo = false
      if (this.#refs === 0 && this.#waiting && this.#timer === undefined && !this.channel.closed) this.channel.wake()
    })
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
    this.wait()
  }
}
