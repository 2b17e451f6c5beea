/** Sketches by the name of their kind: new ones, and those in bytes. */

import { didYouMean } from '../spelling/index.ts'
import { type Decoded, decode } from './bytes.ts'
import { HyperLogLog, LinearCounting } from './cardinality.ts'
import { type CocoOptions, CocoSketch } from './coco.ts'
import { CountMin, type CountMinOptions } from './count-min.ts'
import { CountSketch, type CountSketchOptions } from './count-sketch.ts'
import { DDSketch, type DDSketchOptions } from './ddsketch.ts'
import { type ElasticOptions, ElasticSketch } from './elastic.ts'
import { between, SketchError, wholeNumber } from './error.ts'
import { FastPath } from './fast-path.ts'
import { FlowRadar } from './flowradar.ts'
import { MisraGries, SpaceSaving } from './frequent.ts'
import { HeavyKeeper, type HeavyKeeperOptions } from './heavykeeper.ts'
import { Kll, type KllOptions } from './kll.ts'
import { type LdOptions, LdSketch } from './ld-sketch.ts'
import { Mrac } from './mrac-sketch.ts'
import { type NitroOptions, NitroSketch } from './nitro.ts'
import { asBytes, checkOptions, configOf, type KindClass, mustBe, restoreOf, wrong } from './one-kind.ts'
import { seedFrom } from './seed.ts'
import { AmountSketch, type Sketch, type SketchOptions } from './sketch.ts'
import { SketchLearn } from './sketchlearn.ts'
import { SketchVisor, type SketchVisorConfig, type SketchVisorOptions } from './sketchvisor.ts'
import { type SpreadOptions, SpreadSketch } from './spread.ts'
import { UnivMon, type UnivMonOptions } from './univmon.ts'
import { type WaveOptions, WaveSketch } from './wave.ts'

/** Class and options of each kind. */
export interface SketchKinds {
  /** Count-Min: never below the truth; merges and subtracts. */
  'count-min': { sketch: CountMin; options: CountMinOptions }
  /** Count-Min with conservative update: smaller errors; merges, and does not subtract. */
  conservative: { sketch: CountMin; options: CountMinOptions }
  /** Count Sketch: unbiased; merges and subtracts. */
  count: { sketch: CountSketch; options: CountSketchOptions }
  /** CocoSketch: keys and all their partial keys. */
  coco: { sketch: CocoSketch; options: CocoOptions }
  /** Elastic Sketch: sizes, top keys, cardinality, entropy, distribution. */
  elastic: { sketch: ElasticSketch; options: ElasticOptions }
  /** HeavyKeeper: the top k in little memory. */
  heavykeeper: { sketch: HeavyKeeper; options: HeavyKeeperOptions }
  /** Space-Saving: the most frequent keys, never underestimated, with certain bounds; merges. */
  'space-saving': { sketch: SpaceSaving; options: SketchOptions }
  /** Misra-Gries: the most frequent keys, never overestimated, with certain bounds; merges. */
  'misra-gries': { sketch: MisraGries; options: SketchOptions }
  /** HyperLogLog: number of keys; merges. */
  hyperloglog: { sketch: HyperLogLog; options: SketchOptions }
  /** Linear counting: number of keys, up to a few for each bit; merges. */
  'linear-counting': { sketch: LinearCounting; options: SketchOptions }
  /** DDSketch: quantiles of values, with a relative accuracy; merges. */
  ddsketch: { sketch: DDSketch; options: DDSketchOptions }
  /** KLL: quantiles of values, with an accuracy of ranks; merges. */
  kll: { sketch: Kll; options: KllOptions }
  /** Fast path of SketchVisor: the most frequent keys at little cost, with certain bounds; merges. */
  'fast-path': { sketch: FastPath; options: SketchOptions }
  /** SketchVisor: another kind, and the fast path for the updates with which that cannot keep up; merges if that does. */
  sketchvisor: { sketch: SketchVisor; options: SketchVisorOptions }
  /** NitroSketch: Count Sketch of which a few rows are touched for each update; merges. */
  nitro: { sketch: NitroSketch; options: NitroOptions }
  /** MRAC: the distribution of amounts, entropy and cardinality, from one row of counters; merges and subtracts. */
  mrac: { sketch: Mrac; options: SketchOptions }
  /** UnivMon: sizes, top keys, and any sum over keys: cardinality, entropy, moments; merges. */
  univmon: { sketch: UnivMon; options: UnivMonOptions }
  /** FlowRadar: every flow exactly, as long as there is room, and the losses between two points. */
  flowradar: { sketch: FlowRadar; options: SketchOptions }
  /** LD-Sketch: heavy hitters and changers with certain bounds, local or distributed; merges. */
  ld: { sketch: LdSketch; options: LdOptions }
  /** Number of different keys of each source: superspreaders; merges. */
  spread: { sketch: SpreadSketch; options: SpreadOptions }
  /** SketchLearn: large keys without a threshold, with an error for each, and their partial keys; merges and subtracts. */
  sketchlearn: { sketch: SketchLearn; options: SketchOptions }
  /** WaveSketch: the amounts of keys by windows of microseconds; merges. */
  wave: { sketch: WaveSketch; options: WaveOptions }
}
export type SketchKind = keyof SketchKinds
export type SketchOf<K extends SketchKind> = SketchKinds[K]['sketch']

interface Maker {
  create(options: { bytes: number }): Sketch
  /** Restores a sketch. Throws ERR_SKETCH_BYTES for impossible dimensions or an impossible block. */
  restore(decoded: Decoded): Sketch
}

interface AnyClass<O> {
  create(options: O): Sketch
}

function maker<C extends object, O>(
  kind: AnyClass<O> & KindClass<C, O, Sketch>,
  create: (options: O) => Sketch = (options) => kind.create(options),
): Maker {
  const parts = { create, restore: (decoded: Decoded) => restoreOf(kind, decoded) }
  return parts as unknown as Maker
}

/** Maker of two sketches in one: the normal path is of any kind that answers by key. */
const sketchVisor: Maker = {
  create(options: SketchVisorOptions) {
    checkOptions(options, true)
    const { normal = 'elastic', fastShare, bytes, keyBytes, ...own } = options
    const seed = seedFrom(options.seed)
    const fastBytes = Math.floor(bytes * between('fastShare', fastShare ?? 0.125, 0, 1))
    const path = createSketch(normal as SketchKind, { ...own, bytes: bytes - fastBytes, keyBytes, seed } as never)
    if (!(path instanceof AmountSketch) || path instanceof SketchVisor)
      throw new SketchError('ERR_SKETCH_VALUE', `normal: '${normal}' does not answer by key`)
    return new SketchVisor(path, FastPath.create({ bytes: fastBytes, keyBytes, seed }))
  },
  restore(decoded) {
    const { keyBytes, normalLength } = configOf(['keyBytes', 'normalLength'], decoded) as SketchVisorConfig
    return asBytes(() => {
      const bytes = new Uint8Array(decoded.block)
      wholeNumber('normalLength', normalLength, 1, bytes.length)
      const [normal, fast] = [bytes.subarray(0, normalLength), bytes.subarray(normalLength)]
      if (decode(normal).kind === 'sketchvisor') throw wrong('its normal path is none')
      const paths = [sketchFromBytes(normal), FastPath.fromBytes(fast)] as const
      const [path] = paths
      if (!(path instanceof AmountSketch)) throw wrong('its normal path does not answer by key')
      for (const one of [path, paths[1]])
        if (one.keyBytes !== keyBytes || one.seed.some((byte, i) => byte !== decoded.seed[i]))
          throw wrong('its paths do not fit')
      return new SketchVisor(path, paths[1])
    })
  },
}

/** Makers by kind. The expression is pure: a bundle that does not use it leaves it out, and the classes with it. */
const makers: Readonly<Record<SketchKind, Maker>> = /* @__PURE__ */ (() => ({
  'count-min': maker(CountMin),
  conservative: maker(CountMin, (options: CountMinOptions) => CountMin.createConservative(options)),
  count: maker(CountSketch),
  coco: maker(CocoSketch),
  elastic: maker(ElasticSketch),
  heavykeeper: maker(HeavyKeeper),
  'space-saving': maker(SpaceSaving),
  'misra-gries': maker(MisraGries),
  hyperloglog: maker(HyperLogLog),
  'linear-counting': maker(LinearCounting),
  ddsketch: maker(DDSketch),
  kll: maker(Kll),
  'fast-path': maker(FastPath),
  sketchvisor: sketchVisor,
  nitro: maker(NitroSketch),
  mrac: maker(Mrac),
  univmon: maker(UnivMon),
  flowradar: maker(FlowRadar),
  ld: maker(LdSketch),
  spread: maker(SpreadSketch),
  sketchlearn: maker(SketchLearn),
  wave: maker(WaveSketch),
}))()

export const sketchKinds: readonly SketchKind[] = /* @__PURE__ */ (() => Object.keys(makers) as SketchKind[])()

/** Creates a sketch in the given memory. Throws ERR_SKETCH_VALUE with the name of the option. */
export function createSketch<K extends SketchKind>(kind: K, options: SketchKinds[K]['options']): SketchOf<K> {
  const parts = Object.hasOwn(makers, kind) ? makers[kind] : undefined
  if (!parts)
    throw new SketchError(
      'ERR_SKETCH_VALUE',
      `kind: '${kind}' is not one of ${sketchKinds.join(', ')}.${didYouMean(String(kind), sketchKinds)}`,
    )
  return parts.create(options as { bytes: number }) as SketchOf<K>
}

/**
 * Restores the sketch of `toBytes`. Throws ERR_SKETCH_BYTES for bytes that are damaged, of another version, or impossible, and
 * ERR_SKETCH_MISMATCH if they are not of the `expected` kind.
 */
export function sketchFromBytes<K extends SketchKind = SketchKind>(bytes: Uint8Array, expected?: K): SketchOf<K> {
  const decoded = decode(bytes)
  if (expected !== undefined) mustBe('kind', decoded.kind, expected)
  return restored(decoded) as SketchOf<K>
}

/**
 * Restores the sketch of `toBytes`, which must have kind, dimensions and seed of `like`: these are compared before anything else is read,
 * since restoring some kinds takes long. Throws ERR_SKETCH_BYTES as `sketchFromBytes`, and ERR_SKETCH_MISMATCH.
 */
export function sketchLike<S extends Sketch>(bytes: Uint8Array, like: S): S {
  const decoded = decode(bytes)
  mustBe('kind', decoded.kind, like.kind)
  const dimensions = Object.entries(like.config as Record<string, number>)
  for (const [i, [name, value]] of dimensions.entries()) mustBe(name, decoded.dimensions[i], value)
  if (like.seed.some((byte, i) => decoded.seed[i] !== byte))
    throw new SketchError('ERR_SKETCH_MISMATCH', `the bytes of a ${like.kind} have another seed`)
  return restored(decoded) as Sketch as S
}

function restored(decoded: Decoded): SketchOf<SketchKind> {
  const { kind } = decoded
  const parts = Object.hasOwn(makers, kind) ? makers[kind as SketchKind] : undefined
  if (!parts) throw wrong(`no kind is called '${kind}'`)
  return parts.restore(decoded) as SketchOf<SketchKind>
}
