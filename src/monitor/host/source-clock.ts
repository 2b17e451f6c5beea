/** Clock of a source whose packets come through a pipe: it may be another host's, and be wrong by some seconds. */

/** Maximum age of the packets of a live source, in milliseconds, as all times here. */
const freshMs = 5000
/**
 * Time after which packets of a pipe have come: tcpdump writes what it has captured once a second, if it does not wait for a full buffer
 * (-U).
 */
const pipeSettleMs = 1500

export class SourceClock {
  #lastMs = Number.NaN
  #isNew = false
  #isLive = false
  /** Minimum difference between this host's time and that of the newest packet. */
  #lagMs = Number.POSITIVE_INFINITY

  /** Records the time of a packet. */
  packet(ms: number): void {
    this.#lastMs = ms
    this.#isNew = true
  }

  /**
   * Returns the source's time before which no packet is expected any more; undefined while its packets are not recent. Called when no
   * packet waits.
   */
  settledMs(nowMs: number): number | undefined {
    if (this.#isNew) {
      this.#isNew = false
      const lagMs = nowMs - this.#lastMs
      this.#isLive = Math.abs(lagMs) < freshMs
      // A packet that is later than expected may precede windows that have begun: its clock was set back.
      this.#lagMs = lagMs > this.#lagMs + pipeSettleMs ? lagMs : Math.min(this.#lagMs, lagMs)
    }
    return this.#isLive ? nowMs - Math.max(0, this.#lagMs) - pipeSettleMs : undefined
  }
}
