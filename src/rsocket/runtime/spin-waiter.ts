/** Wait of a blocking call: it polls while that pays (memory/polling.ts), and then sleeps until the completion channel has an event. */
import { nowNs, Polling, untilLook } from '../../memory/index.ts'
import { defaultPollingUs, type SocketOptions, type StreamLink } from '../protocol/index.ts'
import type { CmService } from './cm-service.ts'
import { type BoundLink, watchMs } from './io-context.ts'

export const Wanted = { Read: 0, Write: 1, Done: 2, Control: 3, Space: 4 } as const

/** Number of polls between two readings of the clock. */
const looks = 32
/** Interval at which a sleeping thread polls, for input that makes no event. */
const sliceMs = 50

export class SpinWaiter {
  private readonly line: BoundLink
  private readonly cm: CmService
  private readonly connection: StreamLink
  private readonly options: SocketOptions
  readonly #polling = new Polling()
  keepAliveMs: number = Number.POSITIVE_INFINITY
  private askedAt: number = performance.now()
  private attendedAt = 0
  /** True if the event loop has not turned yet. */
  #turns = false

  constructor(line: BoundLink, cm: CmService, options: SocketOptions) {
    this.line = line
    this.cm = cm
    this.connection = line.connection
    this.options = options
  }

  /**
   * Services connection management every 50 ms, for callers that only poll. A peer that missed the last message of the handshake requests
   * it again, and the disconnect of a peer may be visible only there. Returns true if anything arrived.
   */
  attend(): boolean {
    const now = performance.now()
    if (now - this.attendedAt < sliceMs) return false
    this.attendedAt = now
    // The event loop has not turned since the last time, and may not do so again.
    if (this.#turns) this.#leavesLoop()
    else {
      this.#turns = true
      setImmediate(() => {
        this.#turns = false
      })
    }
    return this.cm.pump()
  }

  #leavesLoop(): void {
    this.line.io.context.device.leavesLoop?.()
  }

  private ready(wanted: number): boolean {
    const { connection } = this
    switch (wanted) {
      case Wanted.Read:
        return connection.readableBytes > 0 || !connection.readable
      case Wanted.Write:
        return connection.writableBytes > 0 || !connection.writable
      case Wanted.Done:
        return connection.settled || (!connection.open && !connection.closedHere)
      case Wanted.Control:
        return connection.controlFree || !connection.open
      default:
        return connection.spaceFree || !connection.open
    }
  }

  private look(wanted: number): boolean {
    this.connection.process()
    if (wanted !== Wanted.Read) this.connection.reap()
    return this.ready(wanted)
  }

  /** Waits until the wanted condition is true, or until `endMs` of `performance.now`; returns false in that case. */
  wait(wanted: number, endMs: number = Number.POSITIVE_INFINITY): boolean {
    if (this.look(wanted)) return true
    if (this.#polls(wanted)) return true
    for (;;) {
      this.connection.arm()
      if (this.look(wanted)) return true
      const left = endMs - performance.now()
      if (left <= 0) return false
      this.connection.counters.sleeps++
      this.line.io.sleep(Math.min(left, untilLook(sliceMs)))
      this.cm.pump()
      this.keepAlive(wanted)
      this.connection.reap()
      if (this.look(wanted)) return true
    }
  }

  /** Polls for as long as that pays, or as the program has requested; returns true if the condition became true. */
  #polls(wanted: number): boolean {
    const spinNs = this.#polling.begin()
    // The default is librdmacm's; here it means: as long as it pays.
    const { pollingUs } = this.options
    const mostNs = pollingUs === defaultPollingUs ? spinNs : Math.max(spinNs, pollingUs * 1000)
    if (mostNs === 0) return false
    if (mostNs > sliceMs * 1e6) this.#leavesLoop()
    const began = nowNs()
    let came = false
    let spent = 0
    do {
      for (let i = 0; i < looks && !came; i++) came = this.look(wanted)
      spent = nowNs() - began
    } while (!came && spent < mostNs)
    if (spinNs === 0) return came
    if (came && spent < mostNs) this.#polling.paid()
    else this.#polling.wasted()
    return came
  }

  private keepAlive(wanted: number): void {
    const now = performance.now()
    if (now - this.askedAt < (wanted === Wanted.Read ? this.keepAliveMs : watchMs)) return
    this.askedAt = now
    this.connection.sendKeepalive()
  }
}
