/** scale: value × scale + offset. Of integers both results are cut to whole numbers; of complex numbers the offset is real. */
import type { Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { EachValue } from './each-value.ts'
import { either } from './either.ts'
import { type HookType, usualPriority } from './hook.ts'
import { selectedSignals } from './selection.ts'
import { setInteger } from './values.ts'

class Scale extends EachValue {
  readonly #scale: number
  readonly #offset: number

  constructor(signals: readonly Signal[], selected: Int32Array, scale: number, offset: number) {
    super(signals, selected)
    this.#scale = scale
    this.#offset = offset
  }

  protected override change(samples: Samples, at: number, type: SignalType): void {
    const { f32, f64 } = samples
    const scale = this.#scale
    const offset = this.#offset
    if (type === SignalType.float) f64[at >> 1] = f64[at >> 1]! * scale + offset
    else if (type === SignalType.integer) setInteger(samples, at, Math.trunc(samples.int64(at) * scale) + offset)
    else if (type === SignalType.complex) {
      // In 32 bits throughout, as C++ has it for complex<float>.
      const factor = Math.fround(scale)
      f32[at] = Math.fround(f32[at]! * factor) + Math.fround(offset)
      f32[at + 1] = f32[at + 1]! * factor
    }
  }
}

export const scale: HookType = {
  name: 'scale',
  is: 'multiplies signals by a factor and adds an offset',
  priority: usualPriority,
  make(settings, { signals }) {
    const selected = selectedSignals(settings, signals, [SignalType.float, SignalType.integer, SignalType.complex])
    const factor = settings.number(either(settings, 'gain', 'scale'), 1, -Infinity, Infinity)
    return new Scale(signals, selected, factor, settings.number('offset', 0, -Infinity, Infinity))
  },
}
