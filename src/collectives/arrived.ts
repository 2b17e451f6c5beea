/** Messages of a peer that have arrived and have not been taken, in the order of their arrival. */
import { kindOf, tagOf } from './message.ts'

/** Maximum number of messages in a peer's slots at once that carry more than returned slots. */
export const dataSlots = 16

export class Arrived {
  count = 0
  #first = 0
  readonly #slot = new Int32Array(dataSlots)
  readonly #place = new Float64Array(dataSlots)
  readonly #bytes = new Float64Array(dataSlots)
  readonly #longAt = new Float64Array(dataSlots)
  readonly #word = new Uint32Array(dataSlots)

  /**
   * Adds a message at `at`, in a slot or in a box (-1). `longAt`: location of the data of a `Long`. Returns false if there is no room for
   * it.
   */
  add(slot: number, at: number, bytes: number, immediate: number, longAt: number): boolean {
    if (this.count === dataSlots) return false
    const last = (this.#first + this.count++) % dataSlots
    this.#slot[last] = slot
    this.#place[last] = at
    this.#bytes[last] = bytes
    this.#longAt[last] = longAt
    this.#word[last] = immediate
    return true
  }

  // The oldest message.

  /** Bytes of the message, or of the transfer that it announces; -1: the data were written elsewhere. */
  get bytes(): number {
    return this.#bytes[this.#first]!
  }

  /** Location of the data that a `Long` of a peer with shared memory announces: an offset in the device's memory. */
  get longAt(): number {
    return this.#longAt[this.#first]!
  }

  get kind(): number {
    return kindOf(this.#word[this.#first]!)
  }

  get tag(): number {
    return tagOf(this.#word[this.#first]!)
  }

  /** Location of the message's data unless they were written elsewhere: an offset in the device's memory. */
  get at(): number {
    return this.#place[this.#first]!
  }

  /** Removes the message and returns its slot. */
  shift(): number {
    const slot = this.#slot[this.#first]!
    this.#first = (this.#first + 1) % dataSlots
    this.count--
    return slot
  }
}
