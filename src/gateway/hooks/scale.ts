/** scale: value × scale + offset. Of integers both results are cut to whole numbers; of complex numbers the offset is real. */
import { SampleField, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { either } from './either.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'
import { selectedSignals } from './selection.ts'
import { setInteger } from './values.ts'

class Scale implements Hook {
  readonly signals: readonly Signal[]
  readonly #selected: Int32Array
  readonly #scale: number
  readonly #offset: number

  constructor(signals: readonly Signal[], selected: Int32Array, scale: number, offset: number) {
    this.signals = signals
    this.#selected = selected
    this.#scale = scale
    this.#offset = offset
  }

  process(samples: Samples, word: number): Verdict {
    const { f32, f64 } = samples
    const scale = this.#scale
    const offset = this.#offset
    const length = samples.u32[word + SampleField.length]!
    for (let i = 0; i < this.#selected.length; i++) {
      const index = this.#selected[i]!
      if (index >= length) continue
      const value = word + SampleField.data + 2 * index
      const type = this.signals[index]!.type
      if (type === SignalType.float) f64[value >> 1] = f64[value >> 1]! * scale + offset
      else if (type === SignalType.integer)
        setInteger(samples, value, Math.trunc(samples.int64(value) * scale) + offset)
      else if (type === SignalType.complex) {
        // In 32 bits throughout, as C++ has it for complex<float>.
        const factor = Math.fround(scale)
        f32[value] = Math.fround(f32[value]! * factor) + Math.fround(offset)
        f32[value + 1] = f32[value + 1]! * factor
      }
    }
    return Verdict.ok
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
