/** A connection, or with UD a queue pair and the path to its peer: an id of the RDMA CM with the queues that were made for it. */
import {
  type CmEventParam,
  type CmId,
  type CompletionQueue,
  QpState,
  QpType,
  type QueuePair,
  udpQkey,
} from '../../../index.ts'
import type { Clock } from '../../index.ts'
import type { InfinibandCounters } from './counters.ts'
import { ReceiveSide } from './receive-side.ts'
import type { Registered } from './registered.ts'
import { SendSide } from './send-side.ts'
import type { InfinibandSettings } from './settings.ts'
import { qpOfUdRequest, udRequest } from './ud-request.ts'

const sendElements = 4
const receiveElements = 4
/** Retries of a request, 7 for ever while the peer has no receive posted. */
const retries = { retryCount: 7, rnrRetryCount: 7 }

export class Connection {
  readonly id: CmId
  readonly send: SendSide
  readonly receive: ReceiveSide
  readonly #qp: QueuePair
  readonly #cqs: readonly CompletionQueue[]
  readonly #isUd: boolean

  /** Makes completion queues and queue pair of an id whose device is known. */
  constructor(
    id: CmId,
    memory: Registered,
    settings: InfinibandSettings,
    clock: Pick<Clock, 'stamp'>,
    counters: InfinibandCounters,
  ) {
    this.id = id
    this.#isUd = settings.qpType === QpType.UD
    const { context, pd } = memory
    const recvCq = context.createCq(settings.in.cqSize, { singleThreaded: true })
    const sendCq = context.createCq(settings.out.cqSize, { singleThreaded: true })
    this.#cqs = [recvCq, sendCq]
    try {
      this.#qp = id.createQp({
        pd,
        sendCq,
        recvCq,
        cap: {
          maxSendWr: settings.out.maxWrs,
          maxRecvWr: settings.in.maxWrs,
          maxSendSge: sendElements,
          maxRecvSge: receiveElements + (this.#isUd ? 1 : 0),
          maxInlineData: settings.out.maxInlineData,
        },
        sqSigAll: false,
      })
    } catch (error) {
      for (const cq of this.#cqs) cq.close()
      throw error
    }
    this.send = new SendSide(memory, settings, this.#qp, sendCq, counters)
    this.receive = new ReceiveSide(memory, settings, this.#qp, recvCq, clock, counters)
  }

  connect(): void {
    this.id.connect(this.#isUd ? { privateData: udRequest(this.#qp.qpNum) } : retries)
  }

  /**
   * Accepts a request. With UD, the event has the address of the peer, and the private data its queue pair, if it is a node of this type.
   */
  accept({ ah, privateData }: CmEventParam): void {
    const qpNum = this.#isUd ? qpOfUdRequest(privateData) : undefined
    if (qpNum !== undefined) this.send.sendTo(ah!, qpNum, udpQkey)
    this.id.accept(this.#isUd ? {} : { rnrRetryCount: retries.rnrRetryCount })
  }

  /** Sends messages to the address in the peer's reply, with UD. */
  sendTo({ ah, qpNum, qkey }: CmEventParam): void {
    this.send.sendTo(ah!, qpNum!, qkey!)
  }

  /** Moves the queue pair to ERR, and notifies the peer. Posted requests are flushed. */
  disconnect(): void {
    if (this.#isUd) {
      if (this.#qp.state !== QpState.Err) this.#qp.modify({ state: QpState.Err })
      return
    }
    try {
      this.id.disconnect()
    } catch {
      // It was not established, or failed: closing the id ends it.
    }
  }

  /**
   * Ends the connection. Samples that have arrived and were not read are appended to `arrived`; every other one that it held is given back.
   */
  close(arrived: number[]): void {
    this.receive.collect(arrived)
    this.disconnect()
    this.receive.collect(arrived)
    this.send.reap()
    // Closes the queue pair: from here on nothing is written to the samples.
    this.id.close()
    this.receive.releaseAll()
    this.send.releaseAll()
    for (const cq of this.#cqs) cq.close()
  }
}
