/** Values as text, the same in all formats of lines: floats and complex numbers with a number of digits, integers, 0 and 1. */
import type { Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { writeFixed, writeInt64, writeText } from '../text/digits.ts'
import type { NumberReader } from '../text/number-reader.ts'

export function typesOf(signals: readonly Signal[]): Uint8Array {
  return Uint8Array.from(signals, ({ type }) => type)
}

/** Writes a value as `SignalData::printString` does. `word` is the value's first word. */
export function writeValue(
  out: Uint8Array,
  at: number,
  samples: Samples,
  word: number,
  type: number,
  precision: number,
): number {
  if (type === SignalType.float) return writeFixed(out, at, samples.f64, word >> 1, precision)
  if (type === SignalType.integer) return writeInt64(out, at, samples.i32[word]!, samples.i32[word + 1]!, true)
  if (type === SignalType.boolean) {
    out[at] = 0x30 + (samples.u32[word]! & 1)
    return at + 1
  }
  at = writeFixed(out, at, samples.f32, word, precision)
  at = writeFixed(out, at, samples.f32, word + 1, precision, true)
  return writeText(out, at, 'i')
}

/** Reads a value as `SignalData::parseString` does. True if there was a value, and `reader.end` is the position after it. */
export function readValue(
  reader: NumberReader,
  bytes: Uint8Array,
  from: number,
  samples: Samples,
  word: number,
  type: number,
): boolean {
  if (type === SignalType.float) return reader.floatInto(bytes, from, samples.f64, word >> 1)
  if (type === SignalType.complex) return readComplex(reader, bytes, from, samples, word)
  if (!reader.integer(bytes, from, true)) return false
  if (type === SignalType.integer) {
    samples.u32[word] = reader.low
    samples.i32[word + 1] = reader.high
  } else {
    samples.u32[word] = reader.low !== 0 || reader.high !== 0 ? 1 : 0
    samples.u32[word + 1] = 0
  }
  return true
}

/** Reads "1.5", "2i" or "1.5-2i", with i or j. */
function readComplex(reader: NumberReader, bytes: Uint8Array, from: number, samples: Samples, word: number): boolean {
  const { f32 } = samples
  if (!reader.floatInto(bytes, from, f32, word)) return false
  f32[word + 1] = 0
  const c = bytes[reader.end]
  if (isImaginary(c)) {
    f32[word + 1] = f32[word]!
    f32[word] = 0
    reader.end++
  } else if (c === 0x2b || c === 0x2d) {
    if (!reader.floatInto(bytes, reader.end, f32, word + 1) || !isImaginary(bytes[reader.end])) return false
    reader.end++
  }
  return true
}

function isImaginary(c: number | undefined): boolean {
  return c === 0x69 || c === 0x6a
}
