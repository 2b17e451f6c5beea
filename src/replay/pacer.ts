/**
 * Schedule of packets: as captured, faster or slower, or at a fixed rate of packets or bits, whatever their own times are.
 * Packets whose time is earlier than that of the one before are due with it.
 */
export type Pace =
  | { readonly type: 'captured'; readonly speed: number }
  | { readonly type: 'packets'; readonly perSecond: number }
  | { readonly type: 'bits'; readonly perSecond: number }
  | { readonly type: 'top' }

/** Computes the due times of packets, one after the other. */
export class Pacer {
  readonly #pace: Pace
  #started = false
  #firstSeconds = 0
  #firstNanoseconds = 0
  #packets = 0
  #bits = 0
  #lastNs = 0

  constructor(pace: Pace) {
    this.#pace = pace
  }

  /**
   * Returns the nanoseconds from the first packet to this one, which was captured at this time and has `bytes` on the wire. It must be
   * called once for each packet, in order.
   */
  dueNs(seconds: number, nanoseconds: number, bytes: number): number {
    if (!this.#started) {
      this.#started = true
      this.#firstSeconds = seconds
      this.#firstNanoseconds = nanoseconds
    }
    const pace = this.#pace
    let due = 0
    if (pace.type === 'captured')
      due = ((seconds - this.#firstSeconds) * 1e9 + nanoseconds - this.#firstNanoseconds) / pace.speed
    else if (pace.type === 'packets') due = (this.#packets * 1e9) / pace.perSecond
    else if (pace.type === 'bits') due = (this.#bits * 1e9) / pace.perSecond
    this.#packets++
    this.#bits += 8 * bytes
    if (due > this.#lastNs) this.#lastNs = due
    return this.#lastNs
  }
}
