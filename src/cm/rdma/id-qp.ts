/** The queue pair of an id: made with what it needs, and taken through its states as the connection goes on. */
import {
  Access,
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  type ProtectionDomain,
  type QpAttr,
  type QpModify,
  QpState,
  QpType,
  type QueuePair,
} from '../../verbs/index.ts'
import { RdmaCmError } from './errors.ts'
import type { IdQpInit, IdQpType } from './params.ts'

/** Object that `createQp` made for the id, and closes with it. */
interface Made {
  close(): void
}

const completionsEach = 64

/** Takes a queue pair of a connection to INIT, where receives may be posted and the peer has access to nothing. */
const initAttr = { state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: Access.LocalWrite } as const

export class IdQp {
  readonly qp: QueuePair
  sendCqChannel: CompletionChannel | undefined
  recvCqChannel: CompletionChannel | undefined
  readonly #made: Made[] = []
  /** Flag: the queue pair belongs to a library that uses its memory for nothing else before it is reclaimed. */
  #adopted = true

  /** Takes over a queue pair in INIT. */
  constructor(qp: QueuePair) {
    this.qp = qp
  }

  /** Makes the queue pair, and what `init` does not give for it. */
  static make(context: Context, defaultPd: ProtectionDomain, type: IdQpType, init: IdQpInit, qkey: number): IdQp {
    if (typeof init !== 'object' || init === null)
      throw new RdmaCmError('EINVAL', 'createQp', 'init must be an object such as { sendCq, recvCq, cap }')
    const pd = init.pd ?? defaultPd
    if (pd.context !== context)
      throw new RdmaCmError('EINVAL', 'createQp', 'pd belongs to another context: make it with id.verbs.allocPd()')
    const made: Made[] = []
    const keep = <T extends Made>(object: T): T => {
      made.unshift(object)
      return object
    }
    const cq = (wanted: number): { cq: CompletionQueue; channel: CompletionChannel } => {
      const channel = keep(context.createCompChannel())
      return { cq: keep(context.createCq(Math.max(1, wanted), { channel })), channel }
    }
    try {
      const send = init.sendCq === undefined ? cq(init.cap?.maxSendWr ?? 2 * completionsEach) : undefined
      const recv = init.recvCq === undefined ? cq(init.cap?.maxRecvWr ?? 2 * completionsEach) : undefined
      const { pd: _pd, ...rest } = init
      const sendCq = init.sendCq ?? send!.cq
      const recvCq = init.recvCq ?? recv!.cq
      const one = new IdQp(keep(pd.createQp({ ...rest, type, sendCq, recvCq }) as QueuePair))
      one.#adopted = false
      one.sendCqChannel = send?.channel
      one.recvCqChannel = recv?.channel
      one.#begin(qkey)
      one.#made.push(...made.slice(1))
      return one
    } catch (error) {
      // Nothing that was made on the way to a failure stays.
      for (const object of made) object.close()
      throw error
    }
  }

  #begin(qkey: number): void {
    if (this.qp.type === QpType.UD) {
      this.#modify({ state: QpState.Init, pkeyIndex: 0, port: 1, qkey })
      this.#modify({ state: QpState.Rtr })
      this.#modify({ state: QpState.Rts, sqPsn: 0 })
    } else this.#modify(initAttr)
  }

  #modify(attr: Partial<QpAttr>): void {
    this.qp.modify(attr as QpModify<QpType>)
  }

  /** From INIT to RTS. */
  ready(init: Partial<QpAttr>, rtr: Partial<QpAttr>, rts: Partial<QpAttr>): void {
    this.#modify(init)
    this.#modify(rtr)
    this.#modify(rts)
  }

  /** To ERR: what is posted is flushed. */
  fail(): void {
    if (!this.qp.closed && this.qp.state !== QpState.Err && this.qp.state !== QpState.Reset)
      this.#modify({ state: QpState.Err })
  }

  /** Can be called again if it throws, as while the queue pair is in a group or an event is not acknowledged: EBUSY. */
  close(): void {
    if (!this.qp.closed && this.#adopted) this.qp.discard()
    else if (!this.qp.closed) this.qp.close()
    for (; this.#made.length > 0; this.#made.shift()) this.#made[0]!.close()
  }
}
