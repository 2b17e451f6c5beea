/**
 * Sending side of a stream: the entries of the send queue, the send buffer, the credits, and the parts of the peer's
 * buffer that may be written to. Bytes are sent when they are taken, so there is no queue besides the send queue.
 *
 * Requests are numbered from 1. The resources in use when each was posted are recorded until it completes, so that one
 * completion stands for all before it, and only some have to be signaled.
 *
 * Counts of bytes and messages wrap at 32 bits; only their differences are used.
 */
import {
  Opcode,
  ScatterGather,
  SendFlag,
  SendWorkRequest,
  WcStatus,
  type WorkCompletion,
} from '../../verbs/provider/index.ts'
import { bufferBytes, type ConnData, Feature } from './conn-data.ts'
import type { Counters, ProtocolError } from './counters.ts'
import { hostBigEndian, sgeAddr, sgeBytes, writeSge } from './messages.ts'
import { controlReserve, type StreamOptions, targetEntries } from './options.ts'
import { outgoingSlots, type StreamMemory, type StreamQueuePair } from './stream-memory.ts'
import type { CqPair } from './stream-queues.ts'

/** Length below which ranges are copied byte by byte, which is cheaper than making a view. */
export const loopBytes = 32
/** Maximum length of a data message. */
const maxTransfer = 1 << 16
/** Maximum number of data messages between two signaled ones. */
const maxUnsignaled = 32

// Shared by all connections of this thread: they post requests one after the other.
const dataSge = new ScatterGather(0, 0, 0)
const data = new SendWorkRequest(0, Opcode.WriteWithImm, 0, [dataSge])

/** Initial number of requests whose resources are recorded; a power of two. Idle connections need no more. */
const firstRecords = 16
/** Placeholder for the parts of a peer that has only offered one. */
const noParts = { addr: new Float64Array(0), length: new Int32Array(0) } as const

export class SendSide {
  readonly memory: StreamMemory
  private readonly qp: StreamQueuePair
  private readonly counters: Counters
  private readonly cqs: CqPair
  private readonly u8: Uint8Array
  private readonly i32: Int32Array
  /** True if messages can be exchanged. */
  connected = false
  /** True if `connected` and this end has not shut down. */
  writable = false
  /** Status of the first request that failed. */
  failedStatus: number = WcStatus.Success

  // Send queue entries. Records of the requests from the last completed one on, by number.
  private mask: number = firstRecords - 1
  private bytesAt: Int32Array = new Int32Array(firstRecords)
  private controlsAt: Int32Array = new Int32Array(firstRecords)
  private readonly maxData: number
  private readonly signalMessages: number
  private readonly signalBytes: number
  private posted = 0
  private done = 0
  private bytesPosted = 0
  private bytesDone = 0
  private controlsPosted = 0
  private controlsDone = 0
  private unsignaled = 0
  private unsignaledBytes = 0
  private sendAt = 0

  // Credits: data messages that were sent, and that may be sent in total.
  private sent = 0
  private allowed = 0
  private peerCredits = 0
  /** Messages that cost the peer a receive and were not counted in `sent`; the peer may count them. */
  private uncounted = 0

  // Position of the next data, and the parts of the peer's buffer after that.
  private partAddr = 0
  private partLeft = 0
  private partsAddr: Float64Array = noParts.addr
  private partsLength: Int32Array = noParts.length
  private partsHead = 0
  private partsTail = 0
  private offered = 0
  private bytesOut = 0
  private sglEntry = 1
  private peerKey = 0
  private peerLow = 0
  private peerHigh = 0

  private readonly lkey: number
  private readonly inlineBytes: number
  /** Size of the messages into which sends shorter than the longest message are split. */
  private pieceBytes = maxTransfer
  private outgoing = 0
  /** True if the peer reads words in the other byte order. */
  swap = false

  constructor(qp: StreamQueuePair, memory: StreamMemory, options: StreamOptions, counters: Counters, cqs: CqPair) {
    this.qp = qp
    this.memory = memory
    this.counters = counters
    this.cqs = cqs
    this.u8 = memory.u8
    this.i32 = memory.i32
    this.inlineBytes = qp.cap.maxInlineData
    this.maxData = options.sqSize - controlReserve
    this.signalMessages = Math.max(1, Math.min(maxUnsignaled, this.maxData >> 2))
    this.signalBytes = memory.sendBytes >> 2
    this.lkey = memory.local.lkey
  }

  start(theirs: ConnData): void {
    this.swap = theirs.bigEndian !== hostBigEndian
    this.peerCredits = theirs.credits
    this.allowed = theirs.credits
    this.peerKey = theirs.dataBuffer.key
    this.peerLow = theirs.dataBuffer.addr
    this.peerHigh = this.peerLow + bufferBytes(theirs)
    this.partAddr = this.peerLow
    const early = theirs.extension !== null && (theirs.extension.features & Feature.EarlyBuffers) !== 0
    this.partLeft = early ? this.peerHigh - this.peerLow : theirs.dataBuffer.length
    this.offered = this.partLeft
    // On a network, packets of equal size leave together; the packets of a multi-packet message differ in size.
    if (early && this.memory.context.device.driven) this.pieceBytes = this.qp.query().attr.pathMtu
    this.connected = true
    this.writable = true
  }

  // --- how much is free --------------------------------------------------------------------------------------------

  /** Number of bytes that can be sent at once. */
  get writableBytes(): number {
    if (!this.writable || this.sent === this.allowed || this.dataUnderWay >= this.maxData) return 0
    return Math.min(this.free, (this.offered - this.bytesOut) | 0)
  }

  /** True if something can be sent at once, and `freeBytes` of the send buffer are free. */
  canSend(freeBytes: number): boolean {
    return this.free >= freeBytes && this.writableBytes > 0
  }

  /** True if the last request was not signaled, so that no completion will show when it is done. */
  get endsUnsignaled(): boolean {
    return this.unsignaled > 0 && this.controlsPosted === this.controlsDone
  }

  /** Number of bytes that are not known to have arrived. */
  get pendingBytes(): number {
    return (this.bytesPosted - this.bytesDone) | 0
  }

  /** True if all posted data has arrived. */
  get allDone(): boolean {
    return this.posted === this.done
  }

  private get free(): number {
    return this.memory.sendBytes - ((this.bytesPosted - this.bytesDone) | 0)
  }

  private get dataUnderWay(): number {
    return (this.posted - this.done - this.controlsPosted + this.controlsDone) | 0
  }

  /** True if a control message has an entry; polls for completions if it has none. */
  get controlFree(): boolean {
    if (((this.controlsPosted - this.controlsDone) | 0) < controlReserve) return true
    this.reap()
    return ((this.controlsPosted - this.controlsDone) | 0) < controlReserve
  }

  get spaceFree(): boolean {
    return this.free > 0 && this.dataUnderWay < this.maxData
  }

  get hasCredits(): boolean {
    return this.sent !== this.allowed
  }

  // --- data --------------------------------------------------------------------------------------------------------

  /** Returns true if a data message can be sent; otherwise counts the missing resource. */
  private ready(): boolean {
    if (this.free <= this.signalBytes || this.dataUnderWay >= this.maxData) {
      this.reap()
      if (this.free === 0 || this.dataUnderWay >= this.maxData || this.failedStatus !== WcStatus.Success) return false
    }
    if (this.sent === this.allowed) {
      this.counters.waitsForCredits++
      return false
    }
    if (this.partLeft === 0 && !this.nextPart()) {
      this.counters.waitsForBuffer++
      return false
    }
    return true
  }

  /** Sends as many bytes of `buffer` from `offset` as fit and returns their number. */
  send(buffer: Uint8Array, offset: number, length: number): number {
    const { sendBytes, sendOffset, sendBuffer } = this.memory
    const { u8 } = this
    let taken = 0
    while (taken < length && this.writable && this.ready()) {
      const at = this.sendAt
      const left = length - taken
      const most = left < maxTransfer ? this.pieceBytes : maxTransfer
      const n = Math.min(left, most, this.partLeft, this.free, sendBytes - at)
      const from = offset + taken
      const to = sendOffset + at
      if (n <= loopBytes) for (let i = 0; i < n; i++) u8[to + i] = buffer[from + i]!
      else if (buffer.buffer === u8.buffer) this.memory.copy(sendBuffer + at, buffer.byteOffset + from, n)
      else if (from === 0 && n === buffer.length) u8.set(buffer, to)
      else u8.set(buffer.subarray(from, from + n), to)
      this.sendAt = at + n === sendBytes ? 0 : at + n
      dataSge.addr = sendBuffer + at
      dataSge.lkey = this.lkey
      this.bytesPosted = (this.bytesPosted + n) | 0
      this.postData(n)
      taken += n
    }
    return taken
  }

  /**
   * Sends as `send` does, from memory of the device (`addr` with `lkey`), without a copy. The memory must stay unchanged until
   * `isDone(lastPosted)`.
   */
  sendDirect(addr: number, lkey: number, length: number): number {
    let taken = 0
    while (taken < length && this.writable && this.ready()) {
      const n = Math.min(length - taken, maxTransfer, this.partLeft)
      dataSge.addr = addr + taken
      dataSge.lkey = lkey
      // The completion of the last message covers all before it. Which one is the last is not known here, so each is signaled.
      this.unsignaled = maxUnsignaled
      this.postData(n)
      taken += n
    }
    this.counters.bytesDirect += taken
    return taken
  }

  /** Number of the last request; `isDone` returns whether request `number` and all before it are done. */
  get lastPosted(): number {
    return this.posted
  }

  isDone(number: number): boolean {
    if (((this.done - number) | 0) < 0) this.reap()
    return ((this.done - number) | 0) >= 0
  }

  private nextPart(): boolean {
    if (this.partsHead === this.partsTail) return false
    const i = this.partsTail & (targetEntries - 1)
    this.partAddr = this.partsAddr[i]!
    this.partLeft = this.partsLength[i]!
    this.partsTail = (this.partsTail + 1) | 0
    return true
  }

  private postData(n: number): void {
    dataSge.length = n
    data.remoteAddr = this.partAddr
    data.rkey = this.peerKey
    // The operation of data is 0, so this is the whole message.
    data.immData = n
    this.partAddr += n
    this.partLeft -= n
    this.bytesOut = (this.bytesOut + n) | 0
    this.sent = (this.sent + 1) | 0
    this.unsignaledBytes += n
    let flags = n <= this.inlineBytes ? SendFlag.Inline : 0
    if (++this.unsignaled >= this.signalMessages || this.unsignaledBytes >= this.signalBytes) {
      flags |= SendFlag.Signaled
      this.unsignaled = 0
      this.unsignaledBytes = 0
    }
    data.sendFlags = flags
    this.counters.bytesSent += n
    this.post(data)
  }

  private post(wr: SendWorkRequest): void {
    const number = (this.posted + 1) | 0
    this.posted = number
    if (((number - this.done) | 0) > this.mask) this.widen()
    const i = number & this.mask
    this.bytesAt[i] = this.bytesPosted
    this.controlsAt[i] = this.controlsPosted
    // Request numbers are unsigned in the verbs.
    wr.wrId = number >>> 0
    this.counters.messagesSent++
    this.qp.postSend(wr)
  }

  /** Doubles the number of records, which cover the last completed request and all outstanding requests before this one. */
  private widen(): void {
    const { mask, bytesAt, controlsAt } = this
    const wider = 2 * mask + 1
    this.mask = wider
    this.bytesAt = new Int32Array(wider + 1)
    this.controlsAt = new Int32Array(wider + 1)
    for (let number = this.done; number !== this.posted; number = (number + 1) | 0) {
      this.bytesAt[number & wider] = bytesAt[number & mask]!
      this.controlsAt[number & wider] = controlsAt[number & mask]!
    }
  }

  // --- control messages and writes outside the stream ----------------------------------------------------------------

  /** Posts a signaled request that takes a reserved entry: the caller has checked `controlFree`. */
  postControl(wr: SendWorkRequest): void {
    this.controlsPosted = (this.controlsPosted + 1) | 0
    this.unsignaled = 0
    this.unsignaledBytes = 0
    this.post(wr)
  }

  /** Posts a control message that costs the peer a credit if both ends count it; otherwise `takeUpdate` detects what the peer counts. */
  postCounted(wr: SendWorkRequest, counted: boolean): void {
    if (counted) this.sent = (this.sent + 1) | 0
    else this.uncounted++
    this.postControl(wr)
  }

  /**
   * Returns the device address of a slot from which to send the payload of a control message. There are more slots than outstanding control
   * messages.
   */
  outgoingSlot(): number {
    this.outgoing = (this.outgoing + 1) & (outgoingSlots - 1)
    return this.memory.outgoing + this.outgoing * 64
  }

  /** Writes an entry for the peer's target SGL, in the peer's byte order, at a device address. */
  writeEntry(at: number, addr: number, key: number, length: number): void {
    writeSge(this.i32, (at - this.memory.base) >> 2, addr, key, length, this.swap)
  }

  /**
   * Copies at most `length` bytes into the send buffer and posts `wr`, a signaled WRITE whose element and length this fills in. Returns the
   * number of bytes.
   */
  postWrite(wr: SendWorkRequest, buffer: Uint8Array, from: number, length: number): number {
    if (this.free <= this.signalBytes || this.dataUnderWay >= this.maxData) this.reap()
    if (this.dataUnderWay >= this.maxData || !this.writable) return 0
    const { sendBytes, sendBuffer, sendOffset } = this.memory
    const at = this.sendAt
    const n = Math.min(length, maxTransfer, this.free, sendBytes - at)
    if (n === 0) return 0
    this.u8.set(buffer.subarray(from, from + n), sendOffset + at)
    this.sendAt = at + n === sendBytes ? 0 : at + n
    const sge = wr.sgList[0]!
    sge.addr = sendBuffer + at
    sge.length = n
    this.bytesPosted = (this.bytesPosted + n) | 0
    this.counters.bytesSent += n
    this.post(wr)
    return n
  }

  // --- what comes back ---------------------------------------------------------------------------------------------

  /** True if completions are available. */
  get answered(): boolean {
    return this.cqs.sendCq.filled
  }

  /** Drives the device and takes completions, as `completed` does. */
  reap(): void {
    this.cqs.pollSends()
  }

  /** Takes a completion. Afterwards `failedStatus` is the status of the first failure, if any. */
  completed({ status, wrId }: WorkCompletion): void {
    if (status !== WcStatus.Success && this.failedStatus === WcStatus.Success) this.failedStatus = status
    // A failed request is done, too: the device no longer uses memory of this end for it.
    this.done = wrId | 0
    const i = this.done & this.mask
    this.bytesDone = this.bytesAt[i]!
    this.controlsDone = this.controlsAt[i]!
  }

  /** Takes the value of an SGL message: the number of data messages that may be sent in total. Returns the violation if it is invalid. */
  takeUpdate(value: number): ProtocolError | null {
    // librdmacm does not truncate the sum of two 16-bit numbers.
    if (value > 0x1ffff) return 'badImmediate'
    const more = (value - this.allowed) & 0xffff
    const most = this.peerCredits + this.uncounted
    if (more > most) return (-more & 0xffff) <= most ? 'creditUnderflow' : 'creditOverflow'
    this.allowed = (this.allowed + more) | 0
    const excess = (this.allowed - this.sent - this.peerCredits) | 0
    if (excess > this.uncounted) return 'creditOverflow'
    if (excess > 0) {
      // The peer does count them.
      this.uncounted -= excess
      this.sent = (this.sent + excess) | 0
    }
    return this.takeParts()
  }

  /** Takes the parts of its buffer that the peer has written into the target SGL. */
  private takeParts(): ProtocolError | null {
    const { i32, memory } = this
    for (;;) {
      const w = (memory.targetSgl - memory.base + this.sglEntry * sgeBytes) >> 2
      const length = i32[w + 3]! >>> 0
      if (length === 0) return null
      const addr = sgeAddr(i32, w)
      i32[w + 3] = 0
      if (i32[w + 2]! >>> 0 !== this.peerKey || !(addr >= this.peerLow && addr + length <= this.peerHigh))
        return 'badSgl'
      this.offered = (this.offered + length) | 0
      if (((this.offered - this.bytesOut) | 0) > this.peerHigh - this.peerLow) return 'sglOverflow'
      this.sglEntry = this.sglEntry + 1 === targetEntries ? 0 : this.sglEntry + 1
      if (!this.addPart(addr, length)) return 'sglOverflow'
    }
  }

  /** Adds a part; adjacent parts are merged. Returns false if there is no entry for it. */
  private addPart(addr: number, length: number): boolean {
    const { partsAddr, partsLength } = this
    const last = (this.partsHead - 1) & (targetEntries - 1)
    const none = this.partsHead === this.partsTail
    if (none && this.partLeft > 0 && this.partAddr + this.partLeft === addr) this.partLeft += length
    else if (!none && partsAddr[last]! + partsLength[last]! === addr) partsLength[last] = partsLength[last]! + length
    else {
      if (((this.partsHead - this.partsTail) | 0) >= targetEntries) return false
      if (partsAddr === noParts.addr) {
        this.partsAddr = new Float64Array(targetEntries)
        this.partsLength = new Int32Array(targetEntries)
      }
      this.partsAddr[this.partsHead & (targetEntries - 1)] = addr
      this.partsLength[this.partsHead & (targetEntries - 1)] = length
      this.partsHead = (this.partsHead + 1) | 0
    }
    return true
  }
}
