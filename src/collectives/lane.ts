/** One peer: a queue pair (RC) with slots for its messages, and boxes for its short messages if the memory is shared. */
import {
  type CompletionQueue,
  Opcode,
  type QpCap,
  type QueuePair,
  SendFlag,
  type SendWorkRequest,
  sendWr,
  WcOpcode,
  type WorkCompletion,
  workCompletions,
} from '../index.ts'
import { processorOrders } from '../memory/index.ts'
import { Arrived, dataSlots } from './arrived.ts'
import { Boxes, type BoxPlace, mostBoxed } from './boxes.ts'
import { CollectiveError } from './error.ts'
import { laneMemory, slots } from './lane-memory.ts'
import type { Memory, Range, Region } from './memory.ts'
import { creditsOf, immediateOf, Kind, kindOf, tagOf } from './message.ts'
import { Posted } from './posted.ts'
import { Readies, readyBytes, writeReady } from './readies.ts'
import { Slots } from './slots.ts'

/** Maximum bytes of a message that is copied into its work request; the sender may reuse the memory at once. */
const inlineBytes = 256
const longBytes = 16
/** Bytes of a `Credit` that is a query. */
const queryBytes = 8
/** Bytes of a `Credit` that carries the call in which its sender waits. */
const callBytes = 16
/** Bytes of a message without content: a zero-length message takes a slower path through some devices. */
const nothingBytes = 4
const signalEvery = 8
const watchTurns = 8
const sendRoom: number = 2 * slots
export const laneCap: QpCap = {
  maxSendWr: sendRoom,
  maxRecvWr: slots,
  maxSendSge: 1,
  maxRecvSge: 1,
  maxInlineData: inlineBytes,
}

export class Lane {
  readonly rank: number
  readonly qp: QueuePair
  /**
   * Completion queues for the sends and the receives of this queue pair alone: a completion queue with one producer needs no lock.
   */
  readonly sendCq: CompletionQueue
  readonly recvCq: CompletionQueue
  readonly #wcs: WorkCompletion[] = workCompletions(8)
  /** True if the peer's memory is in the same buffer as this rank's. */
  shared = false
  /** Boxes for a peer whose memory is shared, if the processor keeps the order of its writes. */
  readonly #boxes: Boxes
  #boxed = false
  /** True if this rank also sends in boxes; the peer decides for itself, since its device may be faster. */
  #sendsBoxes = false
  /** Number of polls; not every poll reads the completion queue, too. */
  #looks = 0
  /** Number of SENDs with messages that were posted, and received. */
  #sends: number
  #sendsSeen: number
  /** Number of free slots of the peer. */
  credits: number = dataSlots
  readonly arrived: Arrived = new Arrived()
  readonly readies: Readies = new Readies()
  /** Kind of the message `TookAll` or `TookRest` that has arrived, for the call `tookTag`, or 0. */
  took = 0
  tookTag = 0
  /** First chunk of the window that the peer last queried, and the call's tag; -1: no window. */
  asked = -1
  askedTag = 0
  /** Number of the call in which the peer has waited for this rank, and the call's tag there. 0: no call. */
  waitedIn = 0
  waitedTag = 0
  /** True if the peer was found in another call and was notified. */
  isElsewhere = false
  /** Number of the call that this rank last reported to the peer. */
  #told = 0
  readonly #memory: Memory
  readonly #slots: Slots
  readonly #short: SendWorkRequest
  readonly #long: SendWorkRequest
  readonly #probeRequest: SendWorkRequest
  /** Value of `#posted.count` at the probe, which is outstanding until so many requests have completed; 0: no probe is outstanding. */
  #probeEnd = 0
  /** Error of the lost connection: thrown after all messages of the peer that had arrived are taken. */
  lost: CollectiveError | null = null
  readonly #notice: Range
  readonly boxPlace: BoxPlace
  /** Random bytes that the peer finds at the same place if it has the same memory. */
  readonly proof: Uint8Array
  /** Slots used since the last message that returned slots to the peer. */
  #owed = 0
  readonly #posted = new Posted(sendRoom)

  /** Uses memory that begins `offset` bytes into `region`. `counted`: messages of each kind that have already passed in each direction. */
  constructor(
    memory: Memory,
    { region, offset, slotBytes }: { region: Region; offset: number; slotBytes: number },
    { rank, qp }: { rank: number; qp: QueuePair },
    counted = 0,
  ) {
    this.#sends = this.#sendsSeen = counted
    this.#memory = memory
    this.rank = rank
    this.qp = qp
    this.sendCq = qp.sendCq
    this.recvCq = qp.recvCq
    const { at, addr, lkey, notice, proof, boxes } = laneMemory(region, offset, slotBytes)
    this.#slots = new Slots(qp, { count: slots, bytes: slotBytes, at, addr, lkey })
    this.#notice = notice
    this.proof = proof
    this.boxPlace = boxes
    this.#boxes = new Boxes(memory, boxes, lkey, counted)
    const sgList = [{ addr: this.#notice.addr, length: 0, lkey }]
    this.#short = sendWr({ opcode: Opcode.SendWithImm, immData: 0, sgList })
    this.#long = sendWr({
      ...{ opcode: Opcode.WriteWithImm, immData: 0, sgList, remoteAddr: 0, rkey: 0 },
      sendFlags: SendFlag.Signaled,
    })
    this.#probeRequest = sendWr({
      ...{ opcode: Opcode.Write, sendFlags: SendFlag.Signaled, sgList: [], remoteAddr: 0, rkey: 0 },
    })
  }

  /** Starts to use boxes: the peer has the same memory, and its boxes for this rank are at `boxes`. Called before any rank sends. */
  share(boxes: BoxPlace): void {
    this.shared = true
    this.#boxes.connect(boxes)
    this.#boxed = this.#sendsBoxes = processorOrders
  }

  postReceives(): void {
    this.#slots.post()
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  get mayPost(): boolean {
    return this.credits > 0 && this.#posted.left < sendRoom - 2
  }

  /**
   * Sends `length` bytes, at most a slot, of `range` from `offset` on. Requires `mayPost`. The memory of at most `inlineBytes` bytes is
   * free again at once.
   */
  send(kind: number, tag: number, range: Range, offset: number, length: number): void {
    this.credits--
    if (!this.#sendsBoxes || length > mostBoxed) {
      this.#send(kind, tag, range.addr + offset, range.lkey, length)
      return
    }
    const signaled = ++this.#posted.count % signalEvery === 0
    if (signaled) this.#posted.signal(false)
    this.#box(kind, tag, range.at + offset, length, signaled)
  }

  #box(kind: number, tag: number, from: number, length: number, signaled: boolean): void {
    const immediate = this.#immediate(kind, tag)
    if (!this.#boxes.post(this.qp, signaled, immediate, this.#sends, from, length)) return
    this.#send(Kind.Credit, 0, 0, this.#notice.lkey, 0)
    this.#sendsBoxes = !this.#boxes.late
  }

  #send(kind: number, tag: number, addr: number, lkey: number, length: number, certain = false): void {
    const wr = this.#short
    const sge = wr.sgList[0]!
    sge.addr = length === 0 ? this.#notice.addr : addr
    sge.length = length === 0 ? nothingBytes : length
    sge.lkey = lkey
    const copied = length <= inlineBytes && !certain
    this.#posted.count++
    if (!copied) wr.sendFlags = SendFlag.Signaled
    else wr.sendFlags = this.#posted.count % signalEvery === 0 ? SendFlag.Inline | SendFlag.Signaled : SendFlag.Inline
    if ((wr.sendFlags & SendFlag.Signaled) !== 0) this.#posted.signal(!copied)
    wr.immData = this.#immediate(kind, tag)
    this.#sends = (this.#sends + 1) | 0
    this.qp.postSend(wr)
  }

  /** Writes to the memory for which the peer sent `Ready`, and notifies it. Requires `mayPost` and `readies`. */
  write(tag: number, addr: number, lkey: number): void {
    const { readies } = this
    this.credits--
    const wr = this.#long
    const sge = wr.sgList[0]!
    sge.addr = addr
    sge.length = readies.bytes
    sge.lkey = lkey
    wr.remoteAddr = readies.addr
    wr.rkey = readies.rkey
    wr.immData = this.#immediate(Kind.Written, tag)
    readies.shift()
    this.#posted.count++
    this.#sends = (this.#sends + 1) | 0
    this.#posted.signal(true)
    this.qp.postSend(wr)
  }

  /** Sends the destination of the first `bytes` bytes of a long transfer of `total` to the peer. Requires `mayPost`. */
  ready(tag: number, { addr, rkey }: Range, offset: number, total: number, bytes: number): void {
    writeReady(this.#memory, this.#notice.at, { addr: addr + offset, total, bytes, rkey })
    this.send(Kind.Ready, tag, this.#notice, 0, readyBytes)
  }

  /** Announces that a transfer of `length` bytes, at `from` in the device's memory, waits for the peer. Requires `mayPost`. */
  announce(tag: number, from: number, length: number): void {
    const { at } = this.#notice
    const { f64 } = this.#memory
    f64[at / 8] = length
    f64[at / 8 + 1] = from
    this.send(Kind.Long, tag, this.#notice, 0, longBytes)
  }

  /**
   * Notifies the peer that its memory was read, as `TookAll` or `TookRest`. Requires `mayPost`. The memory belonged to the peer all the
   * time if this send succeeds: the send is outstanding until that is certain.
   */
  notifyRead(kind: number, tag: number): void {
    this.credits--
    if (!this.#sendsBoxes) {
      this.#send(kind, tag, 0, this.#notice.lkey, 0, true)
      return
    }
    this.#posted.count++
    this.#posted.signal(true)
    this.#box(kind, tag, this.#notice.at, 0, true)
  }

  /** Requests a report on the window that begins with this chunk. Requires `mayPost`. */
  query(tag: number, first: number): void {
    this.#memory.f64[this.#notice.at / 8] = first
    this.send(Kind.Credit, tag, this.#notice, 0, queryBytes)
  }

  /** Notifies the peer, once, that this rank waits, or was, in call `number` with this tag. */
  tellCall(number: number, tag: number): void {
    if (this.#told === number || !this.mayPost) return
    this.#told = number
    const { at } = this.#notice
    const { f64 } = this.#memory
    f64[at / 8] = number
    f64[at / 8 + 1] = 0
    this.send(Kind.Credit, tag, this.#notice, 0, callBytes)
  }

  /** Posts a write of zero bytes: its completion shows that the peer is alive, and has received all earlier messages. */
  probe(): void {
    if (this.#probeEnd !== 0 || this.#posted.left >= sendRoom - 2) return
    this.#probeEnd = ++this.#posted.count
    this.#posted.signal(false)
    this.qp.postSend(this.#probeRequest)
  }

  /** Returns true if the peer has acknowledged all sends; otherwise probes the peer. Throws a CollectiveError if the peer is gone. */
  drained(): boolean {
    if (this.#posted.left === 0) return true
    this.probe()
    this.poll()
    if (this.lost !== null) throw this.lost
    return this.#posted.left === 0
  }

  #immediate(kind: number, tag: number): number {
    const word = immediateOf(kind, tag, this.#owed)
    this.#owed = 0
    return word
  }

  // --- what completed ----------------------------------------------------------------------------------------------

  /**
   * Takes completions and boxes. Returns true if there was any. Throws a CollectiveError when the peer is gone and all messages that had
   * arrived from it are taken. `boxed`: the message that the caller waits for usually arrives in a box.
   */
  poll(boxed = false): boolean {
    const boxes = this.#boxed && this.#unbox()
    const both = !this.#boxed || (++this.#looks & (boxed ? 7 : 1)) === 0 || this.#boxes.came
    const n = both ? this.#pollReceives() : 0
    const sends =
      (this.#posted.outstanding > 0 || this.#posted.left >= slots || this.#probeEnd !== 0) && this.#pollSends()
    // Boxes may have arrived after the last of its messages.
    if (this.lost !== null && this.arrived.count === 0 && !(this.#boxed && this.#unbox())) throw this.lost
    return boxes || n > 0 || sends
  }

  /** Takes messages of a peer that this rank does not wait for: it is irrelevant here whether that peer is gone. */
  look(): void {
    if (this.#boxed) this.#unbox()
    this.#pollReceives()
  }

  /** Returns true if messages of so many bytes arrive in boxes; for a message that is announced, 0 stands for its announcement. */
  boxes(bytes: number): boolean {
    return this.#sendsBoxes && bytes <= mostBoxed
  }

  #pollReceives(): number {
    const wcs = this.#wcs
    const n = this.recvCq.poll(wcs)
    for (let i = 0; i < n; i++) {
      const wc = wcs[i]!
      if (wc.status !== 0) {
        this.#gone(wc.statusText)
        continue
      }
      // Boxes that were written before this message.
      if (this.#boxed) this.#unbox()
      this.#sendsSeen = (this.#sendsSeen + 1) | 0
      const slot = wc.wrId
      if (!this.#received(this.#slots.placeOf(slot), slot, wc.opcode === WcOpcode.Recv ? wc.byteLen : -1, wc.immData))
        throw this.#strange()
    }
    if (n < 0) this.#gone('the completion queue is in error')
    return n
  }

  /** Takes boxes. Returns true if there was one. */
  #unbox(): boolean {
    const boxes = this.#boxes
    if (!boxes.has(this.#sendsSeen)) return false
    do {
      if (!this.#received(boxes.at, -1, boxes.length, boxes.immediate)) throw this.#strange()
      boxes.next()
    } while (boxes.has(this.#sendsSeen))
    return true
  }

  #strange(): CollectiveError {
    return new CollectiveError('EPEER', `rank ${this.rank} sends what no communicator sends`, this.rank)
  }

  #pollSends(): boolean {
    const n = this.sendCq.poll(this.#wcs)
    for (let i = 0; i < n; i++) {
      const wc = this.#wcs[i]!
      if (wc.status !== 0) {
        this.#gone(wc.statusText)
        break
      }
      this.#posted.complete()
      if (this.#posted.completed === this.#probeEnd) this.#probeEnd = 0
    }
    if (n < 0) this.#gone('the completion queue is in error')
    // There may have been no room for the message when the slots were freed.
    if (n > 0) this.#giveBack()
    return n > 0
  }

  #gone(why: string): void {
    this.lost ??= new CollectiveError('EPEER', `rank ${this.rank} cannot be reached any more: ${why}`, this.rank)
  }

  /** Requests events for the next completions; a completion that was already there generates none. */
  arm(): void {
    this.recvCq.reqNotify()
    if (this.#boxed) this.#boxes.sleeps()
    // The next poll reads both.
    this.#looks = -1
    if (this.#posted.outstanding > 0 || this.#probeEnd !== 0 || !this.mayPost) this.sendCq.reqNotify()
  }

  /** Handles a message at `at`, in a slot or in a box (-1). Returns false if it is not one that a peer of this kind sends. */
  #received(at: number, slot: number, bytes: number, immediate: number): boolean {
    this.credits += creditsOf(immediate)
    const kind = kindOf(immediate)
    if (kind === Kind.Credit) {
      if (bytes === queryBytes) {
        this.asked = this.#memory.f64[at / 8]!
        this.askedTag = tagOf(immediate)
        this.#release(slot)
      } else if (bytes === callBytes) {
        this.waitedIn = this.#memory.f64[at / 8]!
        this.waitedTag = tagOf(immediate)
        this.#release(slot)
      } else this.#slots.free(slot)
      return this.credits <= dataSlots
    }
    if (kind === Kind.Ready) {
      if (bytes !== readyBytes || !this.readies.add(this.#memory, at, tagOf(immediate))) return false
      this.#release(slot)
      return this.credits <= dataSlots
    }
    if (kind >= Kind.TookAll) {
      if (this.took !== 0) return false
      this.took = kind
      this.tookTag = tagOf(immediate)
      this.#release(slot)
      return this.credits <= dataSlots
    }
    if (kind === Kind.Long) return this.#announced(at, slot, bytes, immediate)
    const length = kind === Kind.Empty ? 0 : bytes
    return this.arrived.add(slot, at, length, immediate, 0) && this.credits <= dataSlots
  }

  #announced(at: number, slot: number, bytes: number, immediate: number): boolean {
    const { f64, u8 } = this.#memory
    const length = f64[at / 8]!
    const from = f64[at / 8 + 1]!
    if (bytes !== longBytes || (this.shared && !(from >= 0 && length >= 0 && from + length <= u8.length))) return false
    return this.arrived.add(slot, at, length, immediate, from) && this.credits <= dataSlots
  }

  /** Returns true if a message waits to be taken; polls if there is none. */
  hasMessage(): boolean {
    return this.arrived.count > 0 || (this.poll() && this.arrived.count > 0)
  }

  /**
   * Returns the same as `hasMessage`, but polls only the boxes several times, for a caller that waits for nothing else: that takes a third
   * of the time of as many calls of `poll`.
   */
  watch(): boolean {
    if (this.arrived.count > 0 || (this.poll(true) && this.arrived.count > 0)) return true
    for (let i = 0; i < watchTurns; i++) if (this.#boxes.came && this.#unbox()) return this.arrived.count > 0
    return false
  }

  /** Returns true if this rank may post; polls if it may not. */
  hasRoom(): boolean {
    return this.mayPost || (this.poll() && this.mayPost)
  }

  /** Returns true if the memory of all sends is free again; polls if it is not. */
  isQuiet(): boolean {
    return this.#posted.outstanding === 0 || (this.poll() && this.#posted.outstanding === 0)
  }

  /** Takes the oldest message that has arrived, which frees its slot. */
  take(): void {
    this.#release(this.arrived.shift())
  }

  #release(slot: number): void {
    if (slot >= 0) this.#slots.free(slot)
    this.#owed++
    this.#giveBack()
  }

  /** Returns free slots to the peer when they are many, if there is room for the message. */
  #giveBack(): void {
    if (this.#owed < dataSlots / 2 || this.#posted.left >= sendRoom || this.lost !== null) return
    this.#send(Kind.Credit, 0, 0, 0, 0)
  }
}
