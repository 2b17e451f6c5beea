/**
 * restart: a sequence number of 0 after another one means that the simulation has started again. The sample gets the flag new_simulation,
 * and all hooks discard their state, as at a sample that comes with it. A number that wraps around at 2^32, which is what several formats
 * carry, or at 2^64 does not mark a restart.
 */
import { SampleField, SampleFlag, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { copy64 } from '../words.ts'
import { type Hook, type HookContext, type HookType, Verdict } from './hook.ts'

/** Numbers this close below 2^32 or 2^64, of which samples may be lost, wrap around. */
const wrapping = 1 << 16
const two32 = 2 ** 32

class Restart implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #last = new Samples(1, 0)
  /** True if the last sample came with the flag: another one with it is not a new start. */
  #wasNew = false

  constructor(context: HookContext) {
    this.signals = context.signals
    this.#context = context
  }

  process(samples: Samples, word: number): Verdict {
    const { u32 } = samples
    const sequence = word + SampleField.sequence
    const flag = word + SampleField.flags
    const isNew = (u32[flag]! & SampleFlag.newSimulation) !== 0
    if (isNew && !this.#wasNew) this.#context.restart?.()
    else if (u32[sequence] === 0 && u32[sequence + 1] === 0) {
      const last = this.#last.int64(SampleField.sequence)
      const wraps = (last < 0 && last >= -wrapping) || (last < two32 && last >= two32 - wrapping)
      if (last !== 0 && !wraps) {
        this.#context.log('warn', `the simulation has started again: sequence number 0 behind ${last}`)
        u32[flag]! |= SampleFlag.newSimulation
        this.#context.restart?.()
      }
    }
    this.#wasNew = isNew
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
