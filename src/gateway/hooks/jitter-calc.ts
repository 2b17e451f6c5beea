/**
 * jitter_calc: how long samples were on their way, from their origin, which a clock such as GPS has set, to their receipt by this machine's
 * clock: mean and variance of the last 16, and the jitter of RFC 3550 (section 6.4.1 and A.8). The log has them about once a second.
 */
import { SampleField, SampleFlag, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { secondsBetween } from '../words.ts'
import { type Hook, type HookContext, type HookType, Verdict } from './hook.ts'

const window = 16

class JitterCalc implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #now = new Samples(1, 0)
  /** Last delays, in microseconds. */
  readonly #delays = new Float64Array(window)
  #count = 0
  #said = 0
  #jitter = 0

  constructor(context: HookContext) {
    this.signals = context.signals
    this.#context = context
  }

  process(samples: Samples, word: number): Verdict {
    const flags = samples.u32[word + SampleField.flags]!
    if ((flags & SampleFlag.tsOrigin) === 0) return Verdict.error
    const { origin, received } = SampleField
    const isKnown = (flags & SampleFlag.tsReceived) !== 0
    if (!isKnown) this.#context.stamp(this.#now, received)
    const [from, at] = isKnown ? [samples, word] : [this.#now, 0]
    const delay = 1e6 * secondsBetween(samples, word + origin, from, at + received)
    if (this.#count > 0) {
      const last = this.#delays[(this.#count - 1) % window]!
      this.#jitter += (Math.abs(delay - last) - this.#jitter) / 16
    }
    this.#delays[this.#count++ % window] = delay
    return Verdict.ok
  }

  periodic(): void {
    this.#report()
  }

  restart(): void {
    this.#count = this.#said = 0
    this.#jitter = 0
  }

  stop(): void {
    this.#report()
  }

  #report(): void {
    if (this.#count === this.#said) return
    this.#said = this.#count
    const delays = this.#delays.subarray(0, Math.min(this.#count, window))
    const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
    const squares = delays.reduce((sum, delay) => sum + (delay - mean) ** 2, 0)
    const variance = delays.length > 1 ? squares / (delays.length - 1) : 0
    const [jitter, average, spread] = [this.#jitter, mean, variance].map((value) => value.toFixed(3))
    this.#context.log(
      'info',
      `jitter ${jitter} µs, delay of the last ${delays.length}: mean ${average} µs, variance ${spread} µs²`,
    )
  }
}

export const jitterCalc: HookType = {
  name: 'jitter_calc',
  is: 'delay and jitter between the clock of the origin and that of this machine, in the log',
  priority: 0,
  make: (_, context) => new JitterCalc(context),
}
