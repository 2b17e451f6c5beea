/**
 * csv and tsv: seconds, nanoseconds, offset (received − origin, in seconds), sequence number, values. Fields that a sample does not have
 * are "nan". Columns that the settings leave out are not read, either.
 *
 *     # secs,nsecs,offset,sequence,signal0,signal1
 *     1553516817,042435000,0.000012500,7,0.50000000000000000,-1.00000000000000000
 *
 * Over networks VILLASnode writes no offset, and its reader expects one. So it is written, and lines of networks are read with it and
 * without: a sequence number consists of digits only, which an offset does not; nan is an offset if a sequence number follows.
 */
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { writeFixed, writeInt64, writeText } from '../text/digits.ts'
import { writeNanoseconds } from './human.ts'
import { LineEncoder } from './line-encoder.ts'
import { headerNames, isSpace, LineDecoder, type LineSettings, quoted } from './lines.ts'
import type { TextSettings } from './text-settings.ts'

export interface ColumnSettings extends TextSettings, LineSettings {
  separator: number
  /** True if a line that is read may lack the offset. */
  offsetMayLack: boolean
}

const columnNames = ['seconds', 'nanoseconds', 'the offset', 'the sequence number']
const offsetColumn = 2

export class ColumnDecoder extends LineDecoder {
  readonly #separator: number
  /** Indices of the columns before the values that are present. */
  readonly #columns: readonly number[]
  readonly #offsetMayLack: boolean
  #at = 0

  constructor(signals: readonly Signal[], settings: ColumnSettings) {
    super(signals, settings)
    const { separator, origin, offset, sequence, offsetMayLack } = settings
    this.#separator = separator
    const has = [origin, origin, offset || offsetMayLack, sequence]
    this.#columns = [0, 1, 2, 3].filter((column) => has[column])
    this.#offsetMayLack = offsetMayLack
  }

  protected readLine(bytes: Uint8Array, from: number, end: number, samples: Samples, word: number): string | undefined {
    const { reader } = this
    const { u32, i32 } = samples
    const origin = word + SampleField.origin
    let flags = 0
    // Without a time the first column has its separator before it, too.
    this.#at = this.#columns[0] !== 0 && bytes[from] === this.#separator ? from + 1 : from
    for (let i = 0; i < this.#columns.length && this.#at < end; i++) {
      const column = this.#columns[i]!
      let at = this.#at
      while (at < end && isSpace(bytes[at]!) && bytes[at] !== this.#separator) at++
      if (column === offsetColumn && this.#offsetMayLack && !this.#isOffset(bytes, at, end)) continue
      if (isNan(bytes, at)) {
        reader.end = at + 3
      } else if (column === offsetColumn) {
        const offset = Math.fround(reader.float(bytes, at))
        if (reader.end === at || !Number.isFinite(offset)) return this.#bad(column, bytes, at, end)
        if (flags & SampleFlag.tsOrigin) {
          samples.setReceived(word, offset)
          flags |= SampleFlag.tsReceived
        }
      } else {
        if (!reader.integer(bytes, at, column < 2)) return this.#bad(column, bytes, at, end)
        const field = column === 3 ? word + SampleField.sequence : origin + 2 * column
        u32[field] = reader.low
        i32[field + 1] = reader.high
        if (column === 1) flags |= SampleFlag.tsOrigin
        else if (column === 3) flags |= SampleFlag.sequence
      }
      if (!this.#behind(bytes, reader.end, end)) return this.#bad(column, bytes, at, end)
    }
    const wrong = this.readValues(bytes, this.#at, end, samples, word, this.#separator)
    if (wrong !== undefined) return wrong
    if (u32[word + SampleField.length] !== 0) flags |= SampleFlag.data
    u32[word + SampleField.flags] = flags
    return undefined
  }

  /** True if the column that begins at `at` is an offset, and not the sequence number. */
  #isOffset(bytes: Uint8Array, at: number, end: number): boolean {
    if (!isNan(bytes, at)) return !this.#isWhole(bytes, at, end)
    const next = this.#next(bytes, at, end)
    return next < end && (isNan(bytes, next) || this.#isWhole(bytes, next, end))
  }

  #next(bytes: Uint8Array, at: number, end: number): number {
    while (at < end && bytes[at] !== this.#separator) at++
    return at + 1
  }

  /** True if there are only digits up to the separator. */
  #isWhole(bytes: Uint8Array, at: number, end: number): boolean {
    let digits = 0
    for (; at < end && bytes[at] !== this.#separator; at++) {
      const c = bytes[at]!
      if (c >= 0x30 && c <= 0x39) digits++
      else if (!isSpace(c)) return false
    }
    return digits > 0
  }

  /** Moves past the separator; returns false if there is something else. */
  #behind(bytes: Uint8Array, at: number, end: number): boolean {
    while (at < end && bytes[at] !== this.#separator && isSpace(bytes[at]!)) at++
    this.#at = at < end ? at + 1 : end
    return at >= end || bytes[at] === this.#separator
  }

  #bad(column: number, bytes: Uint8Array, at: number, end: number): string {
    return `column ${column + 1} is not ${columnNames[column]}: ${quoted(bytes, at, end)}`
  }
}

function isNan(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x6e && bytes[at + 1] === 0x61 && bytes[at + 2] === 0x6e
}

function headerOf(signals: readonly Signal[], settings: ColumnSettings): string {
  const separator = String.fromCharCode(settings.separator)
  const parts = [
    ...(settings.origin ? ['secs', 'nsecs'] : []),
    ...(settings.offset ? ['offset'] : []),
    ...(settings.sequence ? ['sequence'] : []),
  ].map((name) => name + separator)
  const names = settings.data ? headerNames(signals).join(separator) : ''
  return `${String.fromCharCode(settings.comment)} ${parts.join('')}${names}`
}

export class ColumnEncoder extends LineEncoder<ColumnSettings> {
  protected readonly separator: number

  constructor(signals: readonly Signal[], settings: ColumnSettings) {
    super(signals, settings, (named) => headerOf(named, settings))
    this.separator = settings.separator
  }

  protected writeHead(samples: Samples, word: number, out: Uint8Array, at: number): number {
    const { separator } = this
    const { origin, offset, sequence } = this.settings
    const { u32, i32 } = samples
    const flags = u32[word + SampleField.flags]!
    if (origin) {
      if (flags & SampleFlag.tsOrigin) {
        const time = word + SampleField.origin
        at = writeInt64(out, at, i32[time]!, i32[time + 1]!, true)
        out[at++] = separator
        at = writeNanoseconds(out, at, u32[time + 2]!)
      } else {
        at = writeText(out, at, 'nan')
        out[at++] = separator
        at = writeText(out, at, 'nan')
      }
    }
    if (offset) {
      out[at++] = separator
      at = flags & SampleFlag.tsReceived ? writeFixed(out, at, samples.offset(word), 0, 9) : writeText(out, at, 'nan')
    }
    if (sequence) {
      out[at++] = separator
      const field = word + SampleField.sequence
      at =
        flags & SampleFlag.sequence
          ? writeInt64(out, at, i32[field]!, i32[field + 1]!, false)
          : writeText(out, at, 'nan')
    }
    return at
  }
}
