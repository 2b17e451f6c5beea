/** Arrival times of requests: the gaps of an open loop. */
import type { Arrival } from './config.ts'
import type { RandomStream } from './random.ts'

export class Arrivals {
  readonly #arrival: Arrival
  readonly #random: RandomStream
  /** Mean gap in nanoseconds, or the one within a burst. */
  readonly #meanNs: number
  /** Rest of the burst in nanoseconds, for onoff. */
  #burstNs = 0

  /** `requestsPerSecond`: the mean over time, that of bursts included. */
  constructor(arrival: Arrival, requestsPerSecond: number, random: RandomStream) {
    const busy = arrival.type === 'onoff' ? arrival.onNs / (arrival.onNs + arrival.offNs) : 1
    this.#arrival = arrival
    this.#random = random
    this.#meanNs = (1e9 / requestsPerSecond) * busy
    if (arrival.type === 'onoff') this.#burstNs = arrival.onNs * random.exponential()
  }

  /**
   * Returns the nanoseconds to the next request, not rounded; Infinity if there is none, at a rate of 0; 0 in a closed loop, where the
   * previous request determines the time.
   */
  gapNs(): number {
    const arrival = this.#arrival
    const mean = this.#meanNs
    if (mean === Number.POSITIVE_INFINITY && arrival.type !== 'closed') return mean
    switch (arrival.type) {
      case 'poisson':
        return mean * this.#random.exponential()
      case 'fixed':
        return mean
      case 'uniform':
        return 2 * mean * this.#random.unit()
      case 'lognormal':
        // The mean of a log-normal variable is exp(µ + σ²/2).
        return mean * Math.exp(arrival.sigma * this.#random.normal() - arrival.sigma ** 2 / 2)
      case 'onoff':
        return this.#inBursts(arrival.onNs, arrival.offNs)
      case 'closed':
        return 0
    }
  }

  #inBursts(onNs: number, offNs: number): number {
    const random = this.#random
    let gap = 0
    let wait = this.#meanNs * random.exponential()
    while (wait > this.#burstNs) {
      wait -= this.#burstNs
      gap += this.#burstNs + offNs * random.exponential()
      this.#burstNs = onNs * random.exponential()
    }
    this.#burstNs -= wait
    return gap + wait
  }
}
