/**
 * protobuf: the message of VILLASnode's villas.proto. As a repeated field may come in pieces, a stream of messages is one of samples:
 *
 *     Message    1 samples (Sample)
 *     Sample     1 type (1: data)   2 sequence   3 ts_origin, 4 ts_received (Timestamp)   5 new_frame   100 values (Value)
 *     Timestamp  1 sec   2 nsec
 *     Value      1 f (double)   2 i (int64)   3 b (bool)   4 z (Complex)
 *     Complex    1 real   2 imag (both float)
 *
 * VILLASnode neither writes nor reads ts_received; here it is read.
 */
import { Problems } from '../problems.ts'
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { type Signal, SignalType, signalTypeNames } from '../signals.ts'
import { type Decoder, type Encoder, longestRest } from './codec.ts'
import { typesOf } from './values.ts'
import { tagOf, Wire, WireReader, writeVarint } from './wire.ts'

const Tag = {
  sample: tagOf(1, Wire.bytes),
  type: tagOf(1, Wire.varint),
  sequence: tagOf(2, Wire.varint),
  origin: tagOf(3, Wire.bytes),
  received: tagOf(4, Wire.bytes),
  newFrame: tagOf(5, Wire.varint),
  value: tagOf(100, Wire.bytes),
  seconds: tagOf(1, Wire.varint),
  nanoseconds: tagOf(2, Wire.varint),
  float: tagOf(1, Wire.fixed64),
  integer: tagOf(2, Wire.varint),
  boolean: tagOf(3, Wire.varint),
  complex: tagOf(4, Wire.bytes),
  real: tagOf(1, Wire.fixed32),
  imaginary: tagOf(2, Wire.fixed32),
} as const

const dataType = 1
/** Tag and length of a sample. */
const headRoom = 6
const valueBytes = 16

export interface ProtobufSettings {
  origin: boolean
  sequence: boolean
}

export class ProtobufEncoder implements Encoder {
  readonly bound: number
  readonly #types: Uint8Array
  readonly #settings: ProtobufSettings
  #view: DataView = new DataView(new ArrayBuffer(0))

  constructor(signals: readonly Signal[], settings: ProtobufSettings) {
    this.#types = typesOf(signals)
    this.#settings = settings
    this.bound = 64 + signals.length * valueBytes
  }

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    if (this.#view.buffer !== out.buffer || this.#view.byteOffset !== out.byteOffset)
      this.#view = new DataView(out.buffer, out.byteOffset, out.byteLength)
    const word = samples.word(index)
    // The length comes first and is known last.
    const begin = at + headRoom
    const end = this.#sample(samples, word, out, begin)
    out[at] = Tag.sample
    const body = writeVarint(out, at + 1, end - begin)
    out.copyWithin(body, begin, end)
    return body + end - begin
  }

  #sample(samples: Samples, word: number, out: Uint8Array, at: number): number {
    const { u32, i32 } = samples
    const { origin, sequence } = this.#settings
    const flags = u32[word + SampleField.flags]!
    out[at++] = Tag.type
    out[at++] = dataType
    if (sequence && flags & SampleFlag.sequence) {
      out[at++] = Tag.sequence
      at = writeVarint(out, at, i32[word + SampleField.sequence]!, i32[word + SampleField.sequence + 1]!)
    }
    if (origin && flags & SampleFlag.tsOrigin) {
      out[at++] = Tag.origin
      const length = at++
      out[at++] = Tag.seconds
      at = writeVarint(out, at, i32[word + SampleField.origin]!)
      out[at++] = Tag.nanoseconds
      at = writeVarint(out, at, i32[word + SampleField.origin + 2]!)
      out[length] = at - length - 1
    }
    if (flags & SampleFlag.newFrame) {
      out[at++] = Tag.newFrame
      out[at++] = 1
    }
    const count = u32[word + SampleField.length]!
    for (let i = 0; i < count; i++) at = this.#value(samples, word + SampleField.data + 2 * i, this.#types[i]!, out, at)
    return at
  }

  #value({ u32, i32, f32, f64 }: Samples, word: number, type: number, out: Uint8Array, at: number): number {
    const view = this.#view
    out[at++] = (Tag.value & 0x7f) | 0x80
    out[at++] = Tag.value >> 7
    const length = at++
    if (type === SignalType.float) {
      out[at] = Tag.float
      view.setFloat64(at + 1, f64[word >> 1]!, true)
      at += 9
    } else if (type === SignalType.integer) {
      out[at] = Tag.integer
      at = writeVarint(out, at + 1, i32[word]!, i32[word + 1]!)
    } else if (type === SignalType.boolean) {
      out[at] = Tag.boolean
      out[at + 1] = u32[word] ? 1 : 0
      at += 2
    } else {
      out[at] = Tag.complex
      out[at + 1] = 10
      out[at + 2] = Tag.real
      view.setFloat32(at + 3, f32[word]!, true)
      out[at + 7] = Tag.imaginary
      view.setFloat32(at + 8, f32[word + 1]!, true)
      at += 12
    }
    out[length] = at - length - 1
    return at
  }
}

export class ProtobufDecoder implements Decoder {
  readonly problems: Problems = new Problems()
  readonly #types: Uint8Array
  readonly #reader = new WireReader()
  /** Word for reading floats: a field may not be aligned, and a view for each buffer would be garbage. */
  readonly #word = new Uint8Array(8)
  readonly #float64 = new Float64Array(this.#word.buffer)
  readonly #float32 = new Float32Array(this.#word.buffer)
  #offset = 0

  constructor(signals: readonly Signal[]) {
    this.#types = typesOf(signals)
  }

  decode(bytes: Uint8Array, from: number, samples: Samples, last: boolean): number {
    const reader = this.#reader
    const { length } = bytes
    let at = from
    while (samples.count < samples.capacity && at < length && !this.problems.fatal) {
      const tagged = reader.varint(bytes, at, length)
      const tag = reader.low
      const wire = tag & 7
      const valid = wire === Wire.varint || wire === Wire.fixed64 || wire === Wire.bytes || wire === Wire.fixed32
      if (tagged ? tag < 8 || reader.high !== 0 || !valid : length - at >= 10)
        return this.#end('no message: there is no field', length)
      const content = reader.at
      if (!tagged || !reader.skip(bytes, content, length, wire)) {
        if (last) return this.#end(`the input ends within a sample, of which there are ${length - at} bytes`, length)
        if (length - at > longestRest) return this.#end(`a sample of more than ${longestRest} bytes`, length)
        return at
      }
      const next = reader.at
      if (tag === Tag.sample) {
        reader.length(bytes, content, length)
        this.#readOne(bytes, reader.at, next, samples)
      }
      this.#offset += next - at
      at = next
    }
    return this.problems.fatal ? length : at
  }

  /** Ends the decoding: without the length of a sample, the beginning of the next one is unknown. */
  #end(what: string, length: number): number {
    this.problems.add(what, this.#offset)
    this.problems.fatal = true
    return length
  }

  #readOne(bytes: Uint8Array, from: number, end: number, samples: Samples): void {
    const word = samples.word(samples.count)
    samples.clear(word)
    const wrong = this.#sample(bytes, from, end, samples, word)
    if (wrong === undefined) samples.count++
    else this.problems.add(wrong, this.#offset)
  }

  /** Reads a sample; returns what is wrong with it, or undefined. */
  #sample(bytes: Uint8Array, from: number, end: number, samples: Samples, word: number): string | undefined {
    const reader = this.#reader
    const { u32 } = samples
    let flags = 0
    let count = 0
    let type = 0
    for (let at = from; at < end; at = reader.at) {
      if (!reader.varint(bytes, at, end)) return malformed
      const tag = reader.low
      if (tag === Tag.value) {
        if (!reader.length(bytes, reader.at, end)) return malformed
        const valueEnd = reader.at + reader.low
        if (count === this.#types.length) {
          if (count++ === this.#types.length) this.problems.surplus++
        } else if (count < this.#types.length) {
          const wrong = this.#value(bytes, reader.at, valueEnd, samples, word + SampleField.data + 2 * count, count)
          if (wrong !== undefined) return wrong
          count++
        }
        reader.at = valueEnd
      } else if (tag === Tag.sequence) {
        if (!reader.varint(bytes, reader.at, end)) return malformed
        u32[word + SampleField.sequence] = reader.low
        u32[word + SampleField.sequence + 1] = reader.high
        flags |= SampleFlag.sequence
      } else if (tag === Tag.origin || tag === Tag.received) {
        if (!reader.length(bytes, reader.at, end)) return malformed
        const field = tag === Tag.origin ? SampleField.origin : SampleField.received
        if (!this.#time(bytes, reader.at, reader.at + reader.low, samples, word + field)) return 'a time is malformed'
        flags |= tag === Tag.origin ? SampleFlag.tsOrigin : SampleFlag.tsReceived
      } else if (tag === Tag.type || tag === Tag.newFrame) {
        if (!reader.varint(bytes, reader.at, end)) return malformed
        if (tag === Tag.type) type = reader.low
        else if (reader.low !== 0 || reader.high !== 0) flags |= SampleFlag.newFrame
        else flags &= ~SampleFlag.newFrame
      } else if (!reader.skip(bytes, reader.at, end, tag & 7)) return malformed
    }
    if (type !== dataType) return type === 0 ? 'there is no type' : `its type is ${type}, not data (${dataType})`
    count = Math.min(count, this.#types.length)
    u32[word + SampleField.length] = count
    u32[word + SampleField.flags] = count > 0 ? flags | SampleFlag.data : flags
    return undefined
  }

  #time(bytes: Uint8Array, from: number, end: number, samples: Samples, word: number): boolean {
    const reader = this.#reader
    let has = 0
    for (let at = from; at < end; at = reader.at) {
      if (!reader.varint(bytes, at, end)) return false
      const tag = reader.low
      const isField = tag === Tag.seconds || tag === Tag.nanoseconds
      if (!reader.skip(bytes, reader.at, end, tag & 7)) return false
      if (!isField) continue
      samples.setInt64(tag === Tag.seconds ? word : word + 2, reader.low)
      has |= tag === Tag.seconds ? 1 : 2
    }
    reader.at = end
    return has === 3
  }

  #value(
    bytes: Uint8Array,
    from: number,
    end: number,
    samples: Samples,
    word: number,
    index: number,
  ): string | undefined {
    const reader = this.#reader
    const type = this.#types[index]!
    let found = -1
    for (let at = from; at < end; at = reader.at) {
      if (!reader.varint(bytes, at, end)) return malformed
      const tag = reader.low
      const content = reader.at
      if (!reader.skip(bytes, content, end, tag & 7)) return malformed
      if (tag === Tag.float) found = SignalType.float
      else if (tag === Tag.integer) found = SignalType.integer
      else if (tag === Tag.boolean) found = SignalType.boolean
      else if (tag === Tag.complex) found = SignalType.complex
      else continue
      if (found !== type) continue
      if (type === SignalType.float) samples.f64[word >> 1] = this.#double(bytes, content)
      else if (type === SignalType.complex) {
        if (!this.#complex(bytes, reader.at - reader.low, reader.at, samples, word)) return malformed
      } else {
        const isBoolean = type === SignalType.boolean
        samples.u32[word] = isBoolean ? Number(reader.low !== 0 || reader.high !== 0) : reader.low
        samples.u32[word + 1] = isBoolean ? 0 : reader.high
      }
    }
    if (found === type) return undefined
    const is = found < 0 ? 'nothing' : signalTypeNames[found]
    return `value ${index + 1} is ${is}, and should be ${signalTypeNames[type]}`
  }

  #double(bytes: Uint8Array, at: number): number {
    for (let i = 0; i < 8; i++) this.#word[i] = bytes[at + i]!
    return this.#float64[0]!
  }

  #complex(bytes: Uint8Array, from: number, end: number, samples: Samples, word: number): boolean {
    const reader = this.#reader
    let has = 0
    for (let at = from; at < end; at = reader.at) {
      if (!reader.varint(bytes, at, end)) return false
      const tag = reader.low
      const content = reader.at
      if (!reader.skip(bytes, content, end, tag & 7)) return false
      if (tag !== Tag.real && tag !== Tag.imaginary) continue
      for (let i = 0; i < 4; i++) this.#word[i] = bytes[content + i]!
      samples.f32[tag === Tag.real ? word : word + 1] = this.#float32[0]!
      has |= tag === Tag.real ? 1 : 2
    }
    reader.at = end
    return has === 3
  }
}

const malformed = 'a field is malformed'
