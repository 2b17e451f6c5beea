/** Events in each interval of a run. The intervals double when there are too many of them. */
import { mostBins, type RecordedSeries } from '../index.ts'

const firstBinNs = 100e6

export class Series {
  readonly #due = new Float64Array(mostBins)
  readonly #dueBytes = new Float64Array(mostBins)
  readonly #done = new Float64Array(mostBins)
  readonly #doneBytes = new Float64Array(mostBins)
  #binNs = firstBinNs
  /** Number of intervals in use. */
  #length = 0

  isDue(atNs: number, bytes: number): void {
    const bin = this.#bin(atNs)
    this.#due[bin]!++
    this.#dueBytes[bin]! += bytes
  }

  isDone(atNs: number, bytes: number): void {
    const bin = this.#bin(atNs)
    this.#done[bin]!++
    this.#doneBytes[bin]! += bytes
  }

  toPlain(): RecordedSeries {
    const list = (values: Float64Array): number[] => [...values.subarray(0, this.#length)]
    return {
      binSeconds: this.#binNs / 1e9,
      ...{ due: list(this.#due), dueBytes: list(this.#dueBytes) },
      ...{ done: list(this.#done), doneBytes: list(this.#doneBytes) },
    }
  }

  #bin(atNs: number): number {
    let bin = Math.max(0, Math.floor(atNs / this.#binNs))
    while (bin >= mostBins) {
      this.#double()
      bin = Math.floor(atNs / this.#binNs)
    }
    if (bin >= this.#length) this.#length = bin + 1
    return bin
  }

  #double(): void {
    for (const values of [this.#due, this.#dueBytes, this.#done, this.#doneBytes]) {
      for (let i = 0; i < mostBins / 2; i++) values[i] = values[2 * i]! + values[2 * i + 1]!
      values.fill(0, mostBins / 2)
    }
    this.#length = Math.ceil(this.#length / 2)
    this.#binNs *= 2
  }
}
