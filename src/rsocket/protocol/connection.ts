/**
 * One stream on one connected RC queue pair: the protocol without connection management and without waiting.
 *
 *     sender                                                        receiver
 *     send buffer ── WRITE with immediate (data, n) ──────────────> receive buffer, at the next entry of the target SGL
 *     target SGL <── WRITE with immediate (SGL, messages allowed) ── a part of the receive buffer that is free again
 *
 * One thread makes all calls. Nothing on the data path allocates; requests are prepared once.
 */
import {
  Opcode,
  QpState,
  RecvWorkRequest,
  SendFlag,
  SendWorkRequest,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
  wcStatusText,
} from '../../verbs/provider/index.ts'
import { Arrivals, notWritten } from './arrivals.ts'
import { type ConnData, Feature } from './conn-data.ts'
import { Counters, countProtocolError, type ProtocolError, protocolErrors } from './counters.ts'
import { Errno } from './errno.ts'
import { Mapped } from './mapped.ts'
import { Control, hostBigEndian, message, messageOp, messageValue, Op } from './messages.ts'
import { controlReserve, type StreamOptions, targetEntries } from './options.ts'
import { ReceiveSide } from './receive-side.ts'
import { SendSide } from './send-side.ts'
import type { StreamLink } from './stream-link.ts'
import type { StreamMemory, StreamQueuePair } from './stream-memory.ts'
import type { Completed, CqPair, Entries } from './stream-queues.ts'

/** Number of receives that are posted together. */
const receiveBatch = 16
/** Receives beyond the credits: for control messages, for updates, and for those that are not yet posted again. */
export const extraReceives: number = receiveBatch + targetEntries + 2 * controlReserve

/** Returns the number of entries of the completion queues that a stream of this size reserves. */
export function entriesOf(options: StreamOptions): Entries {
  return { sends: options.sqSize, receives: options.rqSize + extraReceives }
}

// Shared by all connections of this thread: they post requests one after the other.
const control = new SendWorkRequest(0, Opcode.WriteWithImm, SendFlag.Signaled, [])
const empty = new SendWorkRequest(0, Opcode.Write, SendFlag.Signaled, [])
/** Receives without memory, linked: the immediate carries all the data. Posting N of them posts the last N of the list. */
const receives: readonly RecvWorkRequest[] = Array.from({ length: 256 }, () => new RecvWorkRequest(0, []))
for (let i = 1; i < receives.length; i++) receives[i - 1]!.next = receives[i]!

/** Owner of a connection: it is notified of its completions, whoever has polled. */
type Owner = Pick<Completed, 'receivedMeanwhile' | 'sentMeanwhile'>

export class StreamConnection implements StreamLink, Completed {
  readonly qp: StreamQueuePair
  readonly memory: StreamMemory
  readonly counters: Counters = new Counters()
  readonly mapped: Mapped
  private readonly out: SendSide
  private readonly in: ReceiveSide
  private readonly cqs: CqPair
  private readonly arrivals: Arrivals = new Arrivals()
  /** Owner, if it wants to be notified. */
  owner: Owner | null = null
  private readonly rqSize: number
  /** Receives that were consumed and are not posted again yet. */
  private owed = 0
  private idle = 0
  private flushedStatus: number = WcStatus.Success
  /** True if the peer supports version 1 only. */
  foreign = true
  /** True if both ends use this connection as a trunk of many streams. */
  trunk = false
  /** Free bytes of the send buffer from which on `poll` reports it writable, as in librdmacm. */
  private readonly lowWater: number
  /** Error number that ended the connection, positive; 0 if there was none. */
  error = 0
  private started = false
  /** Control message that is to be sent; −1 if there is none. */
  private saying = -1
  private goodbye = ''
  /** True if this end has shut down sending. */
  closedHere = false
  /** True if the peer's connection manager has ended the connection: unacknowledged data will never be acknowledged. */
  peerLeft = false
  /** Reason for the end of the connection, in words. */
  reason = ''

  /** `cqs`: the pair to which the queue pair completes, in which `entriesOf` these options are reserved. */
  constructor(qp: StreamQueuePair, memory: StreamMemory, options: StreamOptions, cqs: CqPair) {
    this.qp = qp
    this.memory = memory
    this.cqs = cqs
    this.rqSize = options.rqSize
    this.out = new SendSide(qp, memory, options, this.counters, cqs)
    this.in = new ReceiveSide(memory, options, this.out, this.counters)
    this.mapped = new Mapped(this.out)
    this.lowWater = Math.min(2048, memory.sendBytes >> 1)
    cqs.join(qp, this)
  }

  /** Returns the private data that describes this end to the peer. */
  static describe(memory: StreamMemory, options: StreamOptions): ConnData {
    return {
      bigEndian: hostBigEndian,
      iomapSize: options.iomapSize,
      credits: options.rqSize,
      targetSgl: { addr: memory.targetSgl, key: memory.remote.rkey, length: targetEntries },
      dataBuffer: { addr: memory.receiveBuffer, key: memory.remote.rkey, length: memory.halfBytes },
      extension: options.extensions
        ? {
            features: Feature.EarlyBuffers | (options.share ? Feature.Trunk : 0),
            moreBuffers: memory.receiveBytes / memory.halfBytes - 1,
          }
        : null,
    }
  }

  /** Posts the first receives; the QP is in INIT, RTR or RTS, and the peer does not send yet. */
  postReceives(): void {
    for (let left = this.rqSize + extraReceives; left > 0; left -= Math.min(left, receives.length))
      this.qp.postRecv(receives[receives.length - Math.min(left, receives.length)]!)
  }

  /** Starts the protocol on an established connection, with the private data that this end sent and that the peer sent. */
  start(mine: ConnData, theirs: ConnData): void {
    this.foreign = mine.extension === null || theirs.extension === null
    const features = this.foreign ? 0 : mine.extension!.features & theirs.extension!.features
    this.trunk = (features & Feature.Trunk) !== 0
    this.out.start(this.foreign ? { ...theirs, extension: null } : theirs)
    this.mapped.start(theirs, this.foreign)
    this.in.start(theirs, this.foreign)
    this.started = true
  }

  // --- what can be done --------------------------------------------------------------------------------------------

  /** True if messages can be exchanged. */
  get open(): boolean {
    return this.out.connected
  }

  /** True if this end has not shut down and the connection is open. */
  get writable(): boolean {
    return this.out.writable
  }

  /** True if more data may arrive. */
  get readable(): boolean {
    return this.in.readable
  }

  /** Maximum number of bytes of the receive buffer that the peer may have written. */
  get filledBytes(): number {
    return this.in.filledBytes
  }

  get readableBytes(): number {
    return this.in.readableBytes
  }

  get writableBytes(): number {
    return this.out.writableBytes
  }

  /**
   * True if `poll` reports the socket writable. Any buffer space of the peer suffices: a peer of version 1 may never offer as much as the
   * low-water mark.
   */
  get pollsWritable(): boolean {
    return this.out.canSend(this.lowWater)
  }

  get pendingBytes(): number {
    return this.out.pendingBytes
  }

  /** True if the send queue has an entry for a control message. */
  get controlFree(): boolean {
    return this.out.controlFree
  }

  /** True if anything can be written, within the stream or outside of it. */
  get spaceFree(): boolean {
    return this.out.spaceFree
  }

  get allSent(): boolean {
    return this.out.allDone && (this.saying < 0 || !this.open)
  }

  /** True if no wait is left: all data has arrived, or never will. */
  get settled(): boolean {
    return this.allSent || this.error !== 0 || this.peerLeft
  }

  // --- data --------------------------------------------------------------------------------------------------------

  /**
   * Sends as many bytes of `buffer` from `offset` as fit and returns their number: 0 if a buffer of the peer, credits, or send queue
   * entries are missing, which `process` may bring.
   */
  send(buffer: Uint8Array, offset: number, length: number): number {
    const n = this.out.send(buffer, offset, length)
    if (this.out.failedStatus !== WcStatus.Success) this.sendFailed()
    return n
  }

  /** Sends as `send` does, from memory of the device, which must stay unchanged until `isDone(lastPosted)`. */
  sendDirect(addr: number, lkey: number, length: number): number {
    const n = this.out.sendDirect(addr, lkey, length)
    if (this.out.failedStatus !== WcStatus.Success) this.sendFailed()
    return n
  }

  get lastPosted(): number {
    return this.out.lastPosted
  }

  isDone(number: number): boolean {
    return this.out.isDone(number) || !this.open
  }

  /** Copies at most `length` received bytes into `buffer` from `offset` and returns their number. */
  recv(buffer: Uint8Array, offset: number, length: number, peek = false): number {
    return this.in.recv(buffer, offset, length, peek)
  }

  /** True if messages wait for an entry of the send queue, which the completions that were taken last may have freed. */
  get putOff(): boolean {
    return this.saying >= 0 || this.in.due
  }

  get hasNews(): boolean {
    return this.started && (this.cqs.filled || this.hasTaken || this.putOff)
  }

  /** True if completions were taken that are not processed yet. */
  private get hasTaken(): boolean {
    return this.arrivals.any || this.failing
  }

  /** True if a request has failed, and the stream is to end. */
  get failing(): boolean {
    return this.open && (this.flushedStatus !== WcStatus.Success || this.out.failedStatus !== WcStatus.Success)
  }

  received(wc: WorkCompletion): void {
    if (wc.status !== WcStatus.Success) this.flushedStatus = wc.status
    else this.arrivals.add(wc.immData, wc.opcode === WcOpcode.RecvRdmaWithImm ? wc.byteLen : notWritten)
  }

  sent(wc: WorkCompletion): void {
    this.out.completed(wc)
  }

  receivedMeanwhile(): void {
    this.owner?.receivedMeanwhile()
  }

  sentMeanwhile(): void {
    this.owner?.sentMeanwhile()
  }

  process(): number {
    this.cqs.pollReceives()
    return this.processArrivals()
  }

  processReady(): number {
    if (this.cqs.recvCq.filled) this.cqs.pollReceives()
    return this.processArrivals()
  }

  private processArrivals(): number {
    // Messages that arrive before the RTU, which may be lost, stay until this end can interpret them.
    if (!this.started) return 0
    const total = this.takeArrivals()
    if (this.saying >= 0) this.say()
    if (total === 0) {
      // Once in 16 calls that find nothing, because failures show there first.
      this.idle = (this.idle + 1) & 15
      if (this.idle === 0) this.reap()
      if (this.in.due) this.in.giveCredits()
      return 0
    }
    if (this.owed >= receiveBatch) this.repost()
    if (this.in.wantsToGive) this.in.giveCredits()
    return total
  }

  /** Takes completions of sends. Call it after `process`, which drives the device. */
  reap(): void {
    if (this.out.answered) this.out.reap()
    if (this.out.failedStatus !== WcStatus.Success) this.sendFailed()
  }

  private repost(): void {
    if (this.qp.state === QpState.Err) return
    while (this.owed >= receiveBatch) {
      this.qp.postRecv(receives[receives.length - receiveBatch]!)
      this.owed -= receiveBatch
    }
  }

  private takeArrivals(): number {
    const { arrivals } = this
    let total = 0
    while (arrivals.any) {
      const { immediate, bytes } = arrivals
      arrivals.removeFirst()
      this.take(immediate, bytes)
      total++
    }
    if (this.flushedStatus !== WcStatus.Success && this.open) {
      // If this end detected the error, the send side has the reason.
      this.out.reap()
      if (this.out.failedStatus !== WcStatus.Success) this.endWith(this.out.failedStatus)
      else this.end(Errno.ECONNRESET, `the connection was ended: ${wcStatusText(this.flushedStatus)}`)
    }
    return total
  }

  private take(immediate: number, bytes: number): void {
    this.owed++
    if (!this.open) return
    this.counters.messagesReceived++
    let wrong: ProtocolError | null = null
    if (bytes === notWritten) wrong = 'badReceive'
    else if (immediate >>> 29 === Op.Data) wrong = this.in.takeData(immediate, bytes)
    else wrong = this.takeMessage(messageOp(immediate), messageValue(immediate))
    if (wrong !== null) this.breach(wrong)
  }

  private takeMessage(op: number, value: number): ProtocolError | null {
    switch (op) {
      case Op.Sgl:
        return this.out.takeUpdate(value)
      case Op.Iomap:
        return value < this.memory.iomapSize ? this.in.takeMapping() : 'badIomap'
      case Op.Control:
        return this.takeControl(value)
      default:
        return 'badImmediate'
    }
  }

  private takeControl(kind: number): ProtocolError | null {
    switch (kind) {
      case Control.Disconnect:
        this.in.peerDone = true
        this.disconnected('the peer closed the connection')
        return null
      case Control.Shutdown:
        this.in.readable = false
        this.in.peerDone = true
        if (this.writable) return null
        if (this.saying < 0) this.disconnected('both sides were shut down')
        else this.saying = Control.Disconnect
        return null
      case Control.Keepalive:
        return null
      default:
        return 'badControl'
    }
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  /** Sends the pending control message as soon as the send queue has an entry for it. */
  private say(): void {
    if (this.saying < 0 || !this.open || !this.out.controlFree) return
    const kind = this.saying
    this.saying = -1
    control.immData = message(Op.Control, kind)
    this.out.postControl(control)
    if (kind === Control.Disconnect) this.disconnected(this.goodbye)
  }

  /** Sends an empty RDMA WRITE, whose acknowledgement shows that the peer is alive. Returns true if it was sent or is not needed. */
  sendKeepalive(): boolean {
    if (!this.open) return true
    if (!this.out.controlFree) return false
    this.out.postControl(empty)
    return true
  }

  /** Posts an empty RDMA WRITE if the last requests are unsignaled: its completion shows that all requests before it are done. */
  flush(): void {
    if (this.open && this.out.endsUnsignaled && this.out.controlFree) this.out.postControl(empty)
  }

  /** True if the peer owes this end buffer space, or the acknowledgement of sent data. */
  get waits(): boolean {
    return this.open && (this.writableBytes === 0 || !this.allSent)
  }

  /**
   * Probes a peer that offers no buffer, as TCP probes a zero window, and takes what has arrived. It does not drive the device: a caller
   * that probes many connections does that once.
   */
  probe(): void {
    if (this.waits) this.sendKeepalive()
    if (this.hasTaken || this.putOff) this.processReady()
    this.reap()
  }

  /** Notifies the peer that nothing more will be sent. */
  shutdownWrite(): void {
    if (!this.open || !this.writable) return
    this.out.writable = false
    this.closedHere = true
    this.goodbye = 'both sides were shut down'
    this.saying = this.readable ? Control.Shutdown : Control.Disconnect
    this.say()
  }

  /** Discards all data that arrives from now on. */
  shutdownRead(): void {
    if (!this.open || !this.readable) return
    this.in.readable = false
    this.in.discard()
    if (!this.writable) this.disconnect()
  }

  /** Ends both directions. Received data can still be read. */
  disconnect(): void {
    if (!this.open) return
    this.out.writable = false
    this.in.readable = false
    this.closedHere = true
    this.goodbye = 'this end closed the connection'
    this.saying = Control.Disconnect
    this.say()
  }

  private disconnected(reason: string): void {
    this.out.connected = false
    this.out.writable = false
    this.in.readable = false
    this.reason = reason
  }

  /** Ends the connection with an error. */
  end(error: number, reason: string): void {
    if (!this.open) return
    this.error = error
    this.disconnected(reason)
  }

  private sendFailed(): void {
    if (!this.open) return
    // A peer that disconnected takes nothing more: its message must be processed first.
    this.cqs.pollReceives()
    this.takeArrivals()
    this.endWith(this.out.failedStatus)
  }

  private endWith(status: number): void {
    if (status === WcStatus.WrFlushErr) this.end(Errno.ECONNRESET, 'the connection was ended')
    else if (
      status === WcStatus.RetryExcErr ||
      status === WcStatus.RnrRetryExcErr ||
      status === WcStatus.RespTimeoutErr
    )
      this.end(Errno.ETIMEDOUT, `the peer does not answer: ${wcStatusText(status)}`)
    else this.end(Errno.ECONNRESET, wcStatusText(status))
  }

  /** Counts a protocol violation of the peer, notifies the peer, and ends the connection. */
  private breach(what: ProtocolError): void {
    countProtocolError(what)
    this.goodbye = `${protocolErrors[what]} (${what})`
    this.error = Errno.ECONNRESET
    this.saying = Control.Disconnect
    if (this.qp.state === QpState.Rts) this.say()
    this.disconnected(this.goodbye)
  }

  /** Arms the completion queues before a sleep. Poll once more afterwards. */
  arm(): void {
    this.cqs.arm()
  }
}
