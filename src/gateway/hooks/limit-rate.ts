/**
 * limit_rate: drops a sample that comes less than 1/rate seconds after the last that passed, by one of three clocks; local is monotonic.
 */
import { SampleField, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { copyTime, nanosecondsBetween } from '../words.ts'
import { type Hook, type HookContext, type HookType, usualPriority, Verdict } from './hook.ts'

type Clock = 'local' | 'received' | 'origin'

class LimitRate implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #clock: Clock
  readonly #deadTimeNs: number
  /** Time at which the last sample passed, in the field `origin`. */
  readonly #passed = new Samples(1, 0)
  /** Time of the same on the monotonic clock, for local. */
  #passedNs = 0
  #any = false

  constructor(context: HookContext, clock: Clock, rate: number) {
    this.signals = context.signals
    this.#context = context
    this.#clock = clock
    // Whole nanoseconds, as times are: a source of this very rate passes.
    this.#deadTimeNs = Math.floor(1e9 / rate)
  }

  process(samples: Samples, word: number): Verdict {
    return this.#clock === 'local' ? this.#local() : this.#byTime(samples, word + SampleField[this.#clock])
  }

  #local(): Verdict {
    const now = this.#context.nowNs()
    if (this.#any && now - this.#passedNs < this.#deadTimeNs) return Verdict.skip
    this.#any = true
    this.#passedNs = now
    return Verdict.ok
  }

  #byTime(samples: Samples, at: number): Verdict {
    const passed = this.#passed
    if (this.#any && nanosecondsBetween(passed, SampleField.origin, samples, at) < this.#deadTimeNs) return Verdict.skip
    this.#any = true
    copyTime(samples, at, passed, SampleField.origin)
    return Verdict.ok
  }

  restart(): void {
    this.#any = false
  }
}

export const limitRate: HookType = {
  name: 'limit_rate',
  is: 'drops samples above a rate',
  priority: usualPriority,
  make(settings, context) {
    if (!settings.has('rate')) settings.refuse('rate', 'samples per second', '100')
    const rate = settings.number('rate', 100, 1e-9, 1e9)
    return new LimitRate(context, settings.choice<Clock>('mode', 'local', ['local', 'received', 'origin']), rate)
  },
}
