/** Mapping expressions, made ready to be executed for each sample: which values of a source become which values of a path. */
import {
  type MappedValues,
  type Mapping,
  SampleField,
  type Samples,
  type Signal,
  SignalType,
  type StatsMetric,
  type StatsType,
} from '../index.ts'

const Kind = { data: 0, sequence: 1, length: 2, origin: 3, received: 4, statistic: 5 } as const

/** Steps of one source, each: kind, first value of the source (or the statistic), first value of the path, number of values. */
export class Remap {
  readonly #steps: number[] = []
  readonly #statistics: { isWhole: boolean; get(): number }[] = []

  /** Adds a step: values of the source go to those of the path from `to` on. `statistic`: of a node, now; NaN if there is none. */
  add(
    mapping: Mapping,
    { first, signals }: MappedValues,
    to: number,
    statistic: (metric: StatsMetric, type: StatsType) => number,
  ): void {
    if (mapping.what === 'stats') {
      const { metric, type } = mapping
      this.#steps.push(Kind.statistic, this.#statistics.length, to, 1)
      this.#statistics.push({ isWhole: type === 'total', get: () => statistic(metric, type) })
    } else this.#steps.push(mapping.what === 'data' ? Kind.data : Kind[mapping.field], first, to, signals.length)
  }

  /**
   * Copies the values. Those that the source does not have leave those of the path as they were. The path's sample becomes as long as it
   * has to.
   */
  apply(samples: Samples, from: number, to: number): void {
    const steps = this.#steps
    const { u32, i32 } = samples
    const has = u32[from + SampleField.length]!
    const length = to + SampleField.length
    for (let i = 0; i < steps.length; i += 4) {
      const target = to + SampleField.data + 2 * steps[i + 2]!
      let count = steps[i + 3]!
      let source: number
      if (steps[i] === Kind.data) {
        source = from + SampleField.data + 2 * steps[i + 1]!
        count = Math.max(0, Math.min(count, has - steps[i + 1]!))
      } else if (steps[i] === Kind.statistic) {
        const { isWhole, get } = this.#statistics[steps[i + 1]!]!
        const value = get()
        u32[length] = Math.max(u32[length]!, steps[i + 2]! + 1)
        if (isWhole) samples.setInt64(target, Math.max(0, value || 0))
        else samples.f64[target >> 1] = value
        continue
      } else if (steps[i] === Kind.sequence) source = from + SampleField.sequence
      else if (steps[i] === Kind.origin) source = from + SampleField.origin
      else if (steps[i] === Kind.received) source = from + SampleField.received
      else {
        samples.setInt64(target, has)
        u32[length] = Math.max(u32[length]!, steps[i + 2]! + 1)
        continue
      }
      if (count > 0) u32[length] = Math.max(u32[length]!, steps[i + 2]! + count)
      for (let word = 0; word < 2 * count; word++) i32[target + word] = i32[source + word]!
    }
  }
}

/** Sets all values to the initial ones of their signals; none of them counts yet. */
export function setInitial(samples: Samples, word: number, signals: readonly Signal[]): void {
  samples.clear(word)
  signals.forEach(({ type, init = 0 }, i) => {
    const at = word + SampleField.data + 2 * i
    samples.setInt64(at, 0)
    if (typeof init === 'object') {
      samples.f32[at] = init.real
      samples.f32[at + 1] = init.imag
    } else if (type === SignalType.float) samples.f64[at >> 1] = Number(init)
    else if (type === SignalType.complex) samples.f32[at] = Number(init)
    else samples.setInt64(at, Number(init))
  })
}
