/**
 * How a blocking call waits: it polls for a while, and then sleeps until the completion channel has an event. How long it
 * polls depends on what polling has brought before: a peer that answers within the time that a sleep costs is polled for,
 * and one that does not is slept for. Sleeping makes waits longer, so now and then it is tried whether polling does again.
 */
import { nowNs } from '../../memory/index.ts'
import type { SocketOptions, StreamLink } from '../protocol/index.ts'
import { type Line, watchMs } from './adapter.ts'
import type { Hub } from './hub.ts'

export const Wanted = { Read: 0, Write: 1, Done: 2, Control: 3, Space: 4 } as const

/** Falling asleep and waking up takes about so long: polling for as long costs at most twice what is best. */
const sleepCostNs = 100e3
/** One wait of so many polls as long as a sleep costs, whatever the others brought. */
const tryEvery = 16
/** Looks between two looks at the clock. */
const looks = 32
/** A sleeper looks around so often, for what makes no event. */
const sliceMs = 50

export class Patience {
  private readonly line: Line
  private readonly hub: Hub
  private readonly connection: StreamLink
  private readonly options: SocketOptions
  spinNs: number
  keepAliveMs: number = Number.POSITIVE_INFINITY
  private askedAt: number = performance.now()
  private waits = 0
  private attendedAt = 0

  constructor(line: Line, hub: Hub, options: SocketOptions) {
    this.line = line
    this.hub = hub
    this.connection = line.connection
    this.options = options
    this.spinNs = sleepCostNs
  }

  /**
   * For who only polls and never waits here: gives connection management time now and then. A peer that missed the last
   * message of the handshake asks for it again, and one that is gone may say so there. True if anything came.
   */
  attend(): boolean {
    const now = performance.now()
    if (now - this.attendedAt < sliceMs) return false
    this.attendedAt = now
    return this.hub.pump()
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
    const spinNs = this.waits === 0 ? Math.max(sleepCostNs, this.spinNs) : this.spinNs
    do {
      for (let i = 0; i < looks; i++)
        if (this.look(wanted)) {
          this.spinNs = spinNs
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
      this.line.adapter.sleep(Math.min(left, sliceMs))
      this.hub.pump()
      this.keepAlive(wanted)
      this.connection.reap()
      if (!this.look(wanted)) continue
      // A short sleep was a mistake, and so is polling before a long one.
      const waited = nowNs() - began
      if (waited < 2 * sleepCostNs) this.spinNs = Math.max(least, sleepCostNs)
      else this.spinNs = Math.max(least, this.spinNs / 2)
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
