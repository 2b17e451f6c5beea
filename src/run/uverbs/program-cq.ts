/**
 * A completion queue of a program: the ring that it polls, and the CQ of this process that gets the completions. That one is larger: all
 * requests make completions here, also those for which the program wants none, so that their entries in the queues are free as soon as they
 * are executed.
 */
import { type CompletionChannel, type CompletionQueue, type Context, WcStatus } from '../../verbs/index.ts'
import { asyncEvent } from './async-events.ts'
import { fail } from './errors.ts'
import type { EventPipe } from './event-pipe.ts'
import type { QueueFile } from './queue-file.ts'
import { Ring } from './ring.ts'

const cqeBytes = 64
/** Words of an `ib_uverbs_wc`. */
const Wc = {
  wrIdLow: 0,
  wrIdHigh: 1,
  status: 2,
  opcode: 3,
  vendorErr: 4,
  byteLen: 5,
  immData: 6,
  qpNum: 7,
  srcQp: 8,
  flags: 9,
  /** P_Key index, and LID of the sender in the upper half. */
  slid: 10,
  /** Service level, path bits, port, a byte each. */
  path: 11,
} as const
const portOne = 1 << 16

const armedNot = 0
const armedSolicited = 1
const armedNext = 2

export class ProgramCq {
  readonly kind = 'cq'
  /** Completion queue of this process. */
  readonly cq: CompletionQueue
  readonly channel: EventPipe | null
  readonly events: EventPipe | null
  /** Handle by which the program recognizes it in events. */
  readonly userHandle: bigint
  /** True if the door polls it; else it is armed here, and an event reports completions. */
  active = false
  /**
   * Milliseconds until the door checks whether the program has noticed its completions, 0 while it does not check; and the time of that,
   * ns.
   */
  noticeMs = 0
  noticeDueNs = 0
  /** Consumer index of the program at the last check. */
  #taken = 0
  /** Requests in queues of this process whose completions are to come. */
  outstanding = 0
  compEvents = 0
  asyncEvents = 0
  readonly #file: QueueFile
  readonly #event: Uint8Array
  #ring: Ring
  #producer = 0
  #armed = armedNot
  #overrun = false
  /** Completions that all queues together may have outstanding. */
  #wanted = 0

  constructor(
    context: Context,
    wakes: CompletionChannel,
    file: QueueFile,
    cqe: number,
    userHandle: bigint,
    channel: EventPipe | null,
    events: EventPipe | null,
  ) {
    this.#file = file
    this.#ring = new Ring(file, cqe, cqeBytes, 'ibv_create_cq', `a completion queue of ${cqe}`)
    try {
      this.cq = context.createCq(cqe, { channel: wakes, cqContext: this, tellsSolicited: true })
    } catch (error) {
      this.#ring.close()
      throw error
    }
    this.userHandle = userHandle
    this.channel = channel
    this.events = events
    this.#event = new Uint8Array(8)
    new DataView(this.#event.buffer).setBigUint64(0, userHandle, true)
    if (channel) channel.users++
    if (events) events.users++
  }

  get ring(): Ring {
    return this.#ring
  }

  get cqe(): number {
    return this.#ring.room
  }

  /** True if one more request may be posted whose completion comes here. */
  get hasRoom(): boolean {
    return this.outstanding < this.cq.cqe
  }

  /** True if the program has polled all completions in its ring. */
  get isPolled(): boolean {
    return this.#ring.consumer === this.#producer
  }

  /** Adds a queue of this number of requests that completes here, within the adapter's largest CQ. */
  widen(requests: number): void {
    const wanted = this.#wanted + requests
    const most = this.cq.context.device.attr.maxCqe
    if (wanted > this.cq.cqe && this.cq.cqe < most) this.cq.resize(Math.min(most, 2 * wanted))
    this.#wanted = wanted
  }

  narrow(requests: number): void {
    this.#wanted -= requests
  }

  /** Executes `ibv_req_notify_cq`. A queue that is armed for all completions stays so. */
  arm(solicitedOnly: boolean): void {
    if (this.channel !== null && this.#armed === armedNot) this.channel.armed++
    if (this.#armed !== armedNext) this.#armed = solicitedOnly ? armedSolicited : armedNext
  }

  /** Writes a completion; false if the program has left no room for it. `immData` is the word as it is in memory. */
  push(
    wrIdLow: number,
    wrIdHigh: number,
    status: number,
    opcode: number,
    byteLen: number,
    immData: number,
    qpNum: number,
    srcQp: number,
    flags: number,
    slid: number,
    sl: number,
    solicited: boolean,
  ): boolean {
    const ring = this.#ring
    const next = (this.#producer + 1) & ring.mask
    if (next === ring.consumer) {
      this.#overran()
      return false
    }
    const { i32 } = ring
    const e = ring.entry(this.#producer)
    i32[e + Wc.wrIdLow] = wrIdLow
    i32[e + Wc.wrIdHigh] = wrIdHigh
    i32[e + Wc.status] = status
    i32[e + Wc.opcode] = opcode
    i32[e + Wc.vendorErr] = 0
    i32[e + Wc.byteLen] = byteLen
    i32[e + Wc.immData] = immData
    i32[e + Wc.qpNum] = qpNum
    i32[e + Wc.srcQp] = srcQp
    i32[e + Wc.flags] = flags
    i32[e + Wc.slid] = slid << 16
    i32[e + Wc.path] = sl | portOne
    ring.producer = next
    this.#producer = next
    const armed = this.#armed
    if (armed === armedNext || (armed === armedSolicited && (solicited || status !== WcStatus.Success))) {
      this.#disarm()
      if (this.channel?.push(this.#event)) this.compEvents++
    }
    return true
  }

  #disarm(): void {
    if (this.channel !== null && this.#armed !== armedNot) this.channel.armed--
    this.#armed = armedNot
  }

  #overran(): void {
    if (this.#overrun) return
    this.#overrun = true
    this.raise(0)
  }

  /** Reports an asynchronous event of this queue. */
  raise(type: number): void {
    if (this.events?.push(asyncEvent(this.userHandle, type))) this.asyncEvents++
  }

  /** Executes `ibv_resize_cq`: the program maps the new ring, and unmaps the old one. */
  resize(cqe: number): void {
    const old = this.#ring
    const kept = (this.#producer - old.consumer) & old.mask
    if (kept > cqe)
      fail('EINVAL', `ibv_resize_cq: cqe is ${cqe}, and ${kept} completions are in the queue that were not polled`)
    const ring = new Ring(this.#file, cqe, cqeBytes, 'ibv_resize_cq', `a completion queue of ${cqe}`)
    for (let i = 0, from = old.consumer; i < kept; i++, from = (from + 1) & old.mask) ring.copyEntry(i, old, from)
    ring.producer = kept
    this.#producer = kept
    this.#ring = ring
    old.close()
  }

  /**
   * True if completions wait for which no notification was requested, neither here nor for another queue of the channel. Usually the
   * program is about to take them. But a signal whose handler does not restart calls ends `ibv_req_notify_cq` with EINTR if it comes before
   * the call has been received here, and rsockets, which do not check that, then wait for ever.
   */
  get isUnnoticed(): boolean {
    return this.channel !== null && this.channel.armed === 0 && !this.isPolled
  }

  /** True if the program has taken completions since the previous call. */
  get goesOn(): boolean {
    const { consumer } = this.#ring
    const before = this.#taken
    this.#taken = consumer
    return consumer !== before
  }

  /** Makes an event that was not requested, if the program waits for one; true if it does. */
  remind(): boolean {
    if (!this.channel?.isAwaited()) return false
    if (this.channel.push(this.#event)) this.compEvents++
    return true
  }

  /** Takes back events that the program has not read; returns the number of those of each kind that it has. */
  reported(): { completion: number; asynchronous: number } {
    const { channel, events, userHandle } = this
    const unread = channel?.takeBack((event) => event.getBigUint64(0, true) === userHandle, this.compEvents) ?? 0
    const unreadAsync =
      events?.takeBack(
        (event) => event.getBigUint64(0, true) === userHandle && event.getUint32(8, true) === 0,
        this.asyncEvents,
      ) ?? 0
    return { completion: this.compEvents - unread, asynchronous: this.asyncEvents - unreadAsync }
  }

  /** Closes it; EBUSY while queue pairs complete to it. */
  close(): void {
    if (!this.cq.closed) this.cq.close()
    this.#ring.close()
    this.#disarm()
    if (this.channel) this.channel.users--
    if (this.events) this.events.users--
  }
}
