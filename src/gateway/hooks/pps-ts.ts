/**
 * pps_ts: sets the origin by a signal that rises at each full second, the pulse of a GPS receiver. Samples pass from the fifth pulse on;
 * the distance of samples between two pulses is estimated from the pulses before.
 *
 * simple: each pulse is a full second, and the samples before it were counted for the next one. horizon: the clock is never set back or
 * forth; the mean length of the last `horizon_estimation` seconds is the period, and the error of the clock is compensated over
 * `horizon_compensation` seconds.
 */
import { SampleField, SampleFlag, Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { copy64, sequenceDistance } from '../words.ts'
import { type Hook, type HookContext, type HookType, usualPriority, Verdict } from './hook.ts'
import { selectedSignal } from './selection.ts'

interface PpsSettings {
  index: number
  mode: 'simple' | 'horizon'
  threshold: number
  /** Samples a second. */
  rate: number
  estimation: number
  compensation: number
}

/** Pulses until the clock is trusted. */
const warmup = 5

class PpsTs implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #settings: PpsSettings
  readonly #time = new Samples(1, 0)
  #last = Number.NaN
  /** Origin of the next sample. */
  #seconds = 0
  #nanoseconds = 0
  /** Time between two samples. */
  #periodNs = 0
  #pulses = 0
  /** Samples since the last pulse (simple) or the first (horizon). */
  #count = 0
  /** Second that the next pulse ends, for simple; 0: not known yet. */
  #second = 0
  /** Values of `#count` at the last pulses, for horizon. */
  readonly #counts: Float64Array
  /** Sequence number of the last sample. */
  readonly #sequence = new Samples(1, 0)
  #any = false
  #missed = 0

  constructor(context: HookContext, settings: PpsSettings) {
    this.signals = context.signals
    this.#context = context
    this.#settings = settings
    this.#counts = new Float64Array(settings.estimation + 1)
  }

  process(samples: Samples, word: number): Verdict {
    const { index, threshold, mode } = this.#settings
    if (index >= samples.u32[word + SampleField.length]!) return Verdict.error
    const value = samples.f64[(word + SampleField.data + 2 * index) >> 1]!
    const isPulse = this.#last < threshold && value > threshold
    this.#last = value
    if (mode === 'simple') this.#simple(isPulse)
    else if (isPulse) this.#horizon()
    this.#count++
    const ready = this.#pulses >= warmup
    if (ready) this.#stamp(samples, word)
    if (this.#pulses > 0 || mode === 'simple') this.#advance()
    return ready ? Verdict.ok : Verdict.skip
  }

  #simple(isPulse: boolean): void {
    if (!isPulse) {
      // In the middle of a second it is clear which one it is, even if this machine's clock is a little wrong.
      if (this.#second === 0 && this.#nanoseconds > 5e8) {
        this.#context.stamp(this.#time, 0)
        this.#second = this.#time.int64(0)
      }
      return
    }
    if (this.#second === 0) this.#nearestSecond()
    else this.#seconds = this.#second + 1
    this.#nanoseconds = 0
    if (this.#pulses > 0) this.#periodNs = 1e9 / this.#count
    this.#count = 0
    this.#second = 0
    this.#pulses++
  }

  #horizon(): void {
    const { estimation, compensation } = this.#settings
    const counts = this.#counts
    if (this.#pulses === 0) {
      this.#nearestSecond()
      this.#nanoseconds = 0
      this.#count = 0
    } else {
      const early = this.#nanoseconds > 5e8 ? 1e9 - this.#nanoseconds : -this.#nanoseconds
      const over = Math.min(this.#pulses, estimation)
      const perSecond = (this.#count - counts[(this.#pulses - over) % counts.length]!) / over
      this.#periodNs = (1e9 + early / compensation) / perSecond
    }
    counts[this.#pulses % counts.length] = this.#count
    this.#pulses++
  }

  #advance(): void {
    this.#nanoseconds += this.#periodNs
    const over = Math.floor(this.#nanoseconds / 1e9)
    this.#seconds += over
    this.#nanoseconds -= over * 1e9
  }

  #stamp(samples: Samples, word: number): void {
    samples.setInt64(word + SampleField.origin, this.#seconds)
    samples.setInt64(word + SampleField.origin + 2, Math.floor(this.#nanoseconds))
    samples.u32[word + SampleField.flags] = samples.u32[word + SampleField.flags]! | SampleFlag.tsOrigin
    const sequence = word + SampleField.sequence
    const step = this.#any ? sequenceDistance(samples, sequence, this.#sequence, SampleField.sequence) : 1
    if (step > 1) this.#missed += step - 1
    copy64(samples, sequence, this.#sequence, SampleField.sequence)
    this.#any = true
  }

  /** Sets the time to the nearest second of this machine's clock, at a pulse. */
  #nearestSecond(): void {
    const time = this.#time
    this.#context.stamp(time, 0)
    this.#seconds = time.int64(0) + (time.int64(2) >= 5e8 ? 1 : 0)
  }

  periodic(): void {
    if (this.#missed === 0) return
    this.#context.log('warn', `${this.#missed} samples are missing, and the times of those behind are too early`)
    this.#missed = 0
  }

  restart(): void {
    this.#last = Number.NaN
    this.#any = false
    this.#seconds = this.#nanoseconds = this.#pulses = this.#count = this.#second = this.#missed = 0
    this.#periodNs = 1e9 / this.#settings.rate
    this.#counts.fill(0)
  }

  stop(): void {
    this.periodic()
  }
}

export const ppsTs: HookType = {
  name: 'pps_ts',
  is: 'sets the origin by the pulse of each second, as GPS receivers give it',
  priority: usualPriority,
  make(settings, context) {
    return new PpsTs(context, {
      index: selectedSignal(settings, context.signals, 'signal', [SignalType.float]),
      mode: settings.choice<'simple' | 'horizon'>('mode', 'simple', ['simple', 'horizon']),
      threshold: settings.number('threshold', 1.5, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
      rate: settings.number('expected_smp_rate', 1, 1e-3, 1e7),
      estimation: settings.integer('horizon_estimation', 10, 1, 1 << 16),
      compensation: settings.integer('horizon_compensation', 10, 1, 1 << 16),
    })
  },
}
