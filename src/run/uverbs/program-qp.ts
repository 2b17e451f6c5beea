/**
 * A queue pair of a program: its rings, the queue pair of this process that executes their requests, and the requests in flight between
 * them. Requests complete in the order of their queue, so that the program's identifier of each (`wr_id`, 64 bits) is kept by its position
 * in the ring.
 *
 *     send ring       consumer ── posted here, not complete (#sendDone .. #sendNext) ── not taken yet ── producer
 *     receive ring    the same
 */
import { sleepMs } from '../../memory/index.ts'
import {
  EventType,
  type ProtectionDomain,
  QpState,
  QpType,
  type QueuePair,
  WcFlag,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
} from '../../verbs/index.ts'
import { completionOpcodes, layout } from '../../verbs/provider/index.ts'
import { asyncEvent, qpEvents } from './async-events.ts'
import type { EventPipe } from './event-pipe.ts'
import type { ProgramAh } from './plain-objects.ts'
import type { ProgramCq } from './program-cq.ts'
import type { ProgramSrq } from './program-srq.ts'
import type { Ring } from './ring.ts'
import { swapped, type Translated } from './translation.ts'
import type { Work } from './work.ts'

const { solicitedFlag } = layout

const signaled = 2
const wqeFlags = 4

/** In `#what`: the operation, and above it these. */
const wantsCompletion = 0x10
const failing = 0x20

/** Time that unacknowledged requests may take to be sent while their queue pair is destroyed, and the interval of checks. */
const sendingMs = 100
const lookMs = 0.5

/** Parts of a queue pair that belong to a program. */
export interface QpParts {
  qp: QueuePair
  pd: ProtectionDomain
  sendCq: ProgramCq
  recvCq: ProgramCq
  srq: ProgramSrq | null
  sendRing: Ring
  recvRing: Ring | null
  maxSendWr: number
  maxRecvWr: number
  maxSendSge: number
  maxRecvSge: number
  maxInlineData: number
  sigAll: boolean
  userHandle: bigint
  events: EventPipe | null
  ahs: readonly (ProgramAh | undefined)[]
}

export class ProgramQp implements Translated {
  readonly kind = 'qp'
  readonly qp: QueuePair
  readonly pd: ProtectionDomain
  readonly parts: Readonly<QpParts>
  readonly maxSendSge: number
  readonly maxInlineData: number
  readonly ahs: readonly (ProgramAh | undefined)[]
  /** Multicast groups that it is attached to, by GID as text. */
  readonly groups: Map<string, Uint8Array> = new Map()
  asyncEvents = 0
  /** True if the door has it on its list of queues with more to take. */
  pending = false
  readonly #work: Work
  /** Number among the queue pairs of the door. */
  readonly #slot: number
  readonly #send: Ring
  readonly #recv: Ring | null
  #sendNext = 0
  #sendDone = 0
  #sendPosted = 0
  readonly #sendIds: Int32Array
  readonly #what: Uint8Array
  #recvNext = 0
  #recvDone = 0
  #recvPosted = 0
  #refilling = false
  readonly #recvIds: Int32Array
  /** Receives that may complete to its CQ. */
  readonly #recvWidth: number
  /** Flag: completions are flushed by this process itself, and are not reported. */
  #quiet = false

  constructor(work: Work, slot: number, parts: QpParts) {
    this.#work = work
    this.#slot = slot
    this.parts = parts
    this.qp = parts.qp
    this.pd = parts.pd
    this.maxSendSge = parts.maxSendSge
    this.maxInlineData = parts.maxInlineData
    this.ahs = parts.ahs
    this.#send = parts.sendRing
    this.#recv = parts.recvRing
    this.#sendIds = new Int32Array(2 * (parts.sendRing.mask + 1))
    this.#what = new Uint8Array(parts.sendRing.mask + 1)
    this.#recvIds = new Int32Array(parts.recvRing ? 2 * (parts.recvRing.mask + 1) : 0)
    parts.sendCq.widen(parts.maxSendWr)
    this.#recvWidth = parts.srq?.maxWr ?? parts.maxRecvWr
    try {
      parts.recvCq.widen(this.#recvWidth)
    } catch (error) {
      parts.sendCq.narrow(parts.maxSendWr)
      throw error
    }
    if (parts.events) parts.events.users++
  }

  // --- from the program ----------------------------------------------------------------------------------------------

  /** Posts the requests that the program has written to its queues; true if it posted any. */
  take(): boolean {
    const received = this.refill()
    return this.#takeSends() || received
  }

  #takeSends(): boolean {
    const { state } = this.qp
    const ring = this.#send
    const end = ring.producer
    if (this.#sendNext === end || state < QpState.Rts) return false
    const { sendCq, maxSendWr, sigAll } = this.parts
    const { translation } = this.#work
    const ids = this.#sendIds
    const { i32, mask } = ring
    const from = this.#sendNext
    // The program may have waited for the completion of its last request, which it has polled.
    const hasWaited = (this.#what[(from - 1) & mask]! & wantsCompletion) !== 0 && sendCq.isPolled
    while (this.#sendNext !== end) {
      if (this.#sendPosted >= maxSendWr || !sendCq.hasRoom) {
        this.#work.takeLater(this)
        break
      }
      const at = this.#sendNext
      const w = ring.entry(at)
      ids[2 * at] = i32[w]!
      ids[2 * at + 1] = i32[w + 1]!
      const wants = sigAll || (i32[w + wqeFlags]! & signaled) !== 0
      this.#sendNext = (at + 1) & mask
      this.#sendPosted++
      sendCq.outstanding++
      translation.add(this, ring, w, this.#slot * 4)
      this.#what[at] = (translation.opcode & 15) | (wants ? wantsCompletion : 0) | (translation.failing ? failing : 0)
      if (translation.isFull) translation.post(this.qp)
    }
    translation.post(this.qp)
    const count = (this.#sendNext - from) & mask
    if (count === 0) return false
    this.#work.activate(sendCq)
    this.#work.took(this.qp, count, hasWaited)
    return true
  }

  /** Posts the receives that the program has written. */
  refill(): boolean {
    const ring = this.#recv
    // Posting a receive may resume a request that waited for it, which finds no receive for the next message and calls this again: the
    // outer call continues anyway.
    if (ring === null || this.#refilling || this.qp.state === QpState.Reset) return false
    this.#refilling = true
    try {
      return this.#refill(ring)
    } finally {
      this.#refilling = false
    }
  }

  #refill(ring: Ring): boolean {
    const { recvCq, maxRecvWr, maxRecvSge } = this.parts
    const { translation } = this.#work
    let took = false
    while (this.#recvNext !== ring.producer) {
      if (this.#recvPosted >= maxRecvWr || !recvCq.hasRoom) {
        this.#work.takeLater(this)
        break
      }
      const at = this.#recvNext
      const w = ring.entry(at)
      this.#recvIds[2 * at] = ring.i32[w]!
      this.#recvIds[2 * at + 1] = ring.i32[w + 1]!
      this.#recvNext = (at + 1) & ring.mask
      this.#recvPosted++
      recvCq.outstanding++
      translation.addReceive(this.qp, maxRecvSge, ring, w, this.#slot * 4 + 1)
      took = true
      if (translation.receivesFull) translation.postReceives(this.qp)
    }
    translation.postReceives(this.qp)
    if (took && this.qp.state === QpState.Err) this.#work.activate(recvCq)
    return took
  }

  // --- to the program ------------------------------------------------------------------------------------------------

  // Receives are posted when messages need them. Those that no message has needed before an error are to be flushed, too: so this queue
  // pair is checked again after an error.

  /** Handles the completion of the oldest request. */
  sent(wc: WorkCompletion): void {
    const at = this.#sendDone
    const ring = this.#send
    const { sendCq } = this.parts
    if (this.#sendPosted === 0) return
    this.#sendDone = (at + 1) & ring.mask
    this.#sendPosted--
    sendCq.outstanding--
    ring.consumer = this.#sendDone
    const what = this.#what[at]!
    let { status } = wc
    if (status === WcStatus.Success && (what & wantsCompletion) === 0) return
    if (status !== WcStatus.Success) this.#work.takeLater(this)
    if (status === WcStatus.WrFlushErr) {
      if (this.#quiet) return
    } else if ((what & failing) !== 0) status = WcStatus.LocQpOpErr
    const opcode = completionOpcodes[what & 15]!
    const low = this.#sendIds[2 * at]!
    const high = this.#sendIds[2 * at + 1]!
    if (!sendCq.push(low, high, status, opcode, wc.byteLen, 0, this.qp.qpNum, 0, 0, 0, 0, false)) this.#work.broke(this)
  }

  /** Handles the completion of the oldest receive, taken by a message or by the end of this queue pair. */
  received(wc: WorkCompletion): void {
    const ring = this.#recv
    if (ring === null || this.#recvPosted === 0) return
    const at = this.#recvDone
    this.#recvDone = (at + 1) & ring.mask
    this.#recvPosted--
    this.parts.recvCq.outstanding--
    ring.consumer = this.#recvDone
    this.#receive(wc, this.#recvIds[2 * at]!, this.#recvIds[2 * at + 1]!)
  }

  /** Handles likewise a receive of the SRQ. */
  receivedShared(wc: WorkCompletion, wrIdLow: number, wrIdHigh: number): void {
    this.#receive(wc, wrIdLow, wrIdHigh)
  }

  #receive(wc: WorkCompletion, low: number, high: number): void {
    const { status, wcFlags } = wc
    if (status !== WcStatus.Success) this.#work.takeLater(this)
    if (this.#quiet && status === WcStatus.WrFlushErr) return
    const flags = wcFlags & 0xff
    let imm = 0
    if ((flags & WcFlag.WithImm) !== 0) imm = swapped(wc.immData)
    else if ((flags & WcFlag.WithInv) !== 0) imm = wc.invalidatedRkey
    const opcode = status === WcStatus.Success ? wc.opcode : WcOpcode.Recv
    const solicited = (wcFlags & solicitedFlag) !== 0
    const { recvCq } = this.parts
    const { qpNum } = this.qp
    if (!recvCq.push(low, high, status, opcode, wc.byteLen, imm, qpNum, wc.srcQp, flags, wc.slid, wc.sl, solicited))
      this.#work.broke(this)
  }

  /** Reports an asynchronous event of this queue pair. */
  raise(type: number): void {
    this.#work.takeLater(this)
    if (this.#quiet && type === EventType.QpLastWqeReached) return
    const { events, userHandle } = this.parts
    if (events?.push(asyncEvent(userHandle, type))) this.asyncEvents++
  }

  // --- states --------------------------------------------------------------------------------------------------------

  /** Takes requests that waited for the new state, after it was modified. */
  modified(): void {
    this.take()
    const { state } = this.qp
    if (state === QpState.Err || state === QpState.Sqe) {
      this.#work.activate(this.parts.sendCq)
      this.#work.activate(this.parts.recvCq)
    }
  }

  /**
   * Ends all requests in flight without informing the program: those that were executed complete, the others vanish. Afterwards nothing of
   * this queue pair is in a CQ of this process.
   */
  quiesce(): void {
    this.#drain()
    if (this.qp.state === QpState.Reset) return
    this.#quiet = true
    if (this.qp.state !== QpState.Err) this.qp.modify({ state: QpState.Err })
    this.#drain()
    this.#quiet = false
  }

  #drain(): void {
    for (const cq of [this.parts.sendCq, this.parts.recvCq]) while (this.#work.poll(cq));
    this.#work.takeAsyncEvents()
  }

  /** Empties the queues, after RESET. */
  reset(): void {
    const { sendCq, recvCq } = this.parts
    sendCq.outstanding -= this.#sendPosted
    recvCq.outstanding -= this.#recvPosted
    this.#sendPosted = 0
    this.#recvPosted = 0
    this.#sendNext = this.#send.producer
    this.#sendDone = this.#sendNext
    this.#send.consumer = this.#sendDone
    if (this.#recv === null) return
    this.#recvNext = this.#recv.producer
    this.#recvDone = this.#recvNext
    this.#recv.consumer = this.#recvDone
  }

  /** Stops executing requests: its CQ overran, so that the program cannot learn of their completion. */
  fatal(): void {
    if (this.qp.closed || this.qp.state === QpState.Reset || this.qp.state === QpState.Err) return
    this.qp.modify({ state: QpState.Err })
    this.raise(EventType.QpFatal)
  }

  /** Takes back asynchronous events that the program has not read; returns the number of those that it has. */
  reported(): number {
    const { events, userHandle } = this.parts
    const unread =
      events?.takeBack(
        (event) => event.getBigUint64(0, true) === userHandle && qpEvents.has(event.getUint32(8, true)),
        this.asyncEvents,
      ) ?? 0
    return this.asyncEvents - unread
  }

  leaveGroups(): void {
    for (const gid of this.groups.values()) this.qp.detachMcast(gid)
    this.groups.clear()
  }

  /**
   * Sends the remaining requests. Programs destroy a queue pair as soon as they have posted requests that no peer acknowledges: an adapter
   * has sent them by then. Here another run may have to be woken for each.
   */
  sendRest(): void {
    if (this.qp.type === QpType.RC) return
    const { device } = this.pd.context
    this.#drain()
    for (let ms = 0; ms < sendingMs && this.#sendPosted > 0 && this.qp.state === QpState.Rts; ms += lookMs) {
      sleepMs(lookMs)
      device.progress()
      this.#drain()
    }
  }

  close(): void {
    const { sendCq, recvCq, sendRing, recvRing, events, maxSendWr } = this.parts
    this.quiesce()
    this.qp.close()
    this.reset()
    sendCq.narrow(maxSendWr)
    recvCq.narrow(this.#recvWidth)
    sendRing.close()
    recvRing?.close()
    if (events) events.users--
    this.#work.forgetQp(this.#slot)
  }
}
