/**
 * How a blocking call waits: it polls for a while, and then sleeps until the completion channel has an event. How long it
 * polls depends on earlier waits: while peers answer within the time that a sleep costs, polling goes on; otherwise the
 * thread sleeps soon. Sleeping makes waits longer, so every sixteenth wait polls all the same, to find out whether it pays
 * again.
 */
import { nowNs } from '../../memory/index.ts'
import type { SocketOptions, StreamLink } from '../protocol/index.ts'
import type { CmService } from './cm-service.ts'
import { type BoundLink, watchMs } from './io-context.ts'
import { sleepCostNs } from './spin-time.ts'

export const Wanted = { Read: 0, Write: 1, Done: 2, Control: 3, Space: 4 } as const

/** One wait in this many polls for as long as a sleep costs, whatever the others brought. */
const tryEvery = 16
/** Polls between two readings of the clock. */
const looks = 32
/** A sleeping thread polls this often, for what makes no event. */
const sliceMs = 50

export class SpinWaiter {
  private readonly line: BoundLink
  private readonly cm: CmService
  private readonly connection: StreamLink
  private readonly options: SocketOptions
  #spinNs: number
  keepAliveMs: number = Number.POSITIVE_INFINITY
  private askedAt: number = performance.now()
  private waits = 0
  private attendedAt = 0

  constructor(line: BoundLink, cm: CmService, options: SocketOptions) {
    this.line = line
    this.cm = cm
    this.connection = line.connection
    this.options = options
    this.#spinNs = sleepCostNs
  }

  /**
   * For callers that only poll: services connection management every 50 ms. A peer that missed the last message of the
   * handshake asks for it again, and a peer that disconnects may say so only there. True if anything came.
   */
  attend(): boolean {
    const now = performance.now()
    if (now - this.attendedAt < sliceMs) return false
    this.attendedAt = now
    return this.cm.pump()
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

  /** Waits until it is there, or `endMs` of `performance.now`; false then. */
  wait(wanted: number, endMs: number = Number.POSITIVE_INFINITY): boolean {
    const began = nowNs()
    let spent = 0
    this.waits = (this.waits + 1) % tryEvery
    const spinNs = this.waits === 0 ? Math.max(sleepCostNs, this.#spinNs) : this.#spinNs
    do {
      for (let i = 0; i < looks; i++)
        if (this.look(wanted)) {
          this.#spinNs = spinNs
          return true
        }
      spent = nowNs() - began
    } while (spent < spinNs)
    const least = this.options.pollingUs * 1000
    for (;;) {
      this.connection.arm()
      if (this.look(wanted)) return true
      const left = endMs - performance.now()
      if (left <= 0) return false
      this.connection.counters.sleeps++
      this.line.io.sleep(Math.min(left, sliceMs))
      this.cm.pump()
      this.keepAlive(wanted)
      this.connection.reap()
      if (!this.look(wanted)) continue
      // A short sleep cost more than polling would have; before a long one polling is wasted.
      const waited = nowNs() - began
      if (waited < 2 * sleepCostNs) this.#spinNs = Math.max(least, sleepCostNs)
      else this.#spinNs = Math.max(least, this.#spinNs / 2)
      return true
    }
  }

  private keepAlive(wanted: number): void {
    const now = performance.now()
    if (now - this.askedAt < (wanted === Wanted.Read ? this.keepAliveMs : watchMs)) return
    this.askedAt = now
    this.connection.sendKeepalive()
  }
}
