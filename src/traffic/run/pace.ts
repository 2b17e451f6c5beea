/**
 * When the requests of a schedule go. In an open loop each has its time. In a closed loop one goes when another of its phase is over, so
 * that as many as the depth are outstanding. In a collective the requests of a step go when the step before is complete.
 * Times are nanoseconds from the start of the loop.
 */
import { Schedule, type TrafficConfig } from '../index.ts'

export class Pace {
  readonly schedule: Schedule
  /** The phase of the request that is next, or was taken last. */
  phase = -1
  /** When the request that was taken last was due. */
  dueNs = 0
  /** There are no more requests. */
  exhausted = false
  readonly #config: TrafficConfig
  /** By phase: whether requests wait for others of the phase. */
  readonly #closed: readonly boolean[]
  /** The schedule's current request has not been taken. */
  #pending = false
  #group = -1
  /** Closed loop: when the phase ends. */
  #phaseEndNs = Number.POSITIVE_INFINITY
  /** When a request was over last. */
  #freeNs = 0
  /** Closed loop: when the next requests may go, in a ring. */
  #ready = new Float64Array(1)
  #readyHead = 0
  #readyTail = 0

  constructor(config: TrafficConfig) {
    this.#config = config
    this.#closed = config.phases.map(({ arrival, collective }) => arrival.type === 'closed' && collective === null)
    this.schedule = new Schedule(config, 'caller')
  }

  /** Takes the next request if it may go by now: it is that of the schedule then. `open`: requests that are not over. */
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

  /** A request of this phase is over. */
  over(phase: number, now: number): void {
    this.#freeNs = now
    // One that a phase has left behind makes no room in the next one.
    if (phase !== this.phase || !this.#closed[phase]!) return
    const { arrival } = this.#config.phases[phase]!
    if (arrival.type === 'closed') this.#ready[this.#readyTail++ % this.#ready.length] = now + arrival.thinkNs
  }

  /** When the next request goes, or its phase ends before it; Infinity if there is none, or others have to be over first. */
  get nextNs(): number {
    if (!this.#pending) return this.exhausted ? Number.POSITIVE_INFINITY : 0
    if (!this.#closed[this.phase]!) return this.schedule.timeNs
    const end = Math.min(this.#phaseEndNs, this.#endNs)
    return this.#readyHead === this.#readyTail ? end : Math.min(end, this.#ready[this.#readyHead % this.#ready.length]!)
  }

  /** When the run ends. */
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

  /** When the current request goes: Infinity if it waits for others, NaN if it never will. */
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
      // Who looks later does not put off the phases that follow.
      schedule.skipPhase(this.#phaseEndNs)
      return Number.NaN
    }
    return this.nextNs
  }

  /** The first request of a phase is known before the phase begins: as soon as the last one of the phase before is taken. */
  #enterPhase(now: number): void {
    const { phase, timeNs } = this.schedule
    const startNs = Math.max(now, timeNs)
    // Who looks late does not put off the end of a closed phase. What an open one or a collective has to do takes as long as it takes.
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
