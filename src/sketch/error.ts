/** What the library throws: misuse, sketches that do not fit each other, and bytes that hold no sketch. */

export type SketchErrorCode =
  /** An option, a key, an amount or a threshold is not what it must be. */
  | 'ERR_SKETCH_VALUE'
  /** Two sketches differ in kind, dimensions or seed. */
  | 'ERR_SKETCH_MISMATCH'
  /** The bytes are damaged, or of another version. */
  | 'ERR_SKETCH_BYTES'
  /** The kind, or this configuration of it, has no such answer. */
  | 'ERR_SKETCH_UNSUPPORTED'

/** The message names the subject and what to do, the code is stable. */
export class SketchError extends Error {
  readonly code: SketchErrorCode

  constructor(code: SketchErrorCode, message: string) {
    super(`${message} (${code})`)
    this.name = 'SketchError'
    this.code = code
  }
}

/** `value` if it is a whole number from `least` to `most`; otherwise throws ERR_SKETCH_VALUE with its name. */
export function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new SketchError('ERR_SKETCH_VALUE', `${name}: ${value} is not a whole number from ${least} to ${most}`)
}

/** `value` if it lies strictly between `low` and `high`; otherwise throws ERR_SKETCH_VALUE with its name. */
export function between(name: string, value: number, low: number, high: number): number {
  if (value > low && value < high) return value
  throw new SketchError('ERR_SKETCH_VALUE', `${name}: ${value} is not a number between ${low} and ${high}`)
}
