/** ma and rms: the mean, and the root of the mean of squares, of the last values of signals. Before the first there were zeros. */
import { SampleField, type Samples } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import { type Signal, SignalType } from '../signals.ts'
import { type Hook, type HookContext, type HookType, usualPriority, Verdict } from './hook.ts'
import { selectedSignals } from './selection.ts'
import { SlidingSum } from './sliding-sum.ts'

class Moving implements Hook {
  readonly signals: readonly Signal[]
  readonly #selected: Int32Array
  readonly #size: number
  readonly #squares: boolean
  readonly #sums: readonly SlidingSum[]

  constructor(signals: readonly Signal[], selected: Int32Array, size: number, squares: boolean) {
    this.signals = signals
    this.#selected = selected
    this.#size = size
    this.#squares = squares
    this.#sums = Array.from(selected, () => new SlidingSum(size))
  }

  process(samples: Samples, word: number): Verdict {
    const { f64 } = samples
    const length = samples.u32[word + SampleField.length]!
    for (let i = 0; i < this.#selected.length; i++) {
      const index = this.#selected[i]!
      if (index >= length) continue
      const at = (word + SampleField.data + 2 * index) >> 1
      const value = f64[at]!
      const window = this.#sums[i]!
      window.add(this.#squares ? value * value : value)
      const mean = window.sum / this.#size
      // After squares have left the window, rounding may make the sum negative.
      f64[at] = this.#squares ? Math.sqrt(Math.max(mean, 0)) : mean
    }
    return Verdict.ok
  }

  restart(): void {
    for (const sum of this.#sums) sum.clear()
  }
}

/** Samples in a window, at most. */
export const largestWindow: number = 1 << 24

function make(settings: SettingsReader, { signals }: HookContext, squares: boolean): Hook {
  const selected = selectedSignals(settings, signals, [SignalType.float])
  if (squares && !settings.has('window_size')) settings.refuse('window_size', 'a number of samples', '100')
  return new Moving(signals, selected, settings.integer('window_size', 10, 1, largestWindow), squares)
}

export const ma: HookType = {
  name: 'ma',
  is: 'the moving average of the last n samples',
  priority: usualPriority,
  make: (settings, context) => make(settings, context, false),
}

export const rms: HookType = {
  name: 'rms',
  is: 'the root mean square of the last n samples',
  priority: usualPriority,
  make: (settings, context) => make(settings, context, true),
}
