/**
 * One queue pair with its flows. The end that sends the data of a flow cuts it into messages and posts them, one flow after the other; work
 * requests are numbered, and one of `signalEvery` makes a completion, as does the last of each flow whose end has to be reported. Of short
 * flows that are posted together only the last one does: it indicates that all of them are complete, later than separate completions would
 * by their time on the wire.
 */
import {
  type AddressHandle,
  Opcode,
  type QueuePair,
  SendFlag,
  type SendWorkRequest,
  sendWr,
} from '../../verbs/index.ts'
import { qpTypes, type TrafficQpType, verbs } from '../index.ts'
import { FlowRing } from './flow-ring.ts'
import { chunkBytes } from './layout.ts'
import { endOf, type Marks } from './marks.ts'

export const verbIndex: Readonly<Record<(typeof verbs)[number], number>> = Object.fromEntries(
  verbs.map((verb, i) => [verb, i]),
) as Record<(typeof verbs)[number], number>
const { send, send_with_imm: sendImm, write, write_with_imm: writeImm, read, fetch_add: fetchAdd } = verbIndex

/** Number of messages between two checks of the other queues, of one channel in one turn. */
const turn = 32
/** Maximum size of a flow that may share a completion with those posted after it in the same turn. */
const shortBytes = 1024

/** Sources and destinations of the messages of a channel: device addresses. */
export interface Places {
  source: number
  sink: number
  atomics: number
  /** Address of a byte with 1, the last one of a WRITE with a mark. */
  mark: number
  lkey: number
  remoteSource: number
  remoteSink: number
  remoteAtomics: number
  rkey: number
}

export interface ChannelInit {
  index: number
  qp: QueuePair
  type: TrafficQpType
  mtu: number
  depth: number
  /** Number of queue pairs of the thread: work requests are numbered across them. */
  stride: number
  /** Flag: the end of every flow has to be known here. */
  reports: boolean
  /** Flag: a flow ends with a notice to the peer, unless its verb is one itself. */
  notifies: boolean
  /** Stamps for UC and UD: eight bytes for each outstanding message, in which the number of its flow is sent; null for RC. */
  stamps: { addr: number; words: Int32Array } | null
}

export class Channel {
  readonly index: number
  readonly qp: QueuePair
  readonly type: TrafficQpType
  readonly typeIndex: number
  /** Flows that this end sends or fetches. */
  readonly flows: FlowRing = new FlowRing()
  /** Flows that it has requested from the peer. */
  readonly awaited: FlowRing = new FlowRing()
  /** Size of the largest message, in bytes. */
  readonly chunk: number
  readonly unreliable: boolean
  /** Number of bytes that have arrived of the awaited flow at the head. */
  arrived = 0
  /** Flag: no more messages are sent, since the peer is gone. */
  dead = false
  /** Marks for UC, at the end that awaits WRITEs: they show which have come. */
  marks: Marks | null = null
  /** Address of the peer's banks for marks, for UC at the other end; 0 if it has none. */
  remoteBanks = 0
  readonly #places: Places
  readonly #plain: SendWorkRequest
  /** Work request of two parts, the first with the number of the flow. */
  readonly #stamped: SendWorkRequest
  readonly #marked: SendWorkRequest
  readonly #stamps: { addr: number; words: Int32Array } | null
  readonly #stride: number
  readonly #depth: number
  readonly #signalEvery: number
  /** Maximum size of a short flow, in bytes: it is one message. */
  readonly #short: number
  readonly #reports: boolean
  readonly #notifies: boolean
  #posted = 0
  #done = 0
  /** Number of WRITEs with marks. */
  #written = 0
  #unsignaled = 0
  /** Rest of the flow at `flows.next`: bytes that are still to be sent, and the time when the next message is due. */
  #left = -1
  #dueNs = 0
  #noticed = false
  /** Flag: the next flow is posted right after it, and makes its completion. */
  #shares = false

  constructor(init: ChannelInit, places: Places) {
    this.index = init.index
    this.qp = init.qp
    this.type = init.type
    this.typeIndex = qpTypes.indexOf(init.type)
    this.chunk = init.type === 'UD' ? init.mtu : chunkBytes
    this.unreliable = init.type !== 'RC'
    this.#places = places
    const part = { addr: places.source, length: 0, lkey: places.lkey }
    this.#plain = sendWr({ opcode: Opcode.Send, sgList: [part] })
    this.#stamped = sendWr({ opcode: Opcode.Send, sgList: [part, part] })
    const mark = { ...part, addr: places.mark, length: 1 }
    this.#marked = sendWr({ opcode: Opcode.Write, sgList: [part, mark], remoteAddr: 0, rkey: 0 })
    this.#stamps = init.stamps
    this.#stride = init.stride
    this.#depth = init.depth
    this.#signalEvery = Math.max(1, init.depth >> 2)
    this.#short = Math.min(shortBytes, this.chunk)
    this.#reports = init.reports
    this.#notifies = init.notifies
  }

  /** Sets the destination of datagrams. */
  address(ah: AddressHandle, qpn: number, qkey: number): void {
    for (const request of [this.#plain, this.#stamped]) {
      request.ah = ah
      request.remoteQpn = qpn
      request.remoteQkey = qkey
    }
  }

  /** True if the send queue has requests that have not completed. */
  get busy(): boolean {
    return this.#posted > this.#done
  }

  /** Time at which the next message may be sent, as far as rates are concerned; Infinity if no message waits. */
  get nextNs(): number {
    const { flows } = this
    if (flows.next === flows.tail || this.dead) return Number.POSITIVE_INFINITY
    return this.#left < 0 || flows.rates[flows.next & flows.mask] === 0 ? 0 : this.#dueNs
  }

  /** Number of flows of this end that have begun: those before this one. */
  get begun(): number {
    return this.#left < 0 ? this.flows.next : Math.min(this.flows.next + 1, this.flows.tail)
  }

  /** Sends the messages that may be sent now; false if there were none. */
  pump(nowNs: number): boolean {
    const { flows } = this
    let sent = false
    for (let i = 0; i < turn && flows.next < flows.tail && !this.dead; i++) {
      if (this.#posted - this.#done >= this.#depth) break
      const at = flows.next & flows.mask
      const rate = flows.rates[at]!
      if (this.#left < 0) {
        this.#left = flows.sizes[at]!
        this.#dueNs = nowNs
        this.#noticed = false
      }
      if (rate > 0 && nowNs < this.#dueNs) break
      this.#shares = i + 1 < turn && this.#followed(at)
      this.#message(at, rate)
      sent = true
    }
    return sent
  }

  /** True if the flow at `flows.next` and the one after it are short, alike, and go in one turn. */
  #followed(at: number): boolean {
    const { flows } = this
    if (flows.next + 1 === flows.tail || this.#posted + 1 - this.#done >= this.#depth) return false
    const next = (flows.next + 1) & flows.mask
    const verb = flows.verbs[at]!
    return (
      verb === flows.verbs[next] &&
      verb <= writeImm &&
      flows.sizes[at]! <= this.#short &&
      flows.sizes[next]! <= this.#short &&
      flows.rates[at] === 0 &&
      flows.rates[next] === 0
    )
  }

  /** Posts the next message of the flow at `flows.next`, and moves on to the next flow if it was the last one. */
  #message(at: number, rateBps: number): void {
    const { flows } = this
    const verb = flows.verbs[at]!
    if (this.#noticed) {
      // A WRITE is not visible to the peer's program: an empty SEND follows, whose immediate is the number of the flow that is over.
      this.#post(this.#filled(this.#plain, Opcode.SendWithImm, this.#places.source, 0), this.#reports)
      this.#over(at)
      return
    }
    const bytes = Math.min(this.#left, this.#most(rateBps))
    this.#left -= bytes
    if (rateBps > 0) this.#dueNs += (bytes * 8e9) / rateBps
    const last = this.#left === 0
    this.#noticed = last && verb === write && this.#notifies
    this.#post(this.#requestOf(verb, bytes, last), last && !this.#noticed && this.#reports && !this.#shares)
    if (last && !this.#noticed) this.#over(at)
  }

  /** Returns the nanoseconds between two messages of a flow at its rate. */
  messageNs(size: number, rateBps: number): number {
    return rateBps > 0 ? (Math.min(size, this.#most(rateBps)) * 8e9) / rateBps : 0
  }

  /**
   * Returns the maximum number of bytes of a message. A flow with a rate is sent in messages of a tenth of a millisecond, so that it is no
   * burst.
   */
  #most(rateBps: number): number {
    return rateBps > 0 ? Math.min(this.chunk, Math.max(4096, (rateBps / 80_000) & ~4095)) : this.chunk
  }

  /** Returns the number of WRITEs of a flow that have marks: an empty WRITE has none. */
  marksOf(verb: number, size: number, rateBps: number): number {
    return verb === write || verb === writeImm ? Math.ceil(size / this.#most(rateBps)) : 0
  }

  #over(at: number): void {
    this.flows.ends[at] = this.#posted
    this.flows.next++
    this.#left = -1
    this.#noticed = false
  }

  #requestOf(verb: number, bytes: number, last: boolean): SendWorkRequest {
    const { source, sink, atomics, remoteSource, remoteSink, remoteAtomics } = this.#places
    switch (verb) {
      case send:
      case sendImm: {
        const opcode = verb === sendImm && last ? Opcode.SendWithImm : Opcode.Send
        if (this.#stamps === null || bytes === 0) return this.#filled(this.#plain, opcode, source, bytes)
        const slot = (this.#posted % this.#depth) * 2
        this.#stamps.words[slot] = this.flows.next | 0
        const stamp = this.#stamps.addr + slot * 4
        if (bytes <= 4) return this.#filled(this.#plain, opcode, stamp, bytes)
        this.#stamped.sgList[0]!.addr = stamp
        this.#stamped.sgList[0]!.length = 4
        this.#stamped.sgList[1]!.length = bytes - 4
        this.#stamped.opcode = opcode
        this.#stamped.immData = this.flows.next >>> 0
        return this.#stamped
      }
      case write:
      case writeImm: {
        const opcode = verb === writeImm && last ? Opcode.WriteWithImm : Opcode.Write
        if (this.remoteBanks !== 0 && bytes > 0) return this.#withMark(opcode, bytes)
        this.#plain.remoteAddr = remoteSink
        return this.#filled(this.#plain, opcode, source, bytes)
      }
      case read:
        this.#plain.remoteAddr = remoteSource
        return this.#filled(this.#plain, Opcode.Read, sink, bytes)
      default:
        this.#plain.remoteAddr = remoteAtomics
        return this.#filled(
          this.#plain,
          verb === fetchAdd ? Opcode.AtomicFetchAndAdd : Opcode.AtomicCmpAndSwp,
          atomics,
          bytes,
        )
    }
  }

  #withMark(opcode: Opcode, bytes: number): SendWorkRequest {
    const { source, mark } = this.#places
    const request = bytes === 1 ? this.#plain : this.#marked
    request.remoteAddr = this.remoteBanks + endOf(this.#written++) - bytes
    return bytes === 1 ? this.#filled(request, opcode, mark, 1) : this.#filled(request, opcode, source, bytes - 1)
  }

  #filled(request: SendWorkRequest, opcode: Opcode, addr: number, bytes: number): SendWorkRequest {
    request.opcode = opcode
    request.sgList[0]!.addr = addr
    request.sgList[0]!.length = bytes
    request.rkey = this.#places.rkey
    request.immData = this.flows.next >>> 0
    return request
  }

  #post(request: SendWorkRequest, wanted: boolean): void {
    this.#posted++
    request.wrId = this.#posted * this.#stride + this.index
    this.#unsignaled++
    if (wanted || this.#unsignaled >= this.#signalEvery) {
      this.#unsignaled = 0
      request.sendFlags = SendFlag.Signaled
    } else request.sendFlags = 0
    this.qp.postSend(request)
  }

  /** Processes a completion: all work requests up to this number are done. */
  completed(number: number): void {
    this.#done = number
  }

  /** True if the flow at the head is over as far as this end, which sent it, knows. */
  get headDone(): boolean {
    const { flows } = this
    return flows.head < flows.next && flows.ends[flows.head & flows.mask]! <= this.#done
  }
}
