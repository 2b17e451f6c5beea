/** Completion queues, completion channels, and what polling gives. */

import { processorOrders } from '../../memory/index.ts'
import type { CqInit } from '../provider/attributes.ts'
import { type WcFlag, WcOpcode, type WcStatus, wcStatusText } from '../provider/constants.ts'
import { VerbsError } from '../provider/errors.ts'
import type { Host } from '../provider/host.ts'
import { Chan, Cq, Cqe, cqState, Qp, statusPurged } from '../provider/layout.ts'
import { destroyCq } from '../provider/lifetime.ts'
import { createRecord, giveRecord, isStale, slotOf } from '../provider/records.ts'
import type { Context } from './context.ts'
import { checkInteger, checkObject, Handle, plural } from './handle.ts'

/** `ibv_wc`. Polling fills and reuses these. Keys, immediates and QP numbers are unsigned. */
export class WorkCompletion {
  wrId = 0
  status: WcStatus = 0
  opcode: WcOpcode = 0
  /** Bytes received, or read by READ and atomics; with a GRH its 40 bytes count. */
  byteLen = 0
  immData = 0
  invalidatedRkey = 0
  qpNum = 0
  /** UD: number of the QP that sent the message. */
  srcQp = 0
  /** Bits of `WcFlag`. */
  wcFlags = 0
  pkeyIndex = 0
  slid = 0
  sl = 0
  dlidPathBits = 0
  vendorErr = 0

  get statusText(): string {
    return wcStatusText(this.status)
  }
}

/** `count` work completions for `poll`. */
export function workCompletions(count: number): WorkCompletion[] {
  checkInteger('workCompletions', 'count', count, 0, 65536)
  return Array.from({ length: count }, () => new WorkCompletion())
}

function badCompletions(): VerbsError {
  return new VerbsError('EINVAL', 'poll', 'wc must be an array of WorkCompletions, and max at most its length')
}

const withInv: (typeof WcFlag)['WithInv'] = 8

/** A handle that another thread, or another process on the same named segment, can import. */
export interface CqHandle {
  kind: 'cq'
  ref: number
}

/**
 * Any thread that has it, or an import of it, may poll and arm it, also several at a time. One that is `singleThreaded` is
 * polled by one thread only, which also resets and closes its QPs.
 */
export class CompletionQueue extends Handle {
  readonly context: Context
  readonly channel: CompletionChannel | null
  readonly cqContext: unknown
  /** Number of its record in the table of CQs. */
  readonly slot: number
  /** The completion that extended polling (`startPoll`, `nextPoll`) stands at. */
  readonly current: WorkCompletion = new WorkCompletion()
  // Plain private fields: polling is the hottest loop of all, and a #private name costs a nanosecond each time.
  private readonly host: Host
  private readonly i32: Int32Array
  private readonly f64: Float64Array
  private readonly cq: number
  /** The reference to its record while this is open, then 0, which no record has. */
  private live: number
  private readonly single: boolean
  /** Whether something arrives only when this thread gives the device time. */
  private readonly driven: boolean
  /** A reference to its record. */
  readonly ref: number
  readonly #owned: boolean
  readonly #one: WorkCompletion[]
  /** Polls that found nothing; every sixteenth looks for more than completions. */
  private idle = 0

  /** Use `context.createCq` or `context.importCq`. */
  constructor(context: Context, cq: number, owned: boolean, channel: CompletionChannel | null, cqContext: unknown) {
    super('CompletionQueue')
    this.context = context
    this.channel = channel
    this.cqContext = cqContext
    this.host = context.device.host
    this.i32 = this.host.i32
    this.f64 = this.host.f64
    this.cq = cq
    this.ref = this.i32[cq + Cq.ref]!
    this.live = this.gone() ? 0 : this.ref
    this.slot = slotOf(this.ref)
    this.#owned = owned
    this.driven = context.device.driven && context.engine === 'poster'
    this.single = this.i32[this.cq + Cq.singleThreaded] === 1
    this.#one = [this.current]
  }

  static create(
    context: Context,
    cqe: number,
    init: CqInit & { channel?: CompletionChannel; cqContext?: unknown },
  ): CompletionQueue {
    checkObject('createCq', 'init', init)
    const { host, index, attr } = context.device
    checkInteger('createCq', 'cqe', cqe, 1, attr.maxCqe)
    checkInteger('createCq', 'compVector', init.compVector ?? 0, 0, 0)
    const channel = init.channel ?? null
    if (channel && channel.context !== context)
      throw new VerbsError('EINVAL', 'createCq', 'the channel belongs to another context')
    channel?.assertOpen('createCq')
    const slots = ringSlots(cqe)
    const { i32 } = host
    const cq = createRecord(host, 'cq', 'createCq', slots * Cqe.words * 4, (cq, ring) => {
      i32[cq + Cq.ring] = ring
      i32[cq + Cq.mask] = slots - 1
      i32[cq + Cq.cqe] = cqe
      i32[cq + Cq.channel] = channel ? channel.slot : -1
      i32[cq + Cq.context] = context.slot
      i32[cq + Cq.device] = index
      i32[cq + Cq.owner] = host.segment.me
      i32[cq + Cq.singleThreaded] = init.singleThreaded ? 1 : 0
      i32[cq + Cq.state] = cqState.live
    })
    const created = new CompletionQueue(context, cq, true, channel, init.cqContext)
    context.adopt('cqs', created)
    if (channel) channel.attached(created)
    return created
  }

  get handle(): CqHandle {
    return { kind: 'cq', ref: this.ref }
  }

  protected override gone(): boolean {
    return isStale(this.host, this.cq, this.ref)
  }

  protected override markClosed(): void {
    super.markClosed()
    this.live = 0
  }

  /** Completions that fit; at least what was asked for. */
  get cqe(): number {
    return this.i32[this.cq + Cq.cqe]!
  }

  /** Completions of QPs that use this CQ keep it alive. */
  get references(): number {
    return this.i32[this.cq + Cq.refs]!
  }

  /**
   * Takes up to `max` completions into `wc`; how many it took, 0 if there are none, −1 if the CQ overran and all that it
   * had kept was taken. EBADF if the CQ is closed, here or, of an import, by its owner. Allocates nothing. Any thread may
   * poll, also several at a time, unless the CQ is `singleThreaded`.
   */
  poll(wc: WorkCompletion[], max?: number): number {
    const { i32, cq } = this
    if (!Array.isArray(wc)) throw badCompletions()
    const most = max ?? wc.length
    if (typeof most !== 'number' || !(most <= wc.length)) throw badCompletions()
    if (i32[cq + Cq.ref] !== this.live) throw this.closedError('poll')
    if (!this.filled) {
      if (this.driven) this.context.device.progress()
      this.idle = (this.idle + 1) & 15
      if (this.idle === 0 || i32[cq + Cq.state] !== cqState.live) {
        const state = this.#empty()
        if (state !== 0) return state
      }
      if (!this.driven || !this.filled) return 0
    }
    const lock = this.single ? 0 : cq + Cq.pollLock
    if (lock !== 0) {
      this.host.segment.lock(lock)
      // Who closes the CQ makes its reference stale and then takes this lock, before the ring is freed.
      if (i32[cq + Cq.ref] !== this.live) {
        this.host.segment.unlock(lock)
        throw this.closedError('poll')
      }
    }
    let tail = i32[cq + Cq.tail]!
    const ring = i32[cq + Cq.ring]!
    const mask = i32[cq + Cq.mask]!
    let filled = 0
    let bad = false
    while (filled < most) {
      const e = ring + (tail & mask) * Cqe.words
      if ((processorOrders ? i32[e + Cqe.sequence] : Atomics.load(i32, e + Cqe.sequence)) !== ((tail + 1) | 0)) break
      const into = wc[filled]
      if (!(into instanceof WorkCompletion)) {
        if (filled === 0) bad = true
        break
      }
      if (this.fill(into, e)) filled++
      tail = (tail + 1) | 0
    }
    if (processorOrders) i32[cq + Cq.tail] = tail
    else Atomics.store(i32, cq + Cq.tail, tail)
    if (lock !== 0) this.host.segment.unlock(lock)
    if (bad) throw badCompletions()
    return filled
  }

  /** Whether `poll` would find something without giving the device time first. */
  get filled(): boolean {
    const { i32, cq } = this
    const tail = i32[cq + Cq.tail]!
    const e = i32[cq + Cq.ring]! + (tail & i32[cq + Cq.mask]!) * Cqe.words
    return (processorOrders ? i32[e + Cqe.sequence] : Atomics.load(i32, e + Cqe.sequence)) === ((tail + 1) | 0)
  }

  /** False for a completion whose QP is gone. */
  private fill(wc: WorkCompletion, e: number): boolean {
    const { i32 } = this
    const what = i32[e + Cqe.what]!
    const status = what & 0xff
    if (status === statusPurged) return false
    const opcode = (what >> 8) & 0xff
    const flags = what >> 16
    const other = i32[e + Cqe.srcQpOrReleases]!
    wc.wrId = this.f64[(e + Cqe.wrId) >> 1]!
    wc.status = status as WcStatus
    wc.opcode = opcode as WcOpcode
    wc.byteLen = i32[e + Cqe.byteLen]!
    wc.wcFlags = flags
    wc.qpNum = i32[e + Cqe.qpNum]!
    if ((flags & withInv) === 0) wc.immData = i32[e + Cqe.immData]! >>> 0
    else wc.invalidatedRkey = i32[e + Cqe.immData]! >>> 0
    if (opcode >= WcOpcode.Recv) {
      wc.srcQp = other
      if (other !== 0) {
        const slid = i32[e + Cqe.slid]!
        wc.slid = slid & 0xffff
        wc.sl = slid >> 16
      } else if (wc.slid !== 0) {
        wc.slid = 0
        wc.sl = 0
      }
    } else {
      // Polling gives the places of this request and all before it back to the send queue.
      wc.srcQp = 0
      const q = this.host.qpWord(i32[e + Cqe.qpSlot]!)
      if (i32[q + Qp.number] === i32[e + Cqe.qpNum]) i32[q + Qp.sqTail] = other
    }
    return true
  }

  #empty(): number {
    const i32 = this.i32
    if (i32[this.cq + Cq.state] !== cqState.live) {
      this.assertOpen('poll')
      return -1
    }
    if (i32[this.host.pendingCount] !== 0) this.context.device.progress()
    return 0
  }

  /** Extended polling: true if there is a completion; then it is in `current`. */
  startPoll(): boolean {
    return this.poll(this.#one, 1) > 0
  }

  /** The same for the next completion. */
  nextPoll(): boolean {
    return this.poll(this.#one, 1) > 0
  }

  /** Kept for those who know `ibv_end_poll`: nothing is to be ended here. */
  endPoll(): void {}

  /**
   * Arms the CQ: the next completion (with `solicitedOnly`: the next solicited one, or one with an error) makes an event
   * on the channel. Poll once more after arming. An armed "any" is not weakened to "solicited".
   */
  reqNotify(solicitedOnly = false): void {
    this.assertOpen('reqNotify')
    if (this.channel === null && this.i32[this.cq + Cq.channel]! < 0)
      throw new VerbsError('EINVAL', 'reqNotify', 'this CQ has no completion channel; give createCq one')
    const i32 = this.i32
    const at = this.cq + Cq.armed
    if (!solicitedOnly) Atomics.store(i32, at, 2)
    else Atomics.compareExchange(i32, at, 0, 1)
    if (i32[this.cq + Cq.state] === cqState.overrun) this.host.wakeChannel(this.cq)
  }

  /** Acknowledges events taken from the channel; all must be before the CQ is closed. */
  ackEvents(count: number): void {
    this.assertOpen('ackEvents')
    checkInteger('ackEvents', 'count', count, 0, 0x7fffffff)
    const outstanding = Atomics.load(this.i32, this.cq + Cq.unacknowledged)
    if (count > outstanding)
      throw new VerbsError('EINVAL', 'ackEvents', `only ${outstanding} events are unacknowledged, not ${count}`)
    Atomics.sub(this.i32, this.cq + Cq.unacknowledged, count)
  }

  /** Changes the size; completions that are in the CQ stay. EINVAL if they would not fit. */
  resize(cqe: number): void {
    this.assertOpen('resize')
    const { attr } = this.context.device
    checkInteger('resize', 'cqe', cqe, 1, attr.maxCqe)
    const host = this.host
    const i32 = this.i32
    const cq = this.cq
    const slots = ringSlots(cqe)
    // Whoever resizes it, the memory goes with its owner.
    const ring = host.allocate(slots * Cqe.words * 4, 'resize', i32[cq + Cq.owner]!) / 4
    const { segment } = host
    // A QP that is the only producer of this CQ writes without the CQ's lock: not while it is resized.
    Atomics.store(i32, cq + Cq.resizing, 1)
    segment.bumpEpoch()
    segment.quiesce()
    segment.lock(cq + Cq.pollLock)
    segment.lock(cq + Cq.lock)
    const gone = this.gone()
    const head = i32[cq + Cq.head]!
    const tail = i32[cq + Cq.tail]!
    const outstanding = (head - tail) | 0
    const old = i32[cq + Cq.ring]!
    const fits = !gone && outstanding <= cqe
    if (fits) {
      // What no completion has been written to yet must not look like one: as if the lap before had just been polled.
      for (let i = 0; i < slots; i++) {
        const at = (head + i) | 0
        i32[ring + (at & (slots - 1)) * Cqe.words + Cqe.sequence] = (at + 1 - slots) | 0
      }
      const oldMask = i32[cq + Cq.mask]!
      for (let at = tail; at !== head; at = (at + 1) | 0) {
        const from = old + (at & oldMask) * Cqe.words
        i32.copyWithin(ring + (at & (slots - 1)) * Cqe.words, from, from + Cqe.words)
      }
      i32[cq + Cq.ring] = ring
      i32[cq + Cq.mask] = slots - 1
      i32[cq + Cq.cqe] = cqe
    }
    if (!gone) Atomics.store(i32, cq + Cq.resizing, 0)
    segment.unlock(cq + Cq.lock)
    segment.unlock(cq + Cq.pollLock)
    segment.bumpEpoch()
    segment.quiesce()
    segment.free((fits ? old : ring) * 4)
    if (gone) throw this.closedError('resize')
    if (!fits)
      throw new VerbsError(
        'EINVAL',
        'resize',
        `${outstanding} completions are in the CQ; ${cqe} entries cannot hold them`,
      )
  }

  /** EBUSY while QPs use it; waits until all its events are acknowledged. */
  close(): void {
    if (this.endsImport(this.#owned)) return
    this.assertOpen('close')
    const host = this.host
    const i32 = this.i32
    const cq = this.cq
    const busy = (refs: number): VerbsError =>
      new VerbsError('EBUSY', 'close', `${plural(refs, 'queue')} may still complete to this CQ; close their QPs first`)
    if (i32[cq + Cq.refs]! > 0) throw busy(i32[cq + Cq.refs]!)
    for (
      let outstanding = Atomics.load(i32, cq + Cq.unacknowledged);
      outstanding > 0;
      outstanding = Atomics.load(i32, cq + Cq.unacknowledged)
    )
      host.segment.wait(cq + Cq.unacknowledged, outstanding, 10)
    const refs = destroyCq(host, cq, false)
    if (refs > 0) throw busy(refs)
    this.channel?.detached(this)
    this.context.disown('cqs', this)
    this.markClosed()
  }
}

function ringSlots(cqe: number): number {
  return Math.max(2, 2 ** Math.ceil(Math.log2(cqe)))
}

/**
 * Milliseconds after which a wait in the event loop looks for events although nothing woke it. A wake can be lost: a
 * process that may not open this thread's pipe only notes that in the thread's record, and one that is killed between its
 * event and the wake sends none. Nor does anything wake this thread for work that a killed one left pending on the device.
 */
const lookMs = 100

export class CompletionChannel extends Handle {
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
    context.adopt('channels', this)
  }

  attached(cq: CompletionQueue): void {
    this.#cqs.set(cq.ref, cq)
    Atomics.add(this.#host.i32, this.#chan + Chan.cqs, 1)
  }

  detached(cq: CompletionQueue): void {
    this.#cqs.delete(cq.ref)
  }

  /** The CQ of the next event, or null if there is none now. */
  tryGetEvent(): CompletionQueue | null {
    this.assertOpen('tryGetEvent')
    const { device } = this.context
    if (this.#host.i32[this.#host.pendingCount] !== 0 || device.driven) device.progress()
    for (;;) {
      const ref = this.#host.takeChannelEvent(this.#chan)
      if (ref === 0) return null
      const cq = this.#cqs.get(ref)
      if (cq) return cq
    }
  }

  /** Blocks this thread until there is an event, at most `timeoutMs`; then null. For worker threads. */
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
      const ms = Math.min(left, i32[pendingCount] !== 0 ? 1 : 1000)
      if (left > 0 && device.sleep(this.#chan, sequence, ms)) continue
      device.rest()
      if (left <= 0) return null
      Atomics.add(i32, this.#chan + Chan.waiters, 1)
      segment.wait(this.#chan + Chan.sequence, sequence, ms)
      Atomics.sub(i32, this.#chan + Chan.waiters, 1)
    }
  }

  /** `getEvent` for the event loop: it goes on meanwhile. Null also when somebody calls `wake` or the channel closes. */
  async nextEvent(timeoutMs: number = Number.POSITIVE_INFINITY): Promise<CompletionQueue | null> {
    return (await this.#until(timeoutMs, true)) as CompletionQueue | null
  }

  /**
   * The same, but the event is left where it is: take it with `tryGetEvent`. Use it if the CQ may be closed meanwhile:
   * `close` blocks until every event that was taken has been acknowledged.
   */
  async whenEvent(timeoutMs: number = Number.POSITIVE_INFINITY): Promise<void> {
    await this.#until(timeoutMs, false)
  }

  async #until(timeoutMs: number, take: boolean): Promise<CompletionQueue | null> {
    const { i32, pendingCount } = this.#host
    const { device } = this.context
    const end = performance.now() + timeoutMs
    const wakes = this.#wakes
    while (!this.closed) {
      const sequence = Atomics.load(i32, this.#chan + Chan.sequence)
      if (take) {
        const cq = this.tryGetEvent()
        if (cq) return cq
      } else {
        if (i32[pendingCount] !== 0 || device.driven) device.progress()
        if (i32[this.#chan + Chan.head] !== 0) return null
      }
      this.#giveTime()
      const left = end - performance.now()
      if (left <= 0 || wakes !== this.#wakes) return null
      await this.#waitAsync(sequence, Math.min(left, i32[pendingCount] !== 0 ? 1 : lookMs))
    }
    return null
  }

  /** Waits in the event loop until there have been other than `sequence` events, at most `timeoutMs`. */
  async #waitAsync(sequence: number, timeoutMs: number): Promise<void> {
    const { segment, i32 } = this.#host
    const rings = segment.hearsBells
    const waiters = this.#chan + (rings ? Chan.bellWaiters : Chan.waiters)
    const word = this.#chan + Chan.sequence
    Atomics.add(i32, waiters, 1)
    try {
      await (rings ? segment.bells.wait(word, sequence, timeoutMs) : segment.waitAsync(word, sequence, timeoutMs))
    } finally {
      // The record of a closed channel may be another's already.
      if (!this.closed) Atomics.sub(i32, waiters, 1)
    }
  }

  /** Makes `nextEvent` and `whenEvent` of this thread end. */
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

  /** Before waiting: carries on with what can go on, and leaves the rest to others. */
  #giveTime(): void {
    const { device } = this.context
    if (this.#host.i32[this.#host.pendingCount] !== 0) device.progress()
    device.rest()
  }

  /** EBUSY while CQs use it. */
  close(): void {
    this.assertOpen('close')
    const { i32 } = this.#host
    if (i32[this.#chan + Chan.cqs]! > 0)
      throw new VerbsError('EBUSY', 'close', `it is in use by ${plural(i32[this.#chan + Chan.cqs]!, 'CQ')}`)
    this.markClosed()
    this.#host.wakeWaiters(this.#chan)
    this.#host.control(() => giveRecord(this.#host, 'channel', this.#chan))
    this.context.disown('channels', this)
  }
}
