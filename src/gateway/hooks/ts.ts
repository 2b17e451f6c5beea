/** ts: the time of receipt becomes the origin. A sample that was not received anywhere stays as it is. */
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { copyTime } from '../words.ts'
import { type HookType, usualPriority, Verdict } from './hook.ts'

function process(samples: Samples, word: number): Verdict {
  const flags = samples.u32[word + SampleField.flags]!
  if (flags & SampleFlag.tsReceived) {
    copyTime(samples, word + SampleField.received, samples, word + SampleField.origin)
    samples.u32[word + SampleField.flags] = flags | SampleFlag.tsOrigin
  }
  return Verdict.ok
}

export const ts: HookType = {
  name: 'ts',
  is: 'overwrites the origin with the time of receipt',
  priority: usualPriority,
  make: (_, { signals }) => ({ signals, process }),
}
