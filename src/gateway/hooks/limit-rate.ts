/** limit_rate: drops a sample that comes less than 1/rate seconds behind the last that passed, by one of three clocks. */
import { SampleField, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { copyTime, secondsBetween } from '../words.ts'
import { type Hook, type HookContext, type HookType, usualPriority, Verdict } from './hook.ts'

type Clock = 'local' | 'received' | 'origin'

class LimitRate implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #clock: Clock
  /** Seconds. */
  readonly #deadTime: number
  /** In `origin`: when the last sample passed. In `received`: the time by the gateway's clock. */
  readonly #own = new Samples(1, 0)
  #any = false

  constructor(context: HookContext, clock: Clock, rate: number) {
    this.signals = context.signals
    this.#context = context
    this.#clock = clock
    this.#deadTime = 1 / rate
  }

  process(samples: Samples, word: number): Verdict {
    const own = this.#own
    const local = this.#clock === 'local'
    if (local) this.#context.stamp(own, SampleField.received)
    const from = local ? own : samples
    const at = local ? SampleField.received : word + SampleField[this.#clock as 'received' | 'origin']
    if (this.#any && secondsBetween(own, SampleField.origin, from, at) < this.#deadTime) return Verdict.skip
    this.#any = true
    copyTime(from, at, own, SampleField.origin)
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
