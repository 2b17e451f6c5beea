/** The rate of a path: its last values are sent on a grid of moments, new or not. */
import type { Pace } from '../nodes/index.ts'
import type { Path } from './path.ts'

export class Repeater {
  readonly path: Path
  readonly ended = false
  readonly #pace: Pace

  constructor(path: Path, pace: Pace) {
    this.path = path
    this.#pace = pace
  }

  poll(): number {
    const steps = this.#pace.due()
    if (steps === 0) return 0
    this.path.repeat(steps - 1)
    return 1
  }

  wait(ms: number): void {
    this.#pace.wait(ms)
  }
}
