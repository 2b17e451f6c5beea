/** drop: lets a sample pass only if its sequence number is greater than that of the one before. */
import { SampleField, SampleFlag, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { copy64, sequenceDistance } from '../words.ts'
import { type Hook, type HookType, Verdict } from './hook.ts'

class Drop implements Hook {
  readonly signals: readonly Signal[]
  readonly #last = new Samples(1, 0)
  #any = false

  constructor(signals: readonly Signal[]) {
    this.signals = signals
  }

  process(samples: Samples, word: number): Verdict {
    const last = this.#last
    const sequence = word + SampleField.sequence
    // A source that begins anew, as a file that is rewound.
    if (samples.u32[word + SampleField.flags]! & SampleFlag.newSimulation) this.#any = false
    if (this.#any && sequenceDistance(samples, sequence, last, SampleField.sequence) <= 0) return Verdict.skip
    this.#any = true
    copy64(samples, sequence, last, SampleField.sequence)
    return Verdict.ok
  }

  restart(): void {
    this.#any = false
  }
}

export const drop: HookType = {
  name: 'drop',
  is: 'drops samples whose sequence number is not greater than the last one',
  priority: 3,
  builtin: true,
  make: (_, { signals }) => new Drop(signals),
}
