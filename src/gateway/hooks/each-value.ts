/** Hooks that change the values of the signals they select, each by itself. */
import { SampleField, type Samples } from '../samples.ts'
import type { Signal, SignalType } from '../signals.ts'
import { type Hook, Verdict } from './hook.ts'

export abstract class EachValue implements Hook {
  readonly signals: readonly Signal[]
  readonly #selected: Int32Array

  constructor(signals: readonly Signal[], selected: Int32Array) {
    this.signals = signals
    this.#selected = selected
  }

  process(samples: Samples, word: number): Verdict {
    const length = samples.u32[word + SampleField.length]!
    for (let i = 0; i < this.#selected.length; i++) {
      const index = this.#selected[i]!
      if (index < length) this.change(samples, word + SampleField.data + 2 * index, this.signals[index]!.type)
    }
    return Verdict.ok
  }

  /** Changes the value at the word `at`. */
  protected abstract change(samples: Samples, at: number, type: SignalType): void
}
