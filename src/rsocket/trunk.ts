/**
 * Many streams over one queue pair: a stream of rsockets between two Verbena ends, the carrier, on which frames travel.
 *
 * Each direction of a stream may have a window of bytes under way, so that one whose reader is slow does not stop the
 * others. Memory for the window is borrowed while there is something in it: an idle stream has none.
 */
import type { StreamConnection } from './connection.ts'
import { Errno } from './constants.ts'
import { countProtocolError, protocolErrors } from './counters.ts'
import { Frame, headBytes, windowBytes } from './trunk-frames.ts'
import { TrunkStream } from './trunk-stream.ts'

/** Data of one frame: then others have their turn. */
const maxData = 1 << 14
/** Windows that are kept for the next who needs one. */
const spareWindows = 64

export interface TrunkOwner {
  /** A stream that the peer opens; false if it is refused. */
  arrive?(stream: TrunkStream, port: number): boolean
  /** There are no streams any more, or the carrier is gone. */
  idle(trunk: Trunk): void
}

export class Trunk {
  readonly carrier: StreamConnection
  readonly streams: Map<number, TrunkStream> = new Map()
  owner: TrunkOwner
  #next = 1
  // What is to be sent before anything else: the rest of a frame, and frames without data.
  readonly #stage: Uint8Array = new Uint8Array(headBytes + maxData)
  readonly #stageView: DataView
  #staged = 0
  #sent = 0
  #frames: number[] = []
  // What is being received.
  readonly #head: Uint8Array = new Uint8Array(headBytes)
  readonly #headView: DataView
  #have = 0
  #left = 0
  #into: TrunkStream | undefined
  readonly #waste: Uint8Array = new Uint8Array(4096)
  readonly #spare: Uint8Array[] = []
  #processing = false
  /** Somebody found no room. */
  #blocked = false

  constructor(carrier: StreamConnection, owner: TrunkOwner) {
    this.carrier = carrier
    this.owner = owner
    this.#stageView = new DataView(this.#stage.buffer)
    this.#headView = new DataView(this.#head.buffer)
  }

  /** A new stream from this end. */
  open(): TrunkStream {
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
    if (this.streams.size === 0) this.owner.idle(this)
  }

  // --- memory ------------------------------------------------------------------------------------------------------

  borrow(): Uint8Array {
    return this.#spare.pop() ?? new Uint8Array(windowBytes)
  }

  giveBack(window: Uint8Array): void {
    if (this.#spare.length < spareWindows) this.#spare.push(window)
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  /** Whether nothing waits to be sent. */
  get flushed(): boolean {
    return this.#staged === 0 && this.#frames.length === 0
  }

  /** Bytes of data that a frame could carry now. */
  get room(): number {
    const room = this.flushed ? Math.max(0, Math.min(maxData, this.carrier.writableBytes - headBytes)) : 0
    if (room === 0) this.#blocked = true
    return room
  }

  /** Sends a frame without data, as soon as it can be. */
  say(kind: number, id: number, value = 0): void {
    this.#frames.push(kind, id, value)
    this.flush()
  }

  #writeHead(kind: number, id: number, value: number): void {
    this.#stageView.setUint32(0, (kind << 24) | id)
    this.#stageView.setUint32(4, value)
    this.#staged = headBytes
    this.#sent = 0
  }

  /** Sends what waits; true if nothing does any more. */
  flush(): boolean {
    let next = 0
    for (;;) {
      if (this.#staged > 0) {
        this.#sent += this.carrier.send(this.#stage, this.#sent, this.#staged - this.#sent)
        if (this.#sent < this.#staged) break
        this.#staged = 0
      }
      if (next === this.#frames.length) break
      this.#writeHead(this.#frames[next]!, this.#frames[next + 1]!, this.#frames[next + 2]!)
      next += 3
    }
    if (next > 0) this.#frames = this.#frames.slice(next)
    return this.flushed
  }

  /** Sends data of a stream; how much was taken. */
  write(id: number, buffer: Uint8Array, from: number, length: number): number {
    if (!this.flush()) return 0
    const n = Math.min(length, this.room)
    if (n === 0) return 0
    this.#writeHead(Frame.Data, id, n)
    if (from === 0 && n === buffer.length) this.#stage.set(buffer, headBytes)
    else this.#stage.set(buffer.subarray(from, from + n), headBytes)
    this.#staged = headBytes + n
    this.flush()
    return n
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  /** Takes what has come for all streams; how many frames and parts of frames that was. */
  process(): number {
    if (this.#processing) return 0
    this.#processing = true
    const { carrier } = this
    carrier.process()
    this.flush()
    if (this.#blocked) {
      this.#blocked = false
      if (this.room > 0) for (const stream of this.streams.values()) stream.news()
    }
    let count = 0
    while (carrier.readableBytes > 0 && this.#takeSome()) count++
    this.#processing = false
    if (!carrier.open && carrier.readableBytes === 0) this.#ended()
    return count
  }

  #takeSome(): boolean {
    const { carrier } = this
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
        if (stream !== undefined || id === 0) return this.#breach()
        this.#arrive(id, value)
        return true
      case Frame.Accept:
        stream?.accepted()
        return true
      case Frame.Data:
        // A stream that is closed here may still be on the other side's mind.
        if (value === 0 || value > windowBytes || stream?.takes(value) === false) return this.#breach()
        this.#left = value
        this.#into = stream
        return true
      case Frame.Credit:
        return stream === undefined || stream.credited(value) || this.#breach()
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
        return this.#breach()
    }
  }

  #arrive(id: number, port: number): void {
    const stream = new TrunkStream(this, id, true)
    stream.port = port
    this.streams.set(id, stream)
    if (this.owner.arrive?.(stream, port) === true) this.say(Frame.Accept, id)
    else {
      this.streams.delete(id)
      this.say(Frame.Reset, id)
    }
  }

  #breach(): boolean {
    countProtocolError('badFrame')
    this.carrier.end(Errno.ECONNRESET, `${protocolErrors.badFrame} (badFrame)`)
    return false
  }

  /** The carrier is gone, and all its streams with it. */
  #ended(): void {
    const { error, reason } = this.carrier
    for (const stream of [...this.streams.values()]) stream.carrierEnded(error || Errno.ECONNRESET, reason)
    this.streams.clear()
    this.owner.idle(this)
  }
}
