/**
 * Resources of a connected stream socket on its device, for an id of the RDMA CM.
 *
 * Making them takes as long as all messages of a handshake. So while a thread makes connections one after the other, it has a
 * spare stream ready, made while it waits for the peer. Everything of a spare is new: no bytes, keys or numbers of another
 * connection are in it.
 */
import type { CmId } from '../../cm/index.ts'
import { inRootContext } from '../../memory/index.ts'
import { Access, QpState, QpType } from '../../verbs/index.ts'
import {
  type ConnData,
  type CqPair,
  clampOptions,
  decodeConnData,
  type Entries,
  encodeConnData,
  entriesOf,
  extraReceives,
  optionsFor,
  type SocketOptions,
  StreamConnection,
  StreamMemory,
  type StreamOptions,
  type StreamQueuePair,
} from '../protocol/index.ts'
import { type BoundLink, IoContext, keepMs, type Spare, type Watched } from './io-context.ts'
import { activate, activateResting, type Member } from './reactor.ts'

/** Parameters of every connection: no READs, the maximum number of retries, RNR retries without limit. */
export const connectionParam = {
  responderResources: 0,
  initiatorDepth: 0,
  flowControl: true,
  retryCount: 7,
  rnrRetryCount: 7,
} as const

/** Member of a stream. */
interface StreamMember extends Member {
  /** True if it is watched in the event loop: then it becomes active when its stream has news. */
  readonly inLoop: boolean
  /** True if it waits until sent data has arrived, or for space to send. */
  readonly awaitsSent: boolean
}

/** Placeholder member for streams that have no socket yet: they get no events. */
const nobody: StreamMember = { turn: () => false, arm: () => false, inLoop: false, awaitsSent: false }

export class Stream implements Watched, BoundLink {
  readonly io: IoContext
  readonly connection: StreamConnection
  readonly #memory: StreamMemory
  readonly #cqs: CqPair
  readonly #entries: Entries
  readonly #mine: ConnData
  /** Member of the socket that owns the stream. */
  member: StreamMember = nobody

  /** Throws a VerbsError if a resource cannot be allocated. */
  constructor(io: IoContext, options: StreamOptions) {
    this.io = io
    const { pd, arena } = io
    let memory: StreamMemory | undefined
    let qp: StreamQueuePair | undefined
    this.#entries = entriesOf(options)
    this.#cqs = io.queues.reserve(this.#entries)
    try {
      memory = new StreamMemory(arena, options)
      const { sendCq, recvCq } = this.#cqs
      const cap = {
        maxSendWr: options.sqSize,
        maxRecvWr: options.rqSize + extraReceives,
        maxSendSge: 1,
        // The immediate carries all that arrives.
        maxRecvSge: 0,
        maxInlineData: options.inlineBytes,
      }
      qp = pd.createQp({ type: QpType.RC, sendCq, recvCq, cap })
      this.#memory = memory
      this.connection = new StreamConnection(qp, memory, options, this.#cqs)
      this.connection.owner = this
      qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: Access.LocalWrite })
      this.connection.postReceives()
    } catch (error) {
      this.#closeParts(qp, memory)
      throw error
    }
    this.#mine = StreamConnection.describe(memory, options)
  }

  /** Makes a stream with a queue pair in INIT for an id that has a device; the id closes the queue pair. Throws as the constructor does. */
  static for(id: CmId, given: SocketOptions, member: StreamMember): Stream {
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

  get privateData(): Uint8Array {
    return encodeConnData(this.#mine)
  }

  /** Starts the stream with the peer's private data once the connection is made; returns false if the data is invalid. */
  start(privateData: Uint8Array): boolean {
    const theirs = decodeConnData(privateData)
    if (typeof theirs === 'string') return false
    this.connection.start(this.#mine, theirs)
    return true
  }

  receivedMeanwhile(): void {
    if (this.member.inLoop) activateResting(this.member)
  }

  sentMeanwhile(): void {
    // For most streams nothing changes when data has arrived.
    const { connection, member } = this
    if (!member.inLoop || !(member.awaitsSent || connection.failing || connection.putOff)) return
    // Also where it has had its turn: nothing shows later that requests are done.
    activate(member)
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

  /** Closes the stream, after the id, and with it the queue pair, was closed. */
  close(): void {
    this.io.drop(this)
    this.#closeParts(this.connection.qp, this.#memory, this.connection.filledBytes)
    this.io.release()
  }

  /** Closes a stream that no id owns. */
  discard(): void {
    this.#closeParts(this.connection.qp, this.#memory, 0)
  }

  #closeParts(qp: StreamQueuePair | undefined, memory: StreamMemory | undefined, filledBytes = 0): void {
    if (qp?.closed === false) qp.discard()
    const { queues } = this.io
    if (qp === undefined) queues.cancel(this.#cqs, this.#entries)
    else queues.end(this.#cqs, this.#entries, qp)
    memory?.close(filledBytes)
  }
}

/** Returns the sizes of one more stream on a device. */
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

/** Next stream of a device, made before it is wanted. It is closed when no stream has been wanted for a while. */
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

  /** Takes the spare stream, if there is one of these sizes. Another is made soon if streams are wanted often. */
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
    // The resources that a spare of other sizes holds may be those that are missing.
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
      // The next socket reports what is missing, if it is still missing then.
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
