/** The clock of a thread: the system's time of day, and the monotonic clock, neither of which makes garbage where the system can be called. */

import { nativeAvailable, writeTimeOfDay } from '../../memory/index.ts'
import type { Clock, Samples } from '../index.ts'
import { monotonicNs } from '../nodes/index.ts'

export class SystemClock implements Clock {
  readonly #samples: Samples
  readonly #epochSeconds: number
  readonly #epochNs: number

  /**
   * Makes a clock. `epochNs`: time of day minus the monotonic clock, for where the time of day cannot be had directly; the same for all
   * threads.
   */
  constructor(samples: Samples, epochNs: number) {
    this.#samples = samples
    this.#epochSeconds = Math.floor(epochNs / 1e9)
    this.#epochNs = epochNs - this.#epochSeconds * 1e9
  }

  stamp(word: number): void {
    if (nativeAvailable) writeTimeOfDay(this.#samples.u32, word)
    else {
      // All of it since 1970 would not go into 53 bits.
      const now = monotonicNs() + this.#epochNs
      const seconds = Math.floor(now / 1e9)
      this.#samples.setInt64(word, this.#epochSeconds + seconds)
      this.#samples.setInt64(word + 2, Math.floor(now - seconds * 1e9))
    }
  }

  nowNs(): number {
    return monotonicNs()
  }
}

/** Returns the time of day minus the monotonic clock, in nanoseconds. */
export function epochNs(): number {
  return (performance.timeOrigin + performance.now()) * 1e6 - monotonicNs()
}
