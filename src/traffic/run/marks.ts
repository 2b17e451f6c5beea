/**
 * Detection of WRITEs on UC. The program at the responder is not notified of a WRITE, and UC silently drops a message of which a packet was
 * lost (IBA 9.8.2), so the notice after it proves nothing. Therefore the last byte of each WRITE is 1, and the others are 0; the client
 * checks these marks when the notice is there, and clears them.
 *
 *     a bank     | room for a WRITE: chunkBytes | marks: one for each WRITE, downwards |
 *
 * Each WRITE ends one byte before the previous one, so that it covers marks that are still to come, and none that waits to be checked.
 * Where the marks of a bank end, the other bank follows. A client that requests at most as many WRITEs as a bank has marks reads each mark
 * before its bank is used again.
 */
import { bankBytes, bankMarks } from './layout.ts'

/** Returns the end of the WRITE of this number on its channel, as an offset from the beginning of the channel's two banks. */
export function endOf(number: number): number {
  const bank = Math.floor(number / bankMarks) % 2
  return (bank + 1) * bankBytes - (number % bankMarks)
}

export class Marks {
  readonly #bytes: Uint8Array
  /** Numbers of the next WRITE that is requested, and of the next one that is checked. */
  #asked = 0
  #next = 0
  /** Number from which on, up to the next one that is checked, flows were given up: their WRITEs may still come. */
  #doubtful = 0
  /** Pattern of the marks of the outstanding WRITEs at the last call of `moved`. */
  #pattern = 0

  /** `bytes`: both banks, zeros. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** True if a flow of so many WRITEs can be requested now. A flow of more than a bank has goes alone. */
  admits(writes: number): boolean {
    const outstanding = this.#asked - this.#next
    return outstanding === 0 || outstanding + writes <= bankMarks
  }

  ask(writes: number): void {
    this.#asked += writes
  }

  /**
   * True if all WRITEs of the oldest flow have come, or the last ones of a flow with more than a bank has; they are forgotten. Its notice
   * has come, or a later one, and so no earlier WRITE comes any more.
   */
  take(writes: number): boolean {
    const bytes = this.#bytes
    const end = this.#next + writes
    let all = true
    if (writes <= bankMarks) this.#clear(this.#next)
    for (let number = Math.max(this.#next, end - bankMarks); number < end; number++) {
      const at = endOf(number) - 1
      if (bytes[at] !== 1) all = false
      bytes[at] = 0
    }
    // The first ones of a long flow were not checked; no other flow is outstanding.
    if (writes > bankMarks) bytes.fill(0)
    this.#next = end
    this.#doubtful = end
    return all
  }

  /** Gives up the oldest flow without a notice. Marks stay until one comes, as far as no other WRITE needs them. */
  giveUp(writes: number): void {
    this.#next += writes
    if (this.#next - this.#doubtful > bankMarks) this.#clear(this.#next - bankMarks)
  }

  /** True if outstanding WRITEs have come since the last call. */
  moved(): boolean {
    const bytes = this.#bytes
    let pattern = 0
    for (let number = Math.max(this.#next, this.#asked - 2 * bankMarks); number < this.#asked; number++)
      if (bytes[endOf(number) - 1] === 1) pattern = (Math.imul(pattern, 31) + number + 1) | 0
    const differs = pattern !== 0 && pattern !== this.#pattern
    this.#pattern = pattern
    return differs
  }

  /** Clears the marks of flows that were given up, up to this number. */
  #clear(end: number): void {
    for (let number = Math.max(this.#doubtful, end - 2 * bankMarks); number < end; number++)
      this.#bytes[endOf(number) - 1] = 0
    this.#doubtful = end
  }
}
