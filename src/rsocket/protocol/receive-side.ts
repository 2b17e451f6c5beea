/**
 * Receiving side of a stream. The receive buffer is a ring; the parts of it that the peer is offered follow each
 * other, so that the position of data follows from the bytes received. Messages are counted when they are taken from the
 * completion queue, because then their receive is posted again; bytes are free when the program has read them.
 *
 * A peer of version 1 is offered one half of the buffer at a time. A Verbena end has the whole buffer from the start and
 * is offered what is free as soon as it is worth a message.
 *
 * Counts of bytes and messages wrap at 32 bits; only their differences are used.
 */
import { Opcode, ScatterGather, SendFlag, SendWorkRequest } from '../../verbs/provider/index.ts'
import { type ConnData, Feature } from './conn-data.ts'
import type { Counters, ProtocolError } from './counters.ts'
import { message, Op, sgeBytes } from './messages.ts'
import type { StreamOptions } from './options.ts'
import { loopBytes, type SendSide } from './send-side.ts'
import type { StreamMemory } from './stream-memory.ts'

/** Maximum number of offers that are remembered; a power of two. */
const maxOffers = 256

// Shared by all connections of this thread: they post requests one after the other.
const updateSge = new ScatterGather(0, sgeBytes, 0)
const update = new SendWorkRequest(0, Opcode.WriteWithImm, SendFlag.Signaled, [updateSge])
const plain = new SendWorkRequest(0, Opcode.WriteWithImm, SendFlag.Signaled, [])

export class ReceiveSide {
  private readonly memory: StreamMemory
  private readonly out: SendSide
  private readonly counters: Counters
  private readonly u8: Uint8Array
  private readonly rqSize: number
  /** True if more data may arrive. */
  readable = false
  /** True if the peer has shut down. */
  peerDone = false
  /** True if this end has shut down reading: received data is discarded. */
  discarding = false
  /** True if an update for the peer is deferred, because too many control messages are outstanding. */
  due = false

  // Messages: received, and allowed in all.
  private received = 0
  private granted = 0
  /** Messages about mappings, from a peer that may not count them. */
  private mappings = 0

  // Bytes: received, read, and offered; and positions in the buffer.
  private arrived = 0
  private consumed = 0
  private advertised = 0
  private readAt = 0
  private advertiseAt = 0
  /** Bytes of the buffer that are used: two halves for a peer of version 1. */
  private ringBytes = 0
  /** Free bytes from which on an offer is worth a message. */
  private granule = 0
  private foreign = true
  /** Ends of the parts that were offered to the peer and that it has not filled. */
  private offerEnds: Int32Array = new Int32Array(2)
  private offerMask = 1
  private offerHead = 0
  private offerTail = 0
  private mostOffers = 2

  private peerSgl = 0
  private peerEntry = 1
  private peerEntries = 2
  private peerKey = 0

  constructor(memory: StreamMemory, options: StreamOptions, out: SendSide, counters: Counters) {
    this.memory = memory
    this.out = out
    this.counters = counters
    this.u8 = memory.u8
    this.rqSize = options.rqSize
    this.granted = options.rqSize
  }

  start(theirs: ConnData, foreign: boolean): void {
    const { receiveBytes, halfBytes } = this.memory
    this.foreign = foreign
    this.ringBytes = foreign ? 2 * halfBytes : receiveBytes
    this.peerSgl = theirs.targetSgl.addr
    this.peerKey = theirs.targetSgl.key
    this.peerEntries = theirs.targetSgl.length
    this.mostOffers = Math.min(this.peerEntries, maxOffers - 1)
    const offers = 2 ** Math.ceil(Math.log2(this.mostOffers))
    this.offerEnds = new Int32Array(offers)
    this.offerMask = offers - 1
    const early = !foreign && (theirs.extension!.features & Feature.EarlyBuffers) !== 0
    this.granule = early ? receiveBytes >> 2 : halfBytes
    this.offered(early ? receiveBytes : halfBytes)
    this.readable = true
    this.giveCredits()
  }

  /**
   * Maximum number of bytes of the receive buffer that the peer has written. Until the peer has announced that it sends nothing more,
   * requests of it may have been executed that are not known here.
   */
  get filledBytes(): number {
    return this.peerDone ? Math.min(this.counters.bytesReceived, this.ringBytes) : this.memory.receiveBytes
  }

  get readableBytes(): number {
    return (this.arrived - this.consumed) | 0
  }

  /** Copies at most `length` received bytes into `buffer` from `offset` and returns their number. */
  recv(buffer: Uint8Array, offset: number, length: number, peek: boolean): number {
    let n = (this.arrived - this.consumed) | 0
    if (n > length) n = length
    if (n === 0) return 0
    const { ringBytes } = this
    const { receiveOffset } = this.memory
    const { u8 } = this
    const at = this.readAt
    const from = receiveOffset + at
    if (n > loopBytes && buffer.buffer === u8.buffer && at + n <= ringBytes)
      this.memory.copy(buffer.byteOffset + offset, this.memory.receiveBuffer + at, n)
    else if (at + n > ringBytes) {
      const first = ringBytes - at
      buffer.set(u8.subarray(from, from + first), offset)
      buffer.set(u8.subarray(receiveOffset, receiveOffset + n - first), offset + first)
    } else if (n <= loopBytes) for (let i = 0; i < n; i++) buffer[offset + i] = u8[from + i]!
    else buffer.set(u8.subarray(from, from + n), offset)
    if (!peek) this.consume(n)
    return n
  }

  /** Discards all received and future data. */
  discard(): void {
    this.discarding = true
    this.consume((this.arrived - this.consumed) | 0)
  }

  private consume(n: number): void {
    const { ringBytes } = this
    const at = this.readAt + n
    this.readAt = at >= ringBytes ? at - ringBytes : at
    this.consumed = (this.consumed + n) | 0
    if (ringBytes - ((this.advertised - this.consumed) | 0) >= this.granule) this.giveCredits()
  }

  /** Takes a data message of `length` bytes, with `byteLen` bytes written. Returns the violation if it is invalid. */
  takeData(length: number, byteLen: number): ProtocolError | null {
    this.received = (this.received + 1) | 0
    if (((this.received - this.granted) | 0) > this.mappings) return 'creditOverrun'
    // Data outside of the offered parts cannot be read.
    if (((this.advertised - this.arrived) | 0) < length) return 'dataOverrun'
    if (length === 0) return 'emptyData'
    if (byteLen !== length) return 'badImmediate'
    if (this.peerDone) return 'dataAfterShutdown'
    this.arrived = (this.arrived + length) | 0
    this.counters.bytesReceived += length
    if (this.discarding) this.consume((this.arrived - this.consumed) | 0)
    return null
  }

  /** Takes a message about a mapping, which costs a credit; a peer without extensions may have sent it without one. */
  takeMapping(): ProtocolError | null {
    if (this.foreign) this.mappings++
    return this.takeCounted()
  }

  /** Takes another message that costs a credit. */
  private takeCounted(): ProtocolError | null {
    this.received = (this.received + 1) | 0
    return ((this.received - this.granted) | 0) > this.mappings ? 'creditOverrun' : null
  }

  /** True if half of the credits have been used since the last grant. */
  private get creditsLow(): boolean {
    return ((this.received - this.granted + this.rqSize) | 0) >= this.rqSize >> 1
  }

  get wantsToGive(): boolean {
    return this.due || this.creditsLow
  }

  /** Offers free parts of the receive buffer, and grants the peer more messages. */
  giveCredits(): void {
    const { out } = this
    this.due = false
    while (out.connected) {
      const free = this.ringBytes - ((this.advertised - this.consumed) | 0)
      while (
        this.offerHead !== this.offerTail &&
        ((this.arrived - this.offerEnds[this.offerTail & this.offerMask]!) | 0) >= 0
      )
        this.offerTail = (this.offerTail + 1) | 0
      const entryFree = ((this.offerHead - this.offerTail) | 0) < this.mostOffers
      const offer = entryFree && free >= this.granule
      if (!offer && !this.creditsLow) return
      if (!out.controlFree) {
        this.due = true
        return
      }
      this.granted = (this.received + this.rqSize) | 0
      const immediate = message(Op.Sgl, this.granted & 0xffff)
      if (offer) this.postOffer(immediate, free)
      else if (entryFree && !this.foreign) {
        // An entry of zero bytes is ignored. A message with a payload takes the device's fast path.
        this.postUpdate(immediate, 0, 0, 0)
      } else {
        plain.immData = immediate
        out.postControl(plain)
      }
    }
  }

  private postOffer(immediate: number, free: number): void {
    const { receiveBuffer, remote } = this.memory
    const length = Math.min(this.foreign ? this.granule : free, this.ringBytes - this.advertiseAt)
    this.postUpdate(immediate, receiveBuffer + this.advertiseAt, remote.rkey, length)
    this.peerEntry = this.peerEntry + 1 === this.peerEntries ? 0 : this.peerEntry + 1
    this.offered(length)
  }

  private offered(length: number): void {
    this.advertised = (this.advertised + length) | 0
    this.advertiseAt = (this.advertiseAt + length) % this.ringBytes
    this.offerEnds[this.offerHead & this.offerMask] = this.advertised
    this.offerHead = (this.offerHead + 1) | 0
  }

  private postUpdate(immediate: number, addr: number, key: number, length: number): void {
    const { out } = this
    const slot = out.outgoingSlot()
    out.writeEntry(slot, addr, key, length)
    updateSge.addr = slot
    updateSge.lkey = this.memory.local.lkey
    update.immData = immediate
    update.rkey = this.peerKey
    update.remoteAddr = this.peerSgl + this.peerEntry * sgeBytes
    out.postControl(update)
  }
}
