/**
 * How a rank waits: it looks again and again, as the seed does. Where more ranks are on a host than there are cores, it lets the others
 * run between looks, since what it waits for is what they do. A wait that lasts lets the event loop run, too, where the end of a rank
 * is noticed.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { nowNs, yieldProcessor } from '../../memory/index.ts'
import { EndError } from '../kit/index.ts'

const looksAlone = 64
const looksCrowded = 4
/** How long the event loop may wait. */
const sliceNs = 20e6

export class Waiter {
  readonly #crowded: boolean
  readonly #signal: AbortSignal
  readonly #stallMs: number

  /** `signal`: of the group. `stallMs`: when what must come has not. */
  constructor(crowded: boolean, signal: AbortSignal, stallMs: number) {
    this.#crowded = crowded
    this.#signal = signal
    this.#stallMs = stallMs
  }

  /** Looks until it is there, at most so long. */
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

  /** Until it is there. Throws the group's error, or EndError PEER_SILENT for what did not come in time: `what` names it. */
  async patiently(look: () => boolean, what: string): Promise<void> {
    if (!(await this.within(look, this.#stallMs)))
      throw new EndError('PEER_SILENT', `${what} did not come within ${this.#stallMs / 1000} s`)
  }

  /** The same for what may be lost: false if it has not come. Throws the group's error. */
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
