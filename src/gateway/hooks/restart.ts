/**
 * restart: a sequence number of 0 behind another one means that the simulation has started again. The sample gets the flag
 * new_simulation, and all hooks forget what they know. A number that wraps around at 2^64 is no restart.
 */
import { SampleField, SampleFlag, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { copy64 } from '../words.ts'
import { type Hook, type HookContext, type HookType, Verdict } from './hook.ts'

/** Numbers this close below 2^64 may wrap around. */
const wrapping = 17

class Restart implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #last = new Samples(1, 0)

  constructor(context: HookContext) {
    this.signals = context.signals
    this.#context = context
  }

  process(samples: Samples, word: number): Verdict {
    const { u32 } = samples
    const sequence = word + SampleField.sequence
    if (u32[sequence] === 0 && u32[sequence + 1] === 0) {
      const last = this.#last.int64(SampleField.sequence)
      if (last !== 0 && !(last < 0 && last >= -wrapping)) {
        const { owner } = this.#context
        this.#context.log('warn', `${owner}: the simulation has started again: sequence number 0 behind ${last}`)
        u32[word + SampleField.flags]! |= SampleFlag.newSimulation
        this.#context.restart?.()
      }
    }
    copy64(samples, sequence, this.#last, SampleField.sequence)
    return Verdict.ok
  }

  restart(): void {
    this.#last.clear(0)
  }
}

export const restart: HookType = {
  name: 'restart',
  is: 'restarts all hooks when a sequence number of 0 says that the simulation starts again',
  priority: 1,
  builtin: true,
  make: (_, context) => new Restart(context),
}
