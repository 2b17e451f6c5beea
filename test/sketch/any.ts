/** Sketches of any kind: one more update, and all that a sketch answers. */
import { type Estimate, KeySketch, type Sketch, WaveSketch } from '../../src/sketch/index.ts'

/** What some kinds have. */
interface Answers {
  add(value: number, count: number): void
  estimate(key: Uint8Array): Estimate
  topK(k: number): Estimate[]
  cardinality(): Estimate
  entropy(): Estimate
  distribution(): { flows: number }[]
  quantile(q: number): Estimate | undefined
  rank(value: number): Estimate
}

export function addTo(sketch: Sketch, key: Uint8Array, amount: number, time: number): void {
  const any = sketch as unknown as Answers
  if (sketch instanceof KeySketch) sketch.update(key, amount)
  else if (sketch instanceof WaveSketch) sketch.update(key, amount, 1000 * time)
  else any.add(time, amount)
}

export function answersOf(sketch: Sketch, key: Uint8Array): number[] {
  const any = sketch as unknown as Partial<Answers>
  const curve = sketch instanceof WaveSketch ? sketch.curve(key) : undefined
  if (curve) return [curve.values, curve.lower, curve.upper].flatMap((series) => [...series])
  const estimates = [
    any.estimate?.(key.subarray(0, (sketch.config as { sourceBytes?: number }).sourceBytes)),
    any.cardinality?.(),
    any.entropy?.(),
    any.quantile?.(0.5),
    any.rank?.(7),
    ...(any.topK ? topOf(any as Answers) : []),
  ]
  const sizes = any.distribution?.().map(({ flows }) => flows) ?? []
  return [...estimates.flatMap((one) => (one ? [one.value, one.lower, one.upper, one.confidence] : [])), ...sizes]
}

/** Sketches without a table of keys reject the question. */
function topOf(sketch: Answers): Estimate[] {
  try {
    return sketch.topK(5)
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SKETCH_UNSUPPORTED') return []
    throw error
  }
}
