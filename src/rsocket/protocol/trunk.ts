/**
 * Many streams over one queue pair: a stream of rsockets between two Verbena ends, the carrier, on which frames travel.
 *
 * Each direction of a stream may have a window of bytes in flight, so that a stream with a slow reader does not stop the
 * others. Memory for the window is borrowed while there is something in it: an idle stream has none.
 *
 * The carrier may end at any moment, and its socket then releases queue pair and completion queues, while sockets still
 * have their streams. So the trunk drops the carrier first, and replaces it by a closed one. The end of the carrier is
 * reported once, to all streams and to the owner.
 */

import { countDrop, countProtocolError, type ProtocolError, protocolErrors } from './counters.ts'
import { Errno } from './errno.ts'
import { defaultMaxStreams } from './options.ts'
import { type Carried, ClosedCarrier, Frame, headBytes, windowBytes } from './trunk-frames.ts'
import { type Mux, TrunkStream } from './trunk-stream.ts'

/** Maximum data of one frame, before other streams have their turn. */
const maxData = 1 << 14
/** Number of windows that are kept for the next stream that needs one. */
const spareWindows = 64
/** Number of frames waiting for the peer at which the end that accepts streams takes no more frames of the peer. */
const heldFrames = 256
/**
 * Maximum number of frames that may wait to be sent, beyond those that each stream may cause: open, credit, shut and close. Only a peer
 * that takes no frames exceeds it.
 */
const spareFrames = 1024
const framesPerStream = 4
/** Number of words of a waiting frame: kind, stream, value. */
const frameWords = 3
/** Placeholder for the value of a credit frame: the bytes that the stream owes when the frame leaves. */
const owed = -1

export interface TrunkOwner {
  /** Accepts a stream that the peer opens; false rejects it. Without this method the peer may open none. */
  arrive?(stream: TrunkStream, port: number): boolean
  /** Notifies the owner that there are no streams any more, or that the carrier is gone. */
  idle(trunk: Trunk): void
}

export class Trunk implements Mux {
  #carrier: Carried
  readonly streams: Map<number, TrunkStream> = new Map()
  owner: TrunkOwner
  readonly maxStreams: number
  #next: number
  // Bytes to be sent before anything else: the rest of a frame, and frames without data.
  readonly #stage: Uint8Array = new Uint8Array(headBytes + maxData)
  readonly #stageView: DataView
  #staged = 0
  #sent = 0
  #frames: number[] = []
  #framesAt = 0
  // Frame that is being received.
  readonly #head: Uint8Array = new Uint8Array(headBytes)
  readonly #headView: DataView
  #have = 0
  #left = 0
  #into: TrunkStream | undefined
  readonly #waste: Uint8Array = new Uint8Array(4096)
  readonly #spare: Uint8Array[] = []
  #processing = false
  #unused = false
  #over = false
  /** True if a stream waits for space. */
  #blocked = false

  /** `firstStream`: the number of the first stream that this end opens, from 1 to 2^24 − 1, after which numbers begin again at 1. */
  constructor(carrier: Carried, owner: TrunkOwner, maxStreams: number = defaultMaxStreams, firstStream: number = 1) {
    this.#next = firstStream
    this.#carrier = carrier
    this.owner = owner
    this.maxStreams = maxStreams
    this.#stageView = new DataView(this.#stage.buffer)
    this.#headView = new DataView(this.#head.buffer)
  }

  /** Connection that carries the frames; a closed one after its end. */
  get carrier(): Carried {
    return this.#carrier
  }

  get open(): boolean {
    return this.#carrier.open
  }

  /** True if the maximum number of streams is open. */
  get full(): boolean {
    return this.streams.size >= this.maxStreams
  }

  /** Opens a new stream from this end. */
  openStream(): TrunkStream {
    while (this.streams.has(this.#next)) this.#next = (this.#next % 0xffffff) + 1
    const stream = new TrunkStream(this, this.#next, false)
    this.streams.set(stream.id, stream)
    this.#next = (this.#next % 0xffffff) + 1
    this.say(Frame.Open, stream.id, stream.port)
    return stream
  }

  drop(stream: TrunkStream): void {
    if (this.streams.get(stream.id) !== stream) return
    this.streams.delete(stream.id)
    if (this.streams.size > 0) return
    // Frames after this one may open other streams: the owner is notified when all have been taken.
    if (this.#processing) this.#unused = true
    else this.owner.idle(this)
  }

  // --- memory ------------------------------------------------------------------------------------------------------

  borrow(): Uint8Array {
    return this.#spare.pop() ?? new Uint8Array(windowBytes)
  }

  giveBack(window: Uint8Array): void {
    if (this.#spare.length < spareWindows) this.#spare.push(window)
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  /** Number of frames without data that wait to be sent. */
  get waiting(): number {
    return (this.#frames.length - this.#framesAt) / frameWords
  }

  /** True if nothing waits to be sent. */
  get flushed(): boolean {
    return this.#staged === 0 && this.#framesAt === this.#frames.length
  }

  /** Bytes of data that a frame could carry now. */
  get room(): number {
    return this.flushed ? Math.max(0, Math.min(maxData, this.#carrier.writableBytes - headBytes)) : 0
  }

  /** Notifies all streams when there is space again. */
  awaitRoom(): void {
    this.#blocked = true
  }

  /** Sends a credit frame for the bytes that a stream owes when the frame leaves. */
  sayCredit(id: number): void {
    this.say(Frame.Credit, id, owed)
  }

  /** Sends a frame without data, as soon as possible. */
  say(kind: number, id: number, value = 0): void {
    if (!this.#carrier.open) return
    this.#frames.push(kind, id, value)
    this.flush()
    if (this.waiting > framesPerStream * this.maxStreams + spareFrames) this.#breach('framesNotTaken')
  }

  #writeHead(kind: number, id: number, value: number): void {
    this.#stageView.setUint32(0, (kind << 24) | id)
    this.#stageView.setUint32(4, value)
    this.#staged = headBytes
    this.#sent = 0
  }

  /** Sends waiting frames; returns true if none waits any more. */
  flush(): boolean {
    const frames = this.#frames
    for (;;) {
      if (this.#staged > 0) {
        this.#sent += this.#carrier.send(this.#stage, this.#sent, this.#staged - this.#sent)
        if (this.#sent < this.#staged) break
        this.#staged = 0
      }
      const at = this.#framesAt
      if (at === frames.length) break
      this.#framesAt = at + frameWords
      const id = frames[at + 1]!
      let value = frames[at + 2]!
      if (value === owed) value = this.streams.get(id)?.takeOwed() ?? 0
      if (value > 0 || frames[at]! !== Frame.Credit) this.#writeHead(frames[at]!, id, value)
    }
    if (this.#framesAt === frames.length) {
      frames.length = 0
      this.#framesAt = 0
    } else if (this.#framesAt > frameWords * spareFrames) {
      this.#frames = frames.slice(this.#framesAt)
      this.#framesAt = 0
    }
    return this.flushed
  }

  /** Sends data of a stream; returns the number of bytes taken. */
  write(id: number, buffer: Uint8Array, from: number, length: number): number {
    const n = this.flush() ? Math.min(length, this.room) : 0
    if (n === 0) {
      this.#blocked = true
      return 0
    }
    this.#writeHead(Frame.Data, id, n)
    if (from === 0 && n === buffer.length) this.#stage.set(buffer, headBytes)
    else this.#stage.set(buffer.subarray(from, from + n), headBytes)
    this.#staged = headBytes + n
    this.flush()
    return n
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  /** Takes the received frames of all streams; returns the number of frames and parts of frames. */
  process(): number {
    if (this.#processing || this.#over) return 0
    this.#processing = true
    let count = 0
    try {
      this.#carrier.process()
      this.flush()
      if (this.#blocked && this.room > 0) {
        this.#blocked = false
        for (const stream of this.streams.values()) stream.news()
      }
      while (this.#carrier.readableBytes > 0 && !this.#held && this.#takeSome()) count++
    } finally {
      this.#processing = false
    }
    if (!this.#carrier.open && this.#carrier.readableBytes === 0) this.end(this.#carrier.error, this.#carrier.reason)
    else if (this.#unused) {
      this.#unused = false
      if (this.streams.size === 0) this.owner.idle(this)
    }
    return count
  }

  /**
   * True if the peer must take frames of this end before its own are taken again. Only the end that accepts streams waits, so the two ends
   * never wait for each other.
   */
  get #held(): boolean {
    return this.owner.arrive !== undefined && this.#carrier.open && this.waiting >= heldFrames
  }

  reap(): void {
    this.#carrier.reap()
  }

  arm(): void {
    this.#carrier.arm()
  }

  /** Sends a keepalive; returns true if it was sent or is not needed. */
  sendKeepalive(): boolean {
    return this.#carrier.sendKeepalive()
  }

  #takeSome(): boolean {
    const carrier = this.#carrier
    if (this.#left === 0) {
      this.#have += carrier.recv(this.#head, this.#have, headBytes - this.#have)
      if (this.#have < headBytes) return false
      this.#have = 0
      return this.#frame(this.#head[0]!, this.#headView.getUint32(0) & 0xffffff, this.#headView.getUint32(4))
    }
    const n = Math.min(this.#left, carrier.readableBytes)
    const taken = this.#into?.fill(carrier, n) ?? carrier.recv(this.#waste, 0, Math.min(n, this.#waste.length))
    this.#left -= taken
    if (this.#left === 0) this.#into?.news()
    return taken > 0
  }

  #frame(kind: number, id: number, value: number): boolean {
    const stream = this.streams.get(id)
    switch (kind) {
      case Frame.Open:
        if (stream !== undefined || id === 0 || this.owner.arrive === undefined) return this.#breach('badFrame')
        this.#arrive(id, value & 0xffff)
        return true
      case Frame.Accept:
        stream?.accepted()
        return true
      case Frame.Data:
        // A stream that is closed here may still be open at the other end.
        if (value === 0 || value > windowBytes || stream?.takes(value) === false) return this.#breach('badFrame')
        this.#left = value
        this.#into = stream
        return true
      case Frame.Credit:
        return stream === undefined || stream.credited(value) || this.#breach('badFrame')
      case Frame.Shut:
        stream?.peerShut()
        return true
      case Frame.Close:
        stream?.closedByPeer(0)
        return true
      case Frame.Reset:
        stream?.closedByPeer(Errno.ECONNRESET)
        return true
      default:
        return this.#breach('badFrame')
    }
  }

  #arrive(id: number, port: number): void {
    const stream = new TrunkStream(this, id, true)
    stream.port = port
    const room = !this.full
    this.streams.set(id, stream)
    if (room && this.owner.arrive?.(stream, port) === true) this.say(Frame.Accept, id)
    else {
      this.streams.delete(id)
      countDrop('streamsRefused')
      this.say(Frame.Reset, id)
    }
  }

  /** Counts a protocol violation of the peer, once, and ignores the rest of its frames. */
  #breach(what: ProtocolError): boolean {
    if (this.#over) return false
    countProtocolError(what)
    this.end(Errno.ECONNRESET, `${protocolErrors[what]} (${what})`)
    return false
  }

  /** Ends all streams, since the carrier is gone or was abandoned. */
  end(error: number, reason: string): void {
    if (this.#over) return
    this.#over = true
    const errno = error || Errno.ECONNRESET
    this.#carrier.end(errno, reason)
    this.#carrier = new ClosedCarrier(errno, reason)
    this.#frames = []
    this.#framesAt = 0
    this.#staged = 0
    const streams = [...this.streams.values()]
    this.streams.clear()
    for (const stream of streams) stream.carrierEnded(errno, reason)
    this.owner.idle(this)
  }
}
