/**
 * raw: nothing but numbers of 8, 16, 32 or 64 bits, little- or big-endian. As nothing marks where a sample ends, a message is one
 * sample with the values that it has, and a stream is read as samples of all signals. With `fake`, three integers come first:
 * sequence number, seconds, nanoseconds. Floats and complex numbers need 32 or 64 bits.
 */
import { GatewayError } from '../errors.ts'
import { Problems } from '../problems.ts'
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import type { Decoder, Encoder } from './codec.ts'
import { typesOf } from './values.ts'

export interface RawSettings {
  bits: 8 | 16 | 32 | 64
  littleEndian: boolean
  fake: boolean
}

const fakeNumbers = 3

function checkTypes(signals: readonly Signal[], bits: number): void {
  const float = signals.find(({ type }) => type === SignalType.float || type === SignalType.complex)
  if (bits < 32 && float !== undefined)
    throw new GatewayError(
      'ERR_GATEWAY_FORMAT',
      `raw with ${bits} bits carries integers and booleans only, and ${float.name} is neither: choose 32 or 64 bits, or other types`,
    )
}

/** Numbers that a value is. */
function numbersOf(type: number): number {
  return type === SignalType.complex ? 2 : 1
}

/** Numbers in a sample of these signals. */
function numbersIn(signals: readonly Signal[], fake: boolean): number {
  return (fake ? fakeNumbers : 0) + signals.reduce((sum, { type }) => sum + numbersOf(type), 0)
}

export class RawDecoder implements Decoder {
  readonly problems: Problems = new Problems()
  readonly #types: Uint8Array
  readonly #settings: RawSettings
  readonly #sampleBytes: number
  /** True if messages of one sample each are decoded. */
  readonly #inMessages: boolean
  #offset = 0

  constructor(signals: readonly Signal[], settings: RawSettings, inMessages: boolean) {
    checkTypes(signals, settings.bits)
    this.#types = typesOf(signals)
    this.#settings = settings
    this.#sampleBytes = (numbersIn(signals, settings.fake) * settings.bits) / 8
    this.#inMessages = inMessages
  }

  decode(bytes: Uint8Array, from: number, samples: Samples, last: boolean): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (this.#inMessages) return this.#message(view, from, samples)
    let at = from
    while (samples.count < samples.capacity && at + this.#sampleBytes <= bytes.length) {
      this.#read(view, at, this.#types.length, samples)
      at += this.#sampleBytes
      this.#offset += this.#sampleBytes
    }
    const left = bytes.length - at
    if (!last || left === 0 || left >= this.#sampleBytes) return at
    this.problems.add(`the input ends within a sample: ${left} of ${this.#sampleBytes} bytes`, this.#offset)
    return bytes.length
  }

  /** Reads one sample, of the values that are there. */
  #message(view: DataView, from: number, samples: Samples): number {
    const end = view.byteLength
    if (samples.count === samples.capacity || from === end) return from
    const { bits, fake } = this.#settings
    const size = bits / 8
    const types = this.#types
    let left = (end - from) / size - (fake ? fakeNumbers : 0)
    let count = 0
    for (; count < types.length && left >= numbersOf(types[count]!); count++) left -= numbersOf(types[count]!)
    if (left < 0) this.problems.add(`a message of ${end - from} bytes, shorter than its header`, this.#offset)
    else if (left !== 0 && count < types.length)
      this.problems.add(`a message that ends within value ${count + 1}: ${end - from} bytes`, this.#offset)
    else if (!Number.isInteger(left))
      this.problems.add(`a message of ${end - from} bytes, which are no numbers of ${bits} bits`, this.#offset)
    else {
      if (left > 0) this.problems.surplus++
      this.#read(view, from, count, samples)
    }
    this.#offset += end - from
    return end
  }

  #read(view: DataView, from: number, count: number, samples: Samples): void {
    const { bits, littleEndian, fake } = this.#settings
    const { u32, f32, f64 } = samples
    const types = this.#types
    const size = bits / 8
    const word = samples.word(samples.count++)
    let at = from
    samples.clear(word)
    let flags: number = count > 0 ? SampleFlag.data : 0
    if (fake) {
      // 16 and 32 bits are unsigned here, 8 bits are not: so VILLASnode converts them.
      const fields = [SampleField.sequence, SampleField.origin, SampleField.origin + 2]
      for (let i = 0; i < fakeNumbers; i++, at += size)
        readInteger(view, at, bits, littleEndian, bits === 8, samples, word + fields[i]!)
      flags |= SampleFlag.sequence | SampleFlag.tsOrigin
    }
    for (let i = 0, to = word + SampleField.data; i < count; i++, to += 2) {
      const type = types[i]!
      if (type === SignalType.float) f64[to >> 1] = readFloat(view, at, bits, littleEndian)
      else if (type === SignalType.complex) {
        f32[to] = readFloat(view, at, bits, littleEndian)
        at += size
        f32[to + 1] = readFloat(view, at, bits, littleEndian)
      } else {
        readInteger(view, at, bits, littleEndian, true, samples, to)
        if (type === SignalType.boolean) {
          u32[to] = u32[to] !== 0 || u32[to + 1] !== 0 ? 1 : 0
          u32[to + 1] = 0
        }
      }
      at += size
    }
    u32[word + SampleField.length] = count
    u32[word + SampleField.flags] = flags
  }
}

function readFloat(view: DataView, at: number, bits: number, littleEndian: boolean): number {
  return bits === 32 ? view.getFloat32(at, littleEndian) : view.getFloat64(at, littleEndian)
}

function readInteger(
  view: DataView,
  at: number,
  bits: number,
  littleEndian: boolean,
  signed: boolean,
  samples: Samples,
  word: number,
): void {
  const { u32, i32 } = samples
  if (bits === 64) {
    u32[word] = view.getUint32(littleEndian ? at : at + 4, littleEndian)
    i32[word + 1] = view.getInt32(littleEndian ? at + 4 : at, littleEndian)
    return
  }
  i32[word] =
    bits === 8 ? view.getInt8(at) : bits === 16 ? view.getUint16(at, littleEndian) : view.getInt32(at, littleEndian)
  if (bits === 16 && signed) i32[word] = (i32[word]! << 16) >> 16
  i32[word + 1] = signed && i32[word]! < 0 ? -1 : 0
}

export class RawEncoder implements Encoder {
  readonly alone = true
  readonly bound: number
  readonly #types: Uint8Array
  readonly #settings: RawSettings
  #view: DataView = new DataView(new ArrayBuffer(0))

  constructor(signals: readonly Signal[], settings: RawSettings) {
    checkTypes(signals, settings.bits)
    this.#types = typesOf(signals)
    this.#settings = settings
    this.bound = (numbersIn(signals, settings.fake) * settings.bits) / 8
  }

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    const { bits, littleEndian, fake } = this.#settings
    if (this.#view.buffer !== out.buffer || this.#view.byteOffset !== out.byteOffset)
      this.#view = new DataView(out.buffer, out.byteOffset, out.byteLength)
    const view = this.#view
    const { u32, i32, f32, f64 } = samples
    const types = this.#types
    const size = bits / 8
    const word = samples.word(index)
    if (fake) {
      const time = word + SampleField.origin
      writeInteger(
        view,
        at,
        bits,
        littleEndian,
        u32[word + SampleField.sequence]!,
        i32[word + SampleField.sequence + 1]!,
      )
      writeInteger(view, at + size, bits, littleEndian, u32[time]!, i32[time + 1]!)
      writeInteger(view, at + 2 * size, bits, littleEndian, u32[time + 2]!, i32[time + 3]!)
      at += fakeNumbers * size
    }
    const length = u32[word + SampleField.length]!
    for (let i = 0, from = word + SampleField.data; i < length; i++, from += 2, at += size) {
      const type = types[i]!
      if (type === SignalType.float) writeFloat(view, at, bits, littleEndian, f64[from >> 1]!)
      else if (type === SignalType.complex) {
        writeFloat(view, at, bits, littleEndian, f32[from]!)
        at += size
        writeFloat(view, at, bits, littleEndian, f32[from + 1]!)
      } else writeInteger(view, at, bits, littleEndian, u32[from]!, i32[from + 1]!)
    }
    return at
  }
}

function writeFloat(view: DataView, at: number, bits: number, littleEndian: boolean, value: number): void {
  if (bits === 32) view.setFloat32(at, value, littleEndian)
  else view.setFloat64(at, value, littleEndian)
}

function writeInteger(
  view: DataView,
  at: number,
  bits: number,
  littleEndian: boolean,
  low: number,
  high: number,
): void {
  if (bits === 8) view.setInt8(at, low)
  else if (bits === 16) view.setInt16(at, low, littleEndian)
  else if (bits === 32) view.setInt32(at, low, littleEndian)
  else {
    view.setUint32(littleEndian ? at : at + 4, low, littleEndian)
    view.setInt32(littleEndian ? at + 4 : at, high, littleEndian)
  }
}
