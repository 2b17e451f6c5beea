/**
 * Queues that report their events. With an observer, the door makes these in place of the plain ones; so the plain ones check for no
 * observer, and have no cost for it.
 */
import {
  EventType,
  nameOf,
  QpState,
  type QueuePair,
  type SharedReceiveQueue,
  WcStatus,
  type WorkCompletion,
} from '../../verbs/index.ts'
import type { DeviceWatch } from './device-watch.ts'
import type { ProgramContext } from './program-context.ts'
import { ProgramCq } from './program-cq.ts'
import { ProgramQp, type QpParts } from './program-qp.ts'
import { ProgramSrq, srqNumbers } from './program-srq.ts'
import { type Receive, type Request, receiveAt, requestAt } from './request-records.ts'
import type { Ring } from './ring.ts'
import { swapped, type Translated, Translation } from './translation.ts'
import { eventName, hex, hex64, wcOpcodeName, wcStatusName } from './value-names.ts'
import { type Failed, whyReceiveFailed, whyRequestFailed } from './why-failed.ts'
import type { Work } from './work.ts'

/** Translation that reports each request and receive to the queue that it belongs to. */
export class WatchedTranslation extends Translation {
  override add(to: Translated, ring: Ring, w: number, wrId: number): void {
    const request = requestAt(to, ring, w)
    super.add(to, ring, w, wrId)
    if (to instanceof WatchedQp) to.posted(request, this.failing ? this.reason : undefined)
  }

  override addReceive(to: QueuePair | SharedReceiveQueue, maxSge: number, ring: Ring, w: number, wrId: number): void {
    receivers.get(to)?.receives(ring, w, wrId)
    super.addReceive(to, maxSge, ring, w, wrId)
  }
}

/** Owners of the queues of this process. */
const receivers = new WeakMap<QueuePair | SharedReceiveQueue, { receives(ring: Ring, w: number, wrId: number): void }>()

const qpReasons: Readonly<Record<number, string>> = {
  [EventType.QpFatal]: 'went to ERR: its completion queue was full, or a request could not be executed',
  [EventType.QpReqErr]:
    'went to ERR: the peer asked for an operation that it does not permit (qp_access_flags, max_dest_rd_atomic)',
  [EventType.QpAccessErr]: 'went to ERR: the peer asked for memory that the key which it named does not open to it',
}

export class WatchedQp extends ProgramQp {
  readonly #watch: DeviceWatch
  readonly #context: ProgramContext
  readonly #failed: Failed
  /** Requests that have not completed, in their order; with the reason if one cannot be executed. */
  readonly #requests: { request: Request; reason: string | undefined }[] = []
  readonly #receives: Receive[] = []

  constructor(work: Work, slot: number, parts: QpParts, context: ProgramContext, watch: DeviceWatch, failed: Failed) {
    super(work, slot, parts)
    this.#context = context
    this.#watch = watch
    this.#failed = failed
    receivers.set(this.qp, this)
  }

  override take(): boolean {
    const { state } = this.qp
    const { sendRing } = this.parts
    if (state < QpState.Rts && sendRing.producer !== sendRing.consumer)
      this.#watch.record({
        type: 'note',
        reason: `ibv_post_send: queue pair ${hex(this.qp.qpNum)} is in ${nameOf(QpState, state).toUpperCase()}, and requests are posted from RTS on: they wait for that (EINVAL with --strict)`,
      })
    return super.take()
  }

  posted(request: Request, reason: string | undefined): void {
    this.#requests.push({ request, reason })
    this.#watch.record({ type: 'request', ...request, ...(reason === undefined ? {} : { reason }) })
  }

  receives(ring: Ring, w: number): void {
    const receive = receiveAt({ qpNum: this.qp.qpNum }, ring, w)
    this.#receives.push(receive)
    this.#watch.record({ type: 'receive', ...receive })
  }

  override sent(wc: WorkCompletion): void {
    const taken = this.#requests.shift()
    const { sendCq } = this.parts
    if (wc.status !== WcStatus.Success && taken !== undefined && sendCq instanceof WatchedCq) {
      const { request, reason } = taken
      // What cannot be executed was posted as something that fails.
      if (reason !== undefined && wc.status !== WcStatus.WrFlushErr)
        sendCq.reason = `ibv_post_send: ${request.opcode} wr_id ${request.wrId}: local QP operation error: ${reason}`
      else sendCq.reason = whyRequestFailed(this.#failed, request, wc.status)
    }
    super.sent(wc)
  }

  override received(wc: WorkCompletion): void {
    const receive = this.#receives.shift()
    this.#explain(wc, receive)
    super.received(wc)
  }

  /** `receive`: of the SRQ, that has completed. */
  receivedOf(wc: WorkCompletion, receive: Receive | undefined): void {
    this.#explain(wc, receive)
  }

  #explain({ status }: WorkCompletion, receive: Receive | undefined): void {
    const { recvCq } = this.parts
    if (status !== WcStatus.Success && recvCq instanceof WatchedCq)
      recvCq.reason = whyReceiveFailed(this.#failed, receive, status)
  }

  override reset(): void {
    this.#requests.length = 0
    this.#receives.length = 0
    super.reset()
  }

  override raise(type: number): void {
    const before = this.asyncEvents
    super.raise(type)
    const reason = qpReasons[type]
    this.#watch.record({
      type: 'event',
      event: eventName(type),
      element: `qp ${this.#watch.ordinal(this.#context.handleOf(this))}`,
      ...(this.asyncEvents === before ? { lost: true as const } : {}),
      ...(reason === undefined ? {} : { reason: `${eventName(type)}: queue pair ${hex(this.qp.qpNum)} ${reason}` }),
    })
  }
}

export class WatchedSrq extends ProgramSrq {
  readonly #watch: DeviceWatch
  readonly #context: ProgramContext
  readonly #receives = new Map<number, Receive>()

  constructor(context: ProgramContext, watch: DeviceWatch, ...own: ConstructorParameters<typeof ProgramSrq>) {
    super(...own)
    this.#context = context
    this.#watch = watch
    receivers.set(this.srq, this)
  }

  get #handle(): number {
    return this.#watch.ordinal(this.#context.handleOf(this))
  }

  receives(ring: Ring, w: number, wrId: number): void {
    const receive = receiveAt({ srq: this.#handle }, ring, w)
    this.#receives.set((wrId >>> 2) % srqNumbers, receive)
    this.#watch.record({ type: 'receive', ...receive })
  }

  override received(...[wc, number, qp]: Parameters<ProgramSrq['received']>): void {
    const receive = this.#receives.get(number)
    this.#receives.delete(number)
    if (qp instanceof WatchedQp) qp.receivedOf(wc, receive)
    super.received(wc, number, qp)
  }

  override raise(type: number): void {
    const before = this.asyncEvents
    super.raise(type)
    const lost = this.asyncEvents === before ? { lost: true as const } : {}
    this.#watch.record({ type: 'event', event: eventName(type), element: `srq ${this.#handle}`, ...lost })
  }
}

export class WatchedCq extends ProgramCq {
  /** Reason for the failure of the completion that is written next. */
  reason: string | undefined
  readonly #watch: DeviceWatch
  readonly #context: ProgramContext

  constructor(context: ProgramContext, watch: DeviceWatch, ...own: ConstructorParameters<typeof ProgramCq>) {
    super(...own)
    this.#context = context
    this.#watch = watch
  }

  get #handle(): number {
    return this.#watch.ordinal(this.#context.handleOf(this))
  }

  override push(...fields: Parameters<ProgramCq['push']>): boolean {
    const written = super.push(...fields)
    const [low, high, status, opcode, byteLen, immData, qpNum, srcQp, flags] = fields
    const { reason } = this
    this.reason = undefined
    this.#watch.record({
      type: 'completion',
      cq: this.#handle,
      ...{ qpNum, wrId: hex64(low, high), status: wcStatusName(status), opcode: wcOpcodeName(opcode), byteLen },
      ...((flags & 2) !== 0 ? { imm: hex(swapped(immData)) } : (flags & 8) !== 0 ? { imm: hex(immData >>> 0) } : {}),
      ...(srcQp === 0 ? {} : { srcQp }),
      ...(written ? {} : { lost: true as const }),
      ...(reason === undefined ? {} : { reason }),
    })
    return written
  }

  override raise(type: number): void {
    const before = this.asyncEvents
    super.raise(type)
    this.#watch.record({
      type: 'event',
      event: eventName(type),
      element: `cq ${this.#handle}`,
      ...(this.asyncEvents === before ? { lost: true as const } : {}),
      reason: `${eventName(type)}: the completion queue of ${this.cqe} entries was full: what completed is lost, and its queue pairs go to ERR (cqe of ibv_create_cq)`,
    })
  }
}
