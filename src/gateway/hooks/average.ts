/** average: the mean of several signals becomes a new one, before that with the index `offset`. */
import { SampleField, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'
import { numbers, selectedSignals } from './selection.ts'
import { insertValues } from './values.ts'

class Average implements Hook {
  readonly signals: readonly Signal[]
  readonly #types: readonly SignalType[]
  readonly #selected: Int32Array
  readonly #offset: number
  readonly #most: number

  constructor(signals: readonly Signal[], selected: Int32Array, offset: number) {
    const added: Signal = { name: 'average', unit: '', type: SignalType.float }
    this.signals = signals.toSpliced(offset, 0, added)
    this.#types = signals.map(({ type }) => type)
    this.#selected = selected
    this.#offset = offset
    this.#most = Math.max(offset - 1, ...selected)
  }

  process(samples: Samples, word: number): Verdict {
    if (this.#most >= samples.u32[word + SampleField.length]!) return Verdict.error
    let sum = 0
    for (let i = 0; i < this.#selected.length; i++) {
      const index = this.#selected[i]!
      const at = word + SampleField.data + 2 * index
      sum += this.#types[index] === SignalType.float ? samples.f64[at >> 1]! : samples.int64(at)
    }
    const at = insertValues(samples, word, this.#offset, 1)
    samples.f64[at >> 1] = sum / this.#selected.length
    return Verdict.ok
  }
}

export const average: HookType = {
  name: 'average',
  is: 'adds the mean of several signals as a new one',
  priority: usualPriority,
  make(settings, { signals }) {
    const selected = selectedSignals(settings, signals, numbers)
    if (!settings.has('offset')) settings.refuse('offset', 'the index of the new signal', '0')
    return new Average(signals, selected, settings.integer('offset', 0, 0, signals.length))
  },
}
