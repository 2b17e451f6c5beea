/** limit_value: values beyond `min` and `max` become these; of integers, cut to whole numbers. */
import type { Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { EachValue } from './each-value.ts'
import { type HookType, usualPriority } from './hook.ts'
import { numbers, selectedSignals } from './selection.ts'
import { setInteger } from './values.ts'

class LimitValue extends EachValue {
  readonly #min: number
  readonly #max: number

  constructor(signals: readonly Signal[], selected: Int32Array, min: number, max: number) {
    super(signals, selected)
    this.#min = min
    this.#max = max
  }

  protected override change(samples: Samples, at: number, type: SignalType): void {
    const isFloat = type === SignalType.float
    const value = isFloat ? samples.f64[at >> 1]! : samples.int64(at)
    const limit = Math.min(Math.max(value, this.#min), this.#max)
    if (limit === value || Number.isNaN(value)) return
    if (isFloat) samples.f64[at >> 1] = limit
    else setInteger(samples, at, limit)
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
