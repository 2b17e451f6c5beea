/**
 * The timers of connected QPs. Each is stored in the segment as its time of expiry; 0: it does not run, as in a QP that was reset.
 *
 *     timer        runs while                               when it expires
 *     ackTimeout   packets of RC are outstanding            they are sent again, which costs a retry
 *     early        as ackTimeout, which it begins with      they are sent again, which costs none (recovery.ts)
 *     rnr          the peer has no receive, instead of      sending goes on
 *                  the two above
 *     pace         congestion control lets no packet go,    sending goes on
 *                  besides any of those above
 *
 * An ACK that waits for a packet to go with has no timer: it waits for looks at the device (ack-policy.ts).
 *
 * The device has a list of the QPs that may have a running timer, and a time before which none expires. Cancelling a timer leaves both as
 * they are; they are made exact when that time has come.
 */
import { type Host, layout, QpState } from '../verbs/provider/index.ts'
import { listed, TransportDevice, TransportQp } from './layout.ts'

const { Qp } = layout

/** Callbacks for expired timers. */
export interface Expiry {
  ackTimeoutExpired(q: number, t: number, nowNs: number): void
  /** Handles the expiry of the early timer, which was due `lateNs` ago. */
  earlyExpired(q: number, t: number, nowNs: number, lateNs: number): void
  rnrExpired(q: number): void
  paceExpired(q: number): void
}

export class Timers {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #u8: Uint8Array
  readonly #device: number
  readonly #record: number
  readonly #next: number

  constructor(host: Host, device: number, record: number) {
    this.#host = host
    this.#i32 = host.i32
    this.#f64 = host.f64
    this.#u8 = host.u8
    this.#device = device
    this.#record = record
    this.#next = (record + TransportDevice.nextDeadline) >> 1
  }

  /** Time before which no timer expires. */
  get nextDeadlineNs(): number {
    return this.#f64[this.#next]!
  }

  // --- arming and cancelling ---------------------------------------------------------------------------------------

  armAckTimeout(q: number, t: number, expiresNs: number, earlyNs: number): void {
    this.#f64[(t + TransportQp.ackExpiresNs) >> 1] = expiresNs
    this.#f64[(t + TransportQp.earlyExpiresNs) >> 1] = earlyNs
    this.#enlist(q, Math.min(expiresNs, earlyNs))
  }

  armEarly(q: number, t: number, expiresNs: number): void {
    this.#f64[(t + TransportQp.earlyExpiresNs) >> 1] = expiresNs
    this.#enlist(q, expiresNs)
  }

  cancelAckTimeout(t: number): void {
    this.#f64[(t + TransportQp.ackExpiresNs) >> 1] = 0
    this.#f64[(t + TransportQp.earlyExpiresNs) >> 1] = 0
  }

  ackTimeoutRuns(t: number): boolean {
    return this.#f64[(t + TransportQp.ackExpiresNs) >> 1] !== 0
  }

  armRnr(q: number, t: number, expiresNs: number): void {
    this.cancelAckTimeout(t)
    this.#f64[(t + TransportQp.rnrExpiresNs) >> 1] = expiresNs
    this.#enlist(q, expiresNs)
  }

  cancelRnr(t: number): void {
    this.#f64[(t + TransportQp.rnrExpiresNs) >> 1] = 0
  }

  /** True if nothing is sent, since the peer has no receive. */
  rnrRuns(t: number): boolean {
    return this.#f64[(t + TransportQp.rnrExpiresNs) >> 1] !== 0
  }

  armPace(q: number, t: number, expiresNs: number): void {
    this.#f64[(t + TransportQp.paceExpiresNs) >> 1] = expiresNs
    this.#enlist(q, expiresNs)
  }

  cancelPace(t: number): void {
    this.#f64[(t + TransportQp.paceExpiresNs) >> 1] = 0
  }

  cancelAll(t: number): void {
    this.cancelAckTimeout(t)
    this.cancelRnr(t)
    this.cancelPace(t)
  }

  // --- the device's list -------------------------------------------------------------------------------------------

  #enlist(q: number, expiresNs: number): void {
    const i32 = this.#i32
    const u8 = this.#u8
    const record = this.#record
    const slot = this.#host.qpSlot(q)
    const flags = (record + TransportDevice.flags) * 4 + slot
    if ((u8[flags]! & listed.timer) === 0) {
      u8[flags] = u8[flags]! | listed.timer
      const count = i32[record + TransportDevice.timers]!
      i32[record + TransportDevice.timerList + count] = slot
      i32[record + TransportDevice.timers] = count + 1
    }
    if (expiresNs < this.#f64[this.#next]!) this.#f64[this.#next] = expiresNs
  }

  /** Removes the QP at `index` from the list; the last one takes its entry. */
  #delist(index: number): void {
    const i32 = this.#i32
    const record = this.#record
    const list = record + TransportDevice.timerList
    const flags = (record + TransportDevice.flags) * 4 + i32[list + index]!
    const last = i32[record + TransportDevice.timers]! - 1
    i32[list + index] = i32[list + last]!
    i32[record + TransportDevice.timers] = last
    this.#u8[flags] = this.#u8[flags]! & ~listed.timer
  }

  /** Returns the QP at `index` of the list, or −1 if it is gone. */
  #at(index: number): number {
    const i32 = this.#i32
    const q = this.#host.qpWord(i32[this.#record + TransportDevice.timerList + index]!)
    return i32[q + Qp.number]! <= 0 || i32[q + Qp.device] !== this.#device ? -1 : q
  }

  /** Returns the time of expiry of the first of the QP's timers; Infinity if none runs. */
  #earliest(t: number): number {
    const f64 = this.#f64
    let earliest = Number.POSITIVE_INFINITY
    for (let at = (t + TransportQp.ackExpiresNs) >> 1; at <= (t + TransportQp.paceExpiresNs) >> 1; at++)
      if (f64[at]! !== 0 && f64[at]! < earliest) earliest = f64[at]!
    return earliest
  }

  /** Expires the timers whose time has come. */
  advance(nowNs: number, expiry: Expiry): void {
    const i32 = this.#i32
    const f64 = this.#f64
    if (nowNs < f64[this.#next]!) return
    f64[this.#next] = Number.POSITIVE_INFINITY
    let next = Number.POSITIVE_INFINITY
    for (let i = 0; i < i32[this.#record + TransportDevice.timers]!; ) {
      const q = this.#at(i)
      const t = q < 0 ? 0 : i32[q + Qp.wire]!
      let earliest = q < 0 ? Number.POSITIVE_INFINITY : this.#earliest(t)
      if (earliest <= nowNs) {
        this.#expire(q, t, nowNs, expiry)
        earliest = this.#earliest(t)
      }
      if (earliest === Number.POSITIVE_INFINITY) {
        this.#delist(i)
        continue
      }
      if (earliest < next) next = earliest
      i++
    }
    if (next < f64[this.#next]!) f64[this.#next] = next
  }

  /** Postpones all timers that wait for a peer: this thread stood still for `ns`, in which it could not receive. */
  postpone(ns: number): void {
    const f64 = this.#f64
    let next = Number.POSITIVE_INFINITY
    for (let i = 0; i < this.#i32[this.#record + TransportDevice.timers]!; i++) {
      const q = this.#at(i)
      if (q < 0) continue
      const t = this.#i32[q + Qp.wire]!
      for (const timer of [TransportQp.ackExpiresNs, TransportQp.earlyExpiresNs, TransportQp.rnrExpiresNs]) {
        const at = (t + timer) >> 1
        if (f64[at] !== 0) f64[at] = f64[at]! + ns
      }
      next = Math.min(next, this.#earliest(t))
    }
    f64[this.#next] = next
  }

  #expire(q: number, t: number, nowNs: number, expiry: Expiry): void {
    const f64 = this.#f64
    const state = this.#i32[q + Qp.state]!
    if (state !== QpState.Rts && state !== QpState.Sqd) {
      this.cancelAll(t)
      return
    }
    if (this.#isDue(t + TransportQp.paceExpiresNs, nowNs)) {
      this.cancelPace(t)
      expiry.paceExpired(q)
    }
    if (this.#isDue(t + TransportQp.rnrExpiresNs, nowNs)) {
      this.cancelRnr(t)
      expiry.rnrExpired(q)
    }
    if (this.#isDue(t + TransportQp.ackExpiresNs, nowNs)) {
      this.cancelAckTimeout(t)
      expiry.ackTimeoutExpired(q, t, nowNs)
    } else if (this.#isDue(t + TransportQp.earlyExpiresNs, nowNs)) {
      const early = (t + TransportQp.earlyExpiresNs) >> 1
      const lateNs = nowNs - f64[early]!
      f64[early] = 0
      expiry.earlyExpired(q, t, nowNs, lateNs)
    }
  }

  #isDue(timer: number, nowNs: number): boolean {
    const expiresNs = this.#f64[timer >> 1]!
    return expiresNs !== 0 && expiresNs <= nowNs
  }
}
