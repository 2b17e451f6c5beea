/** Completion queues: rings that devices write and programs poll. */

import { processorOrders } from '../../memory/index.ts'
import { checkInteger, checkObject, plural } from '../provider/arguments.ts'
import { type WcFlag, WcOpcode, type WcStatus } from '../provider/constants.ts'
import { VerbsError } from '../provider/errors.ts'
import type { Host } from '../provider/host.ts'
import { Cq, Cqe, cqArmed, cqState, Qp, solicitedFlag, statusPurged } from '../provider/layout.ts'
import { destroyCq } from '../provider/lifetime.ts'
import { createRecord, isStale, slotOf } from '../provider/records.ts'
import { WorkCompletion } from '../provider/work-completion.ts'
import { Handle } from './handle.ts'
import type { CompletionChannel, CompletionQueue, Context, CqHandle, CqOptions } from './objects.ts'
import { reclaimSoon } from './reclaim-soon.ts'

function badCompletions(): VerbsError {
  return new VerbsError('EINVAL', 'poll', 'wc must be an array of WorkCompletions, and max at most its length')
}

const withInv: (typeof WcFlag)['WithInv'] = 8

export class CompletionQueueObject extends Handle implements CompletionQueue {
  readonly context: Context
  readonly channel: CompletionChannel | null
  readonly cqContext: unknown
  readonly slot: number
  readonly current: WorkCompletion = new WorkCompletion()
  // Plain private fields: polling is the hottest loop of all, and a #private name costs a nanosecond each time.
  private readonly host: Host
  private readonly i32: Int32Array
  private readonly f64: Float64Array
  private readonly cq: number
  /** First word of the table of queue pairs. */
  private readonly qps: number
  /** The reference to its record while this is open, then 0, which no record has. */
  private live: number
  private readonly single: boolean
  /** Mask of the completion flags that the program sees. */
  private readonly shownFlags: number
  /** True if completions arrive only when this thread calls `progress` of the device. */
  private readonly driven: boolean
  readonly ref: number
  readonly #owned: boolean
  readonly #one: WorkCompletion[]
  /**
   * State of the last receive completion that was polled here: QP, position that its receive queue has reached, and epoch of the poll. A
   * thread that posts again what it has just polled then need not read the word that the sender writes.
   */
  private usedQp = 0
  private usedTo = 0
  private usedEpoch = 0
  /** Polls that found nothing; every sixteenth looks for more than completions. */
  private idle = 0

  /** Use `context.createCq` or `context.importCq`. */
  constructor(
    context: Context,
    cq: number,
    owned: boolean,
    channel: CompletionChannel | null,
    cqContext: unknown,
    tellsSolicited: boolean = false,
  ) {
    super('CompletionQueue')
    this.context = context
    this.channel = channel
    this.cqContext = cqContext
    this.host = context.device.host
    this.i32 = this.host.i32
    this.f64 = this.host.f64
    this.cq = cq
    this.qps = this.host.at.qps
    this.ref = this.i32[cq + Cq.ref]!
    this.live = this.gone() ? 0 : this.ref
    this.slot = slotOf(this.ref)
    this.#owned = owned
    this.driven = context.device.driven && context.engine === 'poster'
    this.single = this.i32[this.cq + Cq.singleThreaded] === 1
    this.#one = [this.current]
    this.shownFlags = tellsSolicited ? 0xff | solicitedFlag : 0xff
  }

  static create(context: Context, cqe: number, init: CqOptions): CompletionQueue {
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
      i32[cq + Cq.crowded] = init.crowded ? 1 : 0
      i32[cq + Cq.state] = cqState.live
    })
    const created = new CompletionQueueObject(context, cq, true, channel, init.cqContext, init.tellsSolicited)
    context.adopt('cq', created)
    if (channel) channel.attached(created)
    if (init.inLoop !== true) context.device.leavesLoop?.()
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

  get cqe(): number {
    return this.i32[this.cq + Cq.cqe]!
  }

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
      // A thread that closes the CQ makes its reference stale and then takes this lock, before the ring is freed.
      if (i32[cq + Cq.ref] !== this.live) {
        this.host.segment.unlock(lock)
        throw this.closedError('poll')
      }
    }
    const { segment } = this.host
    // Before the entries are looked at: RESET purges them, and the way back to INIT, where receives can be posted, changes it.
    const epoch = segment.observe(segment.epochWord)
    let tail = i32[cq + Cq.tail]!
    const ring = i32[cq + Cq.ring]!
    const mask = i32[cq + Cq.mask]!
    let filled = 0
    let last = -1
    let bad = false
    while (filled < most) {
      const e = ring + (tail & mask) * Cqe.words
      if ((processorOrders ? i32[e + Cqe.sequence] : Atomics.load(i32, e + Cqe.sequence)) !== ((tail + 1) | 0)) break
      const into = wc[filled]
      if (!(into instanceof WorkCompletion)) {
        if (filled === 0) bad = true
        break
      }
      if (this.fill(into, e)) {
        filled++
        last = e
      }
      tail = (tail + 1) | 0
    }
    if (last >= 0 && ((i32[last + Cqe.what]! >> 8) & 0xff) >= WcOpcode.Recv) {
      this.usedQp = i32[last + Cqe.qpNum]!
      this.usedTo = i32[last + Cqe.rqTail]!
      this.usedEpoch = epoch
    }
    if (processorOrders) i32[cq + Cq.tail] = tail
    else Atomics.store(i32, cq + Cq.tail, tail)
    if (lock !== 0) this.host.segment.unlock(lock)
    if (bad) throw badCompletions()
    return filled
  }

  get filled(): boolean {
    const { i32, cq } = this
    const tail = i32[cq + Cq.tail]!
    const e = i32[cq + Cq.ring]! + (tail & i32[cq + Cq.mask]!) * Cqe.words
    return (processorOrders ? i32[e + Cqe.sequence] : Atomics.load(i32, e + Cqe.sequence)) === ((tail + 1) | 0)
  }

  /** False for a completion whose QP is gone, or was reset. */
  private fill(wc: WorkCompletion, e: number): boolean {
    const { i32 } = this
    const what = i32[e + Cqe.what]!
    const status = what & 0xff
    const qpNum = i32[e + Cqe.qpNum]!
    const q = this.qps + i32[e + Cqe.qpSlot]! * Qp.words
    if (status === statusPurged || i32[q + Qp.number] !== qpNum || qpNum < 0) return false
    const opcode = (what >> 8) & 0xff
    const flags = (what >> 16) & this.shownFlags
    const other = i32[e + Cqe.srcQpOrReleases]!
    wc.wrId = this.f64[(e + Cqe.wrId) >> 1]!
    wc.status = status as WcStatus
    wc.opcode = opcode as WcOpcode
    wc.byteLen = i32[e + Cqe.byteLen]!
    wc.wcFlags = flags
    wc.qpNum = qpNum
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
      // Polling gives the entries of this request and all before it back to the send queue.
      wc.srcQp = 0
      i32[q + Qp.sqTail] = other
    }
    return true
  }

  /** Returns the position that the receive queue of a QP has reached, if the last completion polled here determines it; else `unknown`. */
  used(qpNum: number, unknown: number): number {
    return this.usedQp === qpNum && this.usedEpoch === this.i32[this.host.segment.epochWord] ? this.usedTo : unknown
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

  startPoll(): boolean {
    return this.poll(this.#one, 1) > 0
  }

  nextPoll(): boolean {
    return this.poll(this.#one, 1) > 0
  }

  endPoll(): void {}

  reqNotify(solicitedOnly = false): void {
    this.assertOpen('reqNotify')
    if (this.channel === null && this.i32[this.cq + Cq.channel]! < 0)
      throw new VerbsError('EINVAL', 'reqNotify', 'this CQ has no completion channel; give createCq one')
    const i32 = this.i32
    const at = this.cq + Cq.armed
    const { any, solicited } = cqArmed
    if (!solicitedOnly) Atomics.store(i32, at, any)
    else
      for (let was = Atomics.load(i32, at); was !== any && was !== solicited; was = Atomics.load(i32, at))
        Atomics.compareExchange(i32, at, was, solicited)
    if (i32[this.cq + Cq.state] === cqState.overrun) this.host.wakeChannel(this.cq)
  }

  ackEvents(count: number): void {
    this.assertOpen('ackEvents')
    checkInteger('ackEvents', 'count', count, 0, 0x7fffffff)
    const outstanding = Atomics.load(this.i32, this.cq + Cq.unacknowledged)
    if (count > outstanding)
      throw new VerbsError('EINVAL', 'ackEvents', `only ${outstanding} events are unacknowledged, not ${count}`)
    Atomics.sub(this.i32, this.cq + Cq.unacknowledged, count)
    if (Atomics.load(this.i32, this.cq + Cq.closing) === 1) this.host.segment.notify(this.cq + Cq.unacknowledged)
  }

  resize(cqe: number): void {
    this.assertOpen('resize')
    const { attr } = this.context.device
    checkInteger('resize', 'cqe', cqe, 1, attr.maxCqe)
    const host = this.host
    const i32 = this.i32
    const cq = this.cq
    const slots = ringSlots(cqe)
    // Whichever thread resizes it, the memory goes with its owner.
    const ring = host.allocate(slots * Cqe.words * 4, 'resize', Math.max(0, i32[cq + Cq.owner]!)) / 4
    const { segment } = host
    // A QP that is the only producer of this CQ writes without the CQ's lock: not while it is resized.
    Atomics.store(i32, cq + Cq.resizing, 1)
    segment.bumpEpoch()
    segment.quiesce()
    segment.lock(cq + Cq.pollLock)
    segment.lock(cq + Cq.lock)
    const gone = this.gone()
    if (!gone) host.countPublished(cq)
    const head = i32[cq + Cq.head]!
    const tail = i32[cq + Cq.tail]!
    const outstanding = (head - tail) | 0
    const old = i32[cq + Cq.ring]!
    const fits = !gone && outstanding <= cqe
    if (fits) {
      // An entry to which no completion has been written yet must not look like one: as if the lap before had just been polled.
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

  close(): void {
    if (this.endsImport(this.#owned)) return
    this.assertOpen('close')
    const host = this.host
    const i32 = this.i32
    const cq = this.cq
    const busy = (refs: number): VerbsError =>
      new VerbsError('EBUSY', 'close', `${plural(refs, 'queue')} may still complete to this CQ; close their QPs first`)
    if (i32[cq + Cq.refs]! > 0) throw busy(i32[cq + Cq.refs]!)
    let outstanding = 0
    const areAcknowledged = (now: number): boolean => {
      outstanding = now
      if (now > 0) Atomics.store(i32, cq + Cq.closing, 1)
      return now <= 0
    }
    if (!host.segment.waitUntil(cq + Cq.unacknowledged, areAcknowledged, acknowledgeMs, 10))
      throw new VerbsError(
        'EBUSY',
        'close',
        `${plural(outstanding, 'event')} of its channel ${outstanding === 1 ? 'is' : 'are'} not acknowledged: call cq.ackEvents(${outstanding}) first`,
      )
    const refs = destroyCq(host, cq, false)
    if (refs > 0) throw busy(refs)
    this.channel?.detached(this)
    this.context.disown('cq', this)
    this.markClosed()
    reclaimSoon(host)
  }
}

/** Milliseconds for which `close` waits until another thread has acknowledged the events that it took. */
const acknowledgeMs = 1000

function ringSlots(cqe: number): number {
  return Math.max(2, 2 ** Math.ceil(Math.log2(cqe)))
}
