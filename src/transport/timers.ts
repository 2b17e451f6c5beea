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

/** Bits of the timers that run while the transport waits for a peer, in the order of their words. */
const waits = { ack: 1, early: 2, rnr: 4 } as const

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
  /** Slots of the QPs for which this thread has armed timers in its turn, and the timers of each slot, as bits of `waits`. */
  readonly #armed: number[] = []
  #armedCount = 0
  readonly #armedBits = new Uint8Array(TransportDevice.slots)
  /** Flag: this thread has armed a timer since `takeArmed`. */
  #arms = false

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
    this.#enlist(q, Math.min(expiresNs, earlyNs), waits.ack | waits.early)
  }

  armEarly(q: number, t: number, expiresNs: number): void {
    this.#f64[(t + TransportQp.earlyExpiresNs) >> 1] = expiresNs
    this.#enlist(q, expiresNs, waits.early)
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
    this.#enlist(q, expiresNs, waits.rnr)
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
    this.#enlist(q, expiresNs, 0)
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

  #enlist(q: number, expiresNs: number, bits: number): void {
    const i32 = this.#i32
    const u8 = this.#u8
    const record = this.#record
    const slot = this.#host.qpSlot(q)
    this.#arms = true
    if (bits !== 0) {
      if (this.#armedBits[slot] === 0) this.#armed[this.#armedCount++] = slot
      this.#armedBits[slot] = this.#armedBits[slot]! | bits
    }
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

  /** Begins a turn, at whose end `postpone` may be called. */
  beginTurn(): void {
    while (this.#armedCount > 0) this.#armedBits[this.#armed[--this.#armedCount]!] = 0
  }

  /** True if timers that wait for a peer were armed in this turn. */
  get hasArmed(): boolean {
    return this.#armedCount > 0
  }

  /** Returns true if this thread has armed a timer since the last call. */
  takeArmed(): boolean {
    const arms = this.#arms
    this.#arms = false
    return arms
  }

  /**
   * Postpones the timers that were armed in this turn and wait for a peer: they were armed with the time at which it began, and packets
   * left up to `ns` later. Earlier ones run on: what has come for them meanwhile is taken before they can expire.
   */
  postpone(ns: number): void {
    const f64 = this.#f64
    for (let i = 0; i < this.#armedCount; i++) {
      const slot = this.#armed[i]!
      const t = this.#i32[this.#host.qpWord(slot) + Qp.wire]!
      const bits = this.#armedBits[slot]!
      if ((bits & waits.ack) !== 0) postponeOne(f64, t + TransportQp.ackExpiresNs, ns)
      if ((bits & waits.early) !== 0) postponeOne(f64, t + TransportQp.earlyExpiresNs, ns)
      if ((bits & waits.rnr) !== 0) postponeOne(f64, t + TransportQp.rnrExpiresNs, ns)
    }
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

/** Postpones the timer with this word, if it runs. */
function postponeOne(f64: Float64Array, word: number, ns: number): void {
  if (f64[word >> 1] !== 0) f64[word >> 1] = f64[word >> 1]! + ns
}
