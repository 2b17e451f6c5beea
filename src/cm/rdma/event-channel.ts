/**
 * Where events of ids arrive: `rdma_event_channel`. Three ways to take them, which may be mixed in one thread:
 *
 *     channel.getEvent()               blocks the thread
 *     for await (const e of channel)   in the event loop
 *     channel.tryGetEvent()            never waits; with `onReadable` for libraries on top
 *
 * Each of them also gives the devices of this thread time, so that peers get their answers.
 */
import { nowNs, sleepUntilNs } from '../../memory/index.ts'
import type { Context, QpType } from '../../verbs/index.ts'
import { type Agent, agentsOfThread, processAll } from './agent.ts'
import type { CmEventType, PortSpace } from './constants.ts'
import { DeviceSet } from './devices.ts'
import { RdmaCmError } from './errors.ts'
import type { CmEvent } from './event.ts'
import { CmId } from './id.ts'

export interface EventChannelOptions {
  /** Default: the environment variable VERBENA_DEVICE, else `roce`, all addresses of this host. */
  device?: string | Context
}

export interface IdOptions {
  /** Default: RC for the port spaces TCP and IB, UD for UDP and IPOIB. UC gives unreliable connections. */
  qpType?: QpType
  /** Anything of the program's: `id.context`. */
  context?: unknown
}

/** Several devices are looked at in turn while one of them is waited for. */
const sliceMs = 2

export class EventChannel {
  readonly devices: DeviceSet
  #queue: CmEvent[] = []
  readonly #ids = new Set<CmId>()
  readonly #readers = new Set<() => void>()
  readonly #waiting: (() => void)[] = []
  readonly #follows = new Map<Agent, () => void>()
  #followers = 0
  #told = false
  #closed = false

  /** Use `createEventChannel`. */
  constructor(options: EventChannelOptions = {}) {
    if (typeof options !== 'object' || options === null)
      throw new RdmaCmError('EINVAL', 'createEventChannel', 'options must be an object such as { device: "shm0" }')
    this.devices = new DeviceSet(options.device, (agent) => {
      if (this.#followers > 0) this.#follow(agent)
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /** `rdma_create_id`, and with `qpType` `rdma_create_id2`. */
  createId(portSpace: PortSpace, options: IdOptions = {}): CmId {
    this.#assertOpen('createId')
    return new CmId(this, portSpace, options, false)
  }

  // --- events ------------------------------------------------------------------------------------------------------

  /** The next event, or undefined if there is none now. Never waits. */
  tryGetEvent(): CmEvent | undefined {
    this.#assertOpen('tryGetEvent')
    processAll()
    return this.#queue.shift()
  }

  /** `rdma_get_cm_event`: blocks this thread until there is an event, at most `timeoutMs`; then undefined. */
  getEvent(timeoutMs: number = Number.POSITIVE_INFINITY): CmEvent | undefined {
    this.#assertOpen('getEvent')
    const end = performance.now() + timeoutMs
    for (;;) {
      const event = this.#queue.shift() ?? this.tryGetEvent()
      if (event !== undefined) return event
      const left = end - performance.now()
      if (left <= 0) return undefined
      this.#wait(left)
    }
  }

  /** Blocks until something may have come. */
  #wait(ms: number): void {
    if (processAll() > 0) return
    const agents = [...this.devices.agents]
    if (agents.length === 1 && agentsOfThread() === 1) agents[0]!.wait(ms)
    else if (agents.length > 0) agents[0]!.wait(Math.min(ms, sliceMs))
    else sleepUntilNs(nowNs() + Math.min(ms, sliceMs) * 1e6)
  }

  /** Events as they come, without blocking the event loop. Ends when the channel closes. */
  async *[Symbol.asyncIterator](): AsyncGenerator<CmEvent, void, undefined> {
    const stop = this.#followAll()
    // Keeps the process alive also while no device is in use.
    const hold = setInterval(() => {}, 1 << 30)
    try {
      while (!this.#closed) {
        const event = this.#queue.shift() ?? this.tryGetEvent()
        if (event !== undefined) yield event
        else
          await new Promise<void>((resolve) => {
            this.#waiting.push(resolve)
          })
      }
    } finally {
      clearInterval(hold)
      stop()
    }
  }

  /**
   * Calls `reader` in the event loop whenever events have come since it was called last, and once at the start if some
   * wait: take them with `tryGetEvent` until there are none. What is returned ends that.
   */
  onReadable(reader: () => void): () => void {
    this.#assertOpen('onReadable')
    const stop = this.#followAll()
    this.#readers.add(reader)
    if (this.#queue.length > 0) this.#tell()
    return () => {
      if (this.#readers.delete(reader)) stop()
    }
  }

  /** For ids, which may make many connections before anybody asks for an event: takes what has come meanwhile. */
  giveTime(): void {
    processAll()
  }

  /** For ids: an event of theirs. */
  push(event: CmEvent): void {
    this.#queue.push(event)
    if (this.#readers.size > 0 || this.#waiting.length > 0) this.#tell()
  }

  /** For ids: takes the events of one that closes or goes to another channel, its requests among them. */
  takeEventsOf(id: CmId): CmEvent[] {
    const isOf = (event: CmEvent): boolean => event.id === id || event.listenId === id
    const taken = this.#queue.filter(isOf)
    if (taken.length > 0) this.#queue = this.#queue.filter((event) => !isOf(event))
    return taken
  }

  /** For ids: whether such an event waits. */
  has(id: CmId, type: CmEventType): boolean {
    return this.#queue.some((event) => event.id === id && event.type === type)
  }

  /** For ids without a channel: blocks until there is such an event. */
  waitFor(wanted: (event: CmEvent) => boolean): CmEvent {
    for (;;) {
      const at = this.#queue.findIndex(wanted)
      if (at >= 0) return this.#queue.splice(at, 1)[0]!
      this.#wait(Number.POSITIVE_INFINITY)
    }
  }

  /** For ids: another channel on the same devices. */
  another(): EventChannel {
    return new EventChannel({ device: this.devices.device })
  }

  #tell(): void {
    if (this.#told) return
    this.#told = true
    queueMicrotask(() => {
      this.#told = false
      for (const resolve of this.#waiting.splice(0)) resolve()
      for (const reader of [...this.#readers]) if (this.#readers.has(reader)) reader()
    })
  }

  // --- the event loop ----------------------------------------------------------------------------------------------

  #followAll(): () => void {
    if (this.#followers++ === 0) for (const agent of this.devices.agents) this.#follow(agent)
    return () => {
      if (--this.#followers === 0) this.#unfollow()
    }
  }

  #follow(agent: Agent): void {
    if (!this.#follows.has(agent)) this.#follows.set(agent, agent.follow(this))
  }

  #unfollow(): void {
    for (const stop of this.#follows.values()) stop()
    this.#follows.clear()
  }

  // --- ids and the end ---------------------------------------------------------------------------------------------

  adopt(id: CmId): void {
    this.#ids.add(id)
  }

  disown(id: CmId): void {
    this.#ids.delete(id)
  }

  /** `rdma_destroy_event_channel`. Ids that are still open are closed. */
  close(): void {
    this.#assertOpen('close')
    for (const id of [...this.#ids]) id.close()
    this.#closed = true
    this.#queue = []
    this.#readers.clear()
    this.#unfollow()
    this.devices.close()
    this.#tell()
  }

  [Symbol.dispose](): void {
    if (!this.#closed) this.close()
  }

  #assertOpen(call: string): void {
    if (this.#closed) throw new RdmaCmError('EBADF', call, 'this event channel is closed')
  }
}

/** `rdma_create_event_channel`. */
export function createEventChannel(options: EventChannelOptions = {}): EventChannel {
  return new EventChannel(options)
}

/**
 * An id without a channel: `rdma_create_id` with channel NULL. Each call waits, blocking the thread, until what it asks for
 * has happened, and throws an RdmaCmError if it fails.
 */
export function createId(portSpace: PortSpace, options: IdOptions & EventChannelOptions = {}): CmId {
  return new CmId(new EventChannel(options), portSpace, options, true)
}
