/** What a stream socket has of a device while it is connected: made for an id of the RDMA CM, and given back with it. */
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
import { Adapter, type CqOwner, type Line, type Watched } from './adapter.ts'
import { heat, type Member } from './loop.ts'

/** What every connection of rsockets asks for: no READs, repetitions as often as there are, no limit to RNR. */
export const connectionParam = {
  responderResources: 0,
  initiatorDepth: 0,
  flowControl: true,
  retryCount: 7,
  rnrRetryCount: 7,
} as const

export class Stream implements Watched, CqOwner, Line {
  readonly adapter: Adapter
  readonly connection: StreamConnection
  readonly #memory: StreamMemory
  readonly #cqs: CompletionQueue[] = []
  readonly #mine: ConnData
  /** Whose it is. */
  member: Member

  /** `id` has a device. Throws a VerbsError if something cannot be had. */
  constructor(id: CmId, given: SocketOptions, member: Member) {
    const context = id.verbs!
    this.member = member
    const { attr, host } = context.device
    const { maxQpWr } = attr
    this.adapter = Adapter.acquire(context)
    const { streams } = this.adapter
    const clamped = clampOptions(optionsFor(given.stream, given.chosen, streams, host.segment.sizeBytes))
    const options = {
      ...clamped,
      sqSize: Math.min(clamped.sqSize, maxQpWr),
      rqSize: Math.min(clamped.rqSize, maxQpWr - extraReceives),
    }
    const { pd } = this.adapter
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
      this.adapter.release()
      throw error
    }
    this.#mine = StreamConnection.describe(memory, options)
    this.adapter.keep(this)
  }

  #cq(size: number): CompletionQueue {
    const cq = this.adapter.createCq(size, this)
    this.#cqs.push(cq)
    return cq
  }

  get privateData(): Uint8Array {
    return encodeConnData(this.#mine)
  }

  /** The peer's private data came and the connection is made; false if the data makes no sense. */
  start(privateData: Uint8Array): boolean {
    const theirs = decodeConnData(privateData)
    if (typeof theirs === 'string') return false
    this.connection.start(this.#mine, theirs)
    return true
  }

  /** Looks whether the peer still lives. */
  probe(): void {
    const { connection } = this
    const { open } = connection
    connection.probe()
    if (open && !connection.open) heat(this.member)
  }

  /** After the id was closed, and with it the queue pair. */
  close(): void {
    this.adapter.drop(this)
    for (const cq of this.#cqs) cq.close()
    this.#memory.close()
    this.adapter.release()
  }
}
