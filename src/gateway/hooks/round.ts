/** round: to so many digits behind the point, halves away from zero. */
import { SampleField, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'
import { selectedSignals } from './selection.ts'

class Round implements Hook {
  readonly signals: readonly Signal[]
  readonly #selected: Int32Array
  readonly #power: number

  constructor(signals: readonly Signal[], selected: Int32Array, precision: number) {
    this.signals = signals
    this.#selected = selected
    this.#power = 10 ** precision
  }

  process(samples: Samples, word: number): Verdict {
    const { f32, f64 } = samples
    const power = this.#power
    const length = samples.u32[word + SampleField.length]!
    for (let i = 0; i < this.#selected.length; i++) {
      const index = this.#selected[i]!
      if (index >= length) continue
      const at = word + SampleField.data + 2 * index
      const type = this.signals[index]!.type
      if (type === SignalType.float) f64[at >> 1] = rounded(f64[at >> 1]! * power) / power
      else if (type === SignalType.complex) {
        f32[at] = rounded(f32[at]! * power) / power
        f32[at + 1] = rounded(f32[at + 1]! * power) / power
      }
    }
    return Verdict.ok
  }
}

/** As `round` of C: `Math.round` takes −0.5 to 0. */
function rounded(value: number): number {
  const whole = Math.trunc(value)
  const rest = value - whole
  return rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole
}

export const round: HookType = {
  name: 'round',
  is: 'rounds signals to a number of digits',
  priority: usualPriority,
  make(settings, { signals }) {
    const selected = selectedSignals(settings, signals)
    return new Round(signals, selected, settings.integer('precision', 1, 0, 22))
  },
}
