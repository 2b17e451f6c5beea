/** skip_first: does not let the first samples pass, by their sequence numbers or by the seconds from the first origin. */
import { SampleField, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { add64, addTime, compareTimes, copy64, copyTime, sequenceDistance } from '../words.ts'
import { type Hook, type HookType, usualPriority, Verdict } from './hook.ts'

class SkipFirst implements Hook {
  readonly signals: readonly Signal[]
  readonly #by: 'samples' | 'seconds'
  readonly #amount: number
  /** Sequence number, and origin, from which on samples pass. */
  readonly #until = new Samples(1, 0)
  #started = false

  constructor(signals: readonly Signal[], by: 'samples' | 'seconds', amount: number) {
    this.signals = signals
    this.#by = by
    this.#amount = amount
  }

  process(samples: Samples, word: number): Verdict {
    const until = this.#until
    const { sequence, origin } = SampleField
    if (!this.#started) {
      this.#started = true
      copy64(samples, word + sequence, until, sequence)
      copyTime(samples, word + origin, until, origin)
      const whole = Math.trunc(this.#amount)
      if (this.#by === 'samples') add64(until, sequence, whole)
      else addTime(until, origin, whole, Math.trunc((this.#amount - whole) * 1e9))
    }
    const ahead =
      this.#by === 'samples'
        ? sequenceDistance(samples, word + sequence, until, sequence)
        : compareTimes(samples, word + origin, until, origin)
    return ahead < 0 ? Verdict.skip : Verdict.ok
  }

  restart(): void {
    this.#started = false
  }
}

export const skipFirst: HookType = {
  name: 'skip_first',
  is: 'skips the first samples, or those of the first seconds',
  priority: usualPriority,
  make(settings, { signals }) {
    if (settings.has('samples') === settings.has('seconds'))
      settings.fail(
        `${settings.of}: needs either 'samples' or 'seconds', for example: {"type":"skip_first","seconds":10}`,
      )
    if (settings.has('seconds')) return new SkipFirst(signals, 'seconds', settings.number('seconds', 0, 0, 1e9))
    return new SkipFirst(signals, 'samples', settings.integer('samples', 0, 0, 2 ** 53))
  },
}
