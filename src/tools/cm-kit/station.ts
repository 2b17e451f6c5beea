/**
 * The event loop of a program of the RDMA CM: it waits for completions of its queue pairs and for events of its ids at
 * the same time, on any number of connections.
 *
 *     const station = new Station({ device, signal, stallMs })
 *     await station.event(id, CmEventType.Established)        an event of one id; a failure event is thrown
 *     await station.until('the reply', () => replied)         any condition; `take` of a CQ has set it
 *
 * One loop serves all waiters. It spins while there is work, then lets the event loop run, then sleeps until a
 * completion, an event or a signal.
 */
import {
  type CmEvent,
  CmEventType,
  type CmId,
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  createEventChannel,
  type EventChannel,
  type WorkCompletion,
  workCompletions,
} from '../../index.ts'
import { EndError } from '../kit/index.ts'
import { eventError } from './failures.ts'

export interface StationOptions {
  /** Adapter. Default: the environment variable VERBENA_DEVICE, else `roce`. */
  device?: string | undefined
  signal?: AbortSignal | undefined
  /** Milliseconds of waiting without an arrival after which a wait fails; 0: never. */
  stallMs: number
  /** Called for every event before any waiter takes it. */
  onEvent?(event: CmEvent): void
}

interface Waiter {
  what: string
  done(): boolean
  resolve(): void
  reject(error: unknown): void
  /** Time of `performance.now`, milliseconds. */
  deadline: number
}

interface Watched {
  cq: CompletionQueue
  take(wc: WorkCompletion): void
}

/** Time after which a waiting thread may share its core with the peer it waits for. */
const politeAfterMs = 0.1
/** Time after which a waiting thread lets the event loop run. */
const turnAfterMs = 2
/** Time after which a waiting thread sleeps. */
const sleepAfterMs = 20
const longestSleepMs = 1000

export class Station {
  #channel: EventChannel
  readonly #signal: AbortSignal | undefined
  readonly #stallMs: number
  readonly #onEvent: ((event: CmEvent) => void) | undefined
  readonly #waiters = new Set<Waiter>()
  readonly #mail = new Map<CmId, CmEvent[]>()
  readonly #requests: CmEvent[] = []
  readonly #watched = new Set<Watched>()
  readonly #channels = new Map<Context, CompletionChannel>()
  /** Adapters of which an event has arrived, by name. */
  readonly #contexts = new Map<string, Context>()
  readonly #wcs: WorkCompletion[] = workCompletions(16)
  #stopReading: () => void
  readonly #wake = (): void => this.wake()
  readonly #device: { device?: string }
  #running = false
  #turnedMs = 0
  #sleeping: (() => void) | undefined

  constructor({ device, signal, stallMs, onEvent }: StationOptions) {
    this.#device = device === undefined ? {} : { device }
    this.#channel = createEventChannel(this.#device)
    this.#signal = signal
    this.#stallMs = stallMs
    this.#onEvent = onEvent
    this.#stopReading = this.#channel.onReadable(this.#wake)
    signal?.addEventListener('abort', this.#wake)
  }

  get channel(): EventChannel {
    return this.#channel
  }

  /** Moves ids that stay to a new channel (`rdma_migrate_id`); the old one is closed, with any ids it still has. */
  migrate(ids: readonly CmId[]): void {
    const to = createEventChannel(this.#device)
    for (const id of ids) id.migrateId(to)
    this.#stopReading()
    this.#channel.close()
    this.#channel = to
    this.#stopReading = to.onReadable(this.#wake)
  }

  /** Creates a completion queue; each completion is passed to `take`, in this thread, while a wait is pending. */
  createCq(context: Context, entries: number, take: (wc: WorkCompletion) => void): CompletionQueue {
    let channel = this.#channels.get(context)
    if (channel === undefined) {
      channel = context.createCompChannel()
      this.#channels.set(context, channel)
    }
    const cq = context.createCq(entries, { channel })
    this.#watched.add({ cq, take })
    return cq
  }

  closeCq(cq: CompletionQueue): void {
    for (const one of this.#watched) if (one.cq === cq) this.#watched.delete(one)
    cq.close()
  }

  /** Returns the next event of this id that is one of `wanted`. A failure event is thrown; other events are skipped. */
  async event(id: CmId, ...wanted: CmEventType[]): Promise<CmEvent> {
    for (;;) {
      await this.until(eventNames(wanted), () => this.has(id))
      const event = this.#mail.get(id)!.shift()!
      if (wanted.includes(event.type)) return event
      const error = eventError(event)
      if (error !== undefined) throw error
    }
  }

  /** True if an event of this id is queued. */
  has(id: CmId): boolean {
    return (this.#mail.get(id)?.length ?? 0) > 0
  }

  /** True if an event of this id and type is queued; the event stays queued. */
  hasType(id: CmId, type: CmEventType): boolean {
    return this.#mail.get(id)?.some((event) => event.type === type) ?? false
  }

  /** Takes the next event of this id, if there is one. */
  take(id: CmId): CmEvent | undefined {
    return this.#mail.get(id)?.shift()
  }

  /** Returns the next ConnectRequest; waits without a limit. */
  async request(): Promise<CmEvent> {
    await this.until('a client', () => this.#requests.length > 0, 0)
    return this.#requests.shift()!
  }

  /** Takes a ConnectRequest that has arrived, if there is one. */
  takeRequest(): CmEvent | undefined {
    return this.#requests.shift()
  }

  /** Waits until `done` returns true. Throws when interrupted, and when nothing has happened for `stallMs` (0: never). */
  async until(what: string, done: () => boolean, stallMs: number = this.#stallMs): Promise<void> {
    if (this.#signal?.aborted) throw interrupted()
    if (done()) return
    await new Promise<void>((resolve, reject) => {
      const deadline = stallMs > 0 ? performance.now() + stallMs : Number.POSITIVE_INFINITY
      this.#waiters.add({ what, done, resolve, reject, deadline })
      if (!this.#running) void this.#run()
      else this.wake()
    })
  }

  /** Waits for a time; events and completions are handled meanwhile. */
  async rest(ms: number): Promise<void> {
    const end = performance.now() + ms
    const timer = setTimeout(this.#wake, ms)
    await this.until('the time', () => performance.now() >= end, 0).finally(() => clearTimeout(timer))
  }

  /** Ends a sleep, so that all waiters check their conditions again. */
  wake(): void {
    this.#sleeping?.()
  }

  /** Handles the events and completions that have arrived, once; returns their number. */
  #work(): number {
    let n = 0
    for (let event = this.#channel.tryGetEvent(); event !== undefined; event = this.#channel.tryGetEvent()) {
      n++
      this.#post(event)
    }
    for (const { cq, take } of this.#watched) {
      const count = cq.poll(this.#wcs)
      if (count < 0) throw new EndError('CQ_OVERRUN', 'a completion queue overran')
      n += count
      for (let i = 0; i < count && !cq.closed; i++) take(this.#wcs[i]!)
    }
    return n
  }

  #post(event: CmEvent): void {
    const context = event.id.verbs
    if (context !== undefined) this.#contexts.set(context.name, context)
    this.#onEvent?.(event)
    if (event.type === CmEventType.ConnectRequest) {
      this.#requests.push(event)
      return
    }
    const mail = this.#mail.get(event.id)
    if (mail !== undefined) mail.push(event)
    else this.#mail.set(event.id, [event])
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      let idle = 0
      let lastMs = performance.now()
      while (this.#waiters.size > 0) {
        const worked = this.#work()
        if (this.#settle() > 0) {
          await this.#others()
          idle = 0
        } else if (worked > 0) idle = 0
        else if ((++idle & 63) === 0) {
          const now = performance.now()
          if (idle === 64) lastMs = now
          this.#checkTime(now)
          if (this.#waiters.size === 0) break
          if (now - lastMs > sleepAfterMs) await this.#sleep(now)
          else if (now - lastMs > turnAfterMs) await turn()
          else if (now - lastMs > politeAfterMs) Atomics.wait(sleeper, 0, 0, 0.02)
        }
      }
    } catch (error) {
      this.#rejectAll(error)
    } finally {
      this.#running = false
      // A waiter that was added in the turn after the last one was served needs a new loop.
      if (this.#waiters.size > 0) void this.#run()
    }
  }

  /** Lets served waiters continue, which may wait again; signals and timers get their turn now and then. */
  async #others(): Promise<void> {
    const now = performance.now()
    if (now - this.#turnedMs > turnAfterMs) {
      this.#turnedMs = now
      await turn()
    } else for (let i = 0; i < 4; i++) await null
  }

  /** Resolves the waiters whose condition holds; returns their number. */
  #settle(): number {
    let settled = 0
    for (const waiter of this.#waiters) {
      try {
        if (!waiter.done()) continue
        waiter.resolve()
      } catch (error) {
        waiter.reject(error)
      }
      this.#waiters.delete(waiter)
      settled++
    }
    return settled
  }

  #checkTime(now: number): void {
    if (this.#signal?.aborted) this.#rejectAll(interrupted())
    for (const waiter of this.#waiters) {
      if (waiter.deadline > now) continue
      this.#waiters.delete(waiter)
      waiter.reject(
        new EndError(
          'PEER_SILENT',
          `waited ${this.#stallMs / 1000} s for ${waiter.what}, and nothing came (--timeout)`,
        ),
      )
    }
  }

  #rejectAll(error: unknown): void {
    for (const { reject } of this.#waiters) reject(error)
    this.#waiters.clear()
  }

  /** Sleeps until a completion, an event, a signal, or the deadline of a waiter. */
  async #sleep(now: number): Promise<void> {
    let ms = longestSleepMs
    for (const { deadline } of this.#waiters) ms = Math.min(ms, deadline - now)
    for (const { cq } of this.#watched) cq.reqNotify()
    if (this.#work() > 0) {
      if (this.#settle() > 0) await this.#others()
      return
    }
    const channels = [...this.#channels.values()]
    const woken = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#sleeping = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    const sleeps = channels.map(async (channel) => {
      // No event is taken before this continues: one that was taken and not acknowledged would block the `close` of its CQ.
      await channel.whenEvent(ms)
      for (let cq = channel.tryGetEvent(); cq !== null; cq = channel.tryGetEvent()) cq.ackEvents(1)
      this.#sleeping?.()
    })
    if (this.#signal?.aborted) this.#sleeping?.()
    await woken
    this.#sleeping = undefined
    for (const channel of channels) channel.wake()
    await Promise.all(sleeps)
  }

  /**
   * Returns the counters of the adapters that were used: their sums by name. Read after ids have been closed, they include what the ids
   * sent at closing.
   */
  counters(): Record<string, number> {
    const sums: Record<string, number> = {}
    for (const context of this.#contexts.values()) {
      if (context.closed) continue
      for (const [name, n] of Object.entries(context.counters())) sums[name] = (sums[name] ?? 0) + n
    }
    return sums
  }

  /** Closes the station; the objects of the program have to be closed before. */
  close(): void {
    this.#signal?.removeEventListener('abort', this.#wake)
    this.#stopReading()
    for (const { cq } of this.#watched) if (!cq.closed) cq.close()
    for (const channel of this.#channels.values()) if (!channel.closed) channel.close()
    this.#channel.close()
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function interrupted(): EndError {
  return new EndError('INTERRUPTED', 'interrupted')
}

const typeNames = Object.entries(CmEventType)

function eventNames(types: readonly CmEventType[]): string {
  return types.map((type) => typeNames.find(([, value]) => value === type)![0]).join(' or ')
}
