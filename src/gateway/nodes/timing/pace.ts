/** The pace of something that happens at a rate: whether it is due, and waiting until it is. */
import { type Clock, Grid } from '../../index.ts'
import type { Timer } from './timer.ts'

export class Pace {
  readonly grid: Grid
  readonly #clock: Clock
  readonly #timer: Timer

  /** The first step is due one period from now. */
  constructor(rateHz: number, clock: Clock, timer: Timer) {
    this.#clock = clock
    this.#timer = timer
    this.grid = new Grid(rateHz, clock.nowNs())
  }

  /** Steps that have passed, if one is met now; see `Grid.due`. */
  due(): number {
    return this.grid.due(this.#clock.nowNs())
  }

  /** Blocks until the next step is due, at most so long. */
  wait(ms: number): void {
    const limit = this.#clock.nowNs() + ms * 1e6
    const next = this.grid.nextNs
    if (next <= limit) this.#timer.until(next)
    else this.#timer.sleep(limit)
  }
}
