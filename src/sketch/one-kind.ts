/**
 * Sketches of one kind, by its class: new ones, and those in bytes. `create.ts` has them by the name of the kind, and so all of them: a
 * program that uses only a class bundles only this kind.
 */
import { nearest } from '../spelling/index.ts'
import { type Decoded, decode } from './bytes.ts'
import { SketchError, wholeNumber } from './error.ts'
import { mostKeyBytes } from './keys.ts'
import { type SeedLike, seedFrom } from './seed.ts'
import { type KeyConfig, mostBytes, type Sketch, type SketchOptions } from './sketch.ts'

/** Static members of a kind's class. */
export interface KindClass<C extends object, O, S extends Sketch> {
  /** Name of the kind; several if it has variants. */
  readonly kinds: readonly string[]
  /** Dimensions, in the order in which bytes have them. With `keyBytes` first there are keys. */
  readonly fields: readonly (keyof C & string)[]
  /** Returns the dimensions for options. */
  configure(options: O): C
  /** Returns the bytes of a block with these dimensions. Throws ERR_SKETCH_VALUE for impossible ones. */
  check(config: C): number
  new (config: C, seed: Uint8Array, block?: ArrayBuffer, options?: O): S
}

export const wrong = (what: string): SketchError => new SketchError('ERR_SKETCH_BYTES', `not a sketch: ${what}`)

/** Returns " Is 'byte' meant to be it?" if one of the given options has a similar name. */
function lookalike(name: string, options: object): string {
  const near = nearest(name, Object.keys(options))
  return near === undefined ? '' : ` Is '${near}' meant to be it?`
}

/** Checks the options that all kinds have. Throws ERR_SKETCH_VALUE with the name of the option. */
export function checkOptions(options: { bytes?: number | undefined }, isKeyed: boolean): void {
  if (options.bytes === undefined)
    throw new SketchError('ERR_SKETCH_VALUE', `bytes: missing.${lookalike('bytes', options)}`)
  wholeNumber('bytes', options.bytes, 1, mostBytes)
  if (isKeyed) wholeNumber('keyBytes', (options as SketchOptions).keyBytes, 1, mostKeyBytes)
}

interface CommonOptions {
  bytes?: number | undefined
  seed?: SeedLike | undefined
}

/** Creates a sketch of a class. `seed`: used if the options have none (default: random). */
export function createOf<C extends object, O extends CommonOptions, S extends Sketch>(
  kind: KindClass<C, O, S>,
  options: O,
  { seed, configure = kind.configure }: { seed?: SeedLike; configure?: (options: O) => C } = {},
): S {
  checkOptions(options, kind.fields[0] === 'keyBytes')
  return new kind(configure.call(kind, options), seedFrom(options.seed ?? seed), undefined, options)
}

/** Returns the dimensions by their names; throws ERR_SKETCH_BYTES for a number of them that the kind does not have. */
export function configOf(fields: readonly string[], { dimensions }: Decoded): object {
  if (dimensions.length !== fields.length) throw wrong(`${dimensions.length} dimensions`)
  const config = Object.fromEntries(fields.map((name, i) => [name, dimensions[i]!]))
  if (fields[0] === 'keyBytes')
    asBytes(() => wholeNumber('keyBytes', (config as unknown as KeyConfig).keyBytes, 1, mostKeyBytes))
  return config
}

/** Turns errors of `make` into ERR_SKETCH_BYTES: an impossible value that comes from bytes is damage of these. */
export function asBytes<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw error instanceof SketchError && error.code !== 'ERR_SKETCH_BYTES' ? wrong(error.message) : error
  }
}

/** Returns the sketch of decoded bytes. Throws ERR_SKETCH_BYTES for impossible dimensions and an impossible block. */
export function restoreOf<C extends object, S extends Sketch>(kind: KindClass<C, never, S>, decoded: Decoded): S {
  const { seed, block } = decoded
  const config = configOf(kind.fields, decoded) as C
  return asBytes(() => {
    if (kind.check(config) !== block.byteLength) throw wrong('its length is not that of its dimensions')
    return new kind(config, seed, block)
  })
}

/** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
export function fromBytesOf<C extends object, S extends Sketch>(kind: KindClass<C, never, S>, bytes: Uint8Array): S {
  const decoded = decode(bytes)
  if (!kind.kinds.includes(decoded.kind)) mustBe('kind', decoded.kind, kind.kinds.join(' or '))
  return restoreOf(kind, decoded)
}

export function mustBe(what: string, is: string | number | undefined, expected: string | number): void {
  if (is !== expected) throw new SketchError('ERR_SKETCH_MISMATCH', `the bytes are of ${what} ${is}, not ${expected}`)
}
