/** Outcomes of the flows of a client: each is complete, lost or failed once, and makes room for another request. */
import type { Channel } from './channel.ts'
import type { FlowRing } from './flow-ring.ts'
import type { Pace } from './pace.ts'
import type { Series } from './series.ts'
import type { Tally } from './tally.ts'

export class Outcomes {
  readonly tally: Tally
  /** Number of requests that were taken and are not over. */
  open = 0
  /** Time when the last one was complete, nanoseconds from the start of the loop. */
  doneNs = 0
  readonly #series: Series
  readonly #pace: Pace

  constructor(tally: Tally, series: Series, pace: Pace) {
    this.tally = tally
    this.#series = series
    this.#pace = pace
  }

  /** Completes the flow at the head of a ring of this channel. */
  complete(server: number, channel: Channel, ring: FlowRing, now: number): void {
    const at = ring.head & ring.mask
    const size = ring.sizes[at]!
    this.tally.complete(server, channel.typeIndex, ring.verbs[at]!, size, Math.max(0, now - ring.dues[at]!))
    this.#series.isDone(now, size)
    this.doneNs = now
    this.#leave(ring, now)
  }

  /** Records the loss of the awaited flow at the head, of which data has not come. */
  lose(server: number, channel: Channel, now: number): void {
    const { awaited, typeIndex } = channel
    const at = awaited.head & awaited.mask
    this.tally.lose(server, typeIndex, awaited.verbs[at]!, awaited.sizes[at]!)
    channel.arrived = 0
    this.#leave(awaited, now)
  }

  /** Records the failure of the flow at the head, whose peer is gone. */
  fail(server: number, channel: Channel, ring: FlowRing, now: number): void {
    const at = ring.head & ring.mask
    this.tally.fail(server, channel.typeIndex, ring.verbs[at]!, ring.sizes[at]!)
    this.#leave(ring, now)
  }

  #leave(ring: FlowRing, now: number): void {
    this.open--
    this.#pace.over(ring.phases[ring.head & ring.mask]!, now)
    ring.head++
  }
}
