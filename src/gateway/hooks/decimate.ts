/** decimate: lets the first of every `ratio` samples pass. */
import { SampleField, type Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { divide64 } from '../words.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'

class Decimate implements Hook {
  readonly signals: readonly Signal[]
  readonly #ratio: number
  readonly #renumber: boolean
  #count = 0

  constructor(signals: readonly Signal[], ratio: number, renumber: boolean) {
    this.signals = signals
    this.#ratio = ratio
    this.#renumber = renumber
  }

  process(samples: Samples, word: number): Verdict {
    const first = this.#count === 0
    this.#count = this.#count + 1 === this.#ratio ? 0 : this.#count + 1
    if (!first) return Verdict.skip
    if (this.#renumber) divide64(samples, word + SampleField.sequence, this.#ratio)
    return Verdict.ok
  }

  restart(): void {
    this.#count = 0
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
