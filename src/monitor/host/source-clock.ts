/** The clock of a source whose packets come through a pipe: it may be another host's, and be wrong by some seconds. */

/** A pipe whose packets are no older gives them as they pass. Milliseconds, as all times here. */
const freshMs = 5000
/** tcpdump hands over what it has captured once a second, if it is told not to wait for a full buffer (-U). */
const pipeSettleMs = 1500

export class SourceClock {
  #lastMs = Number.NaN
  #isNew = false
  #isLive = false
  /** How much older than this host's time the newest packet was, at the least. */
  #lagMs = Number.POSITIVE_INFINITY

  /** A packet of that time has come. */
  packet(ms: number): void {
    this.#lastMs = ms
    this.#isNew = true
  }

  /** The source's time before which nothing is expected any more; undefined while its packets are not of now. Asked when nothing waits. */
  settledMs(nowMs: number): number | undefined {
    if (this.#isNew) {
      this.#isNew = false
      const lagMs = nowMs - this.#lastMs
      this.#isLive = Math.abs(lagMs) < freshMs
      // One that is later than was expected may be before windows that have begun: its clock was set back.
      this.#lagMs = lagMs > this.#lagMs + pipeSettleMs ? lagMs : Math.min(this.#lagMs, lagMs)
    }
    return this.#isLive ? nowMs - Math.max(0, this.#lagMs) - pipeSettleMs : undefined
  }
}
