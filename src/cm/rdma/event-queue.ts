/**
 * Queue in which events of ids arrive: `rdma_event_channel`. There are three ways to take them, which may be mixed in one thread:
 *
 *     channel.getEvent()               blocks the thread
 *     for await (const e of channel)   in the event loop
 *     channel.tryGetEvent()            never waits; with `onReadable` for libraries on top
 *
 * Each of them also drives the devices of this thread, so that peers get their answers.
 */
import { inRootContext, nowNs, sleepUntilNs, withContext } from '../../memory/index.ts'
import type { Context } from '../../verbs/index.ts'
import type { CmLimits } from '../ib/index.ts'
import type { Agent } from './agent.ts'
import { agentsOfThread, checkLimits, collectAll, processAll } from './agents.ts'
import type { CmEventType } from './constants.ts'
import { DeviceSet } from './devices.ts'
import { RdmaCmError } from './errors.ts'
import type { EventId, IdEvent } from './event.ts'

export interface EventChannelOptions {
  /**
   * Default: the environment variable VERBENA_DEVICE, else `roce`, all addresses of this host. Several contexts are devices of which the
   * first that has an address, or leads to it, is taken.
   */
  device?: string | Context | readonly Context[]
  /**
   * Limits of the state that peers can make the device's communication manager keep. All channels of a thread share them: the first channel
   * that uses the device decides, and one with other limits gets EBUSY when it uses the device later. Default: the environment variable
   * VERBENA_CM_LIMITS (`halfOpen=1000,connections=5000`), else the manager's own.
   */
  limits?: Partial<CmLimits>
}

/** With several devices, each is polled after a wait for one of them. */
const sliceMs = 2
/** Time for which a program that takes one event after the other gets new ones. */
const turnNs = 8e6
const longestTimerMs = 2 ** 31 - 1

/** Interface of the ids whose events are in a queue. */
export interface QueuedId extends EventId {
  close(): void
}

/** A call of an id that waits for its event in the event loop. */
interface Claim<Id extends QueuedId, Event extends IdEvent<Id>> {
  readonly id: Id
  readonly wanted: (event: Event) => boolean
  /** Undefined: it never comes. */
  readonly resolve: (event: Event | undefined) => void
}

export class EventQueue<Id extends QueuedId, Event extends IdEvent<Id>> {
  readonly devices: DeviceSet
  #queue: Event[] = []
  readonly #ids = new Set<Id>()
  #claims: Claim<Id, Event>[] = []
  readonly #readers = new Set<() => void>()
  readonly #waiting = new Set<() => void>()
  readonly #follows = new Map<Agent, () => void>()
  #followers = 0
  #told = false
  /** Time at which the program began to take events, after the last time that there was none; 0 before that. */
  #takingNs = 0
  #closed = false

  constructor(options: EventChannelOptions) {
    if (typeof options !== 'object' || options === null)
      throw new RdmaCmError('EINVAL', 'createEventChannel', 'options must be an object such as { device: "shm0" }')
    checkLimits(options.limits)
    this.devices = new DeviceSet(options.device, options.limits, (agent) => {
      if (this.#followers > 0) this.#follow(agent)
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  // --- other loops -------------------------------------------------------------------------------------------------

  /** @internal The event that `tryGetEvent` gives next, of those that have come. */
  get firstEvent(): Event | undefined {
    return this.#queue[0]
  }

  /** @internal For a thread with a loop of its own, which calls `giveTime`: see `Agent.arm`. */
  arm(): boolean {
    let rests = true
    for (const agent of this.devices.agents) rests = agent.arm() && rests
    return rests
  }

  /** @internal How long that thread may sleep, milliseconds. */
  get dueInMs(): number {
    let due = Number.POSITIVE_INFINITY
    for (const agent of this.devices.agents) due = Math.min(due, agent.dueInMs)
    return due
  }

  // --- events ------------------------------------------------------------------------------------------------------

  /** The next event, or undefined if there is none now. Never waits. */
  tryGetEvent(): Event | undefined {
    this.assertOpen('tryGetEvent')
    const now = nowNs()
    if (this.#takingNs === 0) this.#takingNs = now
    // However fast messages come, a program that takes all events must come to an end.
    if (this.#queue.length === 0 && now - this.#takingNs < turnNs) processAll()
    const event = this.#queue.shift()
    if (event === undefined) this.#takingNs = 0
    return event
  }

  /** `rdma_get_cm_event`: blocks this thread until there is an event, at most `timeoutMs`; then undefined. */
  getEvent(timeoutMs: number = Number.POSITIVE_INFINITY): Event | undefined {
    this.assertOpen('getEvent')
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
    for (const { context } of agents) context.device.leavesLoop?.()
    if (agents.length === 1 && agentsOfThread() === 1) agents[0]!.wait(ms)
    else if (agents.length > 0) agents[0]!.wait(Math.min(ms, sliceMs))
    else sleepUntilNs(nowNs() + Math.min(ms, sliceMs) * 1e6)
  }

  /** `getEvent` for the event loop, which goes on meanwhile. Undefined also when the channel closes. */
  async nextEvent(timeoutMs: number = Number.POSITIVE_INFINITY): Promise<Event | undefined> {
    this.assertOpen('nextEvent')
    const stop = this.#followAll()
    const end = performance.now() + timeoutMs
    try {
      while (!this.#closed) {
        const event = this.tryGetEvent()
        if (event !== undefined) return event
        const left = end - performance.now()
        if (left <= 0) return undefined
        await this.#readable(left)
      }
      return undefined
    } finally {
      stop()
    }
  }

  /** Resolves when there may be an event, when the channel closes, or after `ms`. Keeps the process alive. */
  #readable(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, Math.min(ms, longestTimerMs))
      this.#waiting.add(done)
    })
  }

  /** Events as they come, without blocking the event loop. Ends when the channel closes. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const stop = this.#followAll()
    try {
      while (!this.#closed) {
        const event = this.tryGetEvent()
        if (event !== undefined) yield event
        else await this.#readable(longestTimerMs)
      }
    } finally {
      stop()
    }
  }

  /**
   * Calls `reader` in the event loop whenever events have come since it was called last, and once at the start if some
   * wait: take them with `tryGetEvent` until there are none. The function that is returned ends that.
   */
  onReadable(reader: () => void): () => void {
    this.assertOpen('onReadable')
    const stop = this.#followAll()
    const inContext = withContext(reader)
    this.#readers.add(inContext)
    if (this.#queue.length > 0) this.#notify()
    return () => {
      if (this.#readers.delete(inContext)) stop()
    }
  }

  /** Serves messages that have come; their events wait to be taken. How many messages and timers there were. */
  giveTime(): number {
    return processAll()
  }

  /** @internal For ids: frees receive buffers, since a program may make many connections before it takes an event. */
  makeRoom(): void {
    collectAll()
  }

  /** @internal For ids: an event of theirs. */
  push(event: Event): void {
    const at = this.#claims.findIndex(({ wanted }) => wanted(event))
    if (at >= 0) {
      this.#claims.splice(at, 1)[0]!.resolve(event)
      return
    }
    this.#queue.push(event)
    if (this.#readers.size > 0 || this.#waiting.size > 0) this.#notify()
  }

  /** @internal For ids: takes the events, requests included, of one that closes or goes to another channel. */
  takeEventsOf(id: Id): Event[] {
    const isOf = (event: Event): boolean => event.id === id || event.listenId === id
    const taken = this.#queue.filter(isOf)
    if (taken.length > 0) this.#queue = this.#queue.filter((event) => !isOf(event))
    return taken
  }

  /** @internal For ids: whether such an event waits. */
  has(id: Id, type: CmEventType): boolean {
    return this.#queue.some((event) => event.id === id && event.type === type)
  }

  /** @internal For ids without a channel: blocks until there is such an event. */
  waitFor(wanted: (event: Event) => boolean): Event {
    for (;;) {
      const at = this.#queue.findIndex(wanted)
      if (at >= 0) return this.#queue.splice(at, 1)[0]!
      this.#wait(Number.POSITIVE_INFINITY)
    }
  }

  /**
   * @internal For ids: the next event that is `wanted`, which no other reader gets. The event loop goes on meanwhile. Undefined if `id`
   * is closed, or goes to another channel, before it comes.
   */
  async claim(id: Id, wanted: (event: Event) => boolean): Promise<Event | undefined> {
    // Before the queue is searched: following devices serves messages at once, and their events may be what is wanted.
    const stop = this.#followAll()
    try {
      const at = this.#queue.findIndex(wanted)
      if (at >= 0) return this.#queue.splice(at, 1)[0]
      return await new Promise((resolve) => this.#claims.push({ id, wanted, resolve }))
    } finally {
      stop()
    }
  }

  #notify(): void {
    if (this.#told) return
    this.#told = true
    inRootContext(this.#tellSoon)
  }

  readonly #tellSoon = (): void => {
    queueMicrotask(() => {
      this.#told = false
      // A reader that serves messages itself takes the events that they make at once. Calling it again for these would starve
      // the rest of the event loop.
      if (this.#queue.length === 0 && !this.#closed) return
      for (const resolve of [...this.#waiting]) resolve()
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

  /** @internal */
  adopt(id: Id): void {
    this.#ids.add(id)
  }

  /** @internal */
  disown(id: Id): void {
    this.#ids.delete(id)
    const over = this.#claims.filter((claim) => claim.id === id)
    if (over.length === 0) return
    this.#claims = this.#claims.filter((claim) => claim.id !== id)
    for (const { resolve } of over) resolve(undefined)
  }

  /** `rdma_destroy_event_channel`. Ids that are still open are closed; if one of them cannot be, it throws, and stays open with it. */
  close(): void {
    this.assertOpen('close')
    const failures: unknown[] = []
    for (const id of [...this.#ids]) {
      try {
        id.close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    this.#closed = true
    this.#queue = []
    this.#readers.clear()
    this.#unfollow()
    this.devices.close()
    this.#notify()
  }

  [Symbol.dispose](): void {
    if (!this.#closed) this.close()
  }

  protected assertOpen(call: string): void {
    if (this.#closed) throw new RdmaCmError('EBADF', call, 'this event channel is closed')
  }
}
