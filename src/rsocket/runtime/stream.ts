/**
 * The resources of a connected stream socket on its device, for an id of the RDMA CM.
 *
 * Making them takes as long as all messages of a handshake. So while a thread makes connections one after the other, it has a
 * spare stream ready, made while it waits for the peer. Everything of a spare is new: no bytes, keys or numbers of another
 * connection are in it.
 */
import type { CmId } from '../../cm/index.ts'
import { inRootContext } from '../../memory/index.ts'
import { Access, type CompletionQueue, QpState, QpType } from '../../verbs/index.ts'
import {
  type ConnData,
  clampOptions,
  decodeConnData,
  encodeConnData,
  extraReceives,
  optionsFor,
  type SocketOptions,
  StreamConnection,
  StreamMemory,
  type StreamOptions,
  type StreamQueuePair,
} from '../protocol/index.ts'
import { type BoundLink, type CqOwner, IoContext, keepMs, type Spare, type Watched } from './io-context.ts'
import { activate, type Member } from './reactor.ts'

/** Parameters of every connection: no READs, the most retries, RNR retries without limit. */
export const connectionParam = {
  responderResources: 0,
  initiatorDepth: 0,
  flowControl: true,
  retryCount: 7,
  rnrRetryCount: 7,
} as const

/** A member of nobody, for streams that have no socket yet: they get no events. */
const nobody: Member = { turn: () => false, arm: () => false }

export class Stream implements Watched, CqOwner, BoundLink {
  readonly io: IoContext
  readonly connection: StreamConnection
  readonly #memory: StreamMemory
  readonly #cqs: CompletionQueue[] = []
  readonly #mine: ConnData
  /** The socket that it belongs to. */
  member: Member = nobody

  /** Throws a VerbsError if a resource cannot be had. */
  constructor(io: IoContext, options: StreamOptions) {
    this.io = io
    const { pd, arena } = io
    let memory: StreamMemory | undefined
    let qp: StreamQueuePair | undefined
    try {
      memory = new StreamMemory(arena, options)
      const sendCq = this.#cq(options.sqSize)
      const recvCq = this.#cq(options.rqSize + extraReceives)
      const cap = {
        maxSendWr: options.sqSize,
        maxRecvWr: options.rqSize + extraReceives,
        maxSendSge: 1,
        // What comes is in the immediate data.
        maxRecvSge: 0,
        maxInlineData: options.inlineBytes,
      }
      qp = pd.createQp({ type: QpType.RC, sendCq, recvCq, cap })
      this.#memory = memory
      this.connection = new StreamConnection(qp, memory, options)
      qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: Access.LocalWrite })
      this.connection.postReceives()
    } catch (error) {
      this.#closeParts(qp, memory)
      throw error
    }
    this.#mine = StreamConnection.describe(memory, options)
  }

  /** For an id that has a device: a stream with a queue pair in INIT, which the id closes. Throws as the constructor does. */
  static for(id: CmId, given: SocketOptions, member: Member): Stream {
    const io = IoContext.acquire(id.verbs!)
    try {
      const options = sizesOf(given, io)
      const stream = SpareStream.take(io, options) ?? new Stream(io, options)
      id.adoptQp(stream.connection.qp)
      stream.member = member
      io.keep(stream)
      return stream
    } catch (error) {
      io.release()
      throw error
    }
  }

  #cq(size: number): CompletionQueue {
    const cq = this.io.createCq(size, this)
    this.#cqs.push(cq)
    return cq
  }

  get privateData(): Uint8Array {
    return encodeConnData(this.#mine)
  }

  /** The peer's private data came and the connection is made; false if the data is invalid. */
  start(privateData: Uint8Array): boolean {
    const theirs = decodeConnData(privateData)
    if (typeof theirs === 'string') return false
    this.connection.start(this.#mine, theirs)
    return true
  }

  get waits(): boolean {
    return this.connection.waits
  }

  /** Checks whether the peer is still alive. */
  probe(): void {
    const { connection } = this
    const { open } = connection
    connection.probe()
    if (open && !connection.open) activate(this.member)
  }

  /** Called after the id, and with it the queue pair, was closed. */
  close(): void {
    this.io.drop(this)
    this.#closeParts(this.connection.qp, this.#memory, this.connection.filledBytes)
    this.io.release()
  }

  /** For one that no id has. */
  discard(): void {
    this.#closeParts(this.connection.qp, this.#memory, 0)
  }

  #closeParts(qp: StreamQueuePair | undefined, memory: StreamMemory | undefined, filledBytes = 0): void {
    if (qp?.closed === false) qp.discard()
    for (const cq of this.#cqs) cq.close()
    memory?.close(filledBytes)
  }
}

/** The sizes of one stream more on a device. */
function sizesOf(given: SocketOptions, io: IoContext): StreamOptions {
  const { attr, host } = io.context.device
  const clamped = clampOptions(optionsFor(given.stream, given.chosen, io.streams, host.segment.sizeBytes))
  return {
    ...clamped,
    sqSize: Math.min(clamped.sqSize, attr.maxQpWr),
    rqSize: Math.min(clamped.rqSize, attr.maxQpWr - extraReceives),
  }
}

function sameSizes(a: StreamOptions, b: StreamOptions): boolean {
  return (Object.keys(a) as (keyof StreamOptions)[]).every((name) => a[name] === b[name])
}

/** The next stream of a device, made before it is wanted. It is closed when no stream has been wanted for a while. */
class SpareStream implements Spare {
  readonly #io: IoContext
  #stream: Stream | undefined
  #options: StreamOptions | undefined
  #wantedAt = Number.NEGATIVE_INFINITY
  #soon = false
  #timer: NodeJS.Timeout | undefined

  constructor(io: IoContext) {
    this.#io = io
  }

  /** The spare stream, if there is one of these sizes. Another is made soon if streams are wanted often. */
  static take(io: IoContext, options: StreamOptions): Stream | undefined {
    let spare = io.spare as SpareStream | undefined
    if (spare === undefined) {
      spare = new SpareStream(io)
      io.spare = spare
    }
    return spare.#take(options)
  }

  #take(options: StreamOptions): Stream | undefined {
    const stream = this.#stream
    const fits = stream !== undefined && sameSizes(this.#options!, options)
    // What another one holds may be what is missing.
    if (stream !== undefined && !fits) this.close()
    this.#stream = undefined
    const now = performance.now()
    const often = now - this.#wantedAt < keepMs
    this.#wantedAt = now
    this.#options = options
    if (often && !this.#soon) {
      this.#soon = true
      inRootContext(() => setImmediate(this.#make))
    }
    return fits ? stream : undefined
  }

  readonly #make = (): void => {
    this.#soon = false
    if (this.#stream !== undefined || this.#io.channel.closed) return
    try {
      this.#stream = new Stream(this.#io, this.#options!)
    } catch {
      // The next socket reports what is missing, if it is missing then.
      return
    }
    this.#timer ??= inRootContext(() => setTimeout(this.#expire, keepMs).unref())
    this.#timer.refresh()
  }

  readonly #expire = (): void => {
    if (this.#stream !== undefined) this.close()
  }

  close(): void {
    this.#stream?.discard()
    this.#stream = undefined
  }
}
