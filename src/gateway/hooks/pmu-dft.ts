/**
 * pmu_dft: a phasor measurement unit. `dft_rate` times a second it transforms the last samples of each signal at some frequencies, and
 * estimates frequency, amplitude, phase and rate of change of frequency (ROCOF) from the strongest one. These four values for each signal
 * replace those of the sample; other samples do not pass. The amplitude is the effective value, the phase that of a cosine at the beginning
 * of the window.
 */
import { SampleField, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import {
  type Bins,
  coefficientsOf,
  type DftSettings,
  dftSettings,
  type Estimation,
  estimate,
  estimated,
} from './dft.ts'
import { either } from './either.ts'
import { type Hook, type HookContext, type HookType, usualPriority, Verdict } from './hook.ts'
import { selectedSignals } from './selection.ts'
import { type Align, alignOf, angleOf, OriginWindow } from './windows.ts'

const outputs = 4

interface PmuSettings extends DftSettings {
  estimation: Estimation
  dftRate: number
  align: Align
  angleFactor: number
  offsets: { frequency: number; amplitude: number; phase: number; rocof: number }
}

class PmuDft implements Hook {
  readonly signals: readonly Signal[]
  readonly #selected: Int32Array
  readonly #settings: PmuSettings
  readonly #bins: Bins
  readonly #windows: readonly Float64Array[]
  readonly #origins: OriginWindow
  readonly #lastFrequencies: Float64Array
  readonly #most: number
  #at = 0
  #seen = 0
  /** Interval of 1/rate into which the last phasor fell, as its second and its number within that second. */
  #lastSecond = Number.NaN
  #lastPart = -1

  constructor(context: HookContext, selected: Int32Array, names: boolean, unit: string, settings: PmuSettings) {
    this.signals = Array.from(selected, (index): Signal[] => {
      const suffix = names ? `_${context.signals[index]!.name}` : ''
      const signal = (name: string, of: string): Signal => ({ name: name + suffix, unit: of, type: SignalType.float })
      return [signal('frequency', 'Hz'), signal('amplitude', 'V'), signal('phase', unit), signal('rocof', 'Hz/s')]
    }).flat()
    this.#selected = selected
    this.#settings = settings
    this.#bins = coefficientsOf(settings)
    this.#windows = Array.from(selected, () => new Float64Array(settings.size))
    this.#origins = new OriginWindow(settings.size)
    this.#lastFrequencies = new Float64Array(selected.length).fill(Number.NaN)
    this.#most = Math.max(...selected)
  }

  process(samples: Samples, word: number): Verdict {
    if (this.#most >= samples.u32[word + SampleField.length]!) return Verdict.error
    const { size, align } = this.#settings
    const data = (word + SampleField.data) >> 1
    for (let i = 0; i < this.#selected.length; i++)
      this.#windows[i]![this.#at] = samples.f64[data + this.#selected[i]!]!
    this.#origins.add(samples, word)
    this.#at = this.#at + 1 === size ? 0 : this.#at + 1
    if (this.#seen < size) this.#seen++
    if (!this.#isDue(samples, word) || this.#seen < size) return Verdict.skip
    for (let i = 0; i < this.#selected.length; i++) this.#write(samples.f64, data + outputs * i, i)
    samples.u32[word + SampleField.length] = outputs * this.#selected.length
    this.#origins.align(samples, word, align)
    return Verdict.ok
  }

  restart(): void {
    this.#at = 0
    this.#seen = 0
    this.#lastSecond = Number.NaN
    this.#lastPart = -1
    this.#lastFrequencies.fill(Number.NaN)
    this.#origins.restart()
  }

  /** True for the first sample after each multiple of 1/rate. */
  #isDue(samples: Samples, word: number): boolean {
    const origin = word + SampleField.origin
    const second = samples.int64(origin)
    const part = Math.ceil((samples.int64(origin + 2) * this.#settings.dftRate) / 1e9)
    // Exactly at a second is the end of the interval before.
    const at = part === 0 ? second - 1 : second
    const interval = part === 0 ? this.#settings.dftRate : part
    if (at === this.#lastSecond && interval === this.#lastPart) return false
    this.#lastSecond = at
    this.#lastPart = interval
    return true
  }

  #write(f64: Float64Array, at: number, i: number): void {
    const { estimation, dftRate, angleFactor, offsets } = this.#settings
    estimate(this.#bins, this.#windows[i]!, this.#at, estimation)
    const last = this.#lastFrequencies[i]!
    const { frequency, amplitude, phase } = estimated
    f64[at] = frequency + offsets.frequency
    f64[at + 1] = amplitude / Math.SQRT2 + offsets.amplitude
    f64[at + 2] = phase * angleFactor + offsets.phase
    f64[at + 3] = (Number.isNaN(last) ? 0 : (frequency - last) * dftRate) + offsets.rocof
    this.#lastFrequencies[i] = frequency
  }
}

export const pmuDft: HookType = {
  name: 'pmu_dft',
  is: 'frequency, amplitude and phase of signals by a Fourier transform',
  priority: usualPriority,
  make(settings, context) {
    const selected = selectedSignals(settings, context.signals, [SignalType.float])
    if (!settings.has('dft_rate')) settings.refuse('dft_rate', 'phasors per second', '10')
    const dftRate = settings.integer('dft_rate', 10, 1, 1e6)
    const key = either(settings, 'frequency_estimate_type', 'estimate_type')
    const estimation = settings.choice<Estimation>(key, 'none', ['none', 'quadratic', 'ipdft'])
    const dft = dftSettings(settings, dftRate, estimation)
    const { factor, unit } = angleOf(settings)
    // Of a dump for debugging, which only some builds of VILLASnode have.
    settings.integer('pps_index', 0, 0, 511)
    const offset = (name: string): number => settings.number(`${name}_offset`, 0, -Infinity, Infinity)
    return new PmuDft(context, selected, settings.boolean('add_channel_name', true), unit, {
      ...dft,
      estimation,
      dftRate,
      align: alignOf(settings),
      angleFactor: factor,
      offsets: {
        frequency: offset('frequency'),
        amplitude: offset('amplitude'),
        phase: offset('phase'),
        rocof: offset('rocof'),
      },
    })
  },
}
