/** Sketches by the name of their kind: new ones, and those in bytes. */
import { decode } from './bytes.ts'
import { type CocoOptions, CocoSketch } from './coco.ts'
import { CountMin, type CountMinOptions } from './count-min.ts'
import { CountSketch, type CountSketchOptions } from './count-sketch.ts'
import { type ElasticOptions, ElasticSketch } from './elastic.ts'
import { SketchError, wholeNumber } from './error.ts'
import { HeavyKeeper, type HeavyKeeperOptions } from './heavykeeper.ts'
import { mostKeyBytes } from './keys.ts'
import { seedFrom } from './seed.ts'
import { type Config, mostBytes, type Sketch, type SketchOptions } from './sketch.ts'

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
}
export type SketchKind = keyof SketchKinds
export type SketchOf<K extends SketchKind> = SketchKinds[K]['sketch']

interface Maker {
  /** Dimensions, in the order in which bytes have them. */
  fields: readonly string[]
  configure(options: SketchOptions): Config
  /** Throws for impossible dimensions. Returns the bytes of a block. */
  check(config: Config): number
  create(config: Config, seed: Uint8Array, block?: ArrayBuffer): Sketch
}

/** The four parts of a kind, whose types agree with each other. */
function maker<C extends Config, O extends SketchOptions>(parts: {
  fields: readonly (keyof C & string)[]
  configure(options: O): C
  check(config: C): number
  create(config: C, seed: Uint8Array, block?: ArrayBuffer): Sketch<C>
}): Maker {
  return parts as unknown as Maker
}

const countMin = (conservative: boolean) =>
  maker({
    fields: ['keyBytes', 'rows', 'width', 'candidates', 'conservative'],
    configure: (options: CountMinOptions) => CountMin.configure(options, conservative),
    check: CountMin.check,
    create: (config, seed, block) => new CountMin(config, seed, block),
  })

const makers: Readonly<Record<SketchKind, Maker>> = {
  'count-min': countMin(false),
  conservative: countMin(true),
  count: maker({
    fields: ['keyBytes', 'rows', 'width', 'candidates'],
    configure: CountSketch.configure,
    check: CountSketch.check,
    create: (config, seed, block) => new CountSketch(config, seed, block),
  }),
  coco: maker({
    fields: ['keyBytes', 'arrays', 'width'],
    configure: CocoSketch.configure,
    check: CocoSketch.check,
    create: (config, seed, block) => new CocoSketch(config, seed, block),
  }),
  elastic: maker({
    fields: ['keyBytes', 'buckets', 'counters'],
    configure: ElasticSketch.configure,
    check: ElasticSketch.check,
    create: (config, seed, block) => new ElasticSketch(config, seed, block),
  }),
  heavykeeper: maker({
    fields: ['keyBytes', 'arrays', 'width', 'k', 'base'],
    configure: HeavyKeeper.configure,
    check: HeavyKeeper.check,
    create: (config, seed, block) => new HeavyKeeper(config, seed, block),
  }),
}

export const sketchKinds: readonly SketchKind[] = Object.keys(makers) as SketchKind[]

/** A new sketch in the given memory. Throws ERR_SKETCH_VALUE, naming the option. */
export function createSketch<K extends SketchKind>(kind: K, options: SketchKinds[K]['options']): SketchOf<K> {
  const parts = Object.hasOwn(makers, kind) ? makers[kind] : undefined
  if (!parts)
    throw new SketchError('ERR_SKETCH_VALUE', `kind: '${kind}' is none. Expected one of ${sketchKinds.join(', ')}`)
  wholeNumber('bytes', options.bytes, 1, mostBytes)
  wholeNumber('keyBytes', options.keyBytes, 1, mostKeyBytes)
  return parts.create(parts.configure(options), seedFrom(options.seed)) as SketchOf<K>
}

/** The sketch of `toBytes`. Throws ERR_SKETCH_BYTES for bytes that are damaged, of another version, or impossible. */
export function sketchFromBytes(bytes: Uint8Array): SketchOf<SketchKind> {
  const { kind, dimensions, seed, block } = decode(bytes)
  const wrong = (what: string) => new SketchError('ERR_SKETCH_BYTES', `not a sketch: ${what}`)
  const parts = Object.hasOwn(makers, kind) ? makers[kind as SketchKind] : undefined
  if (!parts) throw wrong(`no kind is called '${kind}'`)
  if (dimensions.length !== parts.fields.length) throw wrong(`${dimensions.length} dimensions`)
  const config = Object.fromEntries(parts.fields.map((name, i) => [name, dimensions[i]!])) as unknown as Config
  try {
    wholeNumber('keyBytes', config.keyBytes, 1, mostKeyBytes)
    if (parts.check(config) !== block.byteLength) throw wrong('its length is not that of its dimensions')
  } catch (error) {
    throw error instanceof SketchError && error.code === 'ERR_SKETCH_VALUE' ? wrong(error.message) : error
  }
  return parts.create(config, seed, block) as SketchOf<SketchKind>
}
