/**
 * Congestion control, off unless `TransportOptions.congestionControl` is set.
 *
 *     switch marks a packet (ECN, CE) → receiver sends a CNP, one in 50 µs for each QP at most → sender slows down
 *
 * The sender is DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, with the values given there): a
 * CNP cuts the rate by α/2 and raises α, a moving average of the rate of CNPs. Without them, every 55 µs and every 10 MB, the rate
 * recovers half of the difference to the target rate, five times; then the target itself is raised, by 40 Mbit/s at a time, and by 400
 * when both, time and bytes, have gone on for long. At the line rate there is no limit any more. Elapsed time is accounted for when a
 * packet is to be sent: there are no timers of its own.
 *
 * Requests of RC and UC are slowed down, responses to READs are not: they are sent at the pace of the requests.
 */
import type { Host } from '../verbs/provider/index.ts'
import { TransportQp } from './layout.ts'

/** Words from `TransportQp.congestion` on, `congestionWords` of them; all but the last two f64. */
const At = {
  /** Time at which the last CNP was sent, ns. */
  cnpNs: 0,
  /** Rate, bits a second; 0: no limit. */
  rate: 2,
  target: 4,
  alpha: 6,
  /** Times at which α and the rate were last updated, and bytes since then. */
  alphaNs: 8,
  increaseNs: 10,
  bytes: 12,
  /** Time at which the next packet may be sent. */
  nextNs: 14,
  timeStage: 16,
  byteStage: 17,
} as const

export const Dcqcn = {
  cnpIntervalNs: 50_000,
  /** Weight of one CNP in α. */
  g: 0.00390625,
  periodNs: 55_000,
  periodBytes: 10e6,
  fastStages: 5,
  additiveBps: 40e6,
  hyperBps: 400e6,
  minBps: 10e6,
} as const

export class Congestion {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #lineBps: number

  constructor(host: Host, lineBps: number) {
    this.#i32 = host.i32
    this.#f64 = host.f64
    this.#lineBps = lineBps
  }

  #at(t: number, field: number): number {
    return (t + TransportQp.congestion + field) >> 1
  }

  /** Handles a marked packet: true if a CNP is due. */
  cnpDue(t: number, nowNs: number): boolean {
    const f64 = this.#f64
    const cnp = this.#at(t, At.cnpNs)
    // IBA CA17-44: one CNP may stand for several marked packets of a QP.
    if (f64[cnp]! !== 0 && nowNs - f64[cnp]! < Dcqcn.cnpIntervalNs) return false
    f64[cnp] = nowNs
    return true
  }

  /** Slows the sender down after a CNP. */
  slowDown(t: number, nowNs: number): void {
    const f64 = this.#f64
    const rate = this.#at(t, At.rate)
    const alpha = this.#at(t, At.alpha)
    if (f64[rate] === 0) {
      f64[rate] = this.#lineBps
      f64[alpha] = 1
      f64[this.#at(t, At.nextNs)] = nowNs
    } else this.#catchUp(t, nowNs)
    const before = f64[rate]! || this.#lineBps
    f64[this.#at(t, At.target)] = before
    // IBA CA17-45: a CNP lowers the rate.
    f64[rate] = Math.max(Dcqcn.minBps, before * (1 - f64[alpha]! / 2))
    f64[alpha] = (1 - Dcqcn.g) * f64[alpha]! + Dcqcn.g
    f64[this.#at(t, At.alphaNs)] = nowNs
    f64[this.#at(t, At.increaseNs)] = nowNs
    f64[this.#at(t, At.bytes)] = 0
    this.#i32[t + TransportQp.congestion + At.timeStage] = 0
    this.#i32[t + TransportQp.congestion + At.byteStage] = 0
  }

  /** Returns the current rate, bits a second; Infinity without a limit. */
  rateBps(t: number, nowNs: number): number {
    const rate = this.#at(t, At.rate)
    if (this.#f64[rate] === 0) return Number.POSITIVE_INFINITY
    this.#catchUp(t, nowNs)
    return this.#f64[rate] || Number.POSITIVE_INFINITY
  }

  /** Returns the time at which the QP may send its next packet: `nowNs` or later. */
  nextNs(t: number, nowNs: number): number {
    if (this.rateBps(t, nowNs) === Number.POSITIVE_INFINITY) return nowNs
    return Math.max(nowNs, this.#f64[this.#at(t, At.nextNs)]!)
  }

  /** Accounts for a packet that was sent. */
  sent(t: number, bytes: number, nowNs: number): void {
    const f64 = this.#f64
    const rate = f64[this.#at(t, At.rate)]!
    if (rate === 0) return
    const next = this.#at(t, At.nextNs)
    f64[next] = Math.max(f64[next]!, nowNs) + (bytes * 8e9) / rate
    const count = this.#at(t, At.bytes)
    f64[count] = f64[count]! + bytes
    if (f64[count]! < Dcqcn.periodBytes) return
    f64[count] = f64[count]! - Dcqcn.periodBytes
    this.#increase(t, At.byteStage)
  }

  /** Applies the changes that are due to elapsed time since the last look. */
  #catchUp(t: number, nowNs: number): void {
    const f64 = this.#f64
    const alphaNs = this.#at(t, At.alphaNs)
    const periods = Math.floor((nowNs - f64[alphaNs]!) / Dcqcn.periodNs)
    if (periods > 0) {
      f64[this.#at(t, At.alpha)]! *= (1 - Dcqcn.g) ** periods
      f64[alphaNs] = f64[alphaNs]! + periods * Dcqcn.periodNs
    }
    const increaseNs = this.#at(t, At.increaseNs)
    const rate = this.#at(t, At.rate)
    while (f64[rate] !== 0 && nowNs - f64[increaseNs]! >= Dcqcn.periodNs) {
      f64[increaseNs] = f64[increaseNs]! + Dcqcn.periodNs
      this.#increase(t, At.timeStage)
    }
  }

  #increase(t: number, stage: number): void {
    const f64 = this.#f64
    const i32 = this.#i32
    const at = t + TransportQp.congestion
    i32[at + stage] = i32[at + stage]! + 1
    const most = Math.max(i32[at + At.timeStage]!, i32[at + At.byteStage]!)
    const least = Math.min(i32[at + At.timeStage]!, i32[at + At.byteStage]!)
    const target = this.#at(t, At.target)
    const rate = this.#at(t, At.rate)
    if (least > Dcqcn.fastStages) f64[target] = f64[target]! + Dcqcn.hyperBps
    else if (most > Dcqcn.fastStages) f64[target] = f64[target]! + Dcqcn.additiveBps
    f64[target] = Math.min(f64[target]!, this.#lineBps)
    f64[rate] = (f64[rate]! + f64[target]!) / 2
    if (f64[rate]! > 0.999 * this.#lineBps) f64[rate] = 0
  }
}
