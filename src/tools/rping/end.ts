/** One end of one rping connection: its queue pair, its buffers, and their completions. */
import {
  Access,
  type CmId,
  type CompletionQueue,
  type MemoryRegion,
  Opcode,
  type ProtectionDomain,
  QpState,
  QpType,
  type QueuePair,
  type RecvWorkRequest,
  recvWr,
  SendFlag,
  type SendWorkRequest,
  sendWr,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
} from '../../index.ts'
import type { Station } from '../cm-kit/index.ts'
import { EndError } from '../kit/index.ts'
import { emitRpingInfo, parseRpingInfo, type RpingInfo, rpingInfoBytes } from './message.ts'

const sqDepth = 16
const rqDepth = 2

export class RpingEnd {
  readonly id: CmId
  readonly qp: QueuePair
  /** Buffer that the server reads into and writes from; at the client, the target of the server's RDMA WRITE. */
  readonly sink: Uint8Array
  readonly #sinkMr: MemoryRegion
  /** Buffer that the client's server reads. */
  readonly source: Uint8Array
  readonly #sourceMr: MemoryRegion
  readonly #messages: Uint8Array
  readonly #receive: RecvWorkRequest
  readonly #send: SendWorkRequest
  readonly #rdma: SendWorkRequest
  readonly #station: Station
  readonly #pd: ProtectionDomain
  readonly #cq: CompletionQueue
  readonly #selfMade: boolean
  readonly #messagesMr: MemoryRegion
  /** Messages of the peer that have not been taken yet. */
  #received: RpingInfo[] = []
  #rdmaDone = false
  #failure: EndError | undefined
  #flushed = false

  /** `selfMade`: the queue pair is created and moved here and not by the id (`-q`). */
  constructor(station: Station, id: CmId, size: number, selfMade: boolean) {
    const context = id.verbs!
    this.#station = station
    this.id = id
    this.#selfMade = selfMade
    this.#pd = context.allocPd()
    this.#cq = station.createCq(context, 2 * sqDepth, (wc) => this.#complete(wc))
    const cap = { maxSendWr: sqDepth, maxRecvWr: rqDepth, maxSendSge: 1, maxRecvSge: 1 }
    if (selfMade) {
      this.qp = this.#pd.createQp({ type: QpType.RC, sendCq: this.#cq, recvCq: this.#cq, cap }) as QueuePair
      this.qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: 0 })
    } else this.qp = id.createQp({ pd: this.#pd, sendCq: this.#cq, recvCq: this.#cq, cap })
    const remote = Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite
    this.sink = context.alloc(size)
    this.#sinkMr = this.#pd.regMr(this.sink, remote)
    this.source = context.alloc(size)
    this.#sourceMr = this.#pd.regMr(this.source, remote)
    this.#messages = context.alloc(2 * rpingInfoBytes)
    const mr = this.#pd.regMr(this.#messages, Access.LocalWrite)
    this.#messagesMr = mr
    const message = (i: number) => ({ addr: mr.addr + i * rpingInfoBytes, length: rpingInfoBytes, lkey: mr.lkey })
    this.#receive = recvWr({ sgList: [message(0)] })
    this.#send = sendWr({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [message(1)] })
    this.#rdma = sendWr({
      opcode: Opcode.Read,
      sendFlags: SendFlag.Signaled,
      remoteAddr: 0,
      rkey: 0,
      sgList: [{ addr: this.#sinkMr.addr, length: 0, lkey: this.#sinkMr.lkey }],
    })
    this.qp.postRecv(this.#receive)
  }

  /** Moves a self-made queue pair (`-q`) through its states, with the attributes of the RDMA CM. */
  ready(): void {
    if (!this.#selfMade) return
    for (const state of [QpState.Init, QpState.Rtr, QpState.Rts] as const)
      this.qp.modify(this.id.initQpAttr(state) as Parameters<QueuePair['modify']>[0])
  }

  #complete(wc: WorkCompletion): void {
    if (wc.status === WcStatus.WrFlushErr) {
      this.#flushed = true
      return
    }
    if (wc.status !== WcStatus.Success) {
      const hint = wc.status === WcStatus.LocLenErr ? `: rping's messages have ${rpingInfoBytes} bytes` : ''
      this.#failure ??= new EndError('WC_STATUS', `cq completion failed status ${wc.status} (${wc.statusText})${hint}`)
      return
    }
    if (wc.opcode === WcOpcode.Read || wc.opcode === WcOpcode.Write) this.#rdmaDone = true
    if (wc.opcode !== WcOpcode.Recv) return
    if (wc.byteLen !== rpingInfoBytes) {
      this.#failure ??= new EndError(
        'PEER_TEXT',
        `Received bogus data, size ${wc.byteLen}: rping's messages have ${rpingInfoBytes} bytes; is the peer another program?`,
      )
      return
    }
    this.#received.push(parseRpingInfo(this.#messages))
    this.qp.postRecv(this.#receive)
  }

  /** Returns the next message of the peer; undefined if the connection has ended. */
  async message(what: string, stallMs?: number): Promise<RpingInfo | undefined> {
    await this.#station.until(what, () => this.#received.length > 0 || this.#over, stallMs)
    const message = this.#received.shift()
    if (message === undefined) this.#throwFailure()
    return message
  }

  /** Performs a READ into the sink, or a WRITE from it; returns false if the connection has ended. */
  async rdma(opcode: typeof Opcode.Read | typeof Opcode.Write, peer: RpingInfo, length: number): Promise<boolean> {
    const wr = this.#rdma
    wr.opcode = opcode
    wr.remoteAddr = peer.addr
    wr.rkey = peer.rkey
    wr.sgList[0]!.length = length
    this.#rdmaDone = false
    this.qp.postSend(wr)
    await this.#station.until(
      opcode === Opcode.Read ? 'the data of an RDMA READ' : 'an RDMA WRITE',
      () => this.#rdmaDone || this.#over,
    )
    if (!this.#rdmaDone) this.#throwFailure()
    return this.#rdmaDone
  }

  /** True if a message has arrived. */
  get heard(): boolean {
    return this.#received.length > 0
  }

  /** Sends the address and key of a buffer to the peer. */
  tell(buffer: 'source' | 'sink'): RpingInfo {
    const { addr, rkey } = buffer === 'source' ? this.#sourceMr : this.#sinkMr
    const info = { addr, rkey, size: this.sink.length }
    emitRpingInfo(info, this.#messages.subarray(rpingInfoBytes))
    this.qp.postSend(this.#send)
    return info
  }

  /** Sends a message of the server, whose contents are not used. */
  goAhead(): void {
    this.qp.postSend(this.#send)
  }

  /** True if the connection has ended, with or without an error. */
  get #over(): boolean {
    return this.#failure !== undefined || this.#flushed || this.#station.has(this.id)
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Disconnects; a queue pair that the id does not own is moved to ERR here. */
  disconnect(): void {
    if (this.#selfMade && !this.qp.closed) this.qp.modify({ state: QpState.Err })
    this.id.disconnect()
  }

  close(): void {
    if (this.#selfMade) this.qp.close()
    else if (this.id.qp !== undefined) this.id.destroyQp()
    this.#station.closeCq(this.#cq)
    for (const mr of [this.#sinkMr, this.#sourceMr, this.#messagesMr]) mr.close()
    this.#pd.close()
  }
}
