/**
 * Times at which the requests of a schedule are sent. In an open loop each has its time. In a closed loop one is sent when another of its
 * phase is over, so that as many as the depth are outstanding. In a collective the requests of a step are sent when the step before is
 * complete. Times are nanoseconds from the start of the loop.
 */
import { Schedule, type TrafficConfig } from '../index.ts'

export class Pace {
  readonly schedule: Schedule
  /** Phase of the next request, or of the one that was taken last. */
  phase = -1
  /** Time when the request that was taken last was due. */
  dueNs = 0
  /** Flag: there are no more requests. */
  exhausted = false
  readonly #config: TrafficConfig
  /** Flags by phase: requests wait for other requests of the phase. */
  readonly #closed: readonly boolean[]
  /** Flag: the schedule's current request has not been taken. */
  #pending = false
  #group = -1
  /** End of the phase, in a closed loop. */
  #phaseEndNs = Number.POSITIVE_INFINITY
  /** Time when the last request was over. */
  #freeNs = 0
  /** Times when the next requests may go, in a closed loop; a ring. */
  #ready = new Float64Array(1)
  #readyHead = 0
  #readyTail = 0

  constructor(config: TrafficConfig) {
    this.#config = config
    this.#closed = config.phases.map(({ arrival, collective }) => arrival.type === 'closed' && collective === null)
    this.schedule = new Schedule(config, 'caller')
  }

  /** Takes the next request if it may go by now: it is that of the schedule then. `open`: number of requests that are not over. */
  take(now: number, open: number): boolean {
    while (this.#pending || this.#next(now)) {
      const due = this.#dueNs(now, open)
      // The phase or the run ended before it.
      if (Number.isNaN(due)) continue
      if (due > now) return false
      this.#pending = false
      if (this.#closed[this.phase]!) this.#readyHead++
      this.dueNs = due
      return true
    }
    return false
  }

  /** Records that a request of this phase is over. */
  over(phase: number, now: number): void {
    this.#freeNs = now
    // A request of an earlier phase makes no room in the next one.
    if (phase !== this.phase || !this.#closed[phase]!) return
    const { arrival } = this.#config.phases[phase]!
    if (arrival.type === 'closed') this.#ready[this.#readyTail++ % this.#ready.length] = now + arrival.thinkNs
  }

  /**
   * Time at which the next request goes, or its phase ends before it; Infinity if there is none, or other requests have to be over first.
   */
  get nextNs(): number {
    if (!this.#pending) return this.exhausted ? Number.POSITIVE_INFINITY : 0
    if (!this.#closed[this.phase]!) return this.schedule.timeNs
    const end = Math.min(this.#phaseEndNs, this.#endNs)
    return this.#readyHead === this.#readyTail ? end : Math.min(end, this.#ready[this.#readyHead % this.#ready.length]!)
  }

  /** End of the run. */
  get #endNs(): number {
    return this.#config.durationNs ?? Number.POSITIVE_INFINITY
  }

  #next(now: number): boolean {
    if (this.exhausted) return false
    this.#pending = this.schedule.next()
    if (!this.#pending) this.exhausted = true
    else if (this.schedule.phase !== this.phase) this.#enterPhase(now)
    return this.#pending
  }

  /** Returns the time at which the current request goes: Infinity if it waits for other requests, NaN if it never will. */
  #dueNs(now: number, open: number): number {
    const { schedule } = this
    if (!this.#closed[this.phase]!) {
      if (this.#config.phases[this.phase]!.collective === null) return schedule.timeNs
      if (schedule.group !== this.#group) {
        if (open > 0) return Number.POSITIVE_INFINITY
        this.#group = schedule.group
      }
      return Math.max(schedule.timeNs, this.#freeNs)
    }
    if (now >= this.#endNs) {
      this.exhausted = true
      this.#pending = false
      return Number.NaN
    }
    if (now >= this.#phaseEndNs) {
      this.#pending = false
      // A late call does not delay the phases that follow.
      schedule.skipPhase(this.#phaseEndNs)
      return Number.NaN
    }
    return this.nextNs
  }

  /** Enters a phase. Its first request is known before the phase begins: as soon as the last one of the phase before is taken. */
  #enterPhase(now: number): void {
    const { phase, timeNs } = this.schedule
    const startNs = Math.max(now, timeNs)
    // A late call does not delay the end of a closed phase. The work of an open one or of a collective takes as long as it takes.
    const isPutOff = this.phase >= 0 && !this.#closed[this.phase]
    this.phase = phase
    const { arrival, durationNs } = this.#config.phases[phase]!
    this.#phaseEndNs = (isPutOff ? startNs : timeNs) + durationNs
    if (arrival.type !== 'closed') return
    this.#ready = new Float64Array(arrival.depth).fill(startNs)
    this.#readyHead = 0
    this.#readyTail = arrival.depth
  }
}
