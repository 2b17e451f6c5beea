/**
 * The send queue of a connected QP, as the requester, which sends from it, and the completer, which receives the replies, share it: its
 * entries, the timers of outstanding packets, and completions from its front.
 */

import { fillingOpcodes, hasOpcode, layout, QpType, WcStatus } from '../verbs/provider/index.ts'
import { psnDiff } from '../wire/index.ts'
import { SendProgress, TransportQp } from './layout.ts'
import { Recovery } from './recovery.ts'
import type { TransportState } from './state.ts'
import type { Timers } from './timers.ts'

const { Qp, Wqe } = layout

/** Maximum number of unacknowledged packets of one connection. */
const maxWindow = 256
/** IBA C9-140: local ACK timeouts, ns, by their code: 4.096 µs · 2^code; code 0 is none. */
const ackTimeoutNs = Float64Array.from({ length: 32 }, (_, code) => 4096 * 2 ** code)

export class SendQueue {
  readonly recovery: Recovery
  readonly #state: TransportState
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #timers: Timers

  constructor(state: TransportState) {
    this.#state = state
    this.#i32 = state.i32
    this.#f64 = state.f64
    this.#timers = state.timers
    this.recovery = new Recovery(state.i32, state.f64, state.options.minTimeoutNs)
  }

  /** Returns the first word of the entry with this index. */
  wqe(q: number, index: number): number {
    const i32 = this.#i32
    return i32[q + Qp.sqRing]! + (index & i32[q + Qp.sqMask]!) * i32[q + Qp.sqStride]!
  }

  /** Restores the retry counts after progress. */
  restartCounts(q: number, t: number): void {
    this.#i32[t + TransportQp.retriesLeft] = this.#i32[q + Qp.retryCnt]!
    this.#i32[t + TransportQp.rnrLeft] = this.#i32[q + Qp.rnrRetry]!
  }

  /** Returns the number of packets of this MTU that may be outstanding. */
  window(mtu: number): number {
    return Math.min(maxWindow, Math.max(16, Math.floor(this.#state.options.windowBytes / mtu)))
  }

  /** Restarts the ACK timeout, and the early wait with it, if anything is outstanding; else stops both. */
  armAckTimeout(q: number, t: number, nowNs: number): void {
    const i32 = this.#i32
    const timeout = i32[q + Qp.timeout]!
    if (timeout === 0 || i32[t + TransportQp.una] === i32[t + TransportQp.newPsn] || i32[q + Qp.type] !== QpType.RC) {
      this.#timers.cancelAckTimeout(t)
      return
    }
    // IBA C9-140 deviation: codes up to 11 wait for `minTimeoutNs`, unless that is less: a peer in a process may get no processor for
    // milliseconds without being dead.
    const waitNs = Math.max(this.#state.options.minTimeoutNs, ackTimeoutNs[timeout]!)
    i32[t + TransportQp.heldUp] = 0
    this.#timers.armAckTimeout(q, t, nowNs + waitNs, nowNs + this.recovery.waitNs(t))
  }

  /** True if an outstanding packet requests an ACK or a response: nothing is expected before. */
  expectsAck(t: number): boolean {
    const i32 = this.#i32
    return (
      i32[t + TransportQp.readsOut]! > 0 || psnDiff(i32[t + TransportQp.lastAckReq]!, i32[t + TransportQp.una]!) >= 0
    )
  }

  /** Waits for the peer as long as it usually takes, while the ACK timeout runs. */
  armEarly(q: number, t: number, nowNs: number): void {
    this.#timers.armEarly(q, t, nowNs + this.recovery.waitNs(t))
  }

  /** Ends the request at the front with the status in `localError`. */
  failLocally(q: number, t: number): void {
    const status = this.#i32[t + TransportQp.localError]!
    this.#i32[t + TransportQp.localError] = 0
    this.#state.failRequest(q, status)
  }

  /** Completes finished requests at the front of the send queue, and continues those that waited for them. */
  completeReady(q: number, t: number): void {
    const i32 = this.#i32
    const { host } = this.#state
    for (;;) {
      const next = i32[q + Qp.sqNext]!
      if (next === i32[t + TransportQp.freshIndex]) break
      const wqe = this.wqe(q, next)
      let bytes = 0
      if (i32[wqe + SendProgress.settled] === 0) {
        if (psnDiff(i32[t + TransportQp.una]!, i32[wqe + SendProgress.lastPsn]!) <= 0) break
        if (hasOpcode(fillingOpcodes, i32[wqe + Wqe.opcode]!)) bytes = this.#f64[(wqe + SendProgress.length) >> 1]!
      }
      if (!host.completeSend(q, WcStatus.Success, bytes)) {
        this.#state.flush(q)
        return
      }
    }
    // The request that cannot be sent is the first that was never begun; `txIndex` may have gone back.
    if (i32[t + TransportQp.localError] !== 0 && i32[q + Qp.sqNext] === i32[t + TransportQp.freshIndex])
      this.failLocally(q, t)
    else if (i32[t + TransportQp.txIndex] !== i32[q + Qp.sqHead]) this.#state.schedule(q)
  }

  /** Returns the packets of a READ response that one request covers: the range between two multiples of this in which a PSN lies. */
  chunkPackets(mtu: number): number {
    return Math.max(1, Math.min(Math.floor(this.#state.options.readChunkBytes / mtu), this.window(mtu)))
  }
}
