/**
 * One end of a ping-pong: its verbs objects and its loop. Both ends count their sends and receives; an end that has both
 * completions of its last message sends the next one, so that one message is outstanding for each queue pair.
 *
 * The loop runs in the main thread. While nothing arrives it lets the event loop run now and then, for devices that need
 * it and for signals; as long as messages arrive it does nothing else.
 */
import {
  Access,
  type AddressHandle,
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  connectQp,
  defaultQkey,
  grhLength,
  Opcode,
  QpState,
  QpType,
  type QueuePair,
  type RecvWorkRequest,
  randomPsn,
  recvWr,
  SendFlag,
  type SendWorkRequest,
  type SharedReceiveQueue,
  sendWr,
  WcStatus,
  type WorkCompletion,
  workCompletions,
} from '../../index.ts'
import { addressVector, EndError, isZero, type LocalPort, localPort, UsageError } from '../kit/index.ts'
import type { Destination } from './exchange.ts'
import type { PingPongSettings } from './settings.ts'

const recvId = 1
const sendId = 2
/** Byte that fills the buffers, as in the originals. With `-c` the first byte of each page is 0 instead. */
const filling = 0x7b
const pageBytes = 4096

const qpTypes = { rc: QpType.RC, uc: QpType.UC, ud: QpType.UD, srq: QpType.RC } as const
const minRnrTimer = 12

/** Queue pair of this end, and the last message that it sent. */
interface Lane {
  qp: QueuePair
  psn: number
  send: SendWorkRequest
  /** Number of completions that are missing before the next message is sent. */
  pending: number
}

export interface Exchanged {
  startNs: bigint
  endNs: bigint
  /** True if the last message was not acknowledged: the peer had ended by then. */
  lastUnacknowledged: boolean
  /** Reason why it ended early; null if all messages went both ways. */
  failure: EndError | null
}

export class PingPongEnd {
  readonly local: LocalPort
  readonly #settings: PingPongSettings
  readonly #context: Context
  readonly #opened: { close(): void }[] = []
  readonly #cq: CompletionQueue
  readonly #channel: CompletionChannel | null
  readonly #srq: SharedReceiveQueue | null
  readonly #lanes: Lane[]
  readonly #laneOf = new Map<number, Lane>()
  /** Buffer of the message, after room for a GRH with UD. */
  readonly #message: Uint8Array
  readonly #receive: RecvWorkRequest
  readonly #wcs: WorkCompletion[] = workCompletions(16)
  #posted = 0
  #received = 0
  #sent = 0
  #lastUnacknowledged = false

  constructor(context: Context, settings: PingPongSettings) {
    this.#context = context
    this.#settings = settings
    const { kind, size, rxDepth, qps, events, ibPort, gidIndex, mtu } = settings
    this.local = localPort(context, ibPort, gidIndex, '-g')
    const { activeMtu } = this.local
    if (kind === 'ud' && size > activeMtu)
      throw new UsageError('-s', `a UD message is one packet, at most the active MTU of ${activeMtu} bytes`)
    if (kind !== 'ud' && mtu > activeMtu)
      throw new UsageError('-m', `${mtu} is more than the port's active MTU: use -m ${activeMtu} at both ends`)
    const headroom = kind === 'ud' ? grhLength : 0
    const pd = this.#keep(context.allocPd())
    const bytes = context.alloc(headroom + Math.max(1, size))
    const mr = this.#keep(pd.regMr(bytes, Access.LocalWrite))
    this.#message = bytes.subarray(headroom, headroom + size).fill(filling)
    this.#channel = events ? this.#keep(context.createCompChannel()) : null
    const init = this.#channel ? { channel: this.#channel } : {}
    this.#cq = this.#keep(context.createCq(rxDepth + qps, { singleThreaded: true, ...init }))
    this.#srq = kind === 'srq' ? this.#keep(pd.createSrq({ maxWr: rxDepth, maxSge: 1 })) : null
    const cap = { maxSendWr: 1, maxRecvWr: rxDepth, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
    const srq = this.#srq ? { srq: this.#srq } : {}
    this.#lanes = Array.from({ length: qps }, () => {
      const qp = this.#keep(pd.createQp({ type: qpTypes[kind], sendCq: this.#cq, recvCq: this.#cq, cap, ...srq }))
      const send = sendWr({
        wrId: sendId,
        opcode: Opcode.Send,
        sendFlags: SendFlag.Signaled,
        sgList: [{ addr: mr.addr + headroom, length: size, lkey: mr.lkey }],
      })
      return { qp, psn: randomPsn(), send, pending: recvId }
    })
    for (const lane of this.#lanes) {
      this.#laneOf.set(lane.qp.qpNum, lane)
      connectQp(lane.qp, lane, null, { until: QpState.Init, ah: { dlid: 0, portNum: ibPort }, accessFlags: 0 })
    }
    this.#receive = recvWr({ wrId: recvId, sgList: [{ addr: mr.addr, length: headroom + size, lkey: mr.lkey }] })
    this.#postReceives()
    if (this.#channel) this.#cq.reqNotify()
  }

  get destinations(): Destination[] {
    return this.#lanes.map(({ qp, psn }) => ({ lid: this.local.lid, qpn: qp.qpNum, psn, gid: this.local.gid }))
  }

  /** Moves the queue pairs to RTS. */
  connect(remotes: readonly Destination[]): void {
    const { kind, sl, mtu } = this.#settings
    for (const [i, { qp, psn, send }] of this.#lanes.entries()) {
      const remote = remotes[i]!
      if (this.local.ethernet && isZero(remote.gid))
        throw new EndError('PEER_TEXT', 'the peer sent no GID, and on Ethernet nothing goes without: give it -g INDEX')
      const ah = addressVector(this.local, remote, sl)
      connectQp(qp, { psn }, kind === 'ud' ? null : remote, {
        ah,
        pathMtu: mtu,
        accessFlags: 0,
        maxRdAtomic: 1,
        maxDestRdAtomic: 1,
        minRnrTimer,
      })
      if (kind !== 'ud') continue
      send.ah = this.#keep(qp.pd.createAh(ah)) as AddressHandle
      send.remoteQpn = remote.qpn
      send.remoteQkey = defaultQkey
    }
  }

  /** Runs until all messages went both ways. The client begins. */
  async play(client: boolean): Promise<Exchanged> {
    if (client) {
      if (this.#settings.check) for (let at = 0; at < this.#message.length; at += pageBytes) this.#message[at] = 0
      for (const lane of this.#lanes) this.#post(lane)
    }
    const startNs = process.hrtime.bigint()
    let failure: EndError | null = null
    try {
      if (this.#channel) await this.#playEvents(this.#channel)
      else await this.#playPolling()
    } catch (error) {
      if (!(error instanceof EndError)) throw error
      failure = error
    }
    return { startNs, endNs: process.hrtime.bigint(), lastUnacknowledged: this.#lastUnacknowledged, failure }
  }

  /** Returns the numbers of messages whose completions were seen. */
  get progress(): { sent: number; received: number } {
    return { sent: this.#sent, received: this.#received }
  }

  get #done(): boolean {
    const { iters } = this.#settings
    return (this.#received >= iters && this.#sent >= iters) || this.#lastUnacknowledged
  }

  async #playPolling(): Promise<void> {
    let idle = 0
    let lastMs = performance.now()
    while (!this.#done) {
      if (this.#collect() > 0) {
        idle = 0
        continue
      }
      if ((++idle & 255) !== 0) continue
      const now = performance.now()
      if (idle === 256) lastMs = now
      else if (now - lastMs > turnAfterMs) {
        this.#checkStall(now - lastMs)
        await turn()
      } else if (now - lastMs > politeAfterMs) Atomics.wait(sleeper, 0, 0, 0.02)
    }
  }

  async #playEvents(channel: CompletionChannel): Promise<void> {
    let lastMs = performance.now()
    // Completions that arrived before the CQ was armed generate no event.
    this.#collectAll()
    while (!this.#done) {
      const cq = channel.getEvent(sliceMs)
      if (cq) {
        cq.ackEvents(1)
        cq.reqNotify()
        this.#collectAll()
        lastMs = performance.now()
      } else {
        this.#checkStall(performance.now() - lastMs)
        await turn()
      }
    }
  }

  #checkStall(quietMs: number): void {
    const { stallMs, kind, iters } = this.#settings
    if (stallMs === 0 || quietMs < stallMs) return
    const lossy = kind === 'uc' || kind === 'ud' ? `: ${kind.toUpperCase()} does not repeat what is lost` : ''
    throw new EndError(
      'PEER_SILENT',
      `nothing came for ${stallMs / 1000} s after ${this.#received} of ${iters} messages${lossy}; is the peer still there, and -n the same at both ends? (--timeout)`,
    )
  }

  #collectAll(): void {
    while (!this.#done && this.#collect() > 0);
  }

  /** Takes completions and answers them; returns their number. */
  #collect(): number {
    const wcs = this.#wcs
    const n = this.#cq.poll(wcs)
    if (n < 0) throw new EndError('CQ_OVERRUN', 'the completion queue overran')
    for (let i = 0; i < n && !this.#done; i++) {
      const wc = wcs[i]!
      const lane = this.#lanes.length === 1 ? this.#lanes[0]! : this.#laneOf.get(wc.qpNum)!
      if (wc.status !== WcStatus.Success) this.#failed(wc)
      else this.#take(lane, wc.wrId)
    }
    return n
  }

  #take(lane: Lane, wrId: number): void {
    const { iters, qps } = this.#settings
    if (wrId === sendId) this.#sent++
    else {
      this.#received++
      if (--this.#posted <= qps) this.#postReceives()
    }
    lane.pending &= ~wrId
    if (lane.pending === 0 && this.#sent < iters) this.#post(lane)
  }

  #failed(wc: WorkCompletion): void {
    const { iters, kind } = this.#settings
    // The peer has received all messages and may end before its last acknowledgement arrives.
    if (
      wc.wrId === sendId &&
      wc.status === WcStatus.RetryExcErr &&
      this.#received >= iters &&
      this.#sent === iters - 1
    ) {
      this.#lastUnacknowledged = true
      return
    }
    const what = wc.wrId === sendId ? 'send' : 'receive'
    const hint =
      wc.status !== WcStatus.RetryExcErr
        ? ''
        : this.#received > 0
          ? ': the peer has gone away'
          : `: is the peer the same program (${kind}_pingpong), with a device that this one can reach?`
    throw new EndError(
      'WC_STATUS',
      `a ${what} ended with status ${wc.status} (${wc.statusText}) after ${this.#received} of ${iters} messages${hint}`,
    )
  }

  #post(lane: Lane): void {
    lane.pending = recvId | sendId
    lane.qp.postSend(lane.send)
  }

  #postReceives(): void {
    const queue = this.#srq ?? this.#lanes[0]!.qp
    for (; this.#posted < this.#settings.rxDepth; this.#posted++) queue.postRecv(this.#receive)
  }

  /** Returns the pages of the message that differ from what the client sent, with `-c`. */
  wrongPages(): number[] {
    const message = this.#message
    const others = message[1]
    const wrong: number[] = []
    for (let start = 0; start < message.length; start += pageBytes) {
      const rest = message.subarray(start + 1, Math.min(start + pageBytes, message.length))
      if (message[start] !== 0 || rest.some((byte) => byte !== others)) wrong.push(start / pageBytes)
    }
    return wrong
  }

  /** Waits for a while, so that a peer that has not received the last acknowledgement can request it again. */
  async linger(): Promise<void> {
    if (!this.local.ethernet || this.#settings.kind === 'uc' || this.#settings.kind === 'ud') return
    const end = performance.now() + lingerMs
    while (performance.now() < end) {
      this.#cq.poll(this.#wcs)
      await turn()
    }
  }

  /** Closes all but the context. Afterwards nothing of it is outstanding, and all sent messages are counted. */
  release(): void {
    for (const object of this.#opened.reverse()) object.close()
    this.#opened.length = 0
  }

  close(): void {
    this.release()
    this.#context.close()
  }

  #keep<T extends { close(): void }>(object: T): T {
    this.#opened.push(object)
    return object
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
/** Time after which a waiting thread may share its core with the peer it waits for, and sleeps to let that one run. */
const politeAfterMs = 0.1
/** Time after which a waiting thread lets the event loop run. */
const turnAfterMs = 2
const sliceMs = 20
/** Milliseconds of four ACK timeouts of 4.096 µs · 2^14. */
const lingerMs = 270

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
