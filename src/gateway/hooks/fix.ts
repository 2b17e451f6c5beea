/** fix: adds the fields that a sample lacks: a sequence number, the time of receipt (now), the origin (the time of receipt). */
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { copyTime } from '../words.ts'
import { type Hook, type HookContext, type HookType, Verdict } from './hook.ts'

class Fix implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  #next: number

  constructor(context: HookContext) {
    this.signals = context.signals
    this.#context = context
    this.#next = context.initialSequence ?? 0
  }

  process(samples: Samples, word: number): Verdict {
    const flag = word + SampleField.flags
    const flags = samples.u32[flag]!
    if (!(flags & SampleFlag.sequence)) samples.setInt64(word + SampleField.sequence, this.#next++)
    if (!(flags & SampleFlag.tsReceived)) this.#context.stamp(samples, word + SampleField.received)
    if (!(flags & SampleFlag.tsOrigin))
      copyTime(samples, word + SampleField.received, samples, word + SampleField.origin)
    samples.u32[flag] = flags | SampleFlag.sequence | SampleFlag.tsReceived | SampleFlag.tsOrigin
    return Verdict.ok
  }
}

export const fix: HookType = {
  name: 'fix',
  is: 'adds what a sample lacks: sequence number, time of receipt, origin',
  priority: 1,
  builtin: true,
  make: (_, context) => new Fix(context),
}
