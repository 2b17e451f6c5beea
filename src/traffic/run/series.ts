/** What happened in each interval of a run. */
export const binNs = 100e6

export class Series {
  /** Requests that were due, and that were complete, and bytes of these, by interval of `binNs`. */
  due: Float64Array = new Float64Array(64)
  done: Float64Array = new Float64Array(64)
  bytes: Float64Array = new Float64Array(64)
  /** Intervals in use. */
  length = 0

  isDue(atNs: number): void {
    const bin = this.#bin(atNs)
    this.due[bin]!++
  }

  isDone(atNs: number, bytes: number): void {
    const bin = this.#bin(atNs)
    this.done[bin]!++
    this.bytes[bin]! += bytes
  }

  #bin(atNs: number): number {
    const bin = Math.max(0, Math.floor(atNs / binNs))
    if (bin >= this.length) this.length = bin + 1
    while (bin >= this.due.length) this.#grow()
    return bin
  }

  #grow(): void {
    const doubled = (from: Float64Array): Float64Array => {
      const to = new Float64Array(2 * from.length)
      to.set(from)
      return to
    }
    this.due = doubled(this.due)
    this.done = doubled(this.done)
    this.bytes = doubled(this.bytes)
  }
}
