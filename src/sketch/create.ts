/** Sketches by the name of their kind: new ones, and those in bytes. */

import { didYouMean, nearest } from '../spelling/index.ts'
import { type Decoded, decode } from './bytes.ts'
import { HyperLogLog, LinearCounting } from './cardinality.ts'
import { type CocoOptions, CocoSketch } from './coco.ts'
import { CountMin, type CountMinConfig, type CountMinOptions } from './count-min.ts'
import { CountSketch, type CountSketchOptions } from './count-sketch.ts'
import { DDSketch, type DDSketchOptions } from './ddsketch.ts'
import { type ElasticOptions, ElasticSketch } from './elastic.ts'
import { between, SketchError, wholeNumber } from './error.ts'
import { FastPath } from './fast-path.ts'
import { FlowRadar } from './flowradar.ts'
import { MisraGries, SpaceSaving } from './frequent.ts'
import { HeavyKeeper, type HeavyKeeperOptions } from './heavykeeper.ts'
import { mostKeyBytes } from './keys.ts'
import { Kll, type KllOptions } from './kll.ts'
import { type LdOptions, LdSketch } from './ld-sketch.ts'
import { Mrac } from './mrac-sketch.ts'
import { type NitroOptions, NitroSketch } from './nitro.ts'
import { type SeedLike, seedFrom } from './seed.ts'
import { AmountSketch, type KeyConfig, mostBytes, type Sketch, type SketchOptions } from './sketch.ts'
import { SketchLearn } from './sketchlearn.ts'
import { SketchVisor, type SketchVisorConfig, type SketchVisorOptions } from './sketchvisor.ts'
import { type SpreadOptions, SpreadSketch } from './spread.ts'
import { UnivMon, type UnivMonOptions } from './univmon.ts'
import { type WaveOptions, WaveSketch } from './wave.ts'

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
  /** The fast path of SketchVisor: the most frequent keys at little cost, with certain bounds; merges. */
  'fast-path': { sketch: FastPath; options: SketchOptions }
  /** SketchVisor: another kind, and the fast path for what comes while that cannot keep up; merges if that does. */
  sketchvisor: { sketch: SketchVisor; options: SketchVisorOptions }
  /** NitroSketch: Count Sketch of which a few rows are touched for each update; merges. */
  nitro: { sketch: NitroSketch; options: NitroOptions }
  /** MRAC: the distribution of amounts, entropy and cardinality, from one row of counters; merges and subtracts. */
  mrac: { sketch: Mrac; options: SketchOptions }
  /** UnivMon: sizes, top keys, and any sum over keys: cardinality, entropy, moments; merges. */
  univmon: { sketch: UnivMon; options: UnivMonOptions }
  /** FlowRadar: every flow exactly, as long as there is room, and what was lost between two points. */
  flowradar: { sketch: FlowRadar; options: SketchOptions }
  /** LD-Sketch: heavy hitters and changers with certain bounds, local or distributed; merges. */
  ld: { sketch: LdSketch; options: LdOptions }
  /** How many different keys each source has: superspreaders; merges. */
  spread: { sketch: SpreadSketch; options: SpreadOptions }
  /** SketchLearn: large keys without a threshold, with an error for each, and their partial keys; merges and subtracts. */
  sketchlearn: { sketch: SketchLearn; options: SketchOptions }
  /** WaveSketch: the amounts of keys by windows of microseconds; merges. */
  wave: { sketch: WaveSketch; options: WaveOptions }
}
export type SketchKind = keyof SketchKinds
export type SketchOf<K extends SketchKind> = SketchKinds[K]['sketch']

type Config = object

interface Maker {
  /** Dimensions, in the order in which bytes have them. */
  fields: readonly string[]
  /** Whether there are keys, whose length is the first dimension. */
  keyed: boolean
  create(options: { bytes: number }, seed: Uint8Array): Sketch
  /** Throws ERR_SKETCH_VALUE for impossible dimensions, ERR_SKETCH_BYTES for an impossible block. */
  restore(config: Config, seed: Uint8Array, block: ArrayBuffer): Sketch
}

/** What a kind's class has: dimensions from options, whether dimensions are possible and what bytes they need, and its constructor. */
interface KindClass<C extends Config, O> {
  configure(options: O): C
  check(config: C): number
  new (config: C, seed: Uint8Array, block?: ArrayBuffer, options?: O): Sketch<C>
}

const wrong = (what: string): SketchError => new SketchError('ERR_SKETCH_BYTES', `not a sketch: ${what}`)

function maker<C extends Config, O>(
  kind: KindClass<C, O>,
  fields: readonly (keyof C & string)[],
  configure: (options: O) => C = kind.configure,
): Maker {
  const parts = {
    fields,
    keyed: fields[0] === 'keyBytes',
    create: (options: O, seed: Uint8Array) => new kind(configure(options), seed, undefined, options),
    restore(config: C, seed: Uint8Array, block: ArrayBuffer) {
      if (kind.check(config) !== block.byteLength) throw wrong('its length is not that of its dimensions')
      return new kind(config, seed, block)
    },
  }
  return parts as unknown as Maker
}

/** Two sketches in one: the normal path is of any kind that answers by key. */
const sketchVisor: Maker = {
  fields: ['keyBytes', 'normalLength'],
  keyed: true,
  create(options: SketchVisorOptions, seed) {
    const { normal = 'elastic', fastShare, bytes, keyBytes, ...own } = options
    const fastBytes = Math.floor(bytes * between('fastShare', fastShare ?? 0.125, 0, 1))
    const path = createSketch(normal as SketchKind, { ...own, bytes: bytes - fastBytes, keyBytes, seed } as never)
    if (!(path instanceof AmountSketch) || path instanceof SketchVisor)
      throw new SketchError('ERR_SKETCH_VALUE', `normal: '${normal}' does not answer by key`)
    return new SketchVisor(path, createSketch('fast-path', { bytes: fastBytes, keyBytes, seed }))
  },
  restore(config, seed, block) {
    const { keyBytes, normalLength } = config as SketchVisorConfig
    const bytes = new Uint8Array(block)
    wholeNumber('normalLength', normalLength, 1, bytes.length)
    const [normal, fast] = [bytes.subarray(0, normalLength), bytes.subarray(normalLength)]
    if (decode(normal).kind === 'sketchvisor') throw wrong('its normal path is none')
    const paths = [sketchFromBytes(normal), sketchFromBytes(fast, 'fast-path')] as const
    const [path] = paths
    if (!(path instanceof AmountSketch)) throw wrong('its normal path does not answer by key')
    for (const one of [path, paths[1]])
      if (one.keyBytes !== keyBytes || one.seed.some((byte, i) => byte !== seed[i])) throw wrong('its paths do not fit')
    return new SketchVisor(path, paths[1])
  },
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
  coco: maker(CocoSketch, ['keyBytes', 'arrays', 'width', 'countBits']),
  elastic: maker(ElasticSketch, ['keyBytes', 'buckets', 'rows', 'counters']),
  heavykeeper: maker(HeavyKeeper, ['keyBytes', 'arrays', 'width', 'k', 'base']),
  'space-saving': maker(SpaceSaving, ['keyBytes', 'capacity']),
  'misra-gries': maker(MisraGries, ['keyBytes', 'capacity']),
  hyperloglog: maker(HyperLogLog, ['keyBytes', 'precision']),
  'linear-counting': maker(LinearCounting, ['keyBytes', 'words']),
  ddsketch: maker(DDSketch, ['bins', 'accuracy']),
  kll: maker(Kll, ['k']),
  'fast-path': maker(FastPath, ['keyBytes', 'capacity']),
  sketchvisor: sketchVisor,
  nitro: maker(NitroSketch, ['keyBytes', 'rows', 'width', 'candidates', 'sampling']),
  mrac: maker(Mrac, ['keyBytes', 'counters']),
  univmon: maker(UnivMon, ['keyBytes', 'levels', 'rows', 'width', 'candidates']),
  flowradar: maker(FlowRadar, ['keyBytes', 'width', 'filterWords']),
  ld: maker(LdSketch, ['keyBytes', 'rows', 'width', 'entries', 'expansion']),
  spread: maker(SpreadSketch, ['keyBytes', 'sourceBytes', 'rows', 'width', 'words', 'allWords', 'candidates']),
  sketchlearn: maker(SketchLearn, ['keyBytes', 'columns']),
  wave: maker(WaveSketch, ['keyBytes', 'rows', 'width', 'windows', 'windowNs', 'coefficients', 'first']),
}

/** Where nothing is random: sketches then merge without a word about seeds. */
const seeds: Partial<Record<SketchKind, SeedLike>> = { ddsketch: 0 }

export const sketchKinds: readonly SketchKind[] = Object.keys(makers) as SketchKind[]

/** " Is 'byte' meant to be it?", if one of the given options is nearly called so. */
function lookalike(name: string, options: object): string {
  const near = nearest(name, Object.keys(options))
  return near === undefined ? '' : ` Is '${near}' meant to be it?`
}

/** A new sketch in the given memory. Throws ERR_SKETCH_VALUE, naming the option. */
export function createSketch<K extends SketchKind>(kind: K, options: SketchKinds[K]['options']): SketchOf<K> {
  const parts = Object.hasOwn(makers, kind) ? makers[kind] : undefined
  if (!parts)
    throw new SketchError(
      'ERR_SKETCH_VALUE',
      `kind: '${kind}' is not one of ${sketchKinds.join(', ')}.${didYouMean(String(kind), sketchKinds)}`,
    )
  if (options.bytes === undefined)
    throw new SketchError('ERR_SKETCH_VALUE', `bytes: missing.${lookalike('bytes', options)}`)
  wholeNumber('bytes', options.bytes, 1, mostBytes)
  if (parts.keyed) wholeNumber('keyBytes', (options as SketchOptions).keyBytes, 1, mostKeyBytes)
  return parts.create(options, seedFrom(options.seed ?? seeds[kind])) as SketchOf<K>
}

/**
 * The sketch of `toBytes`. Throws ERR_SKETCH_BYTES for bytes that are damaged, of another version, or impossible; ERR_SKETCH_MISMATCH if a
 * kind is asked for, and they are of another.
 */
export function sketchFromBytes<K extends SketchKind = SketchKind>(bytes: Uint8Array, expected?: K): SketchOf<K> {
  const decoded = decode(bytes)
  if (expected !== undefined) mustBe('kind', decoded.kind, expected)
  return restored(decoded) as SketchOf<K>
}

/**
 * The sketch of `toBytes`, which must have kind, dimensions and seed of `like`: that is compared before anything else is read, since restoring
 * some kinds takes long. Throws ERR_SKETCH_BYTES as `sketchFromBytes`, and ERR_SKETCH_MISMATCH.
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

function mustBe(what: string, is: string | number | undefined, expected: string | number): void {
  if (is !== expected) throw new SketchError('ERR_SKETCH_MISMATCH', `the bytes are of ${what} ${is}, not ${expected}`)
}

function restored({ kind, dimensions, seed, block }: Decoded): SketchOf<SketchKind> {
  const parts = Object.hasOwn(makers, kind) ? makers[kind as SketchKind] : undefined
  if (!parts) throw wrong(`no kind is called '${kind}'`)
  if (dimensions.length !== parts.fields.length) throw wrong(`${dimensions.length} dimensions`)
  const config = Object.fromEntries(parts.fields.map((name, i) => [name, dimensions[i]!])) as Config
  try {
    if (parts.keyed) wholeNumber('keyBytes', (config as KeyConfig).keyBytes, 1, mostKeyBytes)
    return parts.restore(config, seed, block) as SketchOf<SketchKind>
  } catch (error) {
    throw error instanceof SketchError && error.code !== 'ERR_SKETCH_BYTES' ? wrong(error.message) : error
  }
}
