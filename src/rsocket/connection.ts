/**
 * One stream on one connected RC queue pair: the protocol without connection management and without waiting.
 *
 *     sender                                                        receiver
 *     send buffer ── WRITE with immediate (data, n) ──────────────> receive buffer, at the next place of the target SGL
 *     target SGL <── WRITE with immediate (SGL, messages allowed) ── a part of the receive buffer that is free again
 *
 * Bytes leave when `send` takes them, so there is no queue besides the send queue. The receive buffer is a ring; the
 * parts that the peer is offered follow each other in it, so that where data lies is known from how much came. Messages
 * are counted when they are taken from the completion queue, because then their receive is posted again; bytes are
 * free when the program has read them.
 *
 * Counts of bytes and messages wrap at 32 bits; only their differences are used.
 *
 * Everything here is called by one thread. Nothing on the way of data allocates; requests are prepared once.
 */
import {
  type CompletionQueue,
  Opcode,
  QpState,
  type QpType,
  type QueuePair,
  RecvWorkRequest,
  ScatterGather,
  SendFlag,
  SendWorkRequest,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
  wcStatusText,
  workCompletions,
} from '../verbs/index.ts'
import { bufferBytes, type ConnData, Feature } from './conn-data.ts'
import { Errno } from './constants.ts'
import { Counters, countProtocolError, type ProtocolError, protocolErrors } from './counters.ts'
import {
  Control,
  hostBigEndian,
  message,
  messageOp,
  messageValue,
  Op,
  sgeAddr,
  sgeBytes,
  writeSge,
} from './messages.ts'
import { controlReserve, type StreamOptions, targetEntries } from './options.ts'
import { outgoingSlots, type StreamMemory } from './stream-memory.ts'

/** Receives that are posted together. */
const receiveBatch = 16
/** Receives beyond the credits: for control messages, for updates, and for those that are still to be posted again. */
export const extraReceives: number = receiveBatch + targetEntries + 2 * controlReserve
/** Completions taken at a time. */
const completionBatch = 32
/** Shorter pieces are copied byte by byte: cheaper than making a view. */
const loopBytes = 32
/** The longest data message. */
const maxTransfer = 1 << 16

export type StreamQueuePair = QueuePair<typeof QpType.RC>

export class StreamConnection {
  readonly qp: StreamQueuePair
  readonly memory: StreamMemory
  readonly counters: Counters = new Counters()
  private readonly sendCq: CompletionQueue
  private readonly recvCq: CompletionQueue
  private readonly u8: Uint8Array
  private readonly i32: Int32Array
  private readonly wc: WorkCompletion[] = workCompletions(completionBatch)

  // The peer.
  private peerSgl = 0
  private peerSglKey = 0
  private peerEntries = 0
  private peerEntry = 0
  private peerCredits = 0
  private peerLow = 0
  private peerHigh = 0
  private peerKey = 0
  private swap = false
  /** Whether the peer knows only version 1. */
  foreign = true

  // Sending. Requests are numbered from 1; what had been used when each was posted is kept until it completes.
  private readonly mask: number
  private readonly bytesAt: Int32Array
  private readonly controlsAt: Int32Array
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
  private sent = 0
  private allowed = 0
  /** Where the next data goes, and parts of the peer's buffer that come after that. */
  private partAddr = 0
  private partLeft = 0
  private readonly partsAddr: Float64Array = new Float64Array(targetEntries)
  private readonly partsLength: Int32Array = new Int32Array(targetEntries)
  private partsHead = 0
  private partsTail = 0
  private offered = 0
  private bytesOut = 0
  private sglEntry = 0
  private readonly data: SendWorkRequest
  private readonly dataSge: ScatterGather
  private readonly update: SendWorkRequest
  private readonly updateSge: ScatterGather
  private readonly plain: SendWorkRequest
  private readonly keepalive: SendWorkRequest
  private outgoing = 0
  private readonly inlineBytes: number

  // Receiving.
  private readonly receives: RecvWorkRequest[]
  private readonly rqSize: number
  private owed = 0
  private received = 0
  private granted = 0
  private arrived = 0
  private consumed = 0
  private advertised = 0
  private readAt = 0
  private advertiseAt = 0
  private granule: number
  /** Ends of the parts that the peer was offered and has not filled. */
  private readonly advertEnds: Int32Array = new Int32Array(256)
  private advertHead = 0
  private advertTail = 0
  private maxAdverts = 2
  /** Something could not be told to the peer, because too many control messages were under way. */
  private due = false
  /** The peer has shut down; this end has. */
  private peerDone = false
  private discarding = false
  private idle = 0

  // The state.
  /** Messages can be exchanged. */
  open = false
  /** This end has not shut down, and the peer has not disconnected. */
  writable = false
  /** More data may come. */
  readable = false
  /** The error that ended the connection, positive; 0 if there was none. */
  error = 0
  /** What happened, in words. */
  reason = ''

  constructor(qp: StreamQueuePair, memory: StreamMemory, options: StreamOptions) {
    this.qp = qp
    this.memory = memory
    this.sendCq = qp.sendCq
    this.recvCq = qp.recvCq
    this.u8 = memory.u8
    this.i32 = memory.i32
    this.rqSize = options.rqSize
    this.inlineBytes = qp.cap.maxInlineData
    this.maxData = options.sqSize - controlReserve
    this.signalMessages = Math.max(1, Math.min(32, this.maxData >> 2))
    this.signalBytes = memory.sendBytes >> 2
    const places = 2 ** Math.ceil(Math.log2(options.sqSize + 1))
    this.mask = places - 1
    this.bytesAt = new Int32Array(places)
    this.controlsAt = new Int32Array(places)
    const { lkey } = memory.local
    this.dataSge = new ScatterGather(0, 0, lkey)
    this.data = new SendWorkRequest(0, Opcode.WriteWithImm, 0, [this.dataSge])
    this.updateSge = new ScatterGather(0, sgeBytes, lkey)
    this.update = new SendWorkRequest(0, Opcode.WriteWithImm, SendFlag.Signaled, [this.updateSge])
    this.plain = new SendWorkRequest(0, Opcode.WriteWithImm, SendFlag.Signaled, [])
    this.keepalive = new SendWorkRequest(0, Opcode.Write, SendFlag.Signaled, [])
    this.receives = Array.from({ length: receiveBatch }, () => new RecvWorkRequest(0, []))
    for (let i = 1; i < receiveBatch; i++) this.receives[i - 1]!.next = this.receives[i]!
    this.granule = memory.receiveBytes >> 1
  }

  /** What to tell the peer. */
  static describe(memory: StreamMemory, options: StreamOptions): ConnData {
    return {
      bigEndian: hostBigEndian,
      iomapSize: options.iomapSize,
      credits: options.rqSize,
      targetSgl: { addr: memory.targetSgl, key: memory.remote.rkey, length: targetEntries },
      dataBuffer: { addr: memory.receiveBuffer, key: memory.remote.rkey, length: memory.receiveBytes / 2 },
      extension: options.extensions ? { features: Feature.EarlyBuffers, moreBuffers: 1 } : null,
    }
  }

  /** Posts the first receives; the QP is in INIT, RTR or RTS, and the peer does not send yet. */
  postReceives(): void {
    for (let left = this.rqSize + extraReceives; left > 0; left -= Math.min(left, receiveBatch))
      this.qp.postRecv(this.receives[receiveBatch - Math.min(left, receiveBatch)]!)
  }

  /** The connection is established: what this end told the peer, and what the peer told. */
  start(mine: ConnData, theirs: ConnData): void {
    this.swap = theirs.bigEndian !== hostBigEndian
    this.foreign = mine.extension === null || theirs.extension === null
    const early = !this.foreign && (theirs.extension!.features & Feature.EarlyBuffers) !== 0
    this.peerSgl = theirs.targetSgl.addr
    this.peerSglKey = theirs.targetSgl.key
    this.peerEntries = theirs.targetSgl.length
    this.peerEntry = 1
    this.peerCredits = theirs.credits
    this.peerKey = theirs.dataBuffer.key
    this.peerLow = theirs.dataBuffer.addr
    this.peerHigh = this.peerLow + bufferBytes(theirs)
    this.allowed = theirs.credits
    this.partAddr = this.peerLow
    this.partLeft = early ? this.peerHigh - this.peerLow : theirs.dataBuffer.length
    this.offered = this.partLeft
    this.sglEntry = 1
    this.granted = this.rqSize
    this.maxAdverts = Math.min(this.peerEntries, this.advertEnds.length - 1)
    const { receiveBytes } = this.memory
    const first = early ? receiveBytes : mine.dataBuffer.length
    if (early) this.granule = receiveBytes >> 2
    this.advertised = first
    this.advertiseAt = first === receiveBytes ? 0 : first
    this.pushAdvert()
    this.open = true
    this.writable = true
    this.readable = true
    this.giveCredits()
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  /** Bytes that can be sent at once. */
  get writableBytes(): number {
    if (!this.writable || this.sent === this.allowed || this.dataUnderWay >= this.maxData) return 0
    return Math.min(this.sendFree, this.offered - this.bytesOut)
  }

  /** Bytes in the send buffer of which it is not known that they arrived. */
  get pendingBytes(): number {
    return (this.bytesPosted - this.bytesDone) | 0
  }

  /** Whether all that was posted has arrived. */
  get allSent(): boolean {
    return this.posted === this.done
  }

  private get sendFree(): number {
    return this.memory.sendBytes - ((this.bytesPosted - this.bytesDone) | 0)
  }

  private get dataUnderWay(): number {
    return (this.posted - this.done - this.controlsPosted + this.controlsDone) | 0
  }

  /**
   * Sends what fits of `buffer` from `offset`; how much that was. 0 if something is missing: a buffer of the peer,
   * credits, or places of the send queue, which `process` may bring.
   */
  send(buffer: Uint8Array, offset: number, length: number): number {
    const { sendBytes, sendBuffer } = this.memory
    const { dataSge, data } = this
    let taken = 0
    while (taken < length && this.writable) {
      let free = this.sendFree
      if (free <= this.signalBytes || this.dataUnderWay >= this.maxData) {
        this.reap()
        free = this.sendFree
        if (free === 0 || this.dataUnderWay >= this.maxData || !this.writable) break
      }
      if (this.sent === this.allowed) {
        this.counters.waitsForCredits++
        break
      }
      if (this.partLeft === 0 && !this.nextPart()) {
        this.counters.waitsForBuffer++
        break
      }
      let n = length - taken
      if (n > maxTransfer) n = maxTransfer
      if (n > this.partLeft) n = this.partLeft
      if (n > free) n = free
      const at = this.sendAt
      if (n > sendBytes - at) n = sendBytes - at
      const from = offset + taken
      const to = sendBuffer - this.memory.base + at
      if (n <= loopBytes) for (let i = 0; i < n; i++) this.u8[to + i] = buffer[from + i]!
      else if (from === 0 && n === buffer.length) this.u8.set(buffer, to)
      else this.u8.set(buffer.subarray(from, from + n), to)
      this.sendAt = at + n === sendBytes ? 0 : at + n
      dataSge.addr = sendBuffer + at
      dataSge.length = n
      this.bytesPosted = (this.bytesPosted + n) | 0
      this.postData(data, n)
      taken += n
    }
    return taken
  }

  /**
   * The same from memory of the device, without a copy: `addr` with `lkey`. The memory must stay as it is until
   * `isDone(this.lastPosted)`.
   */
  sendDirect(addr: number, lkey: number, length: number): number {
    const { dataSge, data } = this
    let taken = 0
    while (taken < length && this.writable) {
      if (this.dataUnderWay >= this.maxData) {
        this.reap()
        if (this.dataUnderWay >= this.maxData || !this.writable) break
      }
      if (this.sent === this.allowed) {
        this.counters.waitsForCredits++
        break
      }
      if (this.partLeft === 0 && !this.nextPart()) {
        this.counters.waitsForBuffer++
        break
      }
      let n = length - taken
      if (n > maxTransfer) n = maxTransfer
      if (n > this.partLeft) n = this.partLeft
      dataSge.addr = addr + taken
      dataSge.length = n
      dataSge.lkey = lkey
      // All that is sent from the caller's memory is signaled: it waits for the last of it.
      this.unsignaled = this.signalMessages
      this.postData(data, n)
      taken += n
    }
    dataSge.lkey = this.memory.local.lkey
    this.counters.bytesDirect += taken
    return taken
  }

  /** The number of the last request, and whether request `number` and all before it are done. */
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

  private postData(data: SendWorkRequest, n: number): void {
    data.remoteAddr = this.partAddr
    data.rkey = this.peerKey
    // A data message: the operation is 0.
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
    const { counters } = this
    counters.bytesSent += n
    this.post(data)
  }

  private post(wr: SendWorkRequest): void {
    const number = (this.posted + 1) | 0
    this.posted = number
    const i = number & this.mask
    this.bytesAt[i] = this.bytesPosted
    this.controlsAt[i] = this.controlsPosted
    // Numbers of requests are unsigned to the verbs.
    wr.wrId = number >>> 0
    this.counters.messagesSent++
    this.qp.postSend(wr)
  }

  /** Takes completions of what was sent. */
  reap(): void {
    const { wc } = this
    for (;;) {
      const n = this.sendCq.poll(wc)
      for (let i = 0; i < n; i++) {
        const { status, wrId } = wc[i]!
        if (status !== WcStatus.Success) {
          this.sendFailed(status)
          // What failed is done with too: nothing of this end is used by it any more.
          if (((wrId - this.done) | 0) <= 0) continue
        }
        this.done = wrId | 0
      }
      if (n < wc.length) break
    }
    const i = this.done & this.mask
    this.bytesDone = this.bytesAt[i]!
    this.controlsDone = this.controlsAt[i]!
  }

  private sendFailed(status: number): void {
    if (!this.open) return
    if (status === WcStatus.WrFlushErr) this.end(Errno.ECONNRESET, 'the connection was ended')
    else if (
      status === WcStatus.RetryExcErr ||
      status === WcStatus.RnrRetryExcErr ||
      status === WcStatus.RespTimeoutErr
    )
      this.end(Errno.ETIMEDOUT, `the peer does not answer: ${wcStatusText(status)}`)
    else this.end(Errno.ECONNRESET, wcStatusText(status))
  }

  private get controlFree(): boolean {
    if (((this.controlsPosted - this.controlsDone) | 0) < controlReserve) return true
    this.reap()
    return ((this.controlsPosted - this.controlsDone) | 0) < controlReserve
  }

  private postControl(wr: SendWorkRequest): void {
    this.controlsPosted = (this.controlsPosted + 1) | 0
    this.unsignaled = 0
    this.unsignaledBytes = 0
    this.post(wr)
  }

  /** Sends a control message; false if too many are under way. */
  private sendControl(kind: number): boolean {
    if (!this.controlFree) return false
    this.plain.immData = message(Op.Control, kind)
    this.postControl(this.plain)
    return true
  }

  /** An empty RDMA WRITE: its acknowledgement shows that the peer lives. True if it was sent or is not needed. */
  sendKeepalive(): boolean {
    if (!this.open) return true
    if (!this.controlFree) return false
    this.postControl(this.keepalive)
    return true
  }

  /** Says that nothing more is sent; false if it could not be said yet. */
  shutdownWrite(): boolean {
    if (!this.open || !this.writable) return true
    if (!this.sendControl(this.readable ? Control.Shutdown : Control.Disconnect)) return false
    this.writable = false
    if (!this.readable) this.disconnected('both sides were shut down')
    return true
  }

  /** What comes from now on is thrown away; false if the peer had to be told and could not be yet. */
  shutdownRead(): boolean {
    this.discarding = true
    if (!this.open || !this.readable) return true
    if (!this.writable) return this.disconnect()
    this.readable = false
    this.consume((this.arrived - this.consumed) | 0)
    return true
  }

  /** Ends both directions; false if it could not be said yet. What has arrived can still be read. */
  disconnect(): boolean {
    if (!this.open) return true
    if (!this.sendControl(Control.Disconnect)) return false
    this.disconnected('this end closed the connection')
    return true
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  get readableBytes(): number {
    return (this.arrived - this.consumed) | 0
  }

  /** Copies what has arrived into `buffer` from `offset`, up to `length` bytes; how many. Looks for more first. */
  recv(buffer: Uint8Array, offset: number, length: number, peek = false): number {
    let n = (this.arrived - this.consumed) | 0
    if (n > length) n = length
    if (n === 0) return 0
    const { receiveBytes, receiveBuffer, base } = this.memory
    const { u8 } = this
    const at = this.readAt
    const from = receiveBuffer - base + at
    if (at + n > receiveBytes) {
      const first = receiveBytes - at
      buffer.set(u8.subarray(from, from + first), offset)
      buffer.set(u8.subarray(receiveBuffer - base, receiveBuffer - base + n - first), offset + first)
    } else if (n <= loopBytes) for (let i = 0; i < n; i++) buffer[offset + i] = u8[from + i]!
    else buffer.set(u8.subarray(from, from + n), offset)
    if (!peek) this.consume(n)
    return n
  }

  /** Gives `n` bytes that were read back to the peer. */
  private consume(n: number): void {
    const { receiveBytes } = this.memory
    const at = this.readAt + n
    this.readAt = at >= receiveBytes ? at - receiveBytes : at
    this.consumed = (this.consumed + n) | 0
    if (receiveBytes - ((this.advertised - this.consumed) | 0) >= this.granule) this.giveCredits()
  }

  /** Takes all messages that have come; how many. */
  process(): number {
    const { wc } = this
    let total = 0
    for (;;) {
      const n = this.recvCq.poll(wc)
      for (let i = 0; i < n; i++) this.take(wc[i]!)
      total += n
      if (n < completionBatch) break
    }
    if (total === 0) {
      // Now and then: what failed is seen there first.
      this.idle = (this.idle + 1) & 15
      if (this.idle === 0) this.reap()
      if (this.due) this.giveCredits()
      return 0
    }
    if (this.owed >= receiveBatch) this.repost()
    if (this.due || ((this.received - this.granted + this.rqSize) | 0) >= this.rqSize >> 1) this.giveCredits()
    return total
  }

  private repost(): void {
    if (this.qp.state === QpState.Err) return
    while (this.owed >= receiveBatch) {
      this.qp.postRecv(this.receives[0]!)
      this.owed -= receiveBatch
    }
  }

  private take(wc: WorkCompletion): void {
    if (wc.status !== WcStatus.Success) {
      this.receiveFailed(wc.status)
      return
    }
    this.owed++
    if (!this.open) return
    if (wc.opcode !== WcOpcode.RecvRdmaWithImm) {
      this.breach('badReceive')
      return
    }
    this.counters.messagesReceived++
    const immediate = wc.immData
    if (immediate >>> 29 === Op.Data) this.takeData(immediate, wc.byteLen)
    else this.takeControl(messageOp(immediate), messageValue(immediate))
  }

  private takeData(length: number, byteLen: number): void {
    this.received = (this.received + 1) | 0
    this.arrived = (this.arrived + length) | 0
    this.counters.bytesReceived += length
    if (((this.received - this.granted) | 0) > 0) this.breach('creditOverrun')
    else if (((this.advertised - this.arrived) | 0) < 0) this.overrun(length)
    else if (length === 0) this.breach('emptyData')
    else if (byteLen !== length) this.breach('badImmediate')
    else if (this.peerDone) this.breach('dataAfterShutdown')
    else if (this.discarding) this.consume((this.arrived - this.consumed) | 0)
  }

  /** What lies outside the buffer cannot be read. */
  private overrun(length: number): void {
    this.arrived = (this.arrived - length) | 0
    this.breach('dataOverrun')
  }

  private takeControl(op: number, value: number): void {
    switch (op) {
      case Op.Sgl:
        this.takeUpdate(value)
        break
      case Op.Iomap:
        this.received = (this.received + 1) | 0
        if (((this.received - this.granted) | 0) > 0) this.breach('creditOverrun')
        else if (value >= this.memory.iomapSize) this.breach('badIomap')
        break
      case Op.Control:
        if (value === Control.Disconnect) this.disconnected('the peer closed the connection')
        else if (value === Control.Shutdown) {
          this.readable = false
          this.peerDone = true
          if (!this.writable) this.disconnected('both sides were shut down')
        } else if (value !== Control.Keepalive) this.breach('badControl')
        break
      default:
        this.breach('badImmediate')
    }
  }

  private takeUpdate(value: number): void {
    // The sum of two 16-bit numbers may stand here: librdmacm does not cut it.
    if (value > 0x1ffff) {
      this.breach('badImmediate')
      return
    }
    const more = (value - this.allowed) & 0xffff
    if (more > this.peerCredits) {
      this.breach((-more & 0xffff) <= this.peerCredits ? 'creditUnderflow' : 'creditOverflow')
      return
    }
    this.allowed = (this.allowed + more) | 0
    if (((this.allowed - this.sent) | 0) > this.peerCredits) this.breach('creditOverflow')
    else this.takeParts()
  }

  /** Takes the buffers that the peer has written into the target SGL. */
  private takeParts(): void {
    const { i32 } = this
    for (;;) {
      const w = (this.memory.targetSgl - this.memory.base + this.sglEntry * sgeBytes) >> 2
      const length = i32[w + 3]! >>> 0
      if (length === 0) return
      const addr = sgeAddr(i32, w)
      i32[w + 3] = 0
      if (i32[w + 2]! >>> 0 !== this.peerKey || !(addr >= this.peerLow && addr + length <= this.peerHigh)) {
        this.breach('badSgl')
        return
      }
      this.offered = (this.offered + length) | 0
      if (((this.offered - this.bytesOut) | 0) > this.peerHigh - this.peerLow) {
        this.breach('sglOverflow')
        return
      }
      this.sglEntry = this.sglEntry + 1 === targetEntries ? 0 : this.sglEntry + 1
      const last = (this.partsHead - 1) & (targetEntries - 1)
      if (this.partsHead !== this.partsTail && this.partsAddr[last]! + this.partsLength[last]! === addr)
        this.partsLength[last] = this.partsLength[last]! + length
      else if (this.partLeft > 0 && this.partsHead === this.partsTail && this.partAddr + this.partLeft === addr)
        this.partLeft += length
      else if (((this.partsHead - this.partsTail) | 0) >= targetEntries) {
        this.breach('sglOverflow')
        return
      } else {
        this.partsAddr[this.partsHead & (targetEntries - 1)] = addr
        this.partsLength[this.partsHead & (targetEntries - 1)] = length
        this.partsHead = (this.partsHead + 1) | 0
      }
    }
  }

  private pushAdvert(): void {
    this.advertEnds[this.advertHead & 255] = this.advertised
    this.advertHead = (this.advertHead + 1) | 0
  }

  /** Offers free parts of the receive buffer, and lets the peer send more messages. */
  private giveCredits(): void {
    const { receiveBytes } = this.memory
    this.due = false
    while (this.open) {
      const free = receiveBytes - ((this.advertised - this.consumed) | 0)
      while (this.advertHead !== this.advertTail && ((this.arrived - this.advertEnds[this.advertTail & 255]!) | 0) >= 0)
        this.advertTail = (this.advertTail + 1) | 0
      const entryFree = ((this.advertHead - this.advertTail) | 0) < this.maxAdverts
      const offer = entryFree && free >= this.granule
      if (!offer && ((this.received - this.granted + this.rqSize) | 0) < this.rqSize >> 1) return
      if (!this.controlFree) {
        this.due = true
        return
      }
      this.granted = (this.received + this.rqSize) | 0
      const immediate = message(Op.Sgl, this.granted & 0xffff)
      if (offer) this.postOffer(immediate, free)
      else if (entryFree && !this.foreign) {
        // An entry of no bytes is none. A message with a payload takes the short way through the device.
        this.postUpdate(immediate, 0, 0, 0)
      } else {
        this.plain.immData = immediate
        this.postControl(this.plain)
      }
    }
  }

  private postOffer(immediate: number, free: number): void {
    const { receiveBytes, receiveBuffer } = this.memory
    const atEnd = receiveBytes - this.advertiseAt
    const length = Math.min(this.foreign ? this.granule : free, atEnd)
    this.postUpdate(immediate, receiveBuffer + this.advertiseAt, this.memory.remote.rkey, length)
    this.peerEntry = this.peerEntry + 1 === this.peerEntries ? 0 : this.peerEntry + 1
    this.advertised = (this.advertised + length) | 0
    this.advertiseAt = length === atEnd ? 0 : this.advertiseAt + length
    this.pushAdvert()
  }

  private postUpdate(immediate: number, addr: number, key: number, length: number): void {
    this.outgoing = (this.outgoing + 1) & (outgoingSlots - 1)
    const slot = this.memory.outgoing + this.outgoing * 64
    writeSge(this.i32, (slot - this.memory.base) >> 2, addr, key, length, this.swap)
    this.updateSge.addr = slot
    this.update.immData = immediate
    this.update.remoteAddr = this.peerSgl + this.peerEntry * sgeBytes
    this.update.rkey = this.peerSglKey
    this.postControl(this.update)
  }

  private receiveFailed(status: number): void {
    // Why the queue pair broke stands on the send side, if it was this end that found it.
    this.reap()
    if (this.open) this.end(Errno.ECONNRESET, `the connection was ended: ${wcStatusText(status)}`)
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  private disconnected(reason: string): void {
    this.open = false
    this.writable = false
    this.readable = false
    this.reason = reason
  }

  /** Ends the connection with an error. */
  end(error: number, reason: string): void {
    if (this.error === 0 && this.open) this.error = error
    this.disconnected(reason)
  }

  /** The peer broke the protocol: it is counted, the peer is told, and the connection is over. */
  private breach(what: ProtocolError): void {
    countProtocolError(what)
    if (this.open && this.qp.state === QpState.Rts) this.sendControl(Control.Disconnect)
    this.end(Errno.ECONNRESET, `${protocolErrors[what]} (${what})`)
  }

  /** Before sleeping: the next completion makes an event. Look once more afterwards. */
  arm(): void {
    this.recvCq.reqNotify()
    this.sendCq.reqNotify()
  }
}
