/** dump: writes all fields of each sample to the log, to look for mistakes. Not for high rates: each sample makes strings. */
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { type Signal, SignalType, signalTypeNames } from '../signals.ts'
import { type Hook, type HookContext, type HookType, Verdict } from './hook.ts'

class Dump implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext

  constructor(context: HookContext) {
    this.signals = context.signals
    this.#context = context
  }

  process(samples: Samples, word: number): Verdict {
    const { u32 } = samples
    const flags = u32[word + SampleField.flags]!
    const length = u32[word + SampleField.length]!
    const has = Object.entries(SampleFlag).filter(([, flag]) => flags & flag)
    const parts = [`flags=${has.map(([name]) => name).join('|')}`, `length=${length}`]
    if (flags & SampleFlag.sequence) parts.push(`sequence=${integer(samples, word + SampleField.sequence, false)}`)
    if (flags & SampleFlag.tsOrigin) parts.push(`origin=${time(samples, word + SampleField.origin)}`)
    if (flags & SampleFlag.tsReceived) parts.push(`received=${time(samples, word + SampleField.received)}`)
    this.#context.log('info', `sample: ${parts.join(' ')}`)
    for (let i = 0; i < length && i < this.signals.length; i++) {
      const { name, unit, type } = this.signals[i]!
      const value = valueText(samples, word + SampleField.data + 2 * i, type)
      this.#context.log('info', `  ${name}${unit && `[${unit}]`} ${signalTypeNames[type]}: ${value}`)
    }
    return Verdict.ok
  }
}

function integer({ u32, i32 }: Samples, word: number, signed: boolean): string {
  const value = (BigInt(i32[word + 1]!) << 32n) | BigInt(u32[word]!)
  return String(signed ? value : BigInt.asUintN(64, value))
}

function time(samples: Samples, word: number): string {
  return `${integer(samples, word, true)}.${String(samples.int64(word + 2)).padStart(9, '0')}`
}

function valueText(samples: Samples, word: number, type: SignalType): string {
  const { u32, f32, f64 } = samples
  if (type === SignalType.float) return String(f64[word >> 1])
  if (type === SignalType.integer) return integer(samples, word, true)
  if (type === SignalType.boolean) return String(u32[word] === 1)
  return `${f32[word]}${f32[word + 1]! < 0 ? '' : '+'}${f32[word + 1]}i`
}

export const dump: HookType = {
  name: 'dump',
  is: 'writes all fields of samples to the log',
  priority: 1,
  make: (_, context) => new Dump(context),
}
