/**
 * Packets that are sent when they are due. A capture is read in chunks: the packets of one are copied here, and sent before the next
 * chunk is read. While the next packet is far away the event loop runs; the rest of the wait is spent spinning.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { nowNs, sleepUntilNs } from '../../memory/index.ts'
import type { CapturedPacket, Pacer } from '../../replay/index.ts'
import { LogHistogram } from '../../stats/index.ts'

/** Destination of packets. */
export interface Outlet {
  /** Returns true if one more packet of `length` bytes can be added before the next flush. */
  hasRoom(length: number): boolean
  add(bytes: Uint8Array, offset: number, length: number, tag: number): void
  /** Sends the packets that were added; returns the number that was rejected. */
  flush(): number
  close(): void
}

export interface PacingError {
  /** Nanoseconds by which packets were late. */
  medianNs: number
  p99Ns: number
  maxNs: number
}

const turnEveryNs = 20e6
const coarseNs = 3e6

export class LiveReplay {
  sent = 0
  bytes = 0
  rejected = 0
  startNs = 0
  endNs = 0
  readonly #outlet: Outlet
  readonly #pacer: Pacer
  readonly #top: boolean
  readonly #signal: AbortSignal
  readonly #late = new LogHistogram({ bits: 53 })
  #room: Uint8Array = new Uint8Array(1 << 20)
  #used = 0
  /** Offset, length, tag and due time of each waiting packet. */
  #waiting: number[] = []
  #lastTurnNs = 0

  /** @param top sends packets as fast as possible, regardless of their due times */
  constructor(outlet: Outlet, pacer: Pacer, top: boolean, signal: AbortSignal) {
    this.#outlet = outlet
    this.#pacer = pacer
    this.#top = top
    this.#signal = signal
  }

  get pacing(): PacingError | null {
    if (this.#top || this.#late.count === 0) return null
    const late = this.#late
    return { medianNs: late.percentile(50), p99Ns: late.percentile(99), maxNs: late.max }
  }

  /** Copies b[offset, offset + length), which is a packet captured at that time. `tag` goes to the outlet with it. */
  take(packet: CapturedPacket, offset: number, length: number, tag: number): void {
    if (this.#used + length > this.#room.length) {
      const larger = new Uint8Array(Math.max(this.#room.length * 2, this.#used + length))
      larger.set(this.#room)
      this.#room = larger
    }
    this.#room.set(packet.bytes.subarray(offset, offset + length), this.#used)
    const due = this.#pacer.dueNs(packet.seconds, packet.nanoseconds, packet.originalLength)
    this.#waiting.push(this.#used, length, tag, due)
    this.#used += length
  }

  /** Sends the packets that were taken. */
  async drain(): Promise<void> {
    const waiting = this.#waiting
    for (let i = 0; i < waiting.length && !this.#signal.aborted; i += 4) {
      if (this.startNs === 0) this.startNs = this.#lastTurnNs = nowNs()
      const length = waiting[i + 1]!
      if (!this.#top) await this.#untilDue(this.startNs + waiting[i + 3]!)
      else if (!this.#outlet.hasRoom(length)) {
        this.#flush()
        if (this.endNs - this.#lastTurnNs > turnEveryNs) await this.#turn()
      }
      if (!this.#outlet.hasRoom(length)) this.#flush()
      this.#outlet.add(this.#room, waiting[i]!, length, waiting[i + 2]!)
      this.sent++
      this.bytes += length
    }
    this.#flush()
    this.#waiting = []
    this.#used = 0
  }

  async #untilDue(dueNs: number): Promise<void> {
    let now = nowNs()
    if (dueNs > now) {
      this.#flush()
      if (dueNs - now > coarseNs)
        await delay((dueNs - now - coarseNs) / 1e6, undefined, { signal: this.#signal }).catch(() => {})
      else if (now - this.#lastTurnNs > turnEveryNs && dueNs - now > 1e5) await this.#turn()
      if (this.#signal.aborted) return
      sleepUntilNs(dueNs)
      now = nowNs()
    } else if (now - this.#lastTurnNs > turnEveryNs) await this.#turn()
    this.#late.add(now - dueNs)
  }

  async #turn(): Promise<void> {
    await nextTurn()
    this.#lastTurnNs = nowNs()
  }

  #flush(): void {
    const rejected = this.#outlet.flush()
    this.rejected += rejected
    this.sent -= rejected
    this.endNs = nowNs()
  }
}
