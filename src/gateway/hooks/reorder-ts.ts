/**
 * reorder_ts: sorts samples by their origins, within a window: a sample passes when `window_size` others came after it. One that is older
 * than the last that has passed comes too late and is dropped. Samples that are in the window at the end are drained.
 */
import { SampleField, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { compareTimes, copySample, copyTime } from '../words.ts'
import { type Hook, type HookContext, type HookType, Verdict } from './hook.ts'

const { origin } = SampleField

class ReorderTs implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #size: number
  /** Samples of the window, and one more to exchange with; then the last that has passed. */
  readonly #kept: Samples
  readonly #last = new Samples(1, 0)
  /** Indices into `#kept`: of the window, oldest first, then of the free ones. */
  readonly #order: Int32Array
  #count = 0
  #any = false
  #late = 0

  constructor(context: HookContext, size: number) {
    this.signals = context.signals
    this.#context = context
    this.#size = size
    this.#kept = new Samples(size + 1, context.values)
    this.#order = Int32Array.from({ length: size + 1 }, (_, i) => i)
  }

  process(samples: Samples, word: number): Verdict {
    if (this.#any && compareTimes(samples, word + origin, this.#last, origin) < 0) {
      this.#late++
      return Verdict.skip
    }
    const kept = this.#kept
    const order = this.#order
    const free = order[this.#count]!
    let at = this.#count
    while (at > 0 && compareTimes(samples, word + origin, kept, kept.word(order[at - 1]!) + origin) < 0) {
      order[at] = order[at - 1]!
      at--
    }
    order[at] = free
    copySample(samples, word, kept, kept.word(free))
    this.#count++
    if (this.#count <= this.#size) return Verdict.skip
    this.#take(samples, word)
    return Verdict.ok
  }

  drain(samples: Samples, word: number): boolean {
    if (this.#count === 0) return false
    this.#take(samples, word)
    return true
  }

  periodic(): void {
    if (this.#late === 0) return
    this.#context.log('warn', `reorder_ts: ${this.#late} samples came too late to be sorted, and were dropped`)
    this.#late = 0
  }

  restart(): void {
    this.#count = 0
    this.#any = false
  }

  /** Moves the oldest sample of the window to the record at `word`. */
  #take(samples: Samples, word: number): void {
    const order = this.#order
    const first = order[0]!
    copySample(this.#kept, this.#kept.word(first), samples, word)
    copyTime(samples, word + origin, this.#last, origin)
    this.#any = true
    order.copyWithin(0, 1, this.#count)
    order[--this.#count] = first
  }
}

export const reorderTs: HookType = {
  name: 'reorder_ts',
  is: 'sorts samples by their origin, within a window',
  priority: 2,
  make: (settings, context) => new ReorderTs(context, settings.integer('window_size', 16, 1, 1 << 16)),
}
