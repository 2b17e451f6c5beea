/**
 * villas.binary (big-endian) and villas.web (little-endian): the message of VILLASnode's sockets.
 *
 *     byte 0   version (2) in the upper 4 bits, type (0, data) in 2, reserved in 2      8   seconds (u32)
 *          1   source index                                                           12   nanoseconds (u32)
 *          2   number of values (u16)                                                 16   values, 4 bytes each: f32 or u32
 *          4   sequence number (u32)
 *
 * Doubles lose precision, integers their upper half; there are no booleans and no complex numbers.
 */
import { GatewayError } from '../errors.ts'
import { Problems } from '../problems.ts'
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { type Signal, SignalType, signalTypeNames } from '../signals.ts'
import type { Decoder, Encoder } from './codec.ts'
import { typesOf } from './values.ts'

export interface MessageSettings {
  name: string
  littleEndian: boolean
  sourceIndex: number
  validateSourceIndex: boolean
}

const headerBytes = 16
const firstByte = 0x20

function checkTypes(name: string, signals: readonly Signal[]): void {
  const other = signals.find(({ type }) => type !== SignalType.float && type !== SignalType.integer)
  if (other !== undefined)
    throw new GatewayError(
      'ERR_GATEWAY_FORMAT',
      `${name} carries floats and integers only, and ${other.name} is ${signalTypeNames[other.type]}: choose another format, such as json`,
    )
}

export class MessageDecoder implements Decoder {
  readonly problems: Problems = new Problems()
  readonly #types: Uint8Array
  readonly #settings: MessageSettings
  #offset = 0

  constructor(signals: readonly Signal[], settings: MessageSettings) {
    checkTypes(settings.name, signals)
    this.#types = typesOf(signals)
    this.#settings = settings
  }

  decode(bytes: Uint8Array, from: number, samples: Samples, last: boolean): number {
    if (this.problems.fatal) return bytes.length
    const { littleEndian, sourceIndex, validateSourceIndex } = this.#settings
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = from
    while (samples.count < samples.capacity && at < bytes.length) {
      const complete = at + headerBytes <= bytes.length
      const length = complete ? view.getUint16(at + 2, littleEndian) : 0
      const end = at + headerBytes + 4 * length
      const wrong = bytes[at] !== firstByte
      if (wrong || !complete || end > bytes.length) {
        const left = bytes.length - at
        if (wrong)
          this.#end(`no message of version 2: it begins with 0x${bytes[at]!.toString(16).padStart(2, '0')}, not 0x20`)
        else if (last)
          this.#end(`the input ends within a message: ${left} of ${complete ? end - at : 'at least 16'} bytes`)
        else break
        return bytes.length
      }
      if (!validateSourceIndex || bytes[at + 1] === sourceIndex) this.#read(view, at, length, samples)
      this.#offset += end - at
      at = end
    }
    return at
  }

  /** Ends the decoding: without the length of a message, the beginning of the next one is unknown. */
  #end(what: string): void {
    this.problems.add(what, this.#offset)
    this.problems.fatal = true
  }

  #read(view: DataView, at: number, length: number, samples: Samples): void {
    const { littleEndian } = this.#settings
    const { u32, i32, f64 } = samples
    const types = this.#types
    const word = samples.word(samples.count++)
    let count = length
    if (count > types.length) {
      this.problems.surplus++
      count = types.length
    }
    u32[word + SampleField.length] = count
    u32[word + SampleField.flags] = SampleFlag.tsOrigin | SampleFlag.sequence | SampleFlag.data
    u32[word + SampleField.sequence] = view.getUint32(at + 4, littleEndian)
    i32[word + SampleField.sequence + 1] = 0
    const origin = word + SampleField.origin
    u32[origin] = view.getUint32(at + 8, littleEndian)
    i32[origin + 1] = 0
    u32[origin + 2] = view.getUint32(at + 12, littleEndian)
    i32[origin + 3] = 0
    let from = at + headerBytes
    for (let i = 0, to = word + SampleField.data; i < count; i++, from += 4, to += 2) {
      if (types[i] === SignalType.float) f64[to >> 1] = view.getFloat32(from, littleEndian)
      else {
        u32[to] = view.getUint32(from, littleEndian)
        i32[to + 1] = 0
      }
    }
  }
}

export class MessageEncoder implements Encoder {
  readonly bound: number
  readonly #types: Uint8Array
  readonly #settings: MessageSettings
  #view: DataView = new DataView(new ArrayBuffer(0))

  constructor(signals: readonly Signal[], settings: MessageSettings) {
    checkTypes(settings.name, signals)
    this.#types = typesOf(signals)
    this.#settings = settings
    this.bound = headerBytes + 4 * signals.length
  }

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    const { littleEndian, sourceIndex } = this.#settings
    if (this.#view.buffer !== out.buffer || this.#view.byteOffset !== out.byteOffset)
      this.#view = new DataView(out.buffer, out.byteOffset, out.byteLength)
    const view = this.#view
    const { u32, f64 } = samples
    const types = this.#types
    const word = samples.word(index)
    const length = u32[word + SampleField.length]!
    out[at] = firstByte
    out[at + 1] = sourceIndex
    view.setUint16(at + 2, length, littleEndian)
    view.setUint32(at + 4, u32[word + SampleField.sequence]!, littleEndian)
    view.setUint32(at + 8, u32[word + SampleField.origin]!, littleEndian)
    view.setUint32(at + 12, u32[word + SampleField.origin + 2]!, littleEndian)
    let to = at + headerBytes
    for (let i = 0, from = word + SampleField.data; i < length; i++, from += 2, to += 4) {
      if (types[i] === SignalType.float) view.setFloat32(to, f64[from >> 1]!, littleEndian)
      else view.setUint32(to, u32[from]!, littleEndian)
    }
    return to
  }
}
