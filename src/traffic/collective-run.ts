/** Messages of all iterations of a collective, with the time between them on a link that carries exactly its bandwidth. */
import { type CollectiveMessage, messagesOf } from './collectives.ts'
import type { Collective } from './config.ts'
import type { RandomStream } from './random.ts'

export class CollectiveRun {
  /** Destination and size of the current message. */
  to = 0
  bytes = 0
  /** Nanoseconds after the message before. */
  gapNs = 0
  /** Flag: it is the first of its step. */
  beginsStep = false
  /** Nanoseconds that the last step takes. */
  restNs = 0

  readonly #collective: Collective
  readonly #ranks: number
  readonly #bitsPerSecond: number
  readonly #random: RandomStream
  #messages: CollectiveMessage[] = []
  #next = 0
  #iteration = 0

  constructor(collective: Collective, ranks: number, bitsPerSecond: number, random: RandomStream) {
    this.#collective = collective
    this.#ranks = ranks
    this.#bitsPerSecond = bitsPerSecond
    this.#random = random
  }

  /** Moves on to the next message; false after the last iteration. */
  next(): boolean {
    let pauseNs = 0
    if (this.#next === this.#messages.length) {
      if (this.#iteration === this.#collective.iterations) return false
      if (this.#iteration > 0) pauseNs = this.restNs + this.#collective.computeNs
      this.#iteration++
      this.#messages = messagesOf(this.#collective, this.#ranks, this.#random)
      this.#next = 0
      if (this.#messages.length === 0) return false
    }
    const message = this.#messages[this.#next]!
    const before = this.#messages[this.#next - 1]
    this.#next++
    this.to = message.to
    this.bytes = message.bytes
    this.beginsStep = before === undefined || before.step !== message.step
    // All messages of a step are due together; the next step when they have gone.
    this.gapNs = before === undefined ? pauseNs : this.beginsStep ? this.restNs : 0
    const ns = (message.bytes * 8e9) / this.#bitsPerSecond
    this.restNs = this.beginsStep ? ns : this.restNs + ns
    return true
  }
}
