/**
 * The TCP connection between two ends of a run before, between and after messages: whole records of a known length, or
 * lines. Only calls without a timeout wait for ever, and every error message explains what to do.
 */
import { once } from 'node:events'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Default port of perftest and of rdma-core's ping-pongs. */
export const defaultPort = 18515

/** Code of a failure between the two ends: `ECONNREFUSED`, `EADDRINUSE`, … of the system, or one of these. */
export type EndErrorCode = 'PEER_GONE' | 'PEER_SILENT' | 'PEER_TEXT' | 'PEER_FAILED' | 'INTERRUPTED' | (string & {})

export class EndError extends Error {
  override readonly name = 'EndError'
  readonly code: EndErrorCode

  constructor(code: EndErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Maximum number of unread bytes: no peer has a reason to send more before they are read. */
const maxBuffered = 1 << 20

export class Wire {
  readonly #socket: Socket
  readonly #onChange = new Set<() => void>()
  #chunks: Buffer[] = []
  #buffered = 0
  /** Reason why no more data will arrive; null while the connection stands. */
  #ended: string | null = null

  /** Wraps a socket; use `listenOnce` or `connectTo`. */
  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    // The kernel detects a host that has disappeared without closing the connection.
    socket.setKeepAlive(true, 10_000)
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#buffered += chunk.length
      if (this.#buffered > maxBuffered) socket.destroy(new Error('it sends without end'))
      this.#changed()
    })
    socket.on('error', (error) => this.#end(error.message))
    socket.on('end', () => this.#end('it closed the connection'))
    socket.on('close', () => this.#end('it closed the connection'))
  }

  /** Returns address and port of the other end. */
  get peer(): string {
    return `${plainAddress(this.#socket.remoteAddress)} port ${this.#socket.remotePort}`
  }

  /** True if both ends have the same address. */
  get sameHost(): boolean {
    return this.#socket.remoteAddress !== undefined && this.#socket.remoteAddress === this.#socket.localAddress
  }

  get ended(): boolean {
    return this.#ended !== null
  }

  /** Calls back when the other end closes the connection; at once if it has. Returns a function that removes the callback. */
  onEnd(callback: () => void): () => void {
    const check = () => {
      if (this.#ended !== null) callback()
    }
    this.#onChange.add(check)
    check()
    return () => this.#onChange.delete(check)
  }

  /** Reads exactly `length` bytes; `what` names them in errors. */
  async readBytes(length: number, timeoutMs: number, what: string): Promise<Buffer> {
    await this.#until(() => this.#buffered >= length, timeoutMs, what)
    return this.#take(length)
  }

  /** Reads the bytes that have arrived: at least one, at most `max`. */
  async readSome(max: number, timeoutMs: number, what: string): Promise<Buffer> {
    await this.#until(() => this.#buffered > 0, timeoutMs, what)
    return this.#take(Math.min(max, this.#buffered))
  }

  /** Reads text up to a line feed, without it. `timeoutMs` may be Infinity. */
  async readLine(timeoutMs: number, what: string): Promise<string> {
    let length = 0
    await this.#until(
      () => {
        length = this.#joined().indexOf(10) + 1
        return length > 0
      },
      timeoutMs,
      what,
    )
    return this.#take(length).toString('utf8').slice(0, -1)
  }

  async write(data: Uint8Array | string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(data, (error) => {
        if (error) reject(new EndError('PEER_GONE', `the peer is gone: ${error.message}`))
        else resolve()
      })
    })
  }

  /** Sends buffered data and closes. */
  close(): void {
    this.#socket.end()
    this.#socket.unref()
    this.#chunks = []
    this.#buffered = 0
  }

  async #until(arrived: () => boolean, timeoutMs: number, what: string): Promise<void> {
    if (arrived()) return
    await new Promise<void>((resolve, reject) => {
      const settle = (error: EndError | null) => {
        this.#onChange.delete(check)
        clearTimeout(timer)
        if (error) reject(error)
        else resolve()
      }
      const check = () => {
        if (arrived()) settle(null)
        else if (this.#ended !== null)
          settle(new EndError('PEER_GONE', `the peer is gone before it sent ${what}: ${this.#ended}${this.#heard()}`))
      }
      const silent = () =>
        settle(
          new EndError('PEER_SILENT', `the peer did not send ${what} within ${timeoutMs / 1000} s${this.#heard()}`),
        )
      const timer = Number.isFinite(timeoutMs) ? setTimeout(silent, timeoutMs) : undefined
      this.#onChange.add(check)
      check()
    })
  }

  /** Returns a description of unexpected data that has arrived, for error messages. */
  #heard(): string {
    if (this.#buffered === 0) return ''
    return `; it sent ${this.#buffered} bytes: ${quoted(this.#joined())}`
  }

  #joined(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] ?? Buffer.alloc(0)
  }

  #take(length: number): Buffer {
    const all = this.#joined()
    this.#chunks = length < all.length ? [all.subarray(length)] : []
    this.#buffered -= length
    return all.subarray(0, length)
  }

  #end(why: string): void {
    this.#ended ??= why
    this.#changed()
  }

  #changed(): void {
    for (const callback of [...this.#onChange]) callback()
  }
}

/** Listens on all addresses until one client connects. Aborting the signal ends the wait. */
export async function listenOnce(
  port: number,
  options: { signal?: AbortSignal; source?: string; onListening?: () => void } = {},
): Promise<Wire> {
  const server = createServer({ pauseOnConnect: false })
  server.maxConnections = 1
  try {
    const accepted = once(server, 'connection', options.signal ? { signal: options.signal } : {})
    // A failure to listen makes `accepted` fail too.
    const host = options.source === undefined ? {} : { host: options.source }
    server.listen({ port, ...host }, options.onListening)
    const [socket] = (await accepted) as [Socket]
    return new Wire(socket)
  } catch (error) {
    if (options.signal?.aborted) throw new EndError('INTERRUPTED', 'interrupted while waiting for a client')
    const { code = 'ELISTEN', message } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new EndError(code, `TCP port ${port} is in use: another server runs here; choose another port with -p`)
    if (code === 'EACCES') throw new EndError(code, `TCP port ${port} needs privileges: choose one above 1023 with -p`)
    throw new EndError(code, `TCP port ${port}: ${message}`)
  } finally {
    server.close()
  }
}

const retryPauseMs = 100
const connectTimeoutMs = 10_000

/** Connects to a server; while no server listens, retries for `waitMs`. */
export async function connectTo(
  host: string,
  port: number,
  options: { waitMs?: number; signal?: AbortSignal; source?: string } = {},
): Promise<Wire> {
  const end = performance.now() + (options.waitMs ?? 0)
  for (;;) {
    try {
      return new Wire(await connectOnce(host, port, options.source))
    } catch (error) {
      const { code = 'ECONNECT', message } = error as NodeJS.ErrnoException
      const worthIt = code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'ETIMEDOUT'
      if (worthIt && performance.now() + retryPauseMs < end && !options.signal?.aborted) {
        await delay(retryPauseMs)
        continue
      }
      if (options.signal?.aborted) throw new EndError('INTERRUPTED', 'interrupted while connecting')
      if (code === 'ECONNREFUSED')
        throw new EndError(
          code,
          `nobody listens on ${host} port ${port}: start the same command there first, without a host`,
        )
      if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
        throw new EndError(code, `'${host}' is not the name or address of a host`)
      throw new EndError(code, `cannot connect to ${host} port ${port}: ${message}`)
    }
  }
}

async function connectOnce(host: string, port: number, localAddress?: string): Promise<Socket> {
  const socket = connectSocket({ host, port, ...(localAddress === undefined ? {} : { localAddress }) })
  const timer = setTimeout(
    () => socket.destroy(Object.assign(new Error('no answer within 10 s'), { code: 'ETIMEDOUT' })),
    connectTimeoutMs,
  )
  try {
    await once(socket, 'connect')
    return socket
  } finally {
    clearTimeout(timer)
  }
}

/** Returns text of a peer in a form that can be shown: one line, of limited length, without control characters. */
export function quoted(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, 60)).toString('latin1')
  return JSON.stringify(text.replace(/[^ -~]/g, '.')) + (bytes.length > 60 ? '…' : '')
}

function plainAddress(address: string | undefined): string {
  return (address ?? 'unknown').replace(/^::ffff:/, '')
}
