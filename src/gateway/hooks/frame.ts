/** frame: marks the first sample of each frame, which is an interval of time or of sequence numbers, counted from 0. */
import { SampleField, SampleFlag, Samples } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import type { Signal } from '../signals.ts'
import { copy64, divide64 } from '../words.ts'
import { type Hook, type HookType, Verdict } from './hook.ts'

class Frame implements Hook {
  readonly signals: readonly Signal[]
  readonly #bySequence: boolean
  /** Length of a frame: milliseconds, or samples. */
  readonly #interval: number
  /** Number of the frame of the sample, and of the last one, for `sequence`. */
  readonly #now = new Samples(1, 0)
  readonly #last = new Samples(1, 0)
  #any = false

  constructor(signals: readonly Signal[], bySequence: boolean, interval: number) {
    this.signals = signals
    this.#bySequence = bySequence
    this.#interval = interval
  }

  process(samples: Samples, word: number): Verdict {
    const flag = word + SampleField.flags
    const flags = samples.u32[flag]!
    if (!(flags & (this.#bySequence ? SampleFlag.sequence : SampleFlag.tsOrigin))) return Verdict.error
    const { sequence } = SampleField
    const now = this.#now
    const last = this.#last
    if (this.#bySequence) {
      copy64(samples, word + sequence, now, sequence)
      divide64(now, sequence, this.#interval)
    } else {
      const origin = word + SampleField.origin
      const ms = samples.int64(origin) * 1000 + Math.floor(samples.int64(origin + 2) / 1e6)
      now.setInt64(sequence, Math.floor(ms / this.#interval))
    }
    const { i32 } = now
    const same = i32[sequence] === last.i32[sequence] && i32[sequence + 1] === last.i32[sequence + 1]
    const begins = !this.#any || !same || (flags & SampleFlag.newSimulation) !== 0
    copy64(now, sequence, last, sequence)
    this.#any = true
    samples.u32[flag] = begins ? flags | SampleFlag.newFrame : flags & ~SampleFlag.newFrame
    return Verdict.ok
  }

  restart(): void {
    this.#any = false
  }
}

/** Nanoseconds of the units of a duration. */
const units: Readonly<Record<string, number>> = { d: 86400e9, h: 3600e9, m: 60e9, s: 1e9, ms: 1e6, us: 1e3, ns: 1 }

/** Reads a setting as "1h30m" or "500ms", or a number of milliseconds; in whole milliseconds. */
function durationMs(settings: SettingsReader, key: string, fallback: string): number {
  const value = settings.any(key) ?? fallback
  const expected = 'milliseconds, or numbers with units (d, h, m, s, ms, us, ns) of at least a millisecond together'
  let ms = Number.NaN
  if (typeof value === 'number') ms = value
  else if (typeof value === 'string' && /^(\d+(d|h|m|s|ms|us|ns))+$/.test(value)) {
    const parts = [...value.matchAll(/(\d+)([a-z]+)/g)]
    ms = Math.floor(parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit!]!, 0) / 1e6)
  }
  if (!(Number.isSafeInteger(ms) && ms > 0)) settings.refuse(key, expected, '"1s"')
  return ms
}

export const frame: HookType = {
  name: 'frame',
  is: 'marks the beginning of frames, by time or by sequence number',
  priority: 10,
  make(settings, { signals }) {
    const bySequence = settings.choice('trigger', 'timestamp', ['timestamp', 'sequence']) === 'sequence'
    if (!bySequence) return new Frame(signals, false, durationMs(settings, 'interval', '1s'))
    if (!settings.has('interval')) settings.refuse('interval', 'a number of samples', '100')
    return new Frame(signals, true, settings.integer('interval', 100, 1, 2 ** 31))
  },
}
