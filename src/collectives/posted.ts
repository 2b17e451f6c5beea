/** What was posted to a send queue where not each request makes a completion, and what of it has completed. */

export class Posted {
  count = 0
  completed = 0
  /** Requests whose memory must not change yet. */
  outstanding = 0
  /** Of those that make a completion, a ring: how many had been posted with it, and whether its memory was in use. */
  readonly #count: Float64Array
  readonly #used: Uint8Array
  readonly #room: number
  #signals = 0
  #seen = 0

  /** `room`: of the queue. */
  constructor(room: number) {
    this.#room = room
    this.#count = new Float64Array(room)
    this.#used = new Uint8Array(room)
  }

  /** Requests that the queue still has. */
  get left(): number {
    return this.count - this.completed
  }

  /** The request that was counted last makes a completion. `used`: its memory must not change before. */
  signal(used: boolean): void {
    const last = this.#signals++ % this.#room
    this.#count[last] = this.count
    this.#used[last] = used ? 1 : 0
    if (used) this.outstanding++
  }

  /** The next of these has completed, and so have all before it. */
  complete(): void {
    const first = this.#seen++ % this.#room
    this.completed = this.#count[first]!
    this.outstanding -= this.#used[first]!
  }
}
