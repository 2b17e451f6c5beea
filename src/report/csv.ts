/**
 * Raw timestamps as comma-separated values, one line for each message:
 *
 *     number,t_subm,t_recv,t_comp
 *     0,999999812,1000000143,1000000388    (received in the next second)
 *     1,20511,,                            (lost: neither received nor completed)
 *
 * t_subm is the `tv_nsec` of a clock, 0 to 999,999,999; the other two count from the second in which t_subm lies. A smaller
 * t_recv or t_comp is a `tv_nsec` that has wrapped, as in files of other programs.
 *
 * Reading is strict, because a damaged file that is read as numbers gives wrong latencies without notice:
 * the header must be there, each line has four fields of decimal digits, t_subm is below 1e9, and the file ends
 * with a line feed (one that does not was cut off, and its last number may have lost digits).
 */

import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { ReportError } from './errors.ts'
import { NSEC_PER_SEC } from './latencies.ts'

export const CSV_HEADER = 'number,t_subm,t_recv,t_comp'

/** Columns of one set; nanoseconds from the second in which t_subm lies, NaN where a timestamp is missing. */
export interface Timestamps {
  number: Float64Array
  tSubm: Float64Array
  tRecv: Float64Array
  tComp: Float64Array
}

/** Columns for `writeTimestamps`: any array-likes; without `number` the messages are numbered from 0. */
export interface TimestampColumns {
  number?: ArrayLike<number>
  tSubm: ArrayLike<number>
  tRecv: ArrayLike<number>
  tComp: ArrayLike<number>
}

const LINES_PER_WRITE = 4096
const BYTES_PER_READ = 1 << 20
const FIELDS = ['number', 't_subm', 't_recv', 't_comp'] as const

/**
 * Writes one set, a few thousand lines at a time.
 *
 * @throws ReportError ERR_REPORT_OPTION for columns of unequal length and for values that the format cannot hold
 */
export function writeTimestamps(path: string, columns: TimestampColumns): void {
  const { tSubm, tRecv, tComp, number } = columns
  const rows = tSubm.length
  if (tRecv.length !== rows || tComp.length !== rows || (number && number.length !== rows)) {
    throw new ReportError('ERR_REPORT_OPTION', `${path}: the columns have different lengths; give one value a message`)
  }
  const field = (value: number, row: number, name: string, most: number): string => {
    if (Number.isNaN(value)) return ''
    if (Number.isInteger(value) && value >= 0 && value <= most) return String(value)
    const what = `${name} of row ${row} is ${value}`
    throw new ReportError('ERR_REPORT_OPTION', `${path}: ${what}; it is a whole number from 0 to ${most}`)
  }
  writeLines(path, CSV_HEADER, rows, (i) => {
    const n = number ? number[i]! : i
    if (!Number.isSafeInteger(n) || n < 0)
      throw new ReportError('ERR_REPORT_OPTION', `${path}: number of row ${i} is ${n}; use whole numbers from 0`)
    const recv = field(tRecv[i]!, i, 't_recv', Number.MAX_SAFE_INTEGER)
    const comp = field(tComp[i]!, i, 't_comp', Number.MAX_SAFE_INTEGER)
    return `${n},${field(tSubm[i]!, i, 't_subm', NSEC_PER_SEC - 1)},${recv},${comp}`
  })
}

/** Writes round trips in nanoseconds, in the order in which they happened: `number,round_trip`. */
export function writeRoundTrips(path: string, roundTripsNs: ArrayLike<number>): void {
  writeLines(path, 'number,round_trip', roundTripsNs.length, (i) => `${i},${Math.round(roundTripsNs[i]!)}`)
}

/** Writes the time of each repetition in nanoseconds: `repetition,time`; empty where a message was lost (NaN). */
export function writeRepetitions(path: string, timesNs: ArrayLike<number>): void {
  const field = (ns: number): string => (Number.isNaN(ns) ? '' : String(Number(ns.toFixed(1))))
  writeLines(path, 'repetition,time', timesNs.length, (i) => `${i},${field(timesNs[i]!)}`)
}

function writeLines(path: string, header: string, rows: number, line: (row: number) => string): void {
  const fd = openSync(path, 'w')
  try {
    let chunk = `${header}\n`
    for (let i = 0; i < rows; i++) {
      chunk += `${line(i)}\n`
      if (i % LINES_PER_WRITE === LINES_PER_WRITE - 1) {
        writeAll(fd, chunk)
        chunk = ''
      }
    }
    writeAll(fd, chunk)
  } finally {
    closeSync(fd)
  }
}

export function csvField(value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value)
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function writeAll(fd: number, text: string): void {
  const bytes = new TextEncoder().encode(text)
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
}

/**
 * Reads one set.
 *
 * @throws ReportError ERR_REPORT_NO_RESULTS when the file cannot be opened, ERR_REPORT_CSV with file and line when it is damaged
 */
export function readTimestamps(path: string): Timestamps {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : (cause as Error).message
    throw new ReportError('ERR_REPORT_NO_RESULTS', `${path}: the raw timestamps cannot be read: ${why}`, { cause })
  }
  try {
    const parser = new TimestampParser(path)
    const bytes = new Uint8Array(BYTES_PER_READ)
    for (let n = readSync(fd, bytes); n > 0; n = readSync(fd, bytes)) parser.push(bytes, n)
    return parser.finish()
  } finally {
    closeSync(fd)
  }
}

/** Parses a byte at a time, so that a chunk may end anywhere: header, then digits, commas and line feeds. */
class TimestampParser {
  private readonly path: string
  private line = 1
  private headerDone = 0
  private field = 0
  private value = 0
  private digits = 0
  private returned = false
  private rows = 0
  private cells: Float64Array = new Float64Array(4 * 1024)

  constructor(path: string) {
    this.path = path
  }

  push(bytes: Uint8Array, length: number): void {
    for (let i = 0; i < length; i++) {
      const byte = bytes[i]!
      if (this.returned && byte !== 0x0a) this.damaged('a carriage return in the middle of this line')
      this.returned = byte === 0x0d
      // Lines that end in CR LF were written by a spreadsheet.
      if (this.returned) continue
      if (this.line === 1) this.header(byte)
      else if (byte >= 0x30 && byte <= 0x39) {
        this.value = this.value * 10 + (byte - 0x30)
        this.digits++
      } else if (byte === 0x2c) this.endField(false)
      else if (byte === 0x0a) this.endField(true)
      else this.damaged(`${showByte(byte)} in ${FIELDS[this.field]}, where only decimal digits may be`)
    }
  }

  finish(): Timestamps {
    if (this.line === 1) this.damaged(`the file ends before the header "${CSV_HEADER}" does`)
    if (this.field > 0 || this.digits > 0) this.damaged('the file ends in the middle of this line; it was cut off')
    const column = (field: number): Float64Array => {
      const values = new Float64Array(this.rows)
      for (let row = 0; row < this.rows; row++) values[row] = this.cells[4 * row + field]!
      return values
    }
    return { number: column(0), tSubm: column(1), tRecv: column(2), tComp: column(3) }
  }

  private header(byte: number): void {
    const expected = this.headerDone < CSV_HEADER.length ? CSV_HEADER.charCodeAt(this.headerDone) : 0x0a
    if (byte !== expected) this.damaged(`the header is not "${CSV_HEADER}"`)
    this.headerDone++
    if (byte === 0x0a) this.line = 2
  }

  private endField(endsLine: boolean): void {
    const name = FIELDS[this.field]
    if (endsLine && this.field < 3) this.damaged(`${this.field + 1} fields, where 4 are expected`)
    if (!endsLine && this.field === 3) this.damaged('more than 4 fields')
    if (this.field === 0) {
      if (this.digits === 0) this.damaged('no message number')
      if (!Number.isSafeInteger(this.value)) this.damaged('a message number above 2^53')
    } else if (!Number.isSafeInteger(this.value)) this.damaged(`${name} is above 2^53 nanoseconds`)
    else if (this.field === 1 && this.value >= NSEC_PER_SEC) this.damaged(`${name} is above 999999999 nanoseconds`)
    if (4 * this.rows + 4 > this.cells.length) {
      const larger = new Float64Array(this.cells.length * 2)
      larger.set(this.cells)
      this.cells = larger
    }
    this.cells[4 * this.rows + this.field] = this.digits === 0 ? Number.NaN : this.value
    this.value = 0
    this.digits = 0
    this.field++
    if (!endsLine) return
    this.field = 0
    this.rows++
    this.line++
  }

  private damaged(what: string): never {
    const advice = 'measure this set again, or delete the file to make the report without its histogram'
    throw new ReportError('ERR_REPORT_CSV', `${this.path}:${this.line}: ${what}; ${advice}`)
  }
}

function showByte(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16).padStart(2, '0')}`
}
