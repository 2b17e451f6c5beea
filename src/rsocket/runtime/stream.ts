/** The resources of a connected stream socket on its device: made for an id of the RDMA CM, and released with it. */
import type { CmId } from '../../cm/index.ts'
import type { CompletionQueue } from '../../verbs/index.ts'
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
  type StreamQueuePair,
} from '../protocol/index.ts'
import { type BoundLink, type CqOwner, IoContext, type Watched } from './io-context.ts'
import { activate, type Member } from './reactor.ts'

/** Parameters of every connection: no READs, the most retries, RNR retries without limit. */
export const connectionParam = {
  responderResources: 0,
  initiatorDepth: 0,
  flowControl: true,
  retryCount: 7,
  rnrRetryCount: 7,
} as const

export class Stream implements Watched, CqOwner, BoundLink {
  readonly io: IoContext
  readonly connection: StreamConnection
  readonly #memory: StreamMemory
  readonly #cqs: CompletionQueue[] = []
  readonly #mine: ConnData
  /** The socket that it belongs to. */
  member: Member

  /** `id` has a device. Throws a VerbsError if a resource cannot be had. */
  constructor(id: CmId, given: SocketOptions, member: Member) {
    const context = id.verbs!
    this.member = member
    const { attr, host } = context.device
    const { maxQpWr } = attr
    this.io = IoContext.acquire(context)
    const { streams } = this.io
    const clamped = clampOptions(optionsFor(given.stream, given.chosen, streams, host.segment.sizeBytes))
    const options = {
      ...clamped,
      sqSize: Math.min(clamped.sqSize, maxQpWr),
      rqSize: Math.min(clamped.rqSize, maxQpWr - extraReceives),
    }
    const { pd } = this.io
    let memory: StreamMemory | undefined
    try {
      memory = new StreamMemory(pd, options)
      const sendCq = this.#cq(options.sqSize)
      const recvCq = this.#cq(options.rqSize + extraReceives)
      const cap = {
        maxSendWr: options.sqSize,
        maxRecvWr: options.rqSize + extraReceives,
        maxSendSge: 1,
        maxRecvSge: 1,
        maxInlineData: options.inlineBytes,
      }
      const qp = id.createQp({ pd, sendCq, recvCq, cap }) as StreamQueuePair
      this.#memory = memory
      this.connection = new StreamConnection(qp, memory, options)
      this.connection.postReceives()
    } catch (error) {
      if (id.qp !== undefined) id.destroyQp()
      for (const cq of this.#cqs) cq.close()
      memory?.close()
      this.io.release()
      throw error
    }
    this.#mine = StreamConnection.describe(memory, options)
    this.io.keep(this)
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
    for (const cq of this.#cqs) cq.close()
    this.#memory.close()
    this.io.release()
  }
}
