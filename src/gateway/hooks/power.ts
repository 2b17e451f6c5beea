/**
 * power: active, apparent and reactive power and the angle between voltage and current, of pairs of signals over a window of n samples:
 *
 *     P = Σ u·i / n     S = √(Σ u² · Σ i²) / n     Q = √(S² − P²)     φ = atan2(Q, P)
 *
 * These replace all values of the sample. Samples pass once n others came before.
 */
import { SampleField, type Samples } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import { type Signal, SignalType } from '../signals.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'
import { largestWindow } from './moving.ts'
import { selectedSignal, selectedSignals } from './selection.ts'
import { SlidingSum } from './sliding-sum.ts'
import { type Align, alignOf, angleOf, OriginWindow } from './windows.ts'

interface Pair {
  readonly voltage: number
  readonly current: number
  readonly uu: SlidingSum
  readonly ii: SlidingSum
  readonly ui: SlidingSum
}

interface PowerSettings {
  size: number
  align: Align
  angleFactor: number
  active: boolean
  reactive: boolean
  apparent: boolean
  angle: boolean
}

class Power implements Hook {
  readonly signals: readonly Signal[]
  readonly #pairs: readonly Pair[]
  readonly #settings: PowerSettings
  readonly #origins: OriginWindow
  readonly #most: number
  #seen = 0

  constructor(signals: readonly Signal[], pairs: readonly Pair[], settings: PowerSettings) {
    this.signals = signals
    this.#pairs = pairs
    this.#settings = settings
    this.#origins = new OriginWindow(settings.size)
    this.#most = Math.max(...pairs.flatMap(({ voltage, current }) => [voltage, current]))
  }

  process(samples: Samples, word: number): Verdict {
    if (this.#most >= samples.u32[word + SampleField.length]!) return Verdict.error
    const { f64 } = samples
    const { size, align } = this.#settings
    const data = (word + SampleField.data) >> 1
    for (let i = 0; i < this.#pairs.length; i++) {
      const pair = this.#pairs[i]!
      const u = f64[data + pair.voltage]!
      const current = f64[data + pair.current]!
      pair.uu.add(u * u)
      pair.ii.add(current * current)
      pair.ui.add(u * current)
    }
    this.#origins.add(samples, word)
    if (this.#seen < size) {
      this.#seen++
      return Verdict.skip
    }
    let at = data
    for (let i = 0; i < this.#pairs.length; i++) at = this.#write(f64, at, this.#pairs[i]!)
    samples.u32[word + SampleField.length] = at - data
    this.#origins.align(samples, word, align)
    return Verdict.ok
  }

  restart(): void {
    this.#seen = 0
    this.#origins.restart()
    for (const { uu, ii, ui } of this.#pairs) {
      uu.clear()
      ii.clear()
      ui.clear()
    }
  }

  #write(f64: Float64Array, at: number, { uu, ii, ui }: Pair): number {
    const { size, angleFactor, active, reactive, apparent, angle } = this.#settings
    const p = ui.sum / size
    // Rounding may take sums of squares below nothing, and S below P.
    const s = Math.sqrt(Math.max(uu.sum, 0) * Math.max(ii.sum, 0)) / size
    const q = Math.sqrt(Math.max(s * s - p * p, 0))
    if (active) f64[at++] = p
    if (reactive) f64[at++] = q
    if (apparent) f64[at++] = s
    if (angle) f64[at++] = Math.atan2(q, p) * angleFactor
    return at
  }
}

function pairsOf(settings: SettingsReader, signals: readonly Signal[], size: number): Pair[] {
  const pairs = settings.groups('pairings').map((pair): Pair => {
    const types = [SignalType.float]
    const voltage = selectedSignal(pair, signals, 'voltage', types)
    const current = selectedSignal(pair, signals, 'current', types)
    pair.done()
    return { voltage, current, uu: new SlidingSum(size), ii: new SlidingSum(size), ui: new SlidingSum(size) }
  })
  if (pairs.length === 0) settings.refuse('pairings', 'pairs of signals', '[{"voltage":"u1","current":"i1"}]')
  return pairs
}

export const power: HookType = {
  name: 'power',
  is: 'active, reactive and apparent power of voltages and currents',
  priority: usualPriority,
  make(settings, { signals }) {
    if (!settings.has('window_size')) settings.refuse('window_size', 'a number of samples', '1000')
    const size = settings.integer('window_size', 1000, 1, largestWindow)
    const pairs = pairsOf(settings, signals, size)
    // VILLASnode needs the signals of all pairs once more.
    if (settings.has('signals')) selectedSignals(settings, signals, [SignalType.float])
    const names = settings.boolean('add_channel_name', false)
    const { factor, unit } = angleOf(settings)
    const outputs = {
      active: settings.boolean('active_power', true),
      reactive: settings.boolean('reactive_power', true),
      apparent: settings.boolean('apparent_power', true),
      angle: settings.boolean('cos_phi', true),
    }
    const added: Signal[] = pairs.flatMap(({ voltage }) => {
      const signal = (name: string, of: string): Signal => {
        const suffix = names ? `_${signals[voltage]!.name}` : ''
        return { name: name + suffix, unit: of, type: SignalType.float }
      }
      return [
        ...(outputs.active ? [signal('active', 'W')] : []),
        ...(outputs.reactive ? [signal('reactive', 'Var')] : []),
        ...(outputs.apparent ? [signal('apparent', 'VA')] : []),
        ...(outputs.angle ? [signal('cos_phi', unit)] : []),
      ]
    })
    return new Power(added, pairs, { size, align: alignOf(settings), angleFactor: factor, ...outputs })
  },
}
