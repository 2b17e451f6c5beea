/** round: to a number of digits after the point, halves away from zero. */
import type { Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { EachValue } from './each-value.ts'
import { type HookType, usualPriority } from './hook.ts'
import { selectedSignals } from './selection.ts'

class Round extends EachValue {
  readonly #power: number

  constructor(signals: readonly Signal[], selected: Int32Array, precision: number) {
    super(signals, selected)
    this.#power = 10 ** precision
  }

  protected override change({ f32, f64 }: Samples, at: number, type: SignalType): void {
    const power = this.#power
    if (type === SignalType.float) f64[at >> 1] = rounded(f64[at >> 1]! * power) / power
    else if (type === SignalType.complex) {
      f32[at] = rounded(f32[at]! * power) / power
      f32[at + 1] = rounded(f32[at + 1]! * power) / power
    }
  }
}

/** Rounds as `round` of C does: `Math.round` takes −0.5 to 0. */
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
