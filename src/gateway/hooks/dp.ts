/**
 * dp: a signal as dynamic phasors, and back. With N samples in a period of the fundamental frequency f0, the phasor of the harmonic k is
 *
 *     X_k = 1/N · Σ x_n · e^(−j·2π·k·n/N)      over the last N samples; n counts from the first sample on
 *
 * so that A·cos(2π·k·f0·t + φ) has the phasor A/2·e^(jφ), which stands still. `inverse` gives the real part of Σ X_k · e^(j·2π·k·f0·t). Both
 * magnitudes are those of VILLASnode.
 */
import { SampleField, type Samples } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import { type Signal, SignalType } from '../signals.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'
import { largestWindow } from './moving.ts'
import { selectedSignal } from './selection.ts'
import { insertValues, removeValues } from './values.ts'

class Forward implements Hook {
  readonly signals: readonly Signal[]
  readonly #index: number
  readonly #harmonics: readonly number[]
  /** e^(−j·2π·n/N). */
  readonly #cos: Float64Array
  readonly #sin: Float64Array
  readonly #window: Float64Array
  readonly #real: Float64Array
  readonly #imaginary: Float64Array
  /** Index of the sample in its period. */
  #at = 0

  constructor(signals: readonly Signal[], index: number, harmonics: readonly number[], size: number) {
    const { name, unit } = signals[index]!
    const added = harmonics.map((_, i): Signal => ({ name: `${name}_harm${i}`, unit, type: SignalType.complex }))
    this.signals = signals.toSpliced(index, 1, ...added)
    this.#index = index
    this.#harmonics = harmonics
    this.#cos = Float64Array.from({ length: size }, (_, n) => Math.cos((2 * Math.PI * n) / size))
    this.#sin = Float64Array.from({ length: size }, (_, n) => -Math.sin((2 * Math.PI * n) / size))
    this.#window = new Float64Array(size)
    this.#real = new Float64Array(harmonics.length)
    this.#imaginary = new Float64Array(harmonics.length)
  }

  process(samples: Samples, word: number): Verdict {
    const index = this.#index
    if (index >= samples.u32[word + SampleField.length]!) return Verdict.error
    this.#add(samples.f64[(word + SampleField.data + 2 * index) >> 1]!)
    const count = this.#harmonics.length
    removeValues(samples, word, index, 1)
    const at = insertValues(samples, word, index, count)
    for (let i = 0; i < count; i++) {
      samples.f32[at + 2 * i] = this.#real[i]! / this.#window.length
      samples.f32[at + 2 * i + 1] = this.#imaginary[i]! / this.#window.length
    }
    return Verdict.ok
  }

  restart(): void {
    this.#at = 0
    this.#window.fill(0)
    this.#real.fill(0)
    this.#imaginary.fill(0)
  }

  /** Adds a value. The value that enters the window and the one that leaves it have the same factor, as the window is a period long. */
  #add(value: number): void {
    const window = this.#window
    const size = window.length
    const at = this.#at
    const oldest = window[at]!
    window[at] = value
    const change = value - oldest
    for (let i = 0; i < this.#harmonics.length; i++) {
      const factor = (this.#harmonics[i]! * at) % size
      this.#real[i]! += change * this.#cos[factor]!
      this.#imaginary[i]! += change * this.#sin[factor]!
    }
    this.#at = at + 1 === size ? 0 : at + 1
    // Rounding errors do not grow, and a value that is not finite leaves with the window.
    if (this.#at === 0 || !Number.isFinite(oldest)) this.#again()
  }

  #again(): void {
    const size = this.#window.length
    for (let i = 0; i < this.#harmonics.length; i++) {
      let real = 0
      let imaginary = 0
      for (let n = 0; n < size; n++) {
        const factor = (this.#harmonics[i]! * n) % size
        real += this.#window[n]! * this.#cos[factor]!
        imaginary += this.#window[n]! * this.#sin[factor]!
      }
      this.#real[i] = real
      this.#imaginary[i] = imaginary
    }
  }
}

class Inverse implements Hook {
  readonly signals: readonly Signal[]
  readonly #index: number
  readonly #harmonics: readonly number[]
  /** Phase of the fundamental, in radians per sample. */
  readonly #step: number
  #count = 0

  constructor(signals: readonly Signal[], index: number, harmonics: readonly number[], step: number) {
    const added: Signal = { name: 'dp', unit: 'idp', type: SignalType.float }
    this.signals = signals.toSpliced(index, harmonics.length, added)
    this.#index = index
    this.#harmonics = harmonics
    this.#step = step
  }

  process(samples: Samples, word: number): Verdict {
    const index = this.#index
    const count = this.#harmonics.length
    if (index + count > samples.u32[word + SampleField.length]!) return Verdict.error
    const at = word + SampleField.data + 2 * index
    let value = 0
    for (let i = 0; i < count; i++) {
      const angle = this.#harmonics[i]! * this.#step * this.#count
      value += samples.f32[at + 2 * i]! * Math.cos(angle) - samples.f32[at + 2 * i + 1]! * Math.sin(angle)
    }
    this.#count++
    removeValues(samples, word, index, count - 1)
    samples.f64[at >> 1] = value
    return Verdict.ok
  }

  restart(): void {
    this.#count = 0
  }
}

/** Returns the seconds from one sample to the next. */
function stepOf(settings: SettingsReader): number {
  if (settings.has('rate') === settings.has('dt'))
    settings.fail(
      `${settings.of}: needs either 'rate' (samples per second) or 'dt' (seconds), for example: {"rate":10000}`,
    )
  return settings.has('rate') ? 1 / settings.number('rate', 0, 1e-9, 1e9) : settings.number('dt', 0, 1e-9, 1e9)
}

export const dp: HookType = {
  name: 'dp',
  is: 'a signal as dynamic phasors, and back',
  priority: usualPriority,
  make(settings, { signals }) {
    const f0 = settings.number('f0', 50, 1e-9, 1e9)
    const dt = stepOf(settings)
    const harmonics = settings.any('harmonics') as readonly number[]
    const isHarmonic = (each: number): boolean => Number.isInteger(each) && each >= 0 && each <= 1000
    if (!Array.isArray(harmonics) || harmonics.length === 0 || !harmonics.every(isHarmonic))
      settings.refuse('harmonics', 'a list of whole numbers from 0 to 1000', '[0,1,3,5]')
    if (settings.boolean('inverse', false)) {
      const index = selectedSignal(settings, signals, 'signal', [SignalType.complex])
      const phasors = signals.slice(index, index + harmonics.length)
      if (phasors.length < harmonics.length || phasors.some(({ type }) => type !== SignalType.complex))
        settings.fail(
          `${settings.of}: signal: ${harmonics.length} complex signals must begin there, one for each harmonic`,
          'signal',
        )
      return new Inverse(signals, index, harmonics, 2 * Math.PI * f0 * dt)
    }
    const index = selectedSignal(settings, signals, 'signal', [SignalType.float])
    // Rates and frequencies are seldom exact in binary: 1 / 50 / 0.0001 is 199.99999999999997.
    const size = Math.floor(1 / f0 / dt + 1e-6)
    if (size < 1 || size > largestWindow)
      settings.fail(`${settings.of}: a period of f0 has ${size} samples; expected 1 to ${largestWindow}`, 'f0')
    return new Forward(signals, index, harmonics, size)
  },
}
