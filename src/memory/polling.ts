/**
 * Decides on polling before sleeping, and its duration. Polling pays while the awaited event comes sooner than a sleep and a wake-up take.
 * It does not where that takes longer, and it does harm where no core is free: then the awaited event cannot happen while this thread
 * polls, and the scheduler, which has seen it run all the time, makes it wait for others afterwards.
 *
 *     cores       with one, by affinity or by the quota of a control group, no thread polls
 *     crowding    a thread that has lately had to wait for a core does not poll for a while
 *     this wait   one that polled in vain is followed by some that do not: twice as many each time that it is in vain again
 */
import { nowNs } from './clock.ts'
import { allowedCores, involuntarySwitches, runDelayNs } from './native/index.ts'

/** Cost of sleeping and waking together, ns. Polling for as long costs at most twice the best choice. */
export const sleepCostNs = 100e3
/** Maximum number of waits in a row that do not poll because polling did not pay; then one tries whether it pays again. */
const mostSkipped = 64
/** The same maximum because cores are crowded: each time that this is seen, ... */
const mostCrowded = 4096
/** ... so many times as many as before; each wait that polls undisturbed halves it. */
const crowdedFactor = 16
/**
 * Share of the time above which, if this thread waits for a core, cores are crowded. On two cores that have nothing else to do it is some 2
 * %, though threads of the system and of V8 preempt others a hundred times a second; beside four processes that compute 20 to 50 %.
 */
const crowdedShare = 1 / 8
/** Shortest interval in which crowding can be measured, ns: a preempted thread waits for as long as a slice of the scheduler. */
const leastNs = 10e6
/** Waits between two looks at the number of cores. */
const recountEvery = 256
/** Waits that polling paid for between two checks whether this thread was preempted: a check costs a system call. */
const askEvery = 16

/** Properties of the machine that a thread can know. */
export interface Cores {
  /** Returns the number of cores on which this process may run, as far as control groups permit. */
  count(): number
  /** Returns the number of times that the scheduler preempted this thread; any number that only grows. */
  switches(): number
  /** Returns the total number of nanoseconds for which this thread has waited for a core; NaN where that is unknown. */
  delayNs(): number
  /** The time, in nanoseconds. */
  nowNs(): number
}

/** Estimate of whether a core is free for a thread that polls. One for each thread. */
export class Crowding {
  readonly #cores: Cores
  #count = 0
  #untilCount = 0
  #skipped = 0
  #next = 1
  #switches = -1
  // Since when this is looked at, and what the delay was then.
  #since = 0
  #delay = 0
  #paid = 0
  readonly #askEvery: number

  constructor(cores: Cores, every: number = askEvery) {
    this.#cores = cores
    this.#askEvery = every
  }

  /** Begins a wait: returns true if it may poll. */
  begin(): boolean {
    if (--this.#untilCount < 0) {
      this.#untilCount = recountEvery
      this.#count = this.#cores.count()
    }
    if (this.#count < 2) return false
    if (this.#skipped === 0) {
      if (this.#switches < 0) this.#lookFrom(this.#cores.switches(), this.#cores.nowNs(), this.#cores.delayNs())
      return true
    }
    // Events during a wait that did not poll are not a measure of one that does.
    if (--this.#skipped === 0) this.#switches = -1
    return false
  }

  /** Notes that the event of a wait that polled came in time. */
  paid(): void {
    if (++this.#paid >= this.#askEvery) this.ended()
  }

  /** A wait that polled is over. */
  ended(): void {
    this.#paid = 0
    const crowded = this.#isCrowded()
    if (crowded === false) this.#next = Math.max(1, this.#next >> 1)
    else if (crowded) {
      this.#next = Math.min(crowdedFactor * this.#next, mostCrowded)
      this.#skipped = this.#next
    }
  }

  /** Returns undefined as long as it cannot be determined. */
  #isCrowded(): boolean | undefined {
    const cores = this.#cores
    const switches = cores.switches()
    // Whether this thread was preempted is cheaper to query than for how long it waited.
    if (switches === this.#switches) return false
    const now = cores.nowNs()
    if (now - this.#since < leastNs) return undefined
    const delay = cores.delayNs()
    const share = (delay - this.#delay) / (now - this.#since)
    this.#lookFrom(switches, now, delay)
    return !(share <= crowdedShare)
  }

  #lookFrom(switches: number, now: number, delay: number): void {
    this.#switches = switches
    this.#since = now
    this.#delay = delay
  }
}

/** Crowding of this thread. */
const crowding = new Crowding({ count: allowedCores, switches: involuntarySwitches, delayNs: runDelayNs, nowNs })

/**
 * State of one place that waits. Where waits are turns of a loop, `goesOn` and `came` keep the time; a call that waits by itself gets its
 * time from `begin`, and reports `paid` or `wasted`.
 */
export class Polling {
  readonly #crowding: Crowding
  #skipped = 0
  /** Waits that do not poll after the next one that polls in vain. */
  #next = 1
  /** Time until which the current wait polls; 0 if none does. */
  #untilNs = 0

  constructor(ofThread: Crowding = crowding) {
    this.#crowding = ofThread
  }

  /** A wait begins: for how many nanoseconds it polls. After those, or before, comes `paid` or `wasted`; after 0 neither. */
  begin(): number {
    if (this.#skipped > 0) {
      this.#skipped--
      return 0
    }
    return this.#crowding.begin() ? sleepCostNs : 0
  }

  /** Nothing has come by `nowNs`: returns true to poll once more. If false, the thread sleeps. */
  goesOn(nowNs: number): boolean {
    if (this.#untilNs === 0) {
      const ns = this.begin()
      if (ns === 0) return false
      this.#untilNs = nowNs + ns
    }
    if (nowNs < this.#untilNs) return true
    this.#untilNs = 0
    this.wasted()
    return false
  }

  /**
   * Notes that the event has come by `nowNs`, perhaps much later than was meant to be polled, if this thread was preempted. 0: the time was
   * not taken.
   */
  came(nowNs: number): void {
    if (this.#untilNs === 0) return
    if (nowNs < this.#untilNs) this.paid()
    else this.wasted()
    this.#untilNs = 0
  }

  /** True if a wait has begun to poll, and goes on. */
  get polls(): boolean {
    return this.#untilNs > 0
  }

  /** Ends the wait for another reason, which is not a measure of polling. */
  leave(): void {
    this.#untilNs = 0
  }

  /** Notes that the event came while the wait polled, within the time. */
  paid(): void {
    this.#crowding.paid()
    this.#next = 1
  }

  /** Notes that it did not. */
  wasted(): void {
    this.#crowding.ended()
    this.#skipped = this.#next
    this.#next = Math.min(2 * this.#next, mostSkipped)
  }
}
