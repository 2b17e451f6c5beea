/** cast: gives signals another type, name or unit. Floats become integers by cutting off their fraction. */
import { SampleField, type Samples } from '../samples.ts'
import { type Signal, SignalType, signalTypeNames } from '../signals.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'
import { selectedSignals } from './selection.ts'
import { setInteger } from './values.ts'

class Cast implements Hook {
  readonly signals: readonly Signal[]
  readonly #from: readonly SignalType[]
  readonly #to: SignalType | undefined
  readonly #selected: Int32Array

  constructor(signals: readonly Signal[], selected: Int32Array, change: Partial<Signal>) {
    this.signals = signals.map((signal, i) => (selected.includes(i) ? { ...signal, ...change } : signal))
    this.#from = signals.map(({ type }) => type)
    this.#to = change.type
    this.#selected = selected
  }

  process(samples: Samples, word: number): Verdict {
    if (this.#to === undefined) return Verdict.ok
    const length = samples.u32[word + SampleField.length]!
    for (let i = 0; i < this.#selected.length; i++) {
      const index = this.#selected[i]!
      const from = this.#from[index]!
      if (index < length && from !== this.#to) castValue(samples, word + SampleField.data + 2 * index, from, this.#to)
    }
    return Verdict.ok
  }
}

/** Casts as `SignalData::cast` does: a complex number is true if neither of its parts is 0, and otherwise its real part counts. */
function castValue(samples: Samples, word: number, from: SignalType, to: SignalType): void {
  const { u32, f32, f64 } = samples
  const value =
    from === SignalType.float
      ? f64[word >> 1]!
      : from === SignalType.integer
        ? samples.int64(word)
        : from === SignalType.boolean
          ? u32[word]! & 1
          : f32[word]!
  if (to === SignalType.float) f64[word >> 1] = value
  else if (to === SignalType.integer) setInteger(samples, word, value)
  else if (to === SignalType.complex) {
    f32[word] = value
    f32[word + 1] = 0
  } else {
    const isTrue = value !== 0 && (from !== SignalType.complex || f32[word + 1] !== 0)
    u32[word] = isTrue ? 1 : 0
    u32[word + 1] = 0
  }
}

export const cast: HookType = {
  name: 'cast',
  is: 'changes the type, the name or the unit of signals',
  priority: usualPriority,
  make(settings, { signals }) {
    const selected = selectedSignals(settings, signals)
    const change: { -readonly [K in keyof Signal]?: Signal[K] } = {}
    if (settings.has('new_type'))
      change.type = signalTypeNames.indexOf(settings.choice('new_type', 'float', signalTypeNames)) as SignalType
    if (settings.has('new_name')) change.name = settings.string('new_name', null, 'voltage')
    if (settings.has('new_unit')) change.unit = settings.string('new_unit', null, 'V')
    return new Cast(signals, selected, change)
  },
}
