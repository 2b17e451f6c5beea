/** Completion channels, on which a program waits for events of completion queues. */
import { Looks, untilLook } from '../../memory/index.ts'
import { plural } from '../provider/arguments.ts'
import { VerbsError } from '../provider/errors.ts'
import type { Host } from '../provider/host.ts'
import { Chan } from '../provider/layout.ts'
import { createRecord, giveRecord, slotOf } from '../provider/records.ts'
import { Handle } from './handle.ts'
import type { CompletionChannel, CompletionQueue, Context } from './objects.ts'

/**
 * Milliseconds after which a wait in the event loop looks for events although nothing woke it. The first wake of a process that may not
 * open this thread's pipe is lost: that process only notes it in the thread's record. A process that is killed may leave a wake that it
 * still owed, or pending work; the thread that cleans up after it then wakes all waiting threads.
 */
const lookMs = 1000

export class CompletionChannelObject extends Handle implements CompletionChannel {
  readonly context: Context
  readonly slot: number
  readonly #host: Host
  readonly #chan: number
  #wakes = 0
  readonly #cqs = new Map<number, CompletionQueue>()

  /** Use `context.createCompChannel`. */
  constructor(context: Context) {
    super('CompletionChannel')
    this.context = context
    const { host } = context.device
    this.#host = host
    this.#chan = createRecord(host, 'channel', 'createCompChannel', 0, (chan) => {
      host.i32[chan + Chan.context] = context.slot
      host.i32[chan + Chan.owner] = host.segment.me
      host.i32[chan + Chan.state] = 1
    })
    this.slot = slotOf(host.i32[this.#chan + Chan.ref]!)
    context.adopt('channel', this)
  }

  attached(cq: CompletionQueue): void {
    this.#cqs.set(cq.ref, cq)
    Atomics.add(this.#host.i32, this.#chan + Chan.cqs, 1)
  }

  detached(cq: CompletionQueue): void {
    this.#cqs.delete(cq.ref)
  }

  tryGetEvent(): CompletionQueue | null {
    this.assertOpen('tryGetEvent')
    const there = this.#takeEvent()
    if (there !== null) return there
    const { device } = this.context
    if (this.#host.i32[this.#host.pendingCount] !== 0 || device.driven) device.progress()
    return this.#takeEvent()
  }

  get hasEvent(): boolean {
    return Atomics.load(this.#host.i32, this.#chan + Chan.head) !== 0
  }

  #takeEvent(): CompletionQueue | null {
    for (;;) {
      const ref = this.#host.takeChannelEvent(this.#chan)
      if (ref === 0) return null
      const cq = this.#cqs.get(ref)
      if (cq) return cq
    }
  }

  getEvent(timeoutMs: number = Number.POSITIVE_INFINITY): CompletionQueue | null {
    const { segment, i32, pendingCount } = this.#host
    const { device } = this.context
    const end = performance.now() + timeoutMs
    for (;;) {
      const sequence = Atomics.load(i32, this.#chan + Chan.sequence)
      const cq = this.tryGetEvent()
      if (cq) return cq
      if (i32[pendingCount] !== 0) device.progress()
      const left = end - performance.now()
      const ms = Math.min(left, i32[pendingCount] !== 0 ? 1 : untilLook(lookMs))
      if (left > 0 && device.sleep(this.#chan, sequence, ms)) continue
      device.rest(false)
      if (left <= 0) return null
      device.leavesLoop?.()
      segment.parking.park(this.#chan + Chan.sequence, sequence, ms)
    }
  }

  async nextEvent(timeoutMs: number = Number.POSITIVE_INFINITY): Promise<CompletionQueue | null> {
    return (await this.#until(timeoutMs, true)) as CompletionQueue | null
  }

  async whenEvent(timeoutMs: number = Number.POSITIVE_INFINITY): Promise<void> {
    await this.#until(timeoutMs, false)
  }

  async #until(timeoutMs: number, take: boolean): Promise<CompletionQueue | null> {
    const { i32, pendingCount, segment } = this.#host
    const { device } = this.context
    const end = performance.now() + timeoutMs
    const wakes = this.#wakes
    let looks: Looks | undefined
    let rests = false
    while (!this.closed) {
      const sequence = Atomics.load(i32, this.#chan + Chan.sequence)
      if (take) {
        const cq = this.tryGetEvent()
        if (cq) return cq
      } else {
        if (this.hasEvent) return null
        if (i32[pendingCount] !== 0 || device.driven) device.progress()
        if (this.hasEvent) return null
      }
      const left = end - performance.now()
      const over = left <= 0 || wakes !== this.#wakes
      this.#letDeviceRun(!over)
      if (over) return null
      // Timers of one duration cost least; of a thread that rests they are few.
      if (rests) looks ??= new Looks(lookMs)
      const look = looks?.next(segment.parking.mayRest) ?? untilLook(lookMs)
      rests = true
      const ms = Math.min(left, i32[pendingCount] !== 0 ? 1 : look)
      await segment.parking.waitInLoop(this.#chan + Chan.sequence, sequence, ms)
    }
    return null
  }

  wake(): void {
    this.#wakes++
    this.#host.wakeWaiters(this.#chan)
  }

  /** Events as they come, without blocking the event loop: `for await (const cq of channel)`. Ends when the channel closes. */
  async *[Symbol.asyncIterator](): AsyncGenerator<CompletionQueue, void, undefined> {
    while (!this.closed) {
      const cq = await this.#until(Number.POSITIVE_INFINITY, true)
      if (cq) yield cq
    }
  }

  /** Called before a wait in the event loop (`inLoop`), and after the last one: continues pending work. */
  #letDeviceRun(inLoop: boolean): void {
    const { device } = this.context
    if (this.#host.i32[this.#host.pendingCount] !== 0) device.progress()
    device.rest(inLoop)
  }

  close(): void {
    this.assertOpen('close')
    const { i32 } = this.#host
    if (i32[this.#chan + Chan.cqs]! > 0)
      throw new VerbsError('EBUSY', 'close', `it is in use by ${plural(i32[this.#chan + Chan.cqs]!, 'CQ')}`)
    this.markClosed()
    this.#host.wakeWaiters(this.#chan)
    this.#host.control(() => giveRecord(this.#host, 'channel', this.#chan))
    this.context.disown('channel', this)
  }
}
