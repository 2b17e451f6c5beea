/**
 * gate: lets samples pass while a signal is above or below a threshold, or as it rises or falls. Once open it stays open for a number
 * of seconds or of samples, if such are given.
 */
import { SampleField, Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { copy64, copyTime, secondsBetween, sequenceDistance } from '../words.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'
import { selectedSignal } from './selection.ts'

type Mode = 'above' | 'below' | 'rising_edge' | 'falling_edge'

interface GateSettings {
  index: number
  mode: Mode
  threshold: number
  /** Seconds and samples; −1: neither. */
  duration: number
  samples: number
}

class Gate implements Hook {
  readonly signals: readonly Signal[]
  readonly #settings: GateSettings
  /** Sample that opened the gate. */
  readonly #opener = new Samples(1, 0)
  #open = false
  #previous = Number.NaN

  constructor(signals: readonly Signal[], settings: GateSettings) {
    this.signals = signals
    this.#settings = settings
  }

  process(samples: Samples, word: number): Verdict {
    const { index } = this.#settings
    if (index >= samples.u32[word + SampleField.length]!) return Verdict.error
    const value = samples.f64[(word + SampleField.data + 2 * index) >> 1]!
    const held = this.#open && this.#holds(samples, word)
    if (!held) {
      this.#open = this.#triggers(value)
      copyTime(samples, word + SampleField.origin, this.#opener, SampleField.origin)
      copy64(samples, word + SampleField.sequence, this.#opener, SampleField.sequence)
    }
    this.#previous = value
    return this.#open ? Verdict.ok : Verdict.skip
  }

  restart(): void {
    this.#open = false
    this.#previous = Number.NaN
  }

  #holds(samples: Samples, word: number): boolean {
    const { duration, samples: most } = this.#settings
    const opener = this.#opener
    if (duration > 0) {
      const age = secondsBetween(opener, SampleField.origin, samples, word + SampleField.origin)
      if (age >= 0 && age < duration) return true
    }
    if (most <= 0) return false
    const since = sequenceDistance(samples, word + SampleField.sequence, opener, SampleField.sequence)
    return since >= 0 && since < most
  }

  #triggers(value: number): boolean {
    const { mode, threshold } = this.#settings
    if (mode === 'above') return value > threshold
    if (mode === 'below') return value < threshold
    // Nothing is greater or less than NaN: the first sample opens nothing.
    return mode === 'rising_edge' ? value > this.#previous : value < this.#previous
  }
}

export const gate: HookType = {
  name: 'gate',
  is: 'lets samples pass as another signal says',
  priority: usualPriority,
  make(settings, { signals }) {
    return new Gate(signals, {
      index: selectedSignal(settings, signals, 'signal', [SignalType.float]),
      mode: settings.choice<Mode>('mode', 'rising_edge', ['above', 'below', 'rising_edge', 'falling_edge']),
      threshold: settings.number('threshold', 0.5, -Infinity, Infinity),
      duration: settings.number('duration', -1, -1, 1e9),
      samples: settings.integer('samples', -1, -1, 2 ** 53),
    })
  },
}
