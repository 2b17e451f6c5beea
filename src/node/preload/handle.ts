/**
 * A handle for connections over RDMA, for users of a socket's handle: Node's TLS and HTTP/2, which read and write through it in C++. It
 * is a `JSStream`, Node's own stream of that kind with a source in JavaScript; here that is the link.
 *
 *     TLSWrap, Http2Session   ──write, shutdown──▶  onwrite, onshutdown     ──▶  Link
 *                             ◀──readBuffer, emitEOF──  received, ended     ◀──
 *
 * Without it Node puts a socket of its own (JSStreamSocket) around one without a handle. That socket takes any stream, and so reports
 * that it is connected, loses data that was written before `destroy`, and permits one write at a time.
 */
import { constants } from 'node:os'
import { Duplex } from 'node:stream'
import tls from 'node:tls'
import type { Attachment, Upstream } from '../base/attachment.ts'
import { FrameCutter } from './frames.ts'
import type { NodeSocket } from './node-net.ts'

/** Methods of a handle that Node's C++ and JavaScript call, and those for the source. */
export interface StreamHandle {
  isStreamBase: boolean
  readBuffer(chunk: Uint8Array): void
  emitEOF(): void
  finishWrite(request: object, status: number): void
  finishShutdown(request: object, status: number): void
  [name: string]: unknown
}

interface Classes {
  JSStream: new () => StreamHandle
  /** Socket that Node puts around a stream without a handle. */
  JSStreamSocket: new (
    stream: unknown,
  ) => NodeSocket
}

let classes: Classes | undefined

/** Returns two classes that Node does not export; both are reachable through a TLS socket on a stream. */
export function streamClasses(): Classes {
  if (classes) return classes
  const nothing = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  const probe = new tls.TLSSocket(nothing, { secureContext: tls.createSecureContext({ ca: [] }) })
  probe.on('error', () => {})
  const { _parent, _parentWrap } = (probe as unknown as { _handle: Record<string, object> })._handle
  classes = { JSStream: _parent!.constructor, JSStreamSocket: _parentWrap!.constructor } as unknown as Classes
  probe.destroy()
  return classes
}

interface Later {
  /** Data; `null` is the end. */
  part: Buffer | null
  /** Flag: delivered after the next-tick queue; otherwise in the next turn of the event loop. */
  ticks: boolean
}

interface Request {
  request: object
  /** Chunks of a write; absent for a shutdown. */
  chunks?: readonly Uint8Array[]
}

const canceled = -constants.errno.ECANCELED
/**
 * Result for C++ of a write that is done: 0 means that the write ends later, and a negative number an error. HTTP/2 takes any other as an
 * end at once.
 */
const doneAtOnce = 1

function fill(out: object, address: object): number {
  Object.assign(out, address)
  return 0
}

class LinkHandle implements Upstream {
  readonly stream: StreamHandle
  /** Flag: TLS has taken the handle: its data is not frames of HTTP/2, and a write ends later. */
  secure = false
  readonly #socket: NodeSocket
  readonly #attached: Attachment
  readonly #waiting: Request[] = []
  #busy = false
  /** Flag: no user has taken the stream, or the user has returned it: the socket reads by itself. */
  #unclaimed = false
  readonly #frames = new FrameCutter()
  /** Data for C++ in the next ticks or turns of the event loop; the link waits meanwhile. */
  readonly #later: Later[] = []
  #wanted = true

  constructor(socket: NodeSocket, attached: Attachment) {
    this.#socket = socket
    this.#attached = attached
    const { link } = attached
    const stream = new (streamClasses().JSStream)()
    this.stream = stream
    // Called for data that no C++ user takes.
    stream.onread = () => {
      this.#unclaimed = true
    }
    stream.onreadstart = () => {
      this.#unclaimed = false
      this.#wanted = true
      if (this.#later.length === 0) link.readStart()
      return 0
    }
    stream.onreadstop = () => {
      this.#wanted = false
      link.readStop()
      return 0
    }
    stream.onwrite = (request: object, chunks: Uint8Array[]) => this.#write(request, chunks)
    stream.onshutdown = (request: object) => this.#add({ request })
    stream.isClosing = () => link.closed
    // Methods of a TCP handle that net.Socket calls, also through the handle of TLS.
    stream.close = (done?: () => void) => {
      if (done) {
        if (socket.closed) setImmediate(done)
        else socket.once('close', done)
      }
      socket.destroy()
    }
    stream.getpeername = (out: object) => fill(out, attached.remote)
    stream.getsockname = (out: object) => fill(out, attached.local)
    stream.ref = () => link.ref()
    stream.unref = () => link.unref()
    stream.hasRef = () => link.referenced
    stream.setNoDelay = () => 0
    stream.setKeepAlive = (enable: boolean, delaySeconds: number) => {
      link.setKeepAlive(enable, delaySeconds)
      return 0
    }
  }

  /** Offers the handle to a reader of `_handle`, which may take it. */
  offer(): void {
    this.#unclaimed = false
  }

  // --- reading -----------------------------------------------------------------------------------------------------

  received(chunk: Buffer): boolean {
    const waits = this.#later.length > 0
    if (this.#unclaimed && !waits) return false
    if (this.secure) return this.#give(chunk)
    const cuts = this.#frames.cuts(chunk)
    if (cuts.length === 0 && !waits) return this.#give(chunk)
    const head = chunk.subarray(0, cuts[0]?.offset)
    if (head.length > 0) {
      if (waits) this.#keep(head, true)
      else if (!this.#give(head)) this.#socket.push(head)
    }
    for (let i = 0; i < cuts.length; i++)
      this.#keep(chunk.subarray(cuts[i]!.offset, cuts[i + 1]?.offset), cuts[i]!.ticks)
    this.#attached.link.readStop()
    return true
  }

  ended(): boolean {
    if (this.#later.length > 0) {
      this.#keep(null, true)
      return true
    }
    if (this.#unclaimed) return false
    this.stream.emitEOF()
    return !this.#unclaimed
  }

  #keep(part: Buffer | null, ticks: boolean): void {
    this.#later.push({ part, ticks })
    if (this.#later.length === 1) this.#schedule()
  }

  #schedule(): void {
    if (this.#later[0]!.ticks) process.nextTick(this.#continue)
    else setImmediate(this.#continue)
  }

  /** Gives a chunk to C++; false if no C++ user has taken it. */
  #give(chunk: Buffer): boolean {
    if (this.#unclaimed) return false
    this.stream.readBuffer(chunk)
    return !this.#unclaimed
  }

  #continue = (): void => {
    const { link } = this.#attached
    const next = this.#later.shift()
    if (link.closed || !next) return
    if (next.part === null) this.#attached.ended()
    else if (!this.#give(next.part)) this.#socket.push(next.part)
    if (this.#later.length > 0) this.#schedule()
    else if (this.#wanted && !link.closed) link.readStart()
  }

  // --- writing -----------------------------------------------------------------------------------------------------

  /**
   * Writes chunks; returns a negative error number, 0 if a callback follows, or `doneAtOnce`. HTTP/2 sends no GOAWAY while it writes, so
   * the difference matters.
   */
  #write(request: object, chunks: readonly Uint8Array[]): number {
    const { link } = this.#attached
    if (link.closed || this.#busy || link.inFlight > 0) return this.#add({ request, chunks })
    this.#busy = true
    let result: number | undefined
    let returned = false
    link.write(chunks, (errno) => {
      if (returned) this.#end({ request, chunks }, errno)
      else result = errno
    })
    returned = true
    if (result === undefined) return 0
    if (result < 0 || !this.secure) {
      this.#busy = false
      return result < 0 ? result : doneAtOnce
    }
    this.#endLater({ request, chunks }, 0)
    return 0
  }

  #add(request: Request): number {
    if (this.#attached.link.closed) return canceled
    this.#waiting.push(request)
    this.#next()
    return 0
  }

  #next(): void {
    if (this.#busy || this.#waiting.length === 0) return
    this.#busy = true
    // The socket's own write goes first; an empty one ends after it.
    if (this.#attached.link.inFlight > 0) this.#socket.write('', () => this.#begin())
    else this.#begin()
  }

  #begin(): void {
    const { link } = this.#attached
    const one = this.#waiting.shift()
    if (!one) {
      this.#busy = false
      return
    }
    const done = (errno: number): void => this.#endLater(one, errno)
    if (link.closed) done(canceled)
    else if (one.chunks) link.write(one.chunks, done)
    else link.shutdown(done)
  }

  /** Ends a request later: not before C++ has dispatched it. */
  #endLater(one: Request, status: number): void {
    process.nextTick(() => this.#end(one, status))
  }

  #end({ request, chunks }: Request, status: number): void {
    this.#busy = false
    if (chunks) this.stream.finishWrite(request, status)
    else this.stream.finishShutdown(request, status)
    this.#next()
  }

  /** Cancels waiting requests after the link was closed. */
  closed(): void {
    for (const one of this.#waiting.splice(0)) this.#endLater(one, canceled)
  }
}

/** Notes that TLS has taken the handle of an attached socket. */
export function isSecure(stream: StreamHandle): void {
  const handle = handles.get(stream)
  if (handle) handle.secure = true
}

const handles = new WeakMap<StreamHandle, LinkHandle>()

/** Returns the handle of a socket that is attached; the same one each time. */
export function handleOf(socket: NodeSocket, attached: Attachment): StreamHandle {
  let { upstream } = attached
  if (upstream === undefined) {
    upstream = new LinkHandle(socket, attached)
    attached.upstream = upstream
    handles.set((upstream as LinkHandle).stream, upstream as LinkHandle)
  }
  const handle = upstream as LinkHandle
  handle.offer()
  return handle.stream
}

/**
 * Handle of a socket that is not decided yet between TCP and RDMA. HTTP/2 checks whether there is one, and then waits for 'connect'; TLS
 * would take it, and gets a stream instead (`patchTlsSockets`).
 */
export class UndecidedHandle {
  readonly isStreamBase = true
  readonly bytesRead = 0
  readonly bytesWritten = 0
  readonly #socket: NodeSocket

  constructor(socket: NodeSocket) {
    this.#socket = socket
  }

  ref(): void {
    this.#socket.once('connect', this.#socket.ref)
  }

  unref(): void {
    this.#socket.once('connect', this.#socket.unref)
  }

  /** Does nothing: Node stores the setting, and the connection gets it. */
  setNoDelay(): void {}

  setKeepAlive(): void {}

  close(done?: () => void): void {
    if (done) setImmediate(done)
  }

  getAsyncId(): number {
    return 0
  }
}
