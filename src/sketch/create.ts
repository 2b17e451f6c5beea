/** Sketches by the name of their kind: new ones, and those in bytes. */

import { decode } from './bytes.ts'
import { HyperLogLog, LinearCounting } from './cardinality.ts'
import { type CocoOptions, CocoSketch } from './coco.ts'
import { CountMin, type CountMinConfig, type CountMinOptions } from './count-min.ts'
import { CountSketch, type CountSketchOptions } from './count-sketch.ts'
import { DDSketch, type DDSketchOptions } from './ddsketch.ts'
import { type ElasticOptions, ElasticSketch } from './elastic.ts'
import { SketchError, wholeNumber } from './error.ts'
import { MisraGries, SpaceSaving } from './frequent.ts'
import { HeavyKeeper, type HeavyKeeperOptions } from './heavykeeper.ts'
import { mostKeyBytes } from './keys.ts'
import { Kll, type KllOptions } from './kll.ts'
import { type SeedLike, seedFrom } from './seed.ts'
import { type KeyConfig, mostBytes, type Sketch, type SketchOptions } from './sketch.ts'

/** The class and the options of each kind. */
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
  /** Space-Saving: the most frequent keys, never too little, with certain bounds; merges. */
  'space-saving': { sketch: SpaceSaving; options: SketchOptions }
  /** Misra-Gries: the most frequent keys, never too much, with certain bounds; merges. */
  'misra-gries': { sketch: MisraGries; options: SketchOptions }
  /** HyperLogLog: how many keys; merges. */
  hyperloglog: { sketch: HyperLogLog; options: SketchOptions }
  /** Linear counting: how many keys, up to a few for each bit; merges. */
  'linear-counting': { sketch: LinearCounting; options: SketchOptions }
  /** DDSketch: quantiles of values, with a relative accuracy; merges. */
  ddsketch: { sketch: DDSketch; options: DDSketchOptions }
  /** KLL: quantiles of values, with an accuracy of ranks; merges. */
  kll: { sketch: Kll; options: KllOptions }
}
export type SketchKind = keyof SketchKinds
export type SketchOf<K extends SketchKind> = SketchKinds[K]['sketch']

type Config = object

interface Maker {
  /** Dimensions, in the order in which bytes have them. */
  fields: readonly string[]
  /** Whether there are keys, whose length is the first dimension. */
  keyed: boolean
  configure(options: { bytes: number }): Config
  /** Throws for impossible dimensions. Returns the bytes of a block. */
  check(config: Config): number
  create(config: Config, seed: Uint8Array, block?: ArrayBuffer): Sketch
}

/** What a kind's class has: dimensions from options, whether dimensions are possible, and its constructor. */
interface KindClass<C extends Config, O> {
  configure(options: O): C
  check(config: C): number
  new (config: C, seed: Uint8Array, block?: ArrayBuffer): Sketch<C>
}

function maker<C extends Config, O>(
  kind: KindClass<C, O>,
  fields: readonly (keyof C & string)[],
  configure: (options: O) => C = kind.configure,
): Maker {
  const parts = {
    fields,
    keyed: fields[0] === 'keyBytes',
    configure,
    check: kind.check,
    create: (config: C, seed: Uint8Array, block?: ArrayBuffer) => new kind(config, seed, block),
  }
  return parts as unknown as Maker
}

const countMin = (conservative: boolean) =>
  maker<CountMinConfig, CountMinOptions>(
    CountMin,
    ['keyBytes', 'rows', 'width', 'candidates', 'conservative'],
    (options) => CountMin.configure(options, conservative),
  )

const makers: Readonly<Record<SketchKind, Maker>> = {
  'count-min': countMin(false),
  conservative: countMin(true),
  count: maker(CountSketch, ['keyBytes', 'rows', 'width', 'candidates']),
  coco: maker(CocoSketch, ['keyBytes', 'arrays', 'width']),
  elastic: maker(ElasticSketch, ['keyBytes', 'buckets', 'rows', 'counters']),
  heavykeeper: maker(HeavyKeeper, ['keyBytes', 'arrays', 'width', 'k', 'base']),
  'space-saving': maker(SpaceSaving, ['keyBytes', 'capacity']),
  'misra-gries': maker(MisraGries, ['keyBytes', 'capacity']),
  hyperloglog: maker(HyperLogLog, ['keyBytes', 'precision']),
  'linear-counting': maker(LinearCounting, ['keyBytes', 'words']),
  ddsketch: maker(DDSketch, ['bins', 'accuracy']),
  kll: maker(Kll, ['k']),
}

/** Where nothing is random: sketches then merge without a word about seeds. */
const seeds: Partial<Record<SketchKind, SeedLike>> = { ddsketch: 0 }

export const sketchKinds: readonly SketchKind[] = Object.keys(makers) as SketchKind[]

/** A new sketch in the given memory. Throws ERR_SKETCH_VALUE, naming the option. */
export function createSketch<K extends SketchKind>(kind: K, options: SketchKinds[K]['options']): SketchOf<K> {
  const parts = Object.hasOwn(makers, kind) ? makers[kind] : undefined
  if (!parts)
    throw new SketchError('ERR_SKETCH_VALUE', `kind: '${kind}' is none. Expected one of ${sketchKinds.join(', ')}`)
  wholeNumber('bytes', options.bytes, 1, mostBytes)
  if (parts.keyed) wholeNumber('keyBytes', (options as SketchOptions).keyBytes, 1, mostKeyBytes)
  return parts.create(parts.configure(options), seedFrom(options.seed ?? seeds[kind])) as SketchOf<K>
}

/**
 * The sketch of `toBytes`. Throws ERR_SKETCH_BYTES for bytes that are damaged, of another version, or impossible; ERR_SKETCH_MISMATCH if a
 * kind is asked for, and they are of another.
 */
export function sketchFromBytes<K extends SketchKind = SketchKind>(bytes: Uint8Array, expected?: K): SketchOf<K> {
  const { kind, dimensions, seed, block } = decode(bytes)
  if (expected !== undefined && kind !== expected)
    throw new SketchError('ERR_SKETCH_MISMATCH', `the bytes are of kind ${kind}, not ${expected}`)
  const wrong = (what: string) => new SketchError('ERR_SKETCH_BYTES', `not a sketch: ${what}`)
  const parts = Object.hasOwn(makers, kind) ? makers[kind as SketchKind] : undefined
  if (!parts) throw wrong(`no kind is called '${kind}'`)
  if (dimensions.length !== parts.fields.length) throw wrong(`${dimensions.length} dimensions`)
  const config = Object.fromEntries(parts.fields.map((name, i) => [name, dimensions[i]!])) as Config
  try {
    if (parts.keyed) wholeNumber('keyBytes', (config as KeyConfig).keyBytes, 1, mostKeyBytes)
    if (parts.check(config) !== block.byteLength) throw wrong('its length is not that of its dimensions')
  } catch (error) {
    throw error instanceof SketchError && error.code === 'ERR_SKETCH_VALUE' ? wrong(error.message) : error
  }
  return parts.create(config, seed, block) as SketchOf<K>
}
