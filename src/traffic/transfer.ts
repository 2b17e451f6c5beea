/** Configuration as plain data, for another thread: distributions become their points. */
import { Cdf, type CdfPoint, type Interpolation } from './cdf.ts'
import type { Phase, SizeSource, TrafficConfig, VerbShare, Weighted } from './config.ts'

type PlainSize = number | { name: string; points: readonly CdfPoint[]; interpolation: Interpolation }
type PlainSizes = readonly Weighted<PlainSize>[]

export interface PlainConfig extends Omit<TrafficConfig, 'phases'> {
  phases: readonly (Omit<Phase, 'sizes' | 'verbs'> & {
    sizes: PlainSizes
    verbs: readonly (Omit<VerbShare, 'sizes'> & { sizes?: PlainSizes })[]
  })[]
}

export function toPlain(config: TrafficConfig): PlainConfig {
  const plain = (sizes: readonly Weighted<SizeSource>[]): PlainSizes =>
    sizes.map(({ value, weight }) => {
      if (typeof value === 'number') return { value, weight }
      const { name, points, interpolation } = value
      return { value: { name, points, interpolation }, weight }
    })
  return {
    ...config,
    phases: config.phases.map((phase) => ({
      ...phase,
      sizes: plain(phase.sizes),
      verbs: phase.verbs.map(({ sizes, ...verb }) => (sizes === undefined ? verb : { ...verb, sizes: plain(sizes) })),
    })),
  }
}

export function fromPlain(config: PlainConfig): TrafficConfig {
  const whole = (sizes: PlainSizes): Weighted<SizeSource>[] =>
    sizes.map(({ value, weight }) => ({
      value: typeof value === 'number' ? value : new Cdf(value.name, value.points, value.interpolation),
      weight,
    }))
  return {
    ...config,
    phases: config.phases.map((phase) => ({
      ...phase,
      sizes: whole(phase.sizes),
      verbs: phase.verbs.map(({ sizes, ...verb }) => (sizes === undefined ? verb : { ...verb, sizes: whole(sizes) })),
    })),
  }
}
