/** What has come from a peer and nobody has taken, in the order in which it came. */
import { kindOf, tagOf } from './message.ts'

/** Messages without data of their own in a peer's slots at once. */
export const dataSlots = 16

export class Arrived {
  count = 0
  #first = 0
  readonly #slot = new Int32Array(dataSlots)
  readonly #place = new Float64Array(dataSlots)
  readonly #bytes = new Float64Array(dataSlots)
  readonly #longAt = new Float64Array(dataSlots)
  readonly #word = new Uint32Array(dataSlots)

  /** A message is at `at`, in a slot or in a box (-1). `longAt`: of a `Long`. False if there is no room for it. */
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

  // Of the oldest one.

  /** Its bytes, or those of the transfer that it announces; -1: they have been written elsewhere. */
  get bytes(): number {
    return this.#bytes[this.#first]!
  }

  /** Of a `Long` of a peer whose memory is shared: where the data are, an offset in the device's memory. */
  get longAt(): number {
    return this.#longAt[this.#first]!
  }

  get kind(): number {
    return kindOf(this.#word[this.#first]!)
  }

  get tag(): number {
    return tagOf(this.#word[this.#first]!)
  }

  /** Where its data are, unless they were written elsewhere: an offset in the device's memory. */
  get at(): number {
    return this.#place[this.#first]!
  }

  /** Takes it away; its slot. */
  shift(): number {
    const slot = this.#slot[this.#first]!
    this.#first = (this.#first + 1) % dataSlots
    this.count--
    return slot
  }
}
