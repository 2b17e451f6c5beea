/**
 * Bursts of short SENDs from one program to another that follow each other in a send queue, and whose receives are there: their bytes go
 * through a stage in the segment by one system call that fetches all, and one that delivers all, where each message by itself takes two.
 * Nothing has happened before the bytes of all are where they belong; any unusual request ends the burst before it, and is left to the
 * executor.
 */
import {
  Access,
  type Host,
  isOthers,
  layout,
  Opcode,
  QpType,
  SendFlag,
  WcFlag,
  WcOpcode,
  WcStatus,
} from '../../verbs/provider/index.ts'
import { noFault, type ProcessBytes, stagedBytes } from '../process-memory/index.ts'
import type { Failures } from './failures.ts'
import { canRespond, reach } from './peer.ts'
import type { Traffic } from './traffic.ts'

const { Qp, qpEngine, Rwqe, Sg, Wqe } = layout

/** Maximum length of a message of a burst: with longer ones the copy takes longer than the system call. */
const shortBytes = 2048
const most = stagedBytes / shortBytes
/** Maximum number of ranges in one list of the system call. */
const maxRanges = 64

/** Stage as a list of one range. */
const stagePlace = new Float64Array(1)
const stageLength = new Float64Array(1)

/** List of ranges in one process, for one call. */
class RangeList {
  readonly at: Float64Array = new Float64Array(maxRanges)
  readonly bytes: Float64Array = new Float64Array(maxRanges)
  count = 0
  pid = 0

  clear(): void {
    this.count = 0
    this.pid = 0
  }

  /** Adds a range; false if one more, in this process, does not fit. */
  add(at: number, bytes: number, pid: number): boolean {
    if (this.count === maxRanges || (this.pid !== pid && this.pid !== 0)) return false
    this.pid = pid
    this.at[this.count] = at
    this.bytes[this.count++] = bytes
    return true
  }
}

export class Bursts {
  readonly #host: Host
  readonly #processes: ProcessBytes
  readonly #failures: Failures
  readonly #traffic: Traffic
  readonly #from = new RangeList()
  readonly #to = new RangeList()
  /** Length of each message, and of all together. */
  readonly #lengths = new Int32Array(most)
  #total = 0
  /** True if the bytes of all messages are in the send queue. */
  #inline = false

  constructor(host: Host, processes: ProcessBytes, failures: Failures, traffic: Traffic) {
    this.#host = host
    this.#processes = processes
    this.#failures = failures
    this.#traffic = traffic
  }

  /** Executes as many requests as possible at the front of `q`, hosted here and in RTS; false if there are none. The send lock is held. */
  run(q: number): boolean {
    const host = this.#host
    const { i32, segment } = host
    const waiting = (i32[q + Qp.sqHead]! - i32[q + Qp.sqNext]!) | 0
    if (waiting < 2 || i32[q + Qp.type] !== QpType.RC || i32[q + Qp.pending] !== 0) return false
    const d = reach(host, q)
    if (d < 0 || i32[d + Qp.engine] !== qpEngine.hosted || isOthers(host, d) || i32[d + Qp.srq]! >= 0) return false
    let done = 0
    segment.lock(d + Qp.rqLock)
    try {
      const count = canRespond(host, d) ? this.#resolve(q, d, Math.min(waiting, most)) : 0
      if (count < 2 || !this.#copy()) return false
      while (done < count && this.#receive(q, d, done)) done++
    } finally {
      segment.unlock(d + Qp.rqLock)
    }
    for (let i = 0; i < done; i++) this.#traffic.executed(q, this.#request(q, i), 0)
    for (let i = 0; i < done; i++)
      if (!host.completeSend(q, WcStatus.Success, 0)) {
        this.#failures.defer(q)
        break
      }
    return done > 0
  }

  /** Finds the sources and targets of the first messages; returns the number of messages. */
  #resolve(q: number, d: number, most: number): number {
    const { i32 } = this.#host
    const processes = this.#processes
    this.#from.clear()
    this.#to.clear()
    this.#total = 0
    const available = Math.min(most, (Atomics.load(i32, d + Qp.rqHead) - i32[d + Qp.rqTail]!) | 0)
    let count = 0
    processes.beginBurst()
    for (; count < available; count++) {
      const w = this.#request(q, count)
      const inline = (i32[w + Wqe.flags]! & SendFlag.Inline) !== 0
      if (count === 0) this.#inline = inline
      const opcode = i32[w + Wqe.opcode]
      if (inline !== this.#inline || (opcode !== Opcode.Send && opcode !== Opcode.SendWithImm)) break
      const before = this.#from.count
      const length = inline ? this.#fromQueue(w) : this.#gather(q, w)
      if (length < 0 || !this.#scatter(d, count, length)) {
        this.#from.count = before
        break
      }
      this.#lengths[count] = length
      this.#total += length
    }
    processes.endBurst()
    return count
  }

  /** Stages the inline data of the request at `w`; returns its length, or −1. */
  #fromQueue(w: number): number {
    const { i32, segment } = this.#host
    const length = i32[w + Wqe.inlineLength]!
    if (length > shortBytes) return -1
    segment.copy(this.#processes.stage + this.#total, (w + Wqe.data) * 4, length)
    return length
  }

  /** Adds the bytes of the request at `w` to the ranges to fetch; returns their length, −1 if the request is not suitable for a burst. */
  #gather(q: number, w: number): number {
    const { i32, f64 } = this.#host
    const processes = this.#processes
    const pd = i32[q + Qp.pd]!
    let total = 0
    for (let i = 0, s = w + Wqe.data; i < i32[w + Wqe.sges]!; i++, s += Sg.words) {
      const length = i32[s + Sg.length]!
      if (length === 0) continue
      total += length
      if (length > shortBytes || total > shortBytes) return -1
      const at = processes.resolve(i32[s + Sg.lkey]!, pd, f64[s >> 1]!, length, 0, -1)
      if (at >= -1 || !this.#from.add(at, length, processes.pid)) return -1
    }
    return total
  }

  /** Adds the targets of message `number`; false if its receive has no room for the bytes, or is not suitable for a burst. */
  #scatter(d: number, number: number, total: number): boolean {
    const { i32, f64 } = this.#host
    const processes = this.#processes
    const r = this.#receiveAt(d, number)
    const pd = i32[d + Qp.pd]!
    const before = this.#to.count
    let left = total
    for (let i = 0, s = r + Rwqe.data; i < i32[r + Rwqe.sges]! && left > 0; i++, s += Sg.words) {
      const size = i32[s + Sg.length]!
      if (size === 0) continue
      const length = Math.min(left, size)
      const at = length < 0 ? -1 : processes.resolve(i32[s + Sg.lkey]!, pd, f64[s >> 1]!, length, Access.LocalWrite, -1)
      if (at >= -1 || !this.#to.add(at, length, processes.pid)) break
      left -= length
    }
    if (left > 0) this.#to.count = before
    return left === 0
  }

  /** Copies the bytes of all messages; false if some of them are not there: then no message of the burst has had any effect. */
  #copy(): boolean {
    const from = this.#from
    const to = this.#to
    const processes = this.#processes
    const total = this.#total
    if (total === 0) return true
    const { stage } = processes
    if (!this.#inline && processes.fetch(stage, from.at, from.bytes, from.count, from.pid, total) !== noFault)
      return false
    stagePlace[0] = stage
    stageLength[0] = total
    return processes.deliver(to.at, to.bytes, to.count, to.pid, stagePlace, stageLength, 1) === noFault
  }

  /** Completes the receive of message `number`, whose bytes are there; false if its completion has no room. The receive lock is held. */
  #receive(q: number, d: number, number: number): boolean {
    const host = this.#host
    const { i32, f64, segment } = host
    const w = this.#request(q, number)
    // The receives before it were consumed.
    const r = this.#receiveAt(d, 0)
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    const e = host.reserve(cq)
    if (e < 0) return false
    const hasImm = i32[w + Wqe.opcode] === Opcode.SendWithImm
    const solicited = (i32[w + Wqe.flags]! & SendFlag.Solicited) !== 0
    const wrId = f64[(r + Rwqe.wrId) >> 1]!
    segment.publish(d + Qp.rqTail, (i32[d + Qp.rqTail]! + 1) | 0)
    const flags = hasImm ? WcFlag.WithImm : 0
    const immData = hasImm ? i32[w + Wqe.immData]! : 0
    host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.Recv, flags, this.#lengths[number]!, immData, d, 0, solicited)
    return true
  }

  /** Returns the first word of the request that comes after the first `number`. */
  #request(q: number, number: number): number {
    const { i32 } = this.#host
    return i32[q + Qp.sqRing]! + ((i32[q + Qp.sqNext]! + number) & i32[q + Qp.sqMask]!) * i32[q + Qp.sqStride]!
  }

  /** Returns the same for a receive. */
  #receiveAt(d: number, number: number): number {
    const { i32 } = this.#host
    return i32[d + Qp.rqRing]! + ((i32[d + Qp.rqTail]! + number) & i32[d + Qp.rqMask]!) * i32[d + Qp.rqStride]!
  }
}
