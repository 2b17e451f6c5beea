/**
 * A connected rsocket under a stream: receives while the stream wants data, sends what the stream writes, and waits in the event loop
 * when neither can continue.
 *
 *     stream._read   → readStart   POLLIN  → recv → push     until push returns false, the end, or an error
 *     stream._write  → write       send … EAGAIN → POLLOUT → send … done
 *     stream._final  → shutdown    SHUT_WR; the peer receives all, then the end
 *
 * As with a handle of libuv it holds the process open while it reads or waits to write, unless `unref` was called. And as with a handle,
 * its callbacks run in the asynchronous context in which it was made; those of a write and a shutdown run in the context of their caller.
 */
import { AsyncResource } from 'node:async_hooks'
import { withContext } from '../../memory/index.ts'
import type { RSocketLike } from '../../rsocket/index.ts'
import {
  Errno,
  IPPROTO_TCP,
  MSG_DONTWAIT,
  POLLIN,
  POLLOUT,
  SHUT_WR,
  SO_ERROR,
  SO_KEEPALIVE,
  SO_LINGER,
  SOL_SOCKET,
  TCP_KEEPIDLE,
} from '../../rsocket/names.ts'
import type { SocketAddress, Watch } from '../../rsocket/runtime/index.ts'
import { again } from './transport.ts'

/** Stream above the link. */
export interface LinkOwner {
  /** Handles received data. False: no more for now. */
  received(chunk: Buffer): boolean
  /** Handles the end of the peer's data. */
  ended(): void
  /** Handles an error; `errno` is negative. */
  failed(errno: number, syscall: string): void
  /** Notifies of traffic in either direction: idle timers start again. */
  active(): void
  /** Returns the program's buffer for received data, if it has one (`onread`). */
  into?(): Uint8Array | undefined
  /** Handles the first `length` bytes of that buffer, which were filled. False: no more for now. */
  filled?(length: number): boolean
}

/** Maximum length of a chunk; Node's own sockets read as much at a time. */
const longestChunk = 65_536
/** Errors after which there is no connection to shut down. */
const gone: ReadonlySet<number> = new Set([-Errno.ENOTCONN, -Errno.EPIPE, -Errno.ECONNRESET, -Errno.EBADF])
/** Number of bytes in one read from which on the peer is likely to send on. */
const streamingBytes = 16_384
/** Number of reads after which other work of the event loop has its turn. */
const readsPerTurn = 16

/**
 * Interval at which an idle connection probes its peer. With TCP the kernel closes the connections of a process that was killed; rsockets
 * have no such party.
 */
const probeSeconds = 15

/** Maximum total length of chunks that leave as one message: copying them costs less than a message for each. */
const oneMessageBytes = 2048

/** Returns the chunks of a write, without empty ones. */
function together(chunks: readonly Uint8Array[], length: number): readonly Uint8Array[] {
  if (chunks.length > 1 && length > 0 && length <= oneMessageBytes) return [Buffer.concat(chunks, length)]
  return chunks.every((chunk) => chunk.length > 0) ? chunks : chunks.filter((chunk) => chunk.length > 0)
}

export class Link {
  readonly socket: RSocketLike
  connecting = false
  bytesRead = 0
  /** Number of bytes accepted from the stream; `inFlight` of them belong to the write in progress. */
  bytesWritten = 0
  inFlight = 0
  readonly #owner: LinkOwner
  readonly #resource = new AsyncResource('VERBENASOCKET', { requireManualDestroy: true })
  #reading: Watch | undefined
  #writing: Watch | undefined
  #connecting: Watch | undefined
  #referenced = true
  #ended = false
  #closed = false
  /** Interval at which the socket probes its peer; 0 before it is set. */
  #probeSeconds = 0
  // The rest of the current write: `#chunks` from `#next` on, the first of them from `#offset` on.
  #chunks: readonly Uint8Array[] = []
  #next = 0
  #offset = 0
  #written: ((errno: number) => void) | undefined
  /** Error with which a write failed while the peer's last data is read; 0 if there is none. */
  #failure = 0
  /** State of writes to a peer that has gone: none yet, one was accepted in this turn of the event loop, they fail. */
  #lost: 'none' | 'taken' | 'fail' = 'none'

  constructor(socket: RSocketLike, owner: LinkOwner) {
    this.socket = socket
    this.#owner = owner
  }

  get closed(): boolean {
    return this.#closed
  }

  get asyncId(): number {
    return this.#resource.asyncId()
  }

  /** Calls `work` in the asynchronous context of this link. */
  run<T>(work: () => T): T {
    return this.#resource.runInAsyncScope(work)
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  /** Calls back once, never synchronously: with 0, or with a negative error number. */
  connect(address: SocketAddress, done: (errno: number) => void): void {
    this.connecting = true
    const result = this.socket.connect(address)
    if (result !== -Errno.EINPROGRESS) {
      process.nextTick(() => {
        this.connecting = false
        if (!this.#closed) this.run(() => done(result))
      })
      return
    }
    this.#connecting = this.#watch(POLLOUT, () => {
      this.#connecting?.()
      this.#connecting = undefined
      this.connecting = false
      const error = this.socket.getsockopt(SOL_SOCKET, SO_ERROR)
      done(error > 0 ? -error : error)
    })
  }

  #watch(events: number, callback: () => void): Watch {
    // Set in this context, too: in the caller's it would retain that context for as long as it lasts.
    const watch = this.run(() => this.socket.watch(events, () => this.run(callback)))
    if (!this.#referenced) watch.unref()
    return watch
  }

  // --- reading -----------------------------------------------------------------------------------------------------

  readStart(): void {
    if (this.#reading || this.#ended || this.#closed) return
    this.#reading = this.#watch(POLLIN, this.#onReadable)
  }

  get reading(): boolean {
    return this.#reading !== undefined
  }

  readStop(): void {
    this.#reading?.()
    this.#reading = undefined
  }

  #onReadable: () => void = () => {
    // Stops when nothing more is readable: the end of the data makes the socket readable in the next turn. While much arrives, `recv`
    // looks for more.
    let before = this.bytesRead
    for (let n = 0; n < readsPerTurn && this.#reading; n++) {
      const streams = this.bytesRead - before >= streamingBytes
      if (n > 0 && !streams && this.socket.readableBytes === 0) return
      before = this.bytesRead
      if (!this.#readOnce()) return
    }
  }

  /** Reads once; false if there is nothing more to read now. */
  #readOnce(): boolean {
    const owner = this.#owner
    const own = owner.into?.()
    // As large as the data that is known to be there, so that small messages do not retain large buffers.
    const size = Math.min(Math.max(this.socket.readableBytes, 64), longestChunk)
    const buffer = own ?? Buffer.allocUnsafe(size)
    const got = this.socket.recv(buffer, MSG_DONTWAIT)
    if (got > 0) {
      this.bytesRead += got
      owner.active()
      const more = own
        ? owner.filled!(got)
        : owner.received(got === size ? (buffer as Buffer) : (buffer as Buffer).subarray(0, got))
      if (!more) this.readStop()
      return more
    }
    if (got === again) return false
    this.readStop()
    if (got === 0) {
      this.#ended = true
      owner.active()
      owner.ended()
    } else owner.failed(got, 'read')
    // The program is notified of the end first.
    if (this.#failure !== 0) setImmediate(() => this.#endLost())
    return false
  }

  // --- writing -----------------------------------------------------------------------------------------------------

  /** Writes chunks, one write at a time. Calls back with 0 or a negative error number, synchronously if all could be sent at once. */
  write(chunks: readonly Uint8Array[], done: (errno: number) => void): void {
    for (const chunk of chunks) this.inFlight += chunk.length
    this.bytesWritten += this.inFlight
    this.#chunks = together(chunks, this.inFlight)
    this.#next = 0
    this.#offset = 0
    this.#written = done
    this.#flush()
    if (this.#written === done) this.#written = withContext(done)
  }

  #onWritable: () => void = () => {
    if (this.#failure === 0) this.#flush()
    else {
      this.#writing?.()
      this.#writing = undefined
    }
  }

  #flush(): void {
    while (this.#next < this.#chunks.length) {
      const sent = this.#sendSome()
      if (sent > 0) {
        this.#owner.active()
        this.#advance(sent)
      } else if (sent === again || sent === 0) {
        this.#writing ??= this.#watch(POLLOUT, this.#onWritable)
        return
      } else {
        // The data that a peer sent before it closed is read first, and the end or the error after it: a program that still writes must
        // not lose data that it has not read yet.
        this.#failure = sent
        if (!this.#reading) this.#endLost()
        return
      }
    }
    this.#endWrite(0)
  }

  /**
   * Ends a write to a peer that has closed, after all of its data was read. As with TCP the write is accepted, and dropped, if it is no
   * longer than a system's buffer, such as the close_notify of TLS. Writes in later turns fail, as after the arrival of the peer's reset.
   */
  #endLost(): void {
    const failure = this.#failure
    this.#failure = 0
    const takes = this.#ended && this.#lost !== 'fail' && this.inFlight <= longestChunk
    if (takes && this.#lost === 'none') {
      this.#lost = 'taken'
      setImmediate(() => {
        this.#lost = 'fail'
      })
    }
    this.#endWrite(takes ? 0 : this.#ended ? -Errno.EPIPE : failure)
  }

  #sendSome(): number {
    const first = this.#chunks[this.#next]!
    const rest = this.#offset > 0 ? first.subarray(this.#offset) : first
    if (this.#next === this.#chunks.length - 1) return this.socket.send(rest, MSG_DONTWAIT)
    return this.socket.sendv([rest, ...this.#chunks.slice(this.#next + 1)], MSG_DONTWAIT)
  }

  #advance(sent: number): void {
    let left = sent
    while (left > 0) {
      const here = this.#chunks[this.#next]!.length - this.#offset
      if (left < here) {
        this.#offset += left
        return
      }
      left -= here
      this.#next++
      this.#offset = 0
    }
  }

  #endWrite(errno: number): void {
    this.#writing?.()
    this.#writing = undefined
    this.#chunks = []
    this.inFlight = 0
    const done = this.#written
    this.#written = undefined
    done?.(errno)
  }

  /** Ends this direction. Calls back with 0 or a negative error number. */
  shutdown(done: (errno: number) => void): void {
    const result = this.#closed ? 0 : this.socket.shutdown(SHUT_WR)
    if (result === again) {
      const later = withContext(done)
      const watch = this.#watch(POLLOUT, () => {
        watch()
        this.shutdown(later)
      })
    } else done(gone.has(result) ? 0 : result)
  }

  // --- the rest ----------------------------------------------------------------------------------------------------

  /** Probes the peer at this interval, if it is shorter than the default one. HTTP clients set it after each request. */
  setKeepAlive(enable: boolean, initialDelaySeconds: number): void {
    const seconds = enable && initialDelaySeconds > 0 ? Math.min(initialDelaySeconds, probeSeconds) : probeSeconds
    if (seconds === this.#probeSeconds) return
    this.#probeSeconds = seconds
    this.socket.setsockopt(IPPROTO_TCP, TCP_KEEPIDLE, seconds)
    this.socket.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
  }

  get referenced(): boolean {
    return this.#referenced
  }

  ref(): void {
    this.#referenced = true
    this.#reading?.ref()
    this.#writing?.ref()
    this.#connecting?.ref()
  }

  unref(): void {
    this.#referenced = false
    this.#reading?.unref()
    this.#writing?.unref()
    this.#connecting?.unref()
  }

  /** Closes the link. Data that was sent is still delivered, unless `reset`. A waiting write ends, without an error, as in Node. */
  close(reset: boolean): void {
    if (this.#closed) return
    this.#closed = true
    this.readStop()
    this.#connecting?.()
    this.#endWrite(0)
    if (reset) this.socket.setsockopt(SOL_SOCKET, SO_LINGER, { onoff: 1, linger: 0 })
    this.socket.close()
    this.#resource.emitDestroy()
  }
}
