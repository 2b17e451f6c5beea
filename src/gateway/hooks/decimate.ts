/** decimate: lets the first of every `ratio` samples pass. */
import { SampleField, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { copy64, distance64, divide64, sequenceDistance } from '../words.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'

class Decimate implements Hook {
  readonly signals: readonly Signal[]
  readonly #ratio: number
  readonly #renumber: boolean
  #count = 0
  /** Last sequence number and its wraps at 2^32, for `renumber`, so that the output continues. */
  readonly #last = new Samples(1, 0)
  #any = false
  #wraps = 0

  constructor(signals: readonly Signal[], ratio: number, renumber: boolean) {
    this.signals = signals
    this.#ratio = ratio
    this.#renumber = renumber
  }

  process(samples: Samples, word: number): Verdict {
    const first = this.#count === 0
    this.#count = this.#count + 1 === this.#ratio ? 0 : this.#count + 1
    if (!first) return Verdict.skip
    if (this.#renumber) this.#number(samples, word + SampleField.sequence)
    return Verdict.ok
  }

  #number(samples: Samples, at: number): void {
    const last = this.#last
    const { sequence } = SampleField
    if (this.#any && sequenceDistance(samples, at, last, sequence) !== distance64(samples, at, last, sequence))
      this.#wraps++
    this.#any = true
    copy64(samples, at, last, sequence)
    samples.u32[at + 1] = samples.u32[at + 1]! + this.#wraps
    divide64(samples, at, this.#ratio)
  }

  restart(): void {
    this.#count = this.#wraps = 0
    this.#any = false
  }
}

export const decimate: HookType = {
  name: 'decimate',
  is: 'lets one of every n samples pass',
  priority: usualPriority,
  make(settings, { signals }) {
    if (!settings.has('ratio')) settings.refuse('ratio', 'a whole number', '10')
    return new Decimate(signals, settings.integer('ratio', 10, 1, 2 ** 31), settings.boolean('renumber', false))
  },
}
