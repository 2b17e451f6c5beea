/**
 * `Socket`: a stream over an rsocket, with the shape of `net.Socket`.
 *
 * It is a Duplex and not a `net.Socket` by class: Node's TLS and HTTP/2 take any Duplex, but use the libuv handle of a `net.Socket`,
 * which this socket does not have.
 */
import { channel } from 'node:diagnostics_channel'
import type net from 'node:net'
import { Duplex, type DuplexOptions } from 'node:stream'
import type { Context } from '../../verbs/index.ts'
import { readArguments } from '../base/arguments.ts'
import {
  type Attachment,
  announceConnected,
  isLive,
  type LinkedStream,
  linkedMethods,
  type NodeAddress,
  type OnRead,
} from '../base/attachment.ts'
import { fillable } from '../base/callable.ts'
import { type ConnectOptions, checkTarget, connectInTurn, lookUp, summary } from '../base/connecting.ts'
import { badArgument, badValue, checkBlockList, codedError } from '../base/errors.ts'

/** Options of the constructor: those of `net.Socket` but `fd` and `handle`, and the device. */
export interface SocketOptions {
  allowHalfOpen?: boolean | undefined
  readable?: boolean | undefined
  writable?: boolean | undefined
  onread?: OnRead | undefined
  signal?: AbortSignal | undefined
  noDelay?: boolean | undefined
  keepAlive?: boolean | undefined
  keepAliveInitialDelay?: number | undefined
  highWaterMark?: number | undefined
  readableHighWaterMark?: number | undefined
  writableHighWaterMark?: number | undefined
  /** Addresses that the socket does not connect to. */
  blockList?: net.BlockList | undefined
  /** Device, or its name; without it the environment's VERBENA_DEVICE, else the device that has the address. */
  device?: string | Context | undefined
}

type Done = (error?: Error | null) => void
type WriteDone = (error?: Error | null) => void

const socketChannel = channel('net.client.socket')
const timers = new WeakMap<Socket, NodeJS.Timeout>()

const Base: typeof Duplex = fillable(Duplex)

export class Socket extends Base implements LinkedStream {
  connecting = false
  /** Server that accepted the socket, if any. */
  server: unknown = null
  declare blockList: net.BlockList | undefined
  timeout: number | undefined
  autoSelectFamilyAttemptedAddresses: string[] | undefined
  declare _verbena: Attachment | undefined
  /** Callback for the end of a socket that a server accepted, called once. */
  _released: (() => void) | undefined
  _pendingData: unknown = null
  _pendingEncoding = ''
  readonly #onread: OnRead | undefined
  readonly #device: string | Context | undefined
  #keepAlive: boolean
  #keepAliveDelaySeconds: number
  #referenced = true
  #bytesRead = 0
  #bytesWritten = 0

  constructor(options: SocketOptions = {}) {
    const given = options as Record<string, unknown>
    for (const name of ['objectMode', 'readableObjectMode', 'writableObjectMode'])
      if (given?.[name]) throw badValue(`options.${name}`, `is not supported. Received ${String(given[name])}`)
    if (given?.fd !== undefined || given?.handle !== undefined)
      throw badValue(
        `options.${given.fd !== undefined ? 'fd' : 'handle'}`,
        'is not supported: an rsocket has no descriptor of the system. Use node:net for it.',
      )
    if (options.keepAliveInitialDelay !== undefined && typeof options.keepAliveInitialDelay !== 'number')
      throw badArgument('options.keepAliveInitialDelay', 'of type number', options.keepAliveInitialDelay)
    super({
      ...(options as DuplexOptions),
      allowHalfOpen: Boolean(options.allowHalfOpen),
      // 'close' indicates whether there was an error, so it is emitted here.
      emitClose: false,
      autoDestroy: true,
      decodeStrings: true,
    })
    if (options.blockList) this.blockList = checkBlockList(options.blockList)
    this.#onread = options.onread
    this.#device = options.device
    this.#keepAlive = Boolean(options.keepAlive)
    this.#keepAliveDelaySeconds = seconds(options.keepAliveInitialDelay)
    this.on('end', () => {
      if (!this.allowHalfOpen) this.write = writeAfterEnd
    })
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  /** Connects, in the forms of `net.Socket.connect`: (port, host?, listener?), (options, listener?). A path is not supported. */
  connect(options: ConnectOptions, listener?: () => void): this
  connect(port: number | string, host?: string, listener?: () => void): this
  connect(port: number | string, listener?: () => void): this
  connect(...args: unknown[]): this {
    const [given, listener] = readArguments(args)
    if (given.path)
      throw badValue('options.path', 'is not supported: rsockets have no path names. Use node:net for it.')
    if (given.port === undefined)
      throw codedError('ERR_MISSING_ARGS', 'The "options" or "port" or "path" argument must be specified', TypeError)
    if (socketChannel.hasSubscribers) socketChannel.publish({ socket: this })
    if (listener !== null) this.once('connect', listener)
    const options = given as unknown as ConnectOptions
    const target = checkTarget(this.#device === undefined ? options : { device: this.#device, ...options })
    if (this.write !== Socket.prototype.write) this.write = Socket.prototype.write
    // A socket that was closed may connect again.
    if (this.destroyed) (this as unknown as { _undestroy(): void })._undestroy()
    if (!isLive(this)) this._verbena = undefined
    this.connecting = true
    this._unrefTimer()
    lookUp(options, target.host, (error, candidates, found) => {
      if (!this.connecting || !this.#emitLookup(error, found, target.host)) return
      if (error) return this.#destroyLater(error)
      connectInTurn(
        this,
        target,
        candidates,
        {
          connected: (attached) => {
            attached.link.setKeepAlive(this.#keepAlive, this.#keepAliveDelaySeconds)
            this.#applyReference(attached)
            announceConnected(this)
          },
          failed: (errors) => this.destroy(summary(errors)),
        },
        { onread: this.#onread },
      )
      if (this._verbena) this.#applyReference(this._verbena)
    })
    return this
  }

  /** Emits 'lookup'; false if the program has destroyed the socket meanwhile. */
  #emitLookup(error: Error | null, found: { address: string; family: number }[], host: string): boolean {
    if (error && found.length === 0) {
      this.emit('lookup', error, undefined, undefined, host)
      return this.connecting
    }
    for (const { address, family } of found) {
      this.emit('lookup', null, address, family, host)
      if (!this.connecting) return false
    }
    return true
  }

  /** Destroys the socket in the next tick: listeners may not be there yet. */
  #destroyLater(error: Error): void {
    process.nextTick(() => this.destroy(error))
  }

  /** Starts the stream of a connection that a server accepted. */
  _accepted(attached: Attachment, paused: boolean): void {
    if (paused) this.pause()
    else if (attached === this._verbena) this.read(0)
  }

  get pending(): boolean {
    return this.connecting || !this._verbena || this._verbena.link.closed
  }

  get readyState(): 'opening' | 'open' | 'readOnly' | 'writeOnly' | 'closed' {
    if (this.connecting) return 'opening'
    if (this.readable) return this.writable ? 'open' : 'readOnly'
    return this.writable ? 'writeOnly' : 'closed'
  }

  // --- the stream --------------------------------------------------------------------------------------------------

  override _read(): void {
    linkedMethods._read.call(this)
  }

  _writeGeneric(many: boolean, data: unknown, encoding: string, done: WriteDone): void {
    linkedMethods._writeGeneric.call(this, many, data, encoding, done)
  }

  override _write(chunk: unknown, encoding: string, done: WriteDone): void {
    this._writeGeneric(false, chunk, encoding, done)
  }

  override _writev(chunks: unknown[], done: WriteDone): void {
    this._writeGeneric(true, chunks, '', done)
  }

  override _final(done: Done): void {
    linkedMethods._final.call(this, done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.connecting = false
    clearTimeout(timers.get(this))
    const attached = this._verbena
    if (attached) {
      this.#bytesRead = attached.link.bytesRead
      this.#bytesWritten = attached.link.bytesWritten
      attached.link.close(attached.resetting)
      attached.resetting = false
    }
    done(error)
    // As with libuv's handles: after this turn, so that a program that awaited 'error' can await 'close', and in the context
    // of the link.
    const closeSoon = (): unknown => setImmediate(() => this.emit('close', error !== null))
    if (attached) attached.link.run(closeSoon)
    else closeSoon()
    const released = this._released
    this._released = undefined
    released?.()
  }

  override pause(): this {
    linkedMethods.pause.call(this)
    return super.pause()
  }

  override resume(): this {
    linkedMethods.resume.call(this)
    return super.resume()
  }

  /** Ends the socket once all that was written is sent. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  /** Ends the connection at once; data that was not delivered is discarded, and the peer sees ECONNRESET. */
  resetAndDestroy(): this {
    if (!linkedMethods.reset.call(this)) this.destroy(codedError('ERR_SOCKET_CLOSED', 'Socket is closed'))
    return this
  }

  // --- timers, options ---------------------------------------------------------------------------------------------

  /** Emits 'timeout' after that many milliseconds without traffic; 0 turns it off. */
  setTimeout(timeoutMs: number, listener?: () => void): this {
    if (this.destroyed) return this
    this.timeout = timeoutMs
    if (typeof timeoutMs !== 'number') throw badArgument('msecs', 'of type number', timeoutMs)
    if (!(timeoutMs >= 0 && Number.isFinite(timeoutMs)))
      throw codedError(
        'ERR_OUT_OF_RANGE',
        `The value of "msecs" is out of range. It must be a non-negative finite number. Received ${timeoutMs}`,
        RangeError,
      )
    if (listener !== undefined && typeof listener !== 'function')
      throw badArgument('callback', 'of type function', listener)
    clearTimeout(timers.get(this))
    timers.delete(this)
    if (timeoutMs > 0) {
      timers.set(this, setTimeout(() => this._onTimeout(), Math.min(timeoutMs, 0x7fffffff)).unref())
      if (listener) this.once('timeout', listener)
    } else if (listener) this.removeListener('timeout', listener)
    return this
  }

  _onTimeout(): void {
    this.emit('timeout')
  }

  _unrefTimer(): void {
    timers.get(this)?.refresh()
  }

  /** Does nothing: an rsocket never holds small messages back. */
  setNoDelay(_noDelay?: boolean): this {
    return this
  }

  /** Sets whether an idle connection probes the peer, and after which delay in milliseconds. */
  setKeepAlive(enable?: boolean, initialDelayMs?: number): this {
    this.#keepAlive = Boolean(enable)
    this.#keepAliveDelaySeconds = seconds(initialDelayMs)
    const attached = this._verbena
    if (attached && !this.connecting && !attached.link.closed)
      attached.link.setKeepAlive(this.#keepAlive, this.#keepAliveDelaySeconds)
    return this
  }

  #applyReference(attached: Attachment): void {
    if (this.#referenced) attached.link.ref()
    else attached.link.unref()
  }

  ref(): this {
    this.#referenced = true
    this._verbena?.link.ref()
    return this
  }

  unref(): this {
    this.#referenced = false
    this._verbena?.link.unref()
    return this
  }

  // --- addresses and counters ---------------------------------------------------------------------------------------

  /** Returns the local address: `{ address, family, port }`; empty before the connection and after it. */
  address(): NodeAddress {
    const attached = this._verbena
    return attached && !attached.link.closed ? attached.local : {}
  }

  get localAddress(): string | undefined {
    return this.address().address
  }

  get localPort(): number | undefined {
    return this.address().port
  }

  get localFamily(): string | undefined {
    return this.address().family
  }

  get #peer(): NodeAddress {
    return this.connecting ? {} : (this._verbena?.remote ?? {})
  }

  get remoteAddress(): string | undefined {
    return this.#peer.address
  }

  get remotePort(): number | undefined {
    return this.#peer.port
  }

  get remoteFamily(): string | undefined {
    return this.#peer.family
  }

  get bytesRead(): number {
    const attached = this._verbena
    return attached && !this.destroyed ? attached.link.bytesRead : this.#bytesRead
  }

  /** Number of bytes that were sent, and of those that wait in the stream. */
  get bytesWritten(): number {
    const attached = this._verbena
    const sent = attached && !this.destroyed ? attached.link.bytesWritten : this.#bytesWritten
    if (this.destroyed) return sent
    // A write in progress is counted in both.
    return sent + this.writableLength - (attached?.link.inFlight ?? 0)
  }

  get bufferSize(): number | undefined {
    return (this._verbena || this.connecting) && !this.destroyed ? this.writableLength : undefined
  }
}

function seconds(milliseconds: number | undefined): number {
  return Math.max(0, Math.trunc((milliseconds ?? 0) / 1000)) || 0
}

/** Replaces `write` once both ends have ended: the error names the peer's end as the cause. */
function writeAfterEnd(this: Socket, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
  if (!this.writableEnded)
    return (Duplex.prototype.write as (...args: unknown[]) => boolean).call(this, chunk, encoding, callback)
  const done = typeof encoding === 'function' ? encoding : callback
  const error = codedError('EPIPE', 'This socket has been ended by the other party')
  if (typeof done === 'function') process.nextTick(done as (error: Error) => void, error)
  this.destroy(error)
  return false
}
