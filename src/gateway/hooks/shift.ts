/** shift_seq and shift_ts: add an offset to the sequence number, or to a time of the sample. */
import { SampleField, type Samples } from '../samples.ts'
import { add64, addTime } from '../words.ts'
import { type HookType, usualPriority, Verdict } from './hook.ts'

export const shiftSeq: HookType = {
  name: 'shift_seq',
  is: 'adds an offset to the sequence number',
  priority: usualPriority,
  make(settings, { signals }) {
    if (!settings.has('offset')) settings.refuse('offset', 'a whole number', '10')
    const offset = settings.integer('offset', 0, -(2 ** 53), 2 ** 53)
    return {
      signals,
      process(samples: Samples, word: number): Verdict {
        add64(samples, word + SampleField.sequence, offset)
        return Verdict.ok
      },
    }
  },
}

export const shiftTs: HookType = {
  name: 'shift_ts',
  is: 'adds an offset to the origin or the time of receipt',
  priority: usualPriority,
  make(settings, { signals }) {
    if (!settings.has('offset')) settings.refuse('offset', 'seconds', '-0.5')
    const offset = settings.number('offset', 0, -1e12, 1e12)
    const field = SampleField[settings.choice<'origin' | 'received'>('mode', 'origin', ['origin', 'received'])]
    const seconds = Math.trunc(offset)
    const nanoseconds = Math.trunc((offset - seconds) * 1e9)
    return {
      signals,
      process(samples: Samples, word: number): Verdict {
        addTime(samples, word + field, seconds, nanoseconds)
        return Verdict.ok
      },
    }
  },
}
