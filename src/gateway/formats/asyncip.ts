/**
 * opal.asyncip: the messages that OPAL-RT's asynchronous process sends and receives, little-endian:
 *
 *     device          2
 *     sequence        4
 *     bytes of data   2
 *     data            8 for each value, floats, at most 64
 *
 * Samples have no times. Nothing marks where a message begins, so that nothing is read after a malformed one.
 */
import { Problems } from '../problems.ts'
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import type { Decoder, Encoder } from './codec.ts'
import { typesOf } from './values.ts'

const headerBytes = 8
const valueBytes = 8
const mostValues = 64

export class AsyncIpDecoder implements Decoder {
  readonly problems: Problems = new Problems()
  readonly #types: Uint8Array
  #offset = 0

  constructor(signals: readonly Signal[]) {
    this.#types = typesOf(signals)
  }

  decode(bytes: Uint8Array, from: number, samples: Samples, last: boolean): number {
    if (this.problems.fatal) return bytes.length
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = from
    while (samples.count < samples.capacity && at + headerBytes <= bytes.length) {
      const length = view.getUint16(at + 6, true)
      if (length % valueBytes !== 0 || length > mostValues * valueBytes)
        return this.#fatal(`${length} bytes of data are not up to ${mostValues} floats`, bytes)
      const end = at + headerBytes + length
      if (end > bytes.length) break
      this.#read(view, at, length / valueBytes, samples)
      this.#offset += end - at
      at = end
    }
    if (!last || at === bytes.length || samples.count === samples.capacity) return at
    return this.#fatal(`the input ends within a message, after ${bytes.length - at} bytes`, bytes)
  }

  #fatal(what: string, bytes: Uint8Array): number {
    this.problems.add(what, this.#offset)
    this.problems.fatal = true
    return bytes.length
  }

  #read(view: DataView, at: number, values: number, samples: Samples): void {
    const word = samples.word(samples.count++)
    const types = this.#types
    const count = Math.min(values, types.length)
    samples.clear(word)
    samples.u32[word + SampleField.sequence] = view.getUint32(at + 2, true)
    if (values > count) this.problems.surplus++
    for (let i = 0; i < count; i++) {
      const value = view.getFloat64(at + headerBytes + i * valueBytes, true)
      const to = word + SampleField.data + 2 * i
      const type = types[i]!
      if (type === SignalType.float) samples.f64[to >> 1] = value
      else if (type === SignalType.integer) samples.setInt64(to, Math.trunc(value) || 0)
      else if (type === SignalType.boolean) samples.u32[to] = value ? 1 : 0
      else samples.f32[to] = value
    }
    samples.u32[word + SampleField.length] = count
    samples.u32[word + SampleField.flags] = SampleFlag.sequence | (count > 0 ? SampleFlag.data : 0)
  }
}

export class AsyncIpEncoder implements Encoder {
  readonly bound: number
  readonly #types: Uint8Array
  readonly #device: number
  #view: DataView = new DataView(new ArrayBuffer(0))

  constructor(signals: readonly Signal[], device: number) {
    this.#types = typesOf(signals)
    this.#device = device
    this.bound = headerBytes + Math.min(signals.length, mostValues) * valueBytes
  }

  /** Encodes a sample. Values beyond the 64th are left out, as in VILLASnode. */
  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    const { u32, f64, f32 } = samples
    if (this.#view.buffer !== out.buffer) this.#view = new DataView(out.buffer)
    const view = this.#view
    const start = out.byteOffset + at
    const word = samples.word(index)
    const count = Math.min(u32[word + SampleField.length]!, mostValues)
    view.setUint16(start, this.#device, true)
    view.setUint32(start + 2, u32[word + SampleField.sequence]!, true)
    view.setUint16(start + 6, count * valueBytes, true)
    for (let i = 0; i < count; i++) {
      const from = word + SampleField.data + 2 * i
      const type = this.#types[i]!
      const value =
        type === SignalType.float
          ? f64[from >> 1]!
          : type === SignalType.integer
            ? samples.int64(from)
            : type === SignalType.boolean
              ? u32[from]!
              : f32[from]!
      view.setFloat64(start + headerBytes + i * valueBytes, value, true)
    }
    return at + headerBytes + count * valueBytes
  }
}
