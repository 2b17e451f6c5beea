/** The pace of something that happens at a rate: whether it is due, and waiting until it is. */
import { type Clock, Grid } from '../../index.ts'
import type { Timer } from './timer.ts'

export class Pace {
  readonly #rateHz: number
  readonly #clock: Clock
  readonly #timer: Timer
  readonly #delayNs: number
  #grid: Grid | null = null

  /** Makes a pace, whose grid begins `delaySeconds` after the first call. */
  constructor(rateHz: number, clock: Clock, timer: Timer, delaySeconds: number = 0) {
    this.#rateHz = rateHz
    this.#clock = clock
    this.#timer = timer
    this.#delayNs = delaySeconds * 1e9
  }

  /** Steps that no caller waited for. */
  get missed(): number {
    return this.#grid?.missed ?? 0
  }

  /**
   * Returns the steps that have passed, if one is met now; see `Grid.due`. The first one is due one period after the beginning of the grid.
   */
  due(): number {
    const now = this.#clock.nowNs()
    this.#grid ??= new Grid(this.#rateHz, now + this.#delayNs)
    return this.#grid.due(now)
  }

  /** Blocks until the next step is due, for at most `ms`. */
  wait(ms: number): void {
    const now = this.#clock.nowNs()
    this.#grid ??= new Grid(this.#rateHz, now + this.#delayNs)
    const limit = now + ms * 1e6
    const next = this.#grid.nextNs
    if (next <= limit) this.#timer.until(next)
    else this.#timer.sleep(limit)
  }
}
