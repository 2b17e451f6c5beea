/** A stream of a trunk, as a socket uses it. See trunk.ts. */

import { Counters } from './counters.ts'
import { Errno } from './errno.ts'
import type { StreamLink } from './stream-link.ts'
import { Frame, windowBytes } from './trunk-frames.ts'

/** Ports that the clients' ends report: from the ephemeral range. */
const firstPort = 32_768
const ports = 28_000

/** Source of received bytes: the carrier. */
interface Source {
  recv(buffer: Uint8Array, offset: number, length: number): number
}

/** Interface of a trunk to its streams. */
export interface Mux {
  /** Bytes of data that a frame could carry now. */
  readonly room: number
  /** True if nothing waits to be sent. */
  readonly flushed: boolean
  readonly streams: ReadonlyMap<number, TrunkStream>
  /** Lends memory for a window; `giveBack` returns it. */
  borrow(): Uint8Array
  giveBack(window: Uint8Array): void
  /** Sends data; returns the number of bytes taken. */
  write(id: number, buffer: Uint8Array, from: number, length: number): number
  /** Sends a frame without data, as soon as possible. */
  say(kind: number, id: number, value?: number): void
  sayCredit(id: number): void
  /** Notifies all streams when there is space again. */
  awaitRoom(): void
  process(): number
  reap(): void
  arm(): void
  sendKeepalive(): boolean
  drop(stream: TrunkStream): void
}

export class TrunkStream implements StreamLink {
  readonly trunk: Mux
  readonly id: number
  port: number
  readonly counters: Counters = new Counters()
  readonly foreign = false
  readonly mapped = null
  readonly lastPosted = 0
  /** Callback for received data, available space, and the end of the stream. */
  onNews: (() => void) | null = null
  /** Callback that is called once, when the peer has accepted (0) or rejected the stream. */
  onAnswer: ((errno: number) => void) | null = null
  open: boolean
  writable: boolean
  readable: boolean
  peerLeft = false
  error = 0
  reason = ''
  closedHere = false
  #window: Uint8Array | null = null
  #readAt = 0
  #filled = 0
  /** Bytes that the peer may still send, and bytes that were read and not granted again. */
  #granted: number = windowBytes
  #owed = 0
  /** Bytes that this end may send. */
  #credit: number = windowBytes
  #discarding = false
  /** True if a credit frame waits to be sent. */
  #crediting = false

  constructor(trunk: Mux, id: number, accepted: boolean) {
    this.trunk = trunk
    this.id = id
    this.port = firstPort + (id % ports)
    this.open = accepted
    this.writable = accepted
    this.readable = accepted
  }

  /** Notifies the socket. */
  news(): void {
    this.onNews?.()
  }

  // --- from the trunk ----------------------------------------------------------------------------------------------

  accepted(): void {
    if (this.onAnswer === null) return
    this.open = true
    this.writable = true
    this.readable = true
    const answer = this.onAnswer
    this.onAnswer = null
    answer(0)
  }

  /** Returns true if a frame of this size is permitted, and deducts its bytes from the grant. */
  takes(bytes: number): boolean {
    if (bytes > this.#granted || (!this.readable && !this.#discarding)) return false
    this.#granted -= bytes
    return true
  }

  /** Takes received bytes into the window; returns their number. */
  fill(source: Source, bytes: number): number {
    this.#window ??= this.trunk.borrow()
    const at = (this.#readAt + this.#filled) % windowBytes
    const n = source.recv(this.#window, at, Math.min(bytes, windowBytes - at))
    this.#filled += n
    this.counters.bytesReceived += n
    if (this.#discarding) this.#consume(n)
    return n
  }

  credited(bytes: number): boolean {
    this.#credit += bytes
    this.news()
    return this.#credit <= windowBytes
  }

  peerShut(): void {
    this.readable = false
    if (!this.writable) this.#over('both sides were shut down')
    this.news()
  }

  closedByPeer(errno: number): void {
    const answer = this.onAnswer
    this.onAnswer = null
    if (this.open) this.error = errno
    this.#over(errno === 0 ? 'the peer closed the connection' : 'the peer reset the connection')
    this.trunk.drop(this)
    answer?.(Errno.ECONNREFUSED)
    this.news()
  }

  carrierEnded(errno: number, reason: string): void {
    const answer = this.onAnswer
    this.onAnswer = null
    if (this.open) this.error = errno
    this.#over(reason)
    answer?.(errno)
    this.news()
  }

  #over(reason: string): void {
    this.open = false
    this.writable = false
    this.readable = false
    this.reason = reason
  }

  // --- for the socket ----------------------------------------------------------------------------------------------

  get readableBytes(): number {
    return this.#filled
  }

  get writableBytes(): number {
    return this.writable ? Math.min(this.#credit, this.trunk.room) : 0
  }

  get pollsWritable(): boolean {
    return this.writableBytes > 0
  }

  get pendingBytes(): number {
    return 0
  }

  /** True if the trunk is flushed: it outlives the stream, and sends what it has taken. */
  get allSent(): boolean {
    return this.trunk.flushed
  }

  /** True always: only the trunk knows. */
  get hasNews(): boolean {
    return true
  }

  get settled(): boolean {
    return this.allSent || this.error !== 0 || this.peerLeft
  }

  get controlFree(): boolean {
    return true
  }

  get spaceFree(): boolean {
    return this.writableBytes > 0
  }

  send(buffer: Uint8Array, offset: number, length: number): number {
    let taken = 0
    while (taken < length && this.writable) {
      const most = Math.min(length - taken, this.#credit)
      if (most === 0) {
        this.counters.waitsForBuffer++
        break
      }
      const n = this.trunk.write(this.id, buffer, offset + taken, most)
      if (n === 0) break
      this.#credit -= n
      this.counters.bytesSent += n
      this.counters.messagesSent++
      taken += n
    }
    return taken
  }

  sendDirect(): number {
    return 0
  }

  isDone(): boolean {
    return true
  }

  recv(buffer: Uint8Array, offset: number, length: number, peek = false): number {
    const n = Math.min(length, this.#filled)
    if (n === 0) return 0
    const window = this.#window!
    const first = Math.min(n, windowBytes - this.#readAt)
    buffer.set(window.subarray(this.#readAt, this.#readAt + first), offset)
    if (first < n) buffer.set(window.subarray(0, n - first), offset + first)
    if (!peek) this.#consume(n)
    return n
  }

  #consume(n: number): void {
    this.#readAt = (this.#readAt + n) % windowBytes
    this.#filled -= n
    this.#owed += n
    if (this.#filled === 0 && this.#window !== null) {
      this.trunk.giveBack(this.#window)
      this.#window = null
      this.#readAt = 0
    }
    if (this.#owed < windowBytes / 2 || (!this.readable && !this.#discarding)) return
    if (!this.open || this.#crediting) return
    this.#crediting = true
    this.trunk.sayCredit(this.id)
  }

  /** Returns the bytes that were read, which a credit frame that leaves now grants the peer again. */
  takeOwed(): number {
    const owed = this.#owed
    this.#crediting = false
    this.#owed = 0
    this.#granted += owed
    return owed
  }

  process(): number {
    return this.trunk.process()
  }

  processReady(): number {
    return this.trunk.process()
  }

  reap(): void {
    this.trunk.reap()
  }

  arm(): void {
    this.trunk.arm()
    if (this.writable && this.trunk.room === 0) this.trunk.awaitRoom()
  }

  flush(): void {}

  shutdownWrite(): void {
    if (!this.open || !this.writable) return
    if (this.#discarding) {
      // Neither direction is wanted any more: the peer must know that nothing it sends is taken.
      this.disconnect()
      return
    }
    this.writable = false
    this.closedHere = true
    this.trunk.say(Frame.Shut, this.id)
    if (!this.readable) this.#over('both sides were shut down')
  }

  shutdownRead(): void {
    if (!this.open || !this.readable) return
    if (!this.writable) {
      this.disconnect()
      return
    }
    this.readable = false
    this.#discarding = true
    this.#consume(this.#filled)
  }

  disconnect(): void {
    if (this.trunk.streams.get(this.id) !== this) return
    this.closedHere = true
    this.#over('this end closed the connection')
    this.trunk.say(Frame.Close, this.id)
    this.trunk.drop(this)
  }

  sendKeepalive(): boolean {
    return this.trunk.sendKeepalive()
  }

  /** Abandons the stream on behalf of the socket: the peer gets a reset. */
  end(error: number, reason: string): void {
    if (!this.open) return
    this.error = error
    this.#over(reason)
    this.trunk.say(Frame.Reset, this.id)
    this.trunk.drop(this)
  }
}
