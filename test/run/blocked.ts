/** A thread that is blocked in a call on a file of a door, as the front has it. */
import { type BlockedCall, Errno, type Result } from '../../src/run/door.ts'

export class Blocked implements BlockedCall {
  /** What the call returned in the end, or the negative errno. */
  result: number | undefined
  isKilled = false
  readonly #left: () => void
  readonly #make: () => Result

  /** `make`: makes the call again. */
  constructor(left: () => void, make: () => Result) {
    this.#left = left
    this.#make = make
  }

  again(): void {
    this.#left()
    if (this.isKilled) return
    try {
      const result = this.#make()
      if (typeof result === 'number') this.result = result
    } catch (error) {
      if (!(error instanceof Errno)) throw error
      this.result = -error.errno
    }
  }

  look(): void {
    if (this.isKilled) this.#left()
  }

  forget(): void {}
}
