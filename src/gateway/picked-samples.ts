/**
 * Samples of a pool that were picked by their indices, to be filled one after the other: what a decoder reads into when a path
 * passes indices. Nothing is copied.
 */
import { Samples } from './samples.ts'

export class PickedSamples extends Samples {
  /** How many were picked. */
  override capacity = 0
  #indices: Int32Array = new Int32Array(0)
  #from = 0

  constructor(all: Samples) {
    super(all.capacity, all.values, all.memory)
  }

  /** From now on these are `indices[from … from + count)`, and none of them is filled. */
  pick(indices: Int32Array, from: number, count: number): void {
    this.#indices = indices
    this.#from = from
    this.capacity = count
    this.count = 0
  }

  override word(index: number): number {
    return super.word(this.#indices[this.#from + index]!)
  }
}
