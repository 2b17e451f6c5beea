/** The hooks of one path, or of one direction of a node: samples that one of them lets pass go to the next. */
import type { Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { type Hook, Verdict } from './hook.ts'

export class HookChain {
  /** Signals of the samples that leave it. */
  readonly signals: readonly Signal[]
  /** Values that a sample needs room for, on its way through all hooks. */
  readonly values: number
  /** Samples that hooks did not let pass, and those that a hook could not process. */
  skipped = 0
  errors = 0
  readonly #hooks: readonly Hook[]
  /** Index of the first hook that may still hold samples back. */
  #draining = 0

  /** Makes a chain. `signals`: of the samples that come in. */
  constructor(hooks: readonly Hook[], signals: readonly Signal[]) {
    this.#hooks = hooks
    this.signals = hooks.at(-1)?.signals ?? signals
    this.values = Math.max(signals.length, ...hooks.map((hook) => hook.signals.length))
  }

  get length(): number {
    return this.#hooks.length
  }

  /** Runs a sample through all hooks. It goes on if the verdict is `ok`; `skip` and `error` were counted. */
  process(samples: Samples, word: number): Verdict {
    return this.#run(0, samples, word)
  }

  /**
   * Drains the hooks after the last sample: fills a record with the next of the samples that hooks held back, and have let pass now.
   * Returns false if none is left.
   */
  drain(samples: Samples, word: number): boolean {
    const hooks = this.#hooks
    for (; this.#draining < hooks.length; this.#draining++) {
      const hook = hooks[this.#draining]!
      while (hook.drain?.(samples, word)) if (this.#run(this.#draining + 1, samples, word) === Verdict.ok) return true
    }
    return false
  }

  periodic(): void {
    for (const hook of this.#hooks) hook.periodic?.()
  }

  /** Restarts all hooks; must be called once before the first sample. */
  restart(): void {
    this.#draining = 0
    for (const hook of this.#hooks) hook.restart?.()
  }

  /** Writes what was gathered. Samples that were held back and not drained are lost. */
  stop(): void {
    for (const hook of this.#hooks) hook.stop?.()
  }

  #run(from: number, samples: Samples, word: number): Verdict {
    const hooks = this.#hooks
    for (let i = from; i < hooks.length; i++) {
      const verdict = hooks[i]!.process(samples, word)
      if (verdict === Verdict.ok) continue
      if (verdict === Verdict.stop) break
      if (verdict === Verdict.skip) this.skipped++
      else this.errors++
      return verdict
    }
    return Verdict.ok
  }
}
