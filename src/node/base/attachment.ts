/**
 * Joins a stream with the shape of `net.Socket` to its link, and has the methods of such a stream that concern the link.
 * They use only public parts of the stream, so that they serve `Socket` of verbena/net and, under the preload, sockets of
 * `node:net` themselves.
 */
import type { BlockList } from 'node:net'
import type { Duplex } from 'node:stream'
import type { RSocketLike } from '../../rsocket/index.ts'
import type { SocketAddress } from '../../rsocket/runtime/index.ts'
import { setAsyncId } from './async-id.ts'
import { codedError, errnoError } from './errors.ts'
import { Link, type LinkOwner } from './link.ts'
import { nodeAddress } from './transport.ts'

/** Memory of the program for received data, as in the constructor's option `onread`. */
export interface OnRead {
  buffer: Uint8Array | (() => Uint8Array)
  callback: (this: Duplex, length: number, buffer: Uint8Array) => boolean | undefined
}

export interface NodeAddress {
  address?: string
  family?: string
  port?: number
}

/** Receiver that may take data before the stream: TLS or HTTP/2. Its methods return false if the stream gets it. */
export interface Upstream {
  received(chunk: Buffer): boolean
  ended(): boolean
  /** Handles the end of the link. */
  closed(): void
}

/** Socket of `node:net`, or of verbena/net. */
export interface LinkedStream extends Duplex {
  connecting: boolean
  /** Attachment, set once the stream is joined to a link. */
  _verbena?: Attachment | undefined
  _pendingData?: unknown
  _pendingEncoding?: string
  /** Addresses that the socket must not connect to. */
  blockList?: BlockList | undefined
  autoSelectFamilyAttemptedAddresses?: string[] | undefined
  _unrefTimer(): void
  _writeGeneric(many: boolean, data: unknown, encoding: string, done: (error?: Error | null) => void): unknown
}

export class Attachment implements LinkOwner {
  readonly link: Link
  readonly stream: LinkedStream
  readonly #onread: OnRead | undefined
  #memory: Uint8Array | undefined
  #local: NodeAddress | undefined
  #remote: NodeAddress | undefined
  /** Flag: the next `destroy` discards data that was not delivered. */
  resetting = false
  upstream: Upstream | undefined

  constructor(stream: LinkedStream, socket: RSocketLike, onread?: OnRead) {
    this.stream = stream
    this.link = new Link(socket, this)
    this.#onread = onread
    if (onread) this.into = this.#into
  }

  into?: () => Uint8Array | undefined

  #into(): Uint8Array | undefined {
    const { buffer } = this.#onread!
    this.#memory ??= typeof buffer === 'function' ? buffer() : buffer
    return this.#memory
  }

  filled(length: number): boolean {
    const memory = this.#memory!
    // A function gives a new buffer each time.
    this.#memory = undefined
    return this.#onread!.callback.call(this.stream, length, memory) !== false
  }

  /** True with `onread`: pausing and resuming start and stop the link itself, and the stream never sees the data. */
  get bypassesStream(): boolean {
    return this.#onread !== undefined
  }

  received(chunk: Buffer): boolean {
    // The upstream stops the link itself.
    if (this.upstream?.received(chunk)) return true
    return !this.stream.destroyed && this.stream.push(chunk)
  }

  ended(): void {
    if (this.upstream?.ended()) return
    this.stream.push(null)
    this.stream.read(0)
  }

  failed(errno: number, syscall: string): void {
    this.stream.destroy(errnoError(errno, syscall, this.link.socket.reason))
  }

  active(): void {
    this.stream._unrefTimer()
  }

  #named(end: 'getsockname' | 'getpeername'): NodeAddress {
    const { socket } = this.link
    return nodeAddress(socket[end](), socket.family)
  }

  /** Local address; after the end of the socket the last known one. */
  get local(): NodeAddress {
    if (!this.#local?.port) this.#local = this.link.closed ? (this.#local ?? {}) : this.#named('getsockname')
    return this.#local
  }

  get remote(): NodeAddress {
    if (this.#remote?.port) return this.#remote
    if (this.stream.connecting || this.link.closed) return this.#remote ?? {}
    this.#remote = this.#named('getpeername')
    return this.#remote
  }

  /**
   * Stores the peer's address for the time after the end of the socket; `asked` is the address that the program used, such as `0.0.0.0`.
   */
  rememberPeer(asked: SocketAddress): void {
    const named = this.#named('getpeername')
    const family = asked.address.includes(':') ? 'IPv6' : 'IPv4'
    this.#remote = named.port ? named : { address: asked.address, family, port: asked.port }
  }
}

type Done = (error?: Error | null) => void
interface PendingChunk {
  chunk: Uint8Array | string
  encoding: BufferEncoding
}

function bytesOf(chunk: Uint8Array | string, encoding: string): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding as BufferEncoding) : chunk
}

/** Returns the chunks of a `_writev`, whose `allBuffers` indicates whether all are Buffers; they come bare or in objects. */
function allBytesOf(data: readonly (PendingChunk | Uint8Array)[] & { allBuffers?: boolean }): Uint8Array[] {
  return data.map((entry) => (entry instanceof Uint8Array ? entry : bytesOf(entry.chunk, entry.encoding)))
}

/**
 * Methods of an attached stream. Each replaces the method of that name; `this` is the stream. They wait for 'connect' until the stream is
 * attached.
 */
export const linkedMethods = {
  _read(this: LinkedStream): void {
    const attached = this._verbena
    if (this.connecting || !attached) this.once('connect', () => this._read(0))
    else attached.link.readStart()
  },

  _writeGeneric(this: LinkedStream, many: boolean, data: unknown, encoding: string, done: Done): void {
    if (this.connecting) {
      // One write at a time arrives here; it waits for the connection, and the stream queues all that follow.
      this._pendingData = data
      this._pendingEncoding = encoding
      const onClose = (): void =>
        done(codedError('ERR_SOCKET_CLOSED_BEFORE_CONNECTION', 'Socket closed before the connection was established'))
      this.once('connect', () => {
        this.off('close', onClose)
        this._writeGeneric(many, data, encoding, done)
      })
      this.once('close', onClose)
      return
    }
    this._pendingData = null
    this._pendingEncoding = ''
    const attached = this._verbena
    if (!attached || attached.link.closed) {
      done(codedError('ERR_SOCKET_CLOSED', 'Socket is closed'))
      return
    }
    this._unrefTimer()
    const chunks = many ? allBytesOf(data as PendingChunk[]) : [bytesOf(data as Uint8Array, encoding)]
    attached.link.write(chunks, (errno) =>
      errno === 0 ? done() : done(errnoError(errno, 'write', attached.link.socket.reason)),
    )
  },

  _final(this: LinkedStream, done: Done): void {
    const attached = this._verbena
    if (this.connecting || (!attached && !this.destroyed)) {
      this.once('connect', () => this._final(done))
      return
    }
    if (!attached) {
      done()
      return
    }
    // Not synchronously, as with a handle of libuv: a write before 'connect' ends after 'ready'.
    attached.link.shutdown((errno) =>
      process.nextTick(() => (errno === 0 ? done() : done(errnoError(errno, 'shutdown')))),
    )
  },

  pause(this: LinkedStream): void {
    const attached = this._verbena
    if (attached?.bypassesStream && !this.connecting) attached.link.readStop()
  },

  resume(this: LinkedStream): void {
    const attached = this._verbena
    if (attached?.bypassesStream && !this.connecting) attached.link.readStart()
  },

  /** Resets the connection, once it is connected; false if there is no connection. */
  reset(this: LinkedStream): boolean {
    if (this.connecting) {
      this.once('connect', () => linkedMethods.reset.call(this))
      return true
    }
    const attached = this._verbena
    if (!attached) return false
    attached.resetting = true
    this.destroy()
    return true
  },
}

/** True if the stream is joined to a link that is open, or opening. */
export function isLive(stream: LinkedStream): boolean {
  return stream._verbena !== undefined && !stream._verbena.link.closed
}

/** Joins stream and socket: the stream's data now goes through `socket`. */
export function attach(stream: LinkedStream, socket: RSocketLike, onread?: OnRead): Attachment {
  const attached = new Attachment(stream, socket, onread)
  // Not enumerable: printing a socket must not print a whole device.
  Object.defineProperty(stream, '_verbena', { value: attached, writable: true, configurable: true, enumerable: false })
  setAsyncId(stream, attached.link.asyncId)
  return attached
}

/** Announces a connection that was made or accepted to the program, and begins to read. */
export function announceConnected(stream: LinkedStream): void {
  stream.connecting = false
  stream._unrefTimer()
  stream.emit('connect')
  stream.emit('ready')
  if (!stream.destroyed && !stream.isPaused()) stream.read(0)
}
