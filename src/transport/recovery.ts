/**
 * Early loss detection of a requester of RC, and limits that keep go-back-N from sending many packets uselessly.
 *
 * The ACK timeout of a connection is long (the RDMA CM sets 2 s), because it decides when the peer is given up. The loss of the last
 * outstanding packets, or of an ACK or NAK, would be noticed only then. So the requester measures the round trip and goes back when
 * nothing was received for a mean and four deviations of it (the estimator of RFC 6298), each time after twice as long until a round trip
 * was measured again: packets that are sent twice cannot be measured, so that a peer that has become slow would be sent the same packets
 * for ever. That costs none of the `retryCnt` retries: these are for the ACK timeout and for the first NAK since anything was
 * acknowledged. NAKs that follow, implied ones too, may be about earlier transmissions, and come as fast as the link carries them: seven
 * would end a connection whose peer is there. The requester goes back for those that come at least a round trip later, the next time two,
 * and so on, but the ACK timeout runs on meanwhile.
 *
 * Where nothing is lost nothing should be sent twice. The peer is a thread, which the system may keep waiting, however steady the round
 * trip was until now: so the allowance for deviation has a minimum, as in RFC 6298. It comes on top of the mean, so that it is there on a
 * long path, too. And if this thread notices late that it has waited long enough, it was itself delayed: it waits once more.
 *
 *     sent ──── early ──── early ──────── early … ──── ACK timeout: one retry less
 *
 * All packets sent after a lost one are wasted. The progress between two losses is a run; four times as much may be outstanding after a
 * loss, and each acknowledged packet allows one more, so that without losses the limit is gone soon.
 */
import { psnAdd, psnDiff } from '../wire/index.ts'
import { TransportQp } from './layout.ts'

/** Wait before it goes back until a round trip was measured, in shortest ACK timeouts. */
const firstWaits = 10
/** Minimum wait beyond the mean of the round trip, in shortest ACK timeouts. */
const leastAllowance = 3
const mostDoublings = 10
/** Number of packets that may always be outstanding. */
const leastWindow = 64

export class Recovery {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #leastNs: number

  /** Constructs the recovery of a device's requesters; `leastNs` is the shortest ACK timeout. */
  constructor(i32: Int32Array, f64: Float64Array, leastNs: number) {
    this.#i32 = i32
    this.#f64 = f64
    this.#leastNs = leastNs
  }

  begin(t: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.window] = 0
    i32[t + TransportQp.early] = 0
    i32[t + TransportQp.runFrom] = i32[t + TransportQp.una]!
    this.#f64[(t + TransportQp.roundTrip) >> 1] = 0
    this.#f64[(t + TransportQp.timedNs) >> 1] = 0
  }

  /** Starts a measurement with the packet `psn`, which requests a response and is sent for the first time. */
  sent(t: number, psn: number, nowNs: number): void {
    const timed = (t + TransportQp.timedNs) >> 1
    if (this.#f64[timed] !== 0) return
    this.#f64[timed] = nowNs
    this.#i32[t + TransportQp.timedPsn] = psn
  }

  /** Accounts for `packets` newly acknowledged, of at most `most` outstanding ones. */
  progress(t: number, packets: number, most: number, nowNs: number): void {
    const i32 = this.#i32
    const f64 = this.#f64
    if (i32[t + TransportQp.window] !== 0) {
      const window = i32[t + TransportQp.window]! + packets
      i32[t + TransportQp.window] = window < most ? window : 0
    }
    // Limits the distance to `most`: comparisons of PSNs change sign at half of their circle.
    const una = i32[t + TransportQp.una]!
    if (psnDiff(una, i32[t + TransportQp.runFrom]!) > most) i32[t + TransportQp.runFrom] = psnAdd(una, -most)
    const timed = (t + TransportQp.timedNs) >> 1
    if (f64[timed] === 0 || psnDiff(una, i32[t + TransportQp.timedPsn]!) <= 0) return
    const sample = nowNs - f64[timed]!
    f64[timed] = 0
    i32[t + TransportQp.early] = 0
    const mean = (t + TransportQp.roundTrip) >> 1
    const deviation = (t + TransportQp.deviation) >> 1
    if (f64[mean] === 0) {
      f64[mean] = Math.max(1, sample)
      f64[deviation] = sample / 2
      return
    }
    f64[deviation] = f64[deviation]! + (Math.abs(sample - f64[mean]!) - f64[deviation]!) / 4
    f64[mean] = Math.max(1, f64[mean]! + (sample - f64[mean]!) / 8)
  }

  /** Notes that the requester goes back, since something was lost. */
  restart(t: number, most: number, nowNs: number): void {
    const i32 = this.#i32
    const run = psnDiff(i32[t + TransportQp.una]!, i32[t + TransportQp.runFrom]!)
    const window = Math.max(leastWindow, 4 * run)
    i32[t + TransportQp.window] = window < most ? window : 0
    i32[t + TransportQp.runFrom] = i32[t + TransportQp.una]!
    this.pause(t)
    this.#f64[(t + TransportQp.restartNs) >> 1] = nowNs
  }

  /** Stops the measurement: packets that are sent again give no round trip. */
  pause(t: number): void {
    this.#f64[(t + TransportQp.timedNs) >> 1] = 0
  }

  /** Returns the number of packets that may be outstanding, of `most`. */
  window(t: number, most: number): number {
    const window = this.#i32[t + TransportQp.window]!
    return window === 0 ? most : Math.min(window, most)
  }

  /** Returns the time to wait for the peer before the requester goes back. */
  waitNs(t: number): number {
    const mean = this.#f64[(t + TransportQp.roundTrip) >> 1]!
    const deviation = this.#f64[(t + TransportQp.deviation) >> 1]!
    const wait =
      mean === 0 ? firstWaits * this.#leastNs : mean + Math.max(leastAllowance * this.#leastNs, 4 * deviation)
    return wait * 2 ** Math.min(mostDoublings, this.#i32[t + TransportQp.early]!)
  }

  /**
   * True if a NAK for the oldest packet can be about the transmission after the requester last went back: a round trip has passed, and
   * twice as much for each further time that it has gone back without progress.
   */
  isNews(t: number, nowNs: number): boolean {
    const mean = this.#f64[(t + TransportQp.roundTrip) >> 1]!
    const times = Math.max(1, this.#i32[t + TransportQp.resending]!)
    const wait = mean * 0.75 * 2 ** (Math.min(mostDoublings, times) - 1)
    return mean !== 0 && nowNs - this.#f64[(t + TransportQp.restartNs) >> 1]! >= wait
  }
}
