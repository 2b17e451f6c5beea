/**
 * Whether WRITEs on UC have come. The program at the responder sees nothing of a WRITE, and UC drops a message of which a packet
 * was lost without a word (IBA 9.8.2), so the notice behind it proves nothing. Therefore the last byte of each WRITE is 1, and the others are 0;
 * the client looks at these marks when the notice is there, and clears them.
 *
 *     a bank     | room for a WRITE: chunkBytes | marks: one for each WRITE, downwards |
 *
 * Each WRITE ends one byte before the last one, so that it covers marks that are still to come, and none that waits to be seen.
 * Where the marks of a bank end, the other bank follows. A client that asks for no more WRITEs than a bank has marks reads each mark before its
 * bank is used again.
 */
import { bankBytes, bankMarks } from './layout.ts'

/** Where the WRITE of this number on its channel ends, from the beginning of the channel's two banks. */
export function endOf(number: number): number {
  const bank = Math.floor(number / bankMarks) % 2
  return (bank + 1) * bankBytes - (number % bankMarks)
}

export class Marks {
  readonly #bytes: Uint8Array
  /** Numbers of the WRITEs that are asked for next, and looked at next. */
  #asked = 0
  #next = 0
  /** From this one to the one that is looked at next, flows were given up: their WRITEs may still come. */
  #doubtful = 0
  /** What there was of the outstanding ones when somebody last asked. */
  #pattern = 0

  /** `bytes`: both banks, zeros. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** Whether a flow of so many WRITEs can be asked for now. One of more than a bank has goes alone. */
  admits(writes: number): boolean {
    const outstanding = this.#asked - this.#next
    return outstanding === 0 || outstanding + writes <= bankMarks
  }

  ask(writes: number): void {
    this.#asked += writes
  }

  /**
   * Whether all WRITEs of the oldest flow have come, of one with more than a bank has the last ones; they are forgotten. Its notice has
   * come, or a later one, and so no WRITE before that comes any more.
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
    // The first ones of a long flow were not looked at; nothing else is outstanding.
    if (writes > bankMarks) bytes.fill(0)
    this.#next = end
    this.#doubtful = end
    return all
  }

  /** The oldest flow is given up without a notice. Marks stay until one comes, as far as no other WRITE needs them. */
  giveUp(writes: number): void {
    this.#next += writes
    if (this.#next - this.#doubtful > bankMarks) this.#clear(this.#next - bankMarks)
  }

  /** Whether WRITEs that are outstanding have come since this was asked last. */
  moved(): boolean {
    const bytes = this.#bytes
    let pattern = 0
    for (let number = Math.max(this.#next, this.#asked - 2 * bankMarks); number < this.#asked; number++)
      if (bytes[endOf(number) - 1] === 1) pattern = (Math.imul(pattern, 31) + number + 1) | 0
    const differs = pattern !== 0 && pattern !== this.#pattern
    this.#pattern = pattern
    return differs
  }

  /** Forgets what flows that were given up have left, up to this number. */
  #clear(end: number): void {
    for (let number = Math.max(this.#doubtful, end - 2 * bankMarks); number < end; number++)
      this.#bytes[endOf(number) - 1] = 0
    this.#doubtful = end
  }
}
