/** Requests posted to a send queue in which not every request generates a completion, and those of them that have completed. */

export class Posted {
  count = 0
  completed = 0
  /** Number of requests whose memory must not change yet. */
  outstanding = 0
  /** Ring of the requests that generate a completion: number of requests posted up to each, and whether its memory is in use. */
  readonly #count: Float64Array
  readonly #used: Uint8Array
  readonly #room: number
  #signals = 0
  #seen = 0

  /** `room`: entries of the queue. */
  constructor(room: number) {
    this.#room = room
    this.#count = new Float64Array(room)
    this.#used = new Uint8Array(room)
  }

  /** Number of requests that are still in the queue. */
  get left(): number {
    return this.count - this.completed
  }

  /** Records that the last counted request generates a completion. `used`: its memory must not change before that. */
  signal(used: boolean): void {
    const last = this.#signals++ % this.#room
    this.#count[last] = this.count
    this.#used[last] = used ? 1 : 0
    if (used) this.outstanding++
  }

  /** Records that the next of these has completed, and thus all requests before it. */
  complete(): void {
    const first = this.#seen++ % this.#room
    this.completed = this.#count[first]!
    this.outstanding -= this.#used[first]!
  }
}
