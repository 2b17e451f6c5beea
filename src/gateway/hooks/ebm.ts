/** ebm: the energy that flows, ∫ Σ u·i dt over phases by the trapezoidal rule, logged about once a second. */
import { SampleField, Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { copyTime, secondsBetween } from '../words.ts'
import { type Hook, type HookContext, type HookType, usualPriority, Verdict } from './hook.ts'

class Ebm implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  /** Indices: voltage, current, voltage, … */
  readonly #phases: Int32Array
  readonly #most: number
  readonly #last = new Samples(1, 0)
  #lastPower = Number.NaN
  #energy = 0

  constructor(context: HookContext, phases: Int32Array) {
    this.signals = context.signals
    this.#context = context
    this.#phases = phases
    this.#most = Math.max(...phases)
  }

  process(samples: Samples, word: number): Verdict {
    if (this.#most >= samples.u32[word + SampleField.length]!) return Verdict.error
    const { f64 } = samples
    const data = (word + SampleField.data) >> 1
    let power = 0
    for (let i = 0; i < this.#phases.length; i += 2)
      power += f64[data + this.#phases[i]!]! * f64[data + this.#phases[i + 1]!]!
    const { origin } = SampleField
    if (!Number.isNaN(this.#lastPower + power))
      this.#energy += (secondsBetween(this.#last, origin, samples, word + origin) * (this.#lastPower + power)) / 2
    this.#lastPower = power
    copyTime(samples, word + origin, this.#last, origin)
    return Verdict.ok
  }

  periodic(): void {
    this.#report()
  }

  restart(): void {
    this.#energy = 0
    this.#lastPower = Number.NaN
  }

  stop(): void {
    this.#report()
  }

  #report(): void {
    this.#context.log('info', `energy: ${this.#energy}`)
  }
}

export const ebm: HookType = {
  name: 'ebm',
  is: 'the energy that flows, from voltages and currents',
  priority: usualPriority,
  make(settings, context) {
    const { signals } = context
    const phases = settings.any('phases')
    const isIndex = (index: unknown): boolean => signals[index as number]?.type === SignalType.float
    const isPhase = (phase: unknown): boolean => Array.isArray(phase) && phase.length === 2 && phase.every(isIndex)
    if (!Array.isArray(phases) || phases.length === 0 || !phases.every(isPhase))
      settings.refuse(
        'phases',
        `pairs of indices of float signals, voltage and current, of the ${signals.length} that there are`,
        '[[0,1],[2,3]]',
      )
    return new Ebm(context, Int32Array.from((phases as number[][]).flat()))
  },
}
