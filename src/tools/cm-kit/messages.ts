/**
 * The queue pair of one connection of `ucmatose`, `udaddy` or `mckey`, and its messages: as many receives are posted as
 * messages are expected, and completions are counted. All messages share one buffer, whose contents are not used.
 */
import {
  Access,
  type AddressHandle,
  type CmId,
  type CompletionQueue,
  type Context,
  grhLength,
  type MemoryRegion,
  Opcode,
  type ProtectionDomain,
  QpType,
  type QueuePair,
  recvWr,
  SendFlag,
  type SendWrInit,
  sendWr,
  WcFlag,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
} from '../../index.ts'
import { EndError, UsageError } from '../kit/index.ts'
import type { Station } from './station.ts'

export interface MessageSettings {
  /** Number of messages on each connection. */
  messageCount: number
  /** Bytes of each message. */
  messageSize: number
}

/** Destination of datagrams. */
export interface Destination {
  ah: AddressHandle
  qpNum: number
  qkey: number
}

export class MessageEnd {
  readonly id: CmId
  readonly qp: QueuePair
  readonly count: number
  /** Number of completions so far; sends without a completion count when they are posted. */
  sent = 0
  received = 0
  /** Sender of the first message; UD only. */
  sender: Destination | undefined
  failure: EndError | undefined
  readonly #station: Station
  readonly #pd: ProtectionDomain
  readonly #cq: CompletionQueue
  readonly #mr: MemoryRegion | undefined
  readonly #buffer: Uint8Array
  readonly #size: number
  readonly #datagrams: boolean
  readonly #handles: AddressHandle[] = []

  constructor(station: Station, id: CmId, { messageCount, messageSize }: MessageSettings) {
    const context = id.verbs!
    this.id = id
    this.#station = station
    this.#datagrams = id.qpType === QpType.UD
    this.count = messageSize === 0 ? 0 : messageCount
    this.#size = messageSize
    if (this.#datagrams && this.count > 0) checkDatagramSize(context, messageSize)
    const depth = Math.max(1, this.count)
    checkDepth(context, depth)
    this.#pd = context.allocPd()
    this.#cq = station.createCq(context, 2 * depth, (wc) => this.#complete(wc))
    this.qp = id.createQp({
      pd: this.#pd,
      sendCq: this.#cq,
      recvCq: this.#cq,
      sqSigAll: !this.#datagrams,
      cap: { maxSendWr: depth, maxRecvWr: depth, maxSendSge: 1, maxRecvSge: 1 },
    })
    this.#buffer = this.count === 0 ? new Uint8Array(0) : context.alloc(this.#headroom + messageSize)
    this.#mr = this.count === 0 ? undefined : this.#pd.regMr(this.#buffer, Access.LocalWrite)
  }

  get #headroom(): number {
    return this.#datagrams ? grhLength : 0
  }

  #complete(wc: WorkCompletion): void {
    if (wc.status === WcStatus.WrFlushErr) return
    if (wc.status !== WcStatus.Success) {
      this.failure ??= new EndError(
        'WC_STATUS',
        `a ${wc.opcode === WcOpcode.Recv ? 'receive' : 'send'} ended with status ${wc.status} (${wc.statusText}): are -C and -S the same at both ends?`,
      )
      return
    }
    if (wc.opcode === WcOpcode.Send) this.sent++
    if (wc.opcode !== WcOpcode.Recv) return
    this.received++
    if (this.#datagrams && this.sender === undefined) this.sender = this.#senderOf(wc)
  }

  /** Returns the sender: the peer puts its queue pair number into the immediate; the Q_Key is the same for all. */
  #senderOf(wc: WorkCompletion): Destination | undefined {
    if ((wc.wcFlags & WcFlag.WithImm) === 0) {
      this.failure ??= new EndError('PEER_TEXT', 'a message came without immediate: is the peer another program?')
      return undefined
    }
    const ah = this.keep(this.#pd.createAhFromWc(this.id.portNum, wc, this.#buffer.subarray(0, grhLength)))
    return { ah, qpNum: wc.immData & 0xffffff, qkey: this.qp.query().attr.qkey ?? 0 }
  }

  keep(ah: AddressHandle): AddressHandle {
    this.#handles.push(ah)
    return ah
  }

  get pd(): ProtectionDomain {
    return this.#pd
  }

  /** Posts receives for all expected messages. */
  postReceives(): void {
    if (this.#mr === undefined) return
    const { addr, lkey } = this.#mr
    const wr = recvWr({ sgList: [{ addr, length: this.#headroom + this.#size, lkey }] })
    for (let i = 0; i < this.count; i++) this.qp.postRecv(wr)
  }

  /** Posts all messages at once. Datagrams carry the number of the queue pair, and are signaled if requested. */
  postSends(to?: Destination, signaled = true): void {
    if (this.#mr === undefined) return
    const { addr, lkey } = this.#mr
    const sgList = [{ addr, length: this.#size, lkey }]
    const init = { sendFlags: signaled ? SendFlag.Signaled : 0, sgList }
    const datagram = to && { ah: to.ah, remoteQpn: to.qpNum, remoteQkey: to.qkey, immData: this.qp.qpNum }
    const wr = sendWr(
      (datagram === undefined
        ? { ...init, opcode: Opcode.Send }
        : { ...init, opcode: Opcode.SendWithImm, ...datagram }) as SendWrInit,
    )
    for (let i = 0; i < this.count; i++) this.qp.postSend(wr)
    if (!signaled) this.sent += this.count
  }

  /** Waits until all sends or all receives have completed; throws if one failed or the connection ended. */
  async completed(which: 'sent' | 'received'): Promise<void> {
    const what = `${which === 'sent' ? 'the sends' : 'messages'} of a connection`
    const done = (): boolean => this[which] >= this.count
    try {
      await this.#station.until(what, () => done() || this.failure !== undefined || this.#station.has(this.id))
    } catch (error) {
      if (!(error instanceof EndError) || error.code !== 'PEER_SILENT') throw error
      const lost = this.#datagrams
        ? ': a datagram that is lost is not sent again; are -C and -S the same at both ends?'
        : ''
      throw new EndError(error.code, `${error.message}; ${this[which]} of ${this.count} messages came${lost}`)
    }
    if (done()) return
    if (this.failure !== undefined) throw this.failure
    throw new EndError(
      'PEER_GONE',
      `the connection ended after ${this[which]} of ${this.count} messages: are -C and -S the same at both ends?`,
    )
  }

  close(): void {
    for (const ah of this.#handles) if (!ah.closed) ah.close()
    if (!this.id.closed && this.id.qp !== undefined) this.id.destroyQp()
    this.#station.closeCq(this.#cq)
    this.#mr?.close()
    this.#pd.close()
  }
}

function checkDepth(context: Context, depth: number): void {
  const { maxQpWr, maxCqe } = context.queryDevice()
  const most = Math.min(maxQpWr, Math.floor(maxCqe / 2))
  if (depth > most) throw new UsageError('-C', `${context.name} takes ${most} messages at most on one queue pair`)
}

function checkDatagramSize(context: Context, bytes: number): void {
  const { activeMtu } = context.queryPort(1)
  if (bytes > activeMtu)
    throw new UsageError('-S', `a datagram is one packet: ${bytes} is larger than the active MTU of ${activeMtu} bytes`)
}
