/** Messages of a stream that were taken from the completion queue, and that it has not processed yet, in their order. */

const none = new Int32Array(0)
const firstMessages = 16

/** Number of bytes that stands for a message that is no RDMA WRITE with immediate. */
export const notWritten: number = -1

export class Arrivals {
  // Immediate and bytes of each, in a ring that an idle stream does not have.
  private words: Int32Array = none
  private mask = -1
  private head = 0
  private tail = 0

  get any(): boolean {
    return this.head !== this.tail
  }

  add(immediate: number, bytes: number): void {
    if (((this.head - this.tail) | 0) > this.mask) this.widen()
    const at = 2 * (this.head & this.mask)
    this.words[at] = immediate
    this.words[at + 1] = bytes
    this.head = (this.head + 1) | 0
  }

  /** Immediate of the first message, unsigned. */
  get immediate(): number {
    return this.words[2 * (this.tail & this.mask)]! >>> 0
  }

  /** Bytes of the first message, or `notWritten`. */
  get bytes(): number {
    return this.words[2 * (this.tail & this.mask) + 1]!
  }

  removeFirst(): void {
    this.tail = (this.tail + 1) | 0
  }

  private widen(): void {
    const { words, mask } = this
    const messages = Math.max(firstMessages, 2 * (mask + 1))
    this.words = new Int32Array(2 * messages)
    this.mask = messages - 1
    for (let i = this.tail; i !== this.head; i = (i + 1) | 0) {
      this.words[2 * (i & this.mask)] = words[2 * (i & mask)]!
      this.words[2 * (i & this.mask) + 1] = words[2 * (i & mask) + 1]!
    }
  }
}
