/**
 * The work of an adapter in shared memory: the thread that has a request at the front of a send queue executes it, as requester and as
 * responder at once. There is no packet; a SEND is one copy from the sender's memory to the receiver's. Every check of a real adapter is
 * made, and a failed one ends as on a real adapter: with completions, QP states and asynchronous events on both sides.
 *
 *     RC error in a request   requester completes with an error, both QPs go to ERR where the responder rejected it
 *     UC, UD                  the requester sees only local errors (and goes to SQE); what cannot be delivered is counted
 *
 * This file has the send queue. The requests are in messages.ts (SEND, WRITE), one-sided.ts (READ, atomics, FLUSH), datagrams.ts, and
 * memory windows are in verbs; they share the lists of ranges (ranges.ts), the peer (peer.ts) and its receives (receives.ts), requests
 * that must wait (waiting.ts) and failures (failures.ts). Bytes of other processes are in devices/process-memory, many short messages
 * between programs in bursts.ts, requests that another thread must execute in hand-over.ts.
 *
 * In all of them `q` is the first word of the requester's QP, `d` that of the responder's, `w` that of the request in its queue, and `r`
 * that of a receive. A function that executes a request returns a `WcStatus`, or `waits` if it must be tried again.
 */
import { nowNs } from '../../memory/index.ts'
import {
  Access,
  bind,
  type Host,
  layout,
  localInvalidate,
  Opcode,
  QpState,
  QpType,
  WcStatus,
} from '../../verbs/provider/index.ts'
import { ProcessBytes } from '../process-memory/index.ts'
import { Bursts } from './bursts.ts'
import { Datagrams } from './datagrams.ts'
import { Failures } from './failures.ts'
import { HandOver } from './hand-over.ts'
import { Messages } from './messages.ts'
import { OneSided } from './one-sided.ts'
import { peerOf } from './peer.ts'
import { Ranges } from './ranges.ts'
import { Receives } from './receives.ts'
import { Traffic } from './traffic.ts'
import { Waiting, waits } from './waiting.ts'

const { Key, Qp, qpEngine, Wqe } = layout

/** Request at `index` of the QP that `ref` names, which completes after a grace period. */
interface Grace {
  q: number
  ref: number
  index: number
}

export class Executor {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #processes: ProcessBytes
  readonly #failures: Failures
  readonly #waiting: Waiting
  readonly #handOver: HandOver
  readonly #bursts: Bursts
  readonly #messages: Messages
  readonly #oneSided: OneSided
  readonly #datagrams: Datagrams
  readonly #traffic: Traffic
  readonly #graces: Grace[] = []
  readonly #adapters: number
  #progressing = false
  #refilling = false

  /** Constructs an executor; `adapters` is the number of devices of the segment, from the first on, that are of this kind. */
  constructor(host: Host, mtu: number, adapters: number) {
    this.#host = host
    this.#adapters = adapters
    this.#i32 = host.i32
    this.#processes = new ProcessBytes(host)
    const ranges = new Ranges(host, this.#processes)
    this.#waiting = new Waiting(host)
    this.#failures = new Failures(host, this.#waiting)
    this.#handOver = new HandOver(host, ranges, this.#waiting)
    const receives = new Receives(host, ranges, this.#failures)
    this.#messages = new Messages(host, ranges, receives, this.#waiting, this.#handOver, this.#failures)
    this.#oneSided = new OneSided(host, this.#processes, ranges, this.#waiting, this.#handOver, this.#failures)
    this.#traffic = new Traffic(host, mtu, adapters)
    this.#bursts = new Bursts(host, this.#processes, this.#failures, this.#traffic)
    this.#datagrams = new Datagrams(
      host,
      mtu,
      adapters,
      ranges,
      receives,
      this.#waiting,
      this.#handOver,
      this.#failures,
      this.#traffic,
    )
  }

  /**
   * Executes the requests of a send queue, in order, until it is empty or must wait. Its send lock is held; after it is released, and the
   * operation left, comes `settle`.
   */
  run(q: number): void {
    const i32 = this.#i32
    const host = this.#host
    host.segment.parking.deferWakes()
    for (;;) {
      const next = i32[q + Qp.sqNext]!
      const state = i32[q + Qp.state]!
      if (state === QpState.Sqd) host.drained(q)
      if (next === i32[q + Qp.sqHead]) return
      if (i32[q + Qp.executor] !== 0 || i32[q + Qp.engine] === qpEngine.hosted) {
        if (!this.#waiting.mayRun(q)) {
          this.#waiting.leave(q)
          return
        }
        if (state === QpState.Rts && this.#bursts.run(q)) continue
      }
      if (state !== QpState.Rts) {
        if (state === QpState.Err || state === QpState.Sqe) {
          host.flushSends(q)
          i32[q + Qp.executor] = 0
        } else if (state === QpState.Sqd && i32[q + Qp.sqDraining] === 1) {
          if (!this.#step(q, next)) return
          continue
        }
        return
      }
      if (!this.#step(q, next)) return
    }
  }

  /** Executes the request at `next`; false if it has to wait. */
  #step(q: number, next: number): boolean {
    const i32 = this.#i32
    const w = i32[q + Qp.sqRing]! + (next & i32[q + Qp.sqMask]!) * i32[q + Qp.sqStride]!
    this.#oneSided.byteLen = 0
    const isHandedOver = i32[q + Qp.executor] !== 0
    const status = isHandedOver && this.#handOver.isFilled(q) ? this.#finish(q, w) : this.#execute(q, w)
    if (status === waits) return false
    if (isHandedOver && status === WcStatus.Success && this.#handOver.givesBack(q, w)) return false
    this.#waiting.stopPending(q)
    if (status !== WcStatus.Success) this.#failures.fail(q, status)
    else {
      const { byteLen } = this.#oneSided
      if (this.#traffic.isCounted(q)) this.#traffic.executed(q, w, byteLen)
      if (!this.#host.completeSend(q, WcStatus.Success, byteLen)) this.#failures.defer(q)
    }
    if (isHandedOver) this.#waiting.tellOwner(q)
    return true
  }

  #finish(q: number, w: number): number {
    this.#oneSided.byteLen = this.#i32[q + Qp.staged]!
    return this.#handOver.finish(q, w, Access.LocalWrite)
  }

  #execute(q: number, w: number): number {
    const i32 = this.#i32
    const type = i32[q + Qp.type]
    if (type === QpType.UD || type === QpType.GSI) return this.#datagrams.send(q, w)
    switch (i32[w + Wqe.opcode]) {
      case Opcode.Send:
      case Opcode.SendWithImm:
      case Opcode.SendWithInv:
        return this.#messages.send(q, w)
      case Opcode.Write:
      case Opcode.WriteWithImm:
        return this.#messages.write(q, w)
      case Opcode.Read:
        return this.#oneSided.read(q, w)
      case Opcode.AtomicCmpAndSwp:
      case Opcode.AtomicFetchAndAdd:
        return this.#oneSided.atomic(q, w)
      case Opcode.AtomicWrite:
        return this.#oneSided.atomicWrite(q, w)
      case Opcode.Flush:
        return this.#oneSided.flush(q, w)
      case Opcode.LocalInv:
      case Opcode.BindMw:
        return this.#window(q, w)
      default:
        return WcStatus.LocQpOpErr
    }
  }

  /**
   * Executes BIND_MW or LOCAL_INV. When a request that closes a window completes, no thread may write there any more: another thread may
   * have resolved the key before and be copying, so the completion waits for a grace period. That is for `settle`, since this thread is
   * in an operation itself.
   */
  #window(q: number, w: number): number {
    const host = this.#host
    const { i32 } = host
    if (!this.#waiting.inGrace(q)) {
      const invalidates = i32[w + Wqe.opcode] === Opcode.LocalInv
      const window = host.findKey(i32[w + (invalidates ? Wqe.immData : Wqe.rkey)]!)
      const wasOpen = window >= 0 && i32[window + Key.valid] === 1
      const status = invalidates ? localInvalidate(host, q, w) : bind(host, q, w)
      if (status !== WcStatus.Success || !wasOpen) return status
    }
    if (this.#waiting.awaitGrace(q)) this.#graces.push({ q, ref: i32[q + Qp.ref]!, index: i32[q + Qp.sqNext]! })
    return waits
  }

  /** Handles a full CQ of `q`: ends and flushes the QP. No lock is held, and this thread is in no operation. */
  overran(q: number): void {
    this.#failures.overran(q)
    this.settle()
  }

  /**
   * Finishes work after a send lock was released: wakes the threads that wait for completions, and completes what had to wait for a grace
   * period.
   */
  settle(): void {
    const { parking } = this.#host.segment
    parking.wakeDeferred()
    this.#traffic.settle()
    this.#failures.settle()
    while (this.#graces.length > 0) {
      const grace = this.#graces.pop()!
      this.#host.segment.quiesce()
      this.#endGrace(grace)
      parking.wakeDeferred()
      this.#failures.settle()
    }
    if (this.#waiting.asked.length > 0 && !this.#refilling) this.#refill()
  }

  /** Has owners of hosted queues post the receives that they have now, and continues the requests that waited for that. */
  #refill(): void {
    const host = this.#host
    const { asked } = this.#waiting
    this.#refilling = true
    try {
      for (let ask = asked.shift(); ask !== undefined; ask = asked.shift()) {
        host.refill?.(ask.queue, ask.slot)
        // The owners of all members of a multicast group are asked before the datagram goes on.
        if (asked[0]?.q === ask.q) continue
        this.#waiting.hasAsked = ask.q
        try {
          this.#resume(host.qpSlot(ask.q))
        } finally {
          this.#waiting.hasAsked = 0
        }
        this.settle()
      }
    } finally {
      this.#refilling = false
    }
  }

  #endGrace({ q, ref, index }: Grace): void {
    const host = this.#host
    const { i32, segment } = host
    host.lockSends(q)
    segment.enterNow()
    try {
      if (i32[q + Qp.ref] === ref) {
        const state = i32[q + Qp.state]
        // Another thread may have completed it already, or flushed the queue.
        const waiting = this.#waiting.inGrace(q) && i32[q + Qp.sqNext] === index
        if (waiting && (state === QpState.Rts || state === QpState.Sqd)) {
          this.#waiting.stopPending(q)
          if (!host.completeSend(q, WcStatus.Success, 0)) this.#failures.defer(q)
        }
        this.run(q)
      }
    } finally {
      segment.unlock(q + Qp.sqLock)
      segment.leave()
    }
  }

  /** Executes the requests whose time has come, of any QP of the segment. */
  progress(): void {
    if (this.#progressing) return
    this.#progressing = true
    try {
      for (const slot of this.#waiting.due()) this.resume(slot)
    } finally {
      this.#progressing = false
    }
  }

  /** Continues the send queue of a QP, from any thread. */
  resume(slot: number): void {
    this.#resume(slot)
    this.settle()
  }

  #resume(slot: number): void {
    const i32 = this.#i32
    const { segment } = this.#host
    const q = this.#host.qpWord(slot)
    this.#host.lockSends(q)
    segment.enterNow()
    try {
      // The QP that was to go on may be gone, and the one that has its slot now another device's.
      if (i32[q + Qp.number]! > 0 && i32[q + Qp.device]! < this.#adapters) this.run(q)
    } finally {
      segment.unlock(q + Qp.sqLock)
      segment.leave()
    }
  }

  /** Returns the same as `Device.dueInMs`. */
  dueInMs(): number {
    return Math.max(0, (this.#waiting.nextDeadline() - nowNs()) / 1e6)
  }

  /** Prepares the memory of a process, as `Device.reachProcess`. */
  reachProcess(verb: string, pid: number, address: number, length: number): number {
    return this.#processes.reach(verb, pid, address, length)
  }

  /** Returns the connected peer if it can take requests, or −1. */
  peer(q: number): number {
    return peerOf(this.#host, q)
  }
}
