/**
 * Decoder common to the formats of lines: finding the lines in chunks of any size, comments, a first line that is skipped, names of signals
 * in a header. A line that is malformed is counted and skipped, and so is one that is longer than `longestRest`.
 */
import { Problems } from '../problems.ts'
import { SampleField, type Samples } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import type { Signal } from '../signals.ts'
import { NumberReader } from '../text/number-reader.ts'
import { type Decoder, longestRest } from './codec.ts'
import { readValue, typesOf } from './values.ts'

export interface LineSettings {
  delimiter: number
  comment: number
  header: boolean
  skipFirstLine: boolean
}

export function lineSettings(reader: SettingsReader): LineSettings {
  return {
    delimiter: reader.character('delimiter', '\n'),
    comment: reader.character('comment_prefix', '#'),
    header: reader.boolean('header', true),
    skipFirstLine: reader.boolean('skip_first_line', false),
  }
}

const space = 0x20
const tab = 0x09

export abstract class LineDecoder implements Decoder {
  readonly problems: Problems = new Problems()
  protected readonly reader: NumberReader = new NumberReader()
  protected readonly delimiter: number
  readonly #types: Uint8Array
  readonly #comment: number
  #skipLine: boolean
  /** Number of the next line, from 1 on, and offset of its first byte. */
  #line = 1
  #offset = 0
  /** True within a line that is too long. */
  #discarding = false
  /** Bytes of the rest that are known to have no delimiter. */
  #searched = 0

  constructor(signals: readonly Signal[], settings: { delimiter: number; comment?: number; skipFirstLine?: boolean }) {
    this.#types = typesOf(signals)
    this.delimiter = settings.delimiter
    this.#comment = settings.comment ?? -1
    this.#skipLine = settings.skipFirstLine ?? false
  }

  /**
   * Reads the line from `at` to `end`, at which the delimiter is, into a sample that is clear. Returns what is
   * wrong with it, or undefined.
   */
  protected abstract readLine(
    bytes: Uint8Array,
    at: number,
    end: number,
    samples: Samples,
    word: number,
  ): string | undefined

  decode(bytes: Uint8Array, from: number, samples: Samples, last: boolean): number {
    const { delimiter } = this
    let at = from
    while (samples.count < samples.capacity && at < bytes.length) {
      let end = bytes.indexOf(delimiter, at + this.#searched)
      this.#searched = 0
      if (end < 0) {
        if (last) end = bytes.length
        else if (bytes.length - at <= longestRest) {
          this.#searched = bytes.length - at
          break
        } else {
          this.#tooLong()
          at = this.#passed(at, bytes.length)
          break
        }
      }
      if (this.#discarding) {
        this.#discarding = false
        this.#line++
      } else if (end - at > longestRest) {
        this.#tooLong()
        this.#discarding = false
        this.#line++
      } else if (end === bytes.length) this.#readUnended(bytes, at, samples)
      else this.#readOne(bytes, at, end, samples)
      at = this.#passed(at, Math.min(end + 1, bytes.length))
    }
    return at
  }

  #passed(from: number, to: number): number {
    this.#offset += to - from
    return to
  }

  #tooLong(): void {
    if (!this.#discarding) this.problems.add(`a line of more than ${longestRest} bytes`, this.#offset, this.#line)
    this.#discarding = true
  }

  /** Reads the last line, which has no delimiter; numbers are read up to one. */
  #readUnended(bytes: Uint8Array, at: number, samples: Samples): void {
    const line = new Uint8Array(bytes.length - at + 1)
    line.set(bytes.subarray(at))
    line[line.length - 1] = this.delimiter
    this.#readOne(line, 0, line.length - 1, samples)
  }

  #readOne(bytes: Uint8Array, at: number, end: number, samples: Samples): void {
    const line = this.#line++
    if (this.#skipLine) {
      this.#skipLine = false
      return
    }
    while (bytes[at] === space || bytes[at] === tab || bytes[at] === 0x0d) at++
    if (at >= end || bytes[at] === this.#comment) return
    const word = samples.word(samples.count)
    samples.clear(word)
    const wrong = this.readLine(bytes, at, end, samples, word)
    if (wrong === undefined) samples.count++
    else this.problems.add(wrong, this.#offset, line)
  }

  /**
   * Reads the values from `at` on, `separator` between them; any white space if it is 0. Returns what is wrong. Values after the last
   * signal are dropped.
   */
  protected readValues(
    bytes: Uint8Array,
    at: number,
    end: number,
    samples: Samples,
    word: number,
    separator: number,
  ): string | undefined {
    const { reader } = this
    const types = this.#types
    const most = types.length
    let count = 0
    for (;;) {
      while (at < end && isSpace(bytes[at]!)) at++
      if (at >= end) break
      if (count === most) {
        this.problems.surplus++
        break
      }
      if (!readValue(reader, bytes, at, samples, word + SampleField.data + 2 * count, types[count]!))
        return `value ${count + 1} is not ${kinds[types[count]!]}: ${quoted(bytes, at, end)}`
      const begin = at
      at = reader.end
      count++
      if (at >= end) break
      const c = bytes[at]!
      if (c === separator) at++
      else if (!isSpace(c)) return `value ${count} is not ${kinds[types[count - 1]!]}: ${quoted(bytes, begin, end)}`
      else if (separator !== 0) {
        while (at < end && bytes[at] !== separator && isSpace(bytes[at]!)) at++
        if (at < end && bytes[at] !== separator) return `there is no separator behind value ${count}`
        at++
      }
    }
    samples.u32[word + SampleField.length] = count
    return undefined
  }
}

const kinds = ['a number', 'an integer', 'a boolean (0 or 1)', 'a complex number (1.5-2i)']

export function isSpace(c: number): boolean {
  return c === space || c === tab || c === 0x0d
}

const mostQuoted = 24

/** Returns the beginning of the text there, for a message: printable, and not long. */
export function quoted(bytes: Uint8Array, at: number, end: number): string {
  const part = bytes.subarray(at, Math.min(end, at + mostQuoted))
  const text = String.fromCharCode(...part).replace(/[^ -~]/g, '?')
  return `'${text}${end - at > mostQuoted ? '…' : ''}'`
}

/** Returns "signal0[V]" and so on, as headers name the signals. */
export function headerNames(signals: readonly Signal[]): string[] {
  return signals.map(({ name, unit }, i) => `${name || `signal${i}`}${unit && `[${unit}]`}`)
}
