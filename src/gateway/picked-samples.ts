/**
 * Samples of a pool that were picked by their indices, to be filled one after the other: a decoder reads into them when a path passes
 * indices. Nothing is copied.
 */
import { Samples } from './samples.ts'

export class PickedSamples extends Samples {
  /** Number of samples that were picked. */
  override capacity = 0
  #indices: Int32Array = new Int32Array(0)
  #from = 0

  constructor(all: Samples) {
    super(all.capacity, all.values, all.memory)
  }

  /** Makes these the samples `indices[from … from + count)`, of which none is filled. */
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
