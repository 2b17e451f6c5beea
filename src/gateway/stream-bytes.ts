/** Bytes of a stream that are not decoded yet: new ones are appended, and decoded ones are removed from the front. */
export class StreamBytes {
  length = 0
  #bytes: Uint8Array

  /** Makes an empty stream. `sizeBytes`: initial room; it grows. */
  constructor(sizeBytes: number) {
    this.#bytes = new Uint8Array(sizeBytes)
  }

  /** All bytes; valid until the next call. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }

  append(chunk: Uint8Array): void {
    const total = this.length + chunk.length
    if (total > this.#bytes.length) {
      const larger = new Uint8Array(2 * total)
      larger.set(this.bytes)
      this.#bytes = larger
    }
    this.#bytes.set(chunk, this.length)
    this.length = total
  }

  /** Drops the first `count` bytes. */
  drop(count: number): void {
    // An incomplete sample is not copied again with each chunk.
    if (count === 0) return
    this.#bytes.copyWithin(0, count, this.length)
    this.length -= count
  }
}
