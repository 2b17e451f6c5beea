/** Code of an error of the library: misuse, sketches that do not match, and bytes that do not contain a sketch. */

export type SketchErrorCode =
  /** Invalid option, key, amount or threshold. */
  | 'ERR_SKETCH_VALUE'
  /** Mismatch of two sketches in kind, dimensions or seed. */
  | 'ERR_SKETCH_MISMATCH'
  /** Damaged bytes, or bytes of another version. */
  | 'ERR_SKETCH_BYTES'
  /** Answer that the kind, or this configuration of it, does not have. */
  | 'ERR_SKETCH_UNSUPPORTED'

/** Error whose message names the subject and the remedy; the code is stable. */
export class SketchError extends Error {
  readonly code: SketchErrorCode

  constructor(code: SketchErrorCode, message: string) {
    super(`${message} (${code})`)
    this.name = 'SketchError'
    this.code = code
  }
}

/** Maximum amount of one update: 32 bits. */
export const mostAmount = 0xffffffff

/** Returns `value` if it is an integer from `least` to `most`; otherwise throws ERR_SKETCH_VALUE with its name. */
export function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new SketchError('ERR_SKETCH_VALUE', `${name}: ${shown(value)} is not a whole number from ${least} to ${most}`)
}

/** Returns `value` if it lies strictly between `low` and `high`; otherwise throws ERR_SKETCH_VALUE with its name. */
export function between(name: string, value: number, low: number, high: number): number {
  if (typeof value === 'number' && value > low && value < high) return value
  throw new SketchError('ERR_SKETCH_VALUE', `${name}: ${shown(value)} is not a number between ${low} and ${high}`)
}

/** Returns the error for an invalid number, or for a value that is not a number. */
export function wrongNumber(name: string, value: unknown, must: string): SketchError {
  return new SketchError('ERR_SKETCH_VALUE', `${name}: ${shown(value)} is not ${must}`)
}

/**
 * Throws unless the value is a Uint8Array: text, other typed arrays and array-likes would be read as unintended keys, the lowest byte of
 * each element.
 */
export function mustBeBytes(name: string, value: Uint8Array): void {
  if (ArrayBuffer.isView(value) && (value as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT === 1) return
  const hint =
    typeof value === 'string'
      ? `; of text: new TextEncoder().encode(${name})`
      : ArrayBuffer.isView(value)
        ? `; its memory: new Uint8Array(${name}.buffer, ${name}.byteOffset, ${name}.byteLength)`
        : ''
  throw new SketchError('ERR_SKETCH_VALUE', `${name}: ${shown(value)} is not a Uint8Array${hint}`)
}

/** Throws ERR_SKETCH_VALUE unless `key` is a Uint8Array of `keyBytes`. */
export function oneKey(name: string, key: Uint8Array, keyBytes: number): void {
  mustBeBytes(name, key)
  if (key.length !== keyBytes)
    throw new SketchError('ERR_SKETCH_VALUE', `${name}: ${key.length} bytes, the sketch has keys of ${keyBytes}`)
}

/**
 * Returns the number of keys of `keyBytes` that are packed in a Uint8Array, with one amount for all, or a Uint32Array of one for each.
 * Otherwise throws ERR_SKETCH_VALUE.
 */
export function manyKeys(keys: Uint8Array, keyBytes: number, amounts: Uint32Array | number): number {
  mustBeBytes('keys', keys)
  const count = keys.length / keyBytes
  if (!Number.isInteger(count))
    throw new SketchError('ERR_SKETCH_VALUE', `keys: ${keys.length} bytes are not keys of ${keyBytes} bytes`)
  if (typeof amounts === 'number') {
    wholeNumber('amounts', amounts, 0, mostAmount)
    return count
  }
  if (Object.prototype.toString.call(amounts) !== '[object Uint32Array]')
    throw new SketchError('ERR_SKETCH_VALUE', `amounts: ${shown(amounts)} is neither a number nor a Uint32Array`)
  if (amounts.length !== count)
    throw new SketchError('ERR_SKETCH_VALUE', `amounts: there are ${amounts.length} for ${count} keys`)
  return count
}

/** Returns a value as it stands in a message: text in quotes, objects by their class. */
function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'object' || value === null) return String(value)
  const name = Object.prototype.toString.call(value).slice(8, -1)
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
}
