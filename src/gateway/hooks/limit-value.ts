/** limit_value: values beyond `min` and `max` become these; of integers, cut to whole numbers. */
import { SampleField, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'
import { numbers, selectedSignals } from './selection.ts'
import { setInteger } from './values.ts'

class LimitValue implements Hook {
  readonly signals: readonly Signal[]
  readonly #selected: Int32Array
  readonly #min: number
  readonly #max: number

  constructor(signals: readonly Signal[], selected: Int32Array, min: number, max: number) {
    this.signals = signals
    this.#selected = selected
    this.#min = min
    this.#max = max
  }

  process(samples: Samples, word: number): Verdict {
    const { f64 } = samples
    const length = samples.u32[word + SampleField.length]!
    for (let i = 0; i < this.#selected.length; i++) {
      const index = this.#selected[i]!
      if (index >= length) continue
      const at = word + SampleField.data + 2 * index
      const isFloat = this.signals[index]!.type === SignalType.float
      const value = isFloat ? f64[at >> 1]! : samples.int64(at)
      const limit = Math.min(Math.max(value, this.#min), this.#max)
      if (limit === value || Number.isNaN(value)) continue
      if (isFloat) f64[at >> 1] = limit
      else setInteger(samples, at, limit)
    }
    return Verdict.ok
  }
}

export const limitValue: HookType = {
  name: 'limit_value',
  is: 'limits the values of signals to a range',
  priority: usualPriority,
  make(settings, { signals }) {
    const selected = selectedSignals(settings, signals, numbers)
    for (const key of ['min', 'max']) if (!settings.has(key)) settings.refuse(key, 'a number', '10')
    const min = settings.number('min', 0, -Infinity, Infinity)
    const max = settings.number('max', 0, -Infinity, Infinity)
    if (min > max) settings.fail(`${settings.of}: min (${min}) is greater than max (${max})`, 'min')
    return new LimitValue(signals, selected, min, max)
  },
}
