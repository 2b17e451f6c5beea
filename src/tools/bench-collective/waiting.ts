/**
 * Waiting of a rank: it polls repeatedly, as the seed does. Where a host has more ranks than cores, a rank yields the processor between
 * polls, since it waits for what other ranks do. A wait that lasts longer also lets the event loop run, where the end of a rank is
 * detected.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { nowNs, yieldProcessor } from '../../memory/index.ts'
import { EndError } from '../kit/index.ts'

const looksAlone = 64
const looksCrowded = 4
/** Nanoseconds of polling after which the event loop must run. */
const sliceNs = 20e6

export class Waiter {
  readonly #crowded: boolean
  readonly #signal: AbortSignal
  readonly #stallMs: number

  /** `signal`: of the group. `stallMs`: time after which an awaited message counts as missing. */
  constructor(crowded: boolean, signal: AbortSignal, stallMs: number) {
    this.#crowded = crowded
    this.#signal = signal
    this.#stallMs = stallMs
  }

  /** Polls until `look` returns true, for at most `limitNs`. */
  spin(look: () => boolean, limitNs: number = sliceNs): boolean {
    const looks = this.#crowded ? looksCrowded : looksAlone
    let end = 0
    for (;;) {
      for (let i = 0; i < looks; i++) if (look()) return true
      const now = nowNs()
      if (end === 0) end = now + limitNs
      else if (now >= end) return false
      if (this.#crowded) yieldProcessor()
    }
  }

  /**
   * Waits until `look` returns true. Throws the group's error, or EndError PEER_SILENT after `stallMs`: `what` names the missing message.
   */
  async patiently(look: () => boolean, what: string): Promise<void> {
    if (!(await this.within(look, this.#stallMs)))
      throw new EndError('PEER_SILENT', `${what} did not come within ${this.#stallMs / 1000} s`)
  }

  /** Waits in the same way for a message that may be lost: returns false if it has not arrived. Throws the group's error. */
  async within(look: () => boolean, limitMs: number): Promise<boolean> {
    const end = performance.now() + limitMs
    while (!this.spin(look)) {
      await turn()
      this.#signal.throwIfAborted()
      if (performance.now() > end) return false
    }
    return true
  }
}
