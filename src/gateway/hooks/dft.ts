/** The transform of pmu_dft: some frequencies of a window of samples, and the estimate from the strongest and its neighbours. */
import type { SettingsReader } from '../settings.ts'
import { either } from './either.ts'

export type Estimation = 'none' | 'quadratic' | 'ipdft'
type WindowType = 'none' | 'flattop' | 'hamming' | 'hann'

export interface DftSettings {
  /** Samples per second, and in a window. */
  sampleRate: number
  size: number
  /** First frequency, and distance from one frequency to the next, in Hz. */
  start: number
  resolution: number
  count: number
  windowType: WindowType
  /** Number of times that the window is repeated, for a resolution that is finer than 1 / its duration; 1: it is padded with zeros. */
  repeats: number
}

/** Coefficients in all tables together: half a gigabyte. */
const mostCoefficients = 1 << 25

/** Settings of the transform, checked. */
export function dftSettings(settings: SettingsReader, dftRate: number, estimation: Estimation): DftSettings {
  const names = {
    start: either(settings, 'start_frequency', 'start_freqency'),
    end: either(settings, 'end_frequency', 'end_freqency'),
  }
  for (const [key, example] of [
    ['sample_rate', '1000'],
    [names.start, '49.7'],
    [names.end, '50.3'],
    ['frequency_resolution', '0.1'],
  ] as const)
    if (!settings.has(key)) settings.refuse(key, 'a number', example)
  const sampleRate = settings.integer('sample_rate', 0, 1, 1e9)
  const start = settings.number(names.start, 0, 0, sampleRate)
  const end = settings.number(names.end, 0, start, sampleRate)
  const resolution = settings.number('frequency_resolution', 0, 1e-6, sampleRate)
  const size = Math.floor((sampleRate * settings.integer('window_size_factor', 1, 1, 1e6)) / dftRate)
  if (size < 1) settings.fail(`${settings.of}: dft_rate is greater than sample_rate`, 'dft_rate')
  const coarsest = sampleRate / size
  if (resolution > coarsest)
    settings.fail(
      `${settings.of}: frequency_resolution: windows of ${size} samples resolve ${coarsest} Hz: ${resolution} Hz is too much`,
      'frequency_resolution',
    )
  const multiplier = Math.ceil(coarsest / resolution - 1e-9)
  if (multiplier > 1 && estimation === 'ipdft')
    settings.fail(
      `${settings.of}: ipdft needs a frequency_resolution of ${coarsest} Hz, that of its window`,
      'frequency_resolution',
    )
  const count = Math.ceil((end - start) / resolution - 1e-9) + 1
  if (count * size > mostCoefficients)
    settings.fail(`${settings.of}: ${count} frequencies of ${size} samples are too many`, 'frequency_resolution')
  const windowType = settings.choice<WindowType>('window_type', 'none', ['none', 'flattop', 'hamming', 'hann'])
  const repeated = settings.choice('padding_type', 'zero', ['zero', 'signal_repeat']) === 'signal_repeat'
  return { sampleRate, size, start, resolution, count, windowType, repeats: repeated ? multiplier : 1 }
}

export interface Bins {
  readonly size: number
  readonly start: number
  readonly resolution: number
  /** Factors of the samples of the window, for each frequency, such that |X| is the amplitude. */
  readonly real: readonly Float64Array[]
  readonly imaginary: readonly Float64Array[]
  /** Results. */
  readonly re: Float64Array
  readonly im: Float64Array
  readonly magnitude: Float64Array
}

/** Cosine terms of the windows: a0 − a1·cos(2πn/N) + a2·cos(4πn/N) − … */
const windowTerms: Readonly<Record<WindowType, readonly number[]>> = {
  none: [1],
  hann: [0.5, 0.5],
  hamming: [25 / 46, 21 / 46],
  flattop: [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368],
}

export function coefficientsOf({ sampleRate, size, start, resolution, count, windowType, repeats }: DftSettings): Bins {
  const terms = windowTerms[windowType]
  const window = Float64Array.from({ length: size }, (_, n) =>
    terms.reduce((sum, term, i) => sum + (i % 2 === 0 ? term : -term) * Math.cos((2 * Math.PI * i * n) / size), 0),
  )
  const scale = 2 / (window.reduce((sum, each) => sum + each, 0) * repeats)
  const real: Float64Array[] = []
  const imaginary: Float64Array[] = []
  for (let bin = 0; bin < count; bin++) {
    const turns = (start + bin * resolution) / sampleRate
    const cos = new Float64Array(size)
    const sin = new Float64Array(size)
    for (let n = 0; n < size; n++)
      for (let i = 0; i < repeats; i++) {
        const angle = 2 * Math.PI * ((turns * (n + i * size)) % 1)
        cos[n]! += scale * window[n]! * Math.cos(angle)
        sin[n]! -= scale * window[n]! * Math.sin(angle)
      }
    real.push(cos)
    imaginary.push(sin)
  }
  const results = (): Float64Array => new Float64Array(count)
  return { size, start, resolution, real, imaginary, re: results(), im: results(), magnitude: results() }
}

/** Result of `estimate`: one object for all calls, so that nothing is allocated. */
export const estimated: { frequency: number; amplitude: number; phase: number } = {
  frequency: 0,
  amplitude: 0,
  phase: 0,
}

/** Transforms a ring of samples, the oldest of which is at `oldest`; the amplitude is that of the peak, the phase in radians. */
export function estimate(bins: Bins, ring: Float64Array, oldest: number, estimation: Estimation): void {
  const { size, start, resolution, magnitude } = bins
  let peak = 0
  for (let bin = 0; bin < magnitude.length; bin++) {
    transform(bins, bin, ring, oldest, size)
    if (magnitude[bin]! > magnitude[peak]!) peak = bin
  }
  estimated.frequency = start + peak * resolution
  estimated.amplitude = magnitude[peak]!
  estimated.phase = Math.atan2(bins.im[peak]!, bins.re[peak]!)
  // At the edge there is no neighbour to estimate with.
  if (peak === 0 || peak === magnitude.length - 1 || !(magnitude[peak]! > 0)) return
  if (estimation === 'quadratic') quadratic(bins, peak)
  else if (estimation === 'ipdft') interpolated(bins, peak)
}

function transform(bins: Bins, bin: number, ring: Float64Array, oldest: number, size: number): void {
  const cos = bins.real[bin]!
  const sin = bins.imaginary[bin]!
  let re = 0
  let im = 0
  let n = 0
  for (let i = oldest; i < size; i++, n++) {
    re += ring[i]! * cos[n]!
    im += ring[i]! * sin[n]!
  }
  for (let i = 0; i < oldest; i++, n++) {
    re += ring[i]! * cos[n]!
    im += ring[i]! * sin[n]!
  }
  bins.re[bin] = re
  bins.im[bin] = im
  bins.magnitude[bin] = Math.hypot(re, im)
}

/** Estimates by the vertex of the parabola through the magnitudes of the peak and its neighbours (M. Gasior, BIW 2004, equation 10). */
function quadratic({ start, resolution, magnitude }: Bins, peak: number): void {
  const a = magnitude[peak - 1]!
  const b = magnitude[peak]!
  const c = magnitude[peak + 1]!
  const curve = 2 * b - a - c
  if (!(curve > 0)) return
  const delta = (c - a) / (2 * curve)
  estimated.frequency = start + (peak + delta) * resolution
  estimated.amplitude = b + ((c - a) * delta) / 4
}

/** Estimates by interpolation between the two strongest of a Hann window (doi 10.1109/TIM.2017.2708098, equations 4, 8, 9, 10). */
function interpolated({ start, resolution, magnitude }: Bins, peak: number): void {
  const a = magnitude[peak - 1]!
  const b = magnitude[peak]!
  const c = magnitude[peak + 1]!
  const delta = c > a ? (2 * c - b) / (b + c) : -(2 * a - b) / (b + a)
  estimated.frequency = start + (peak + delta) * resolution
  const angle = Math.PI * delta
  const ratio = delta === 0 ? 1 : angle / Math.sin(angle)
  estimated.amplitude = b * Math.abs(ratio) * Math.abs(delta * delta - 1)
  estimated.phase -= angle
}
