/**
 * json: an object for each sample, as jansson writes it, one on each line; read with any white space.
 *
 *     {"ts": {"origin": [1553516817, 42435000]}, "sequence": 7, "data": [0.5, -1.0]}
 *
 * Members may be missing except "data". "flags" is an array of "new_simulation" and "new_frame"; complex values are objects with
 * "real" and "imag". VILLASnode reads "received" beside "origin", but does not write it; the setting ts_received does.
 */
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { writeInt64, writeJsonReal, writeText } from '../text/digits.ts'
import { type Encoder, valueBound } from './codec.ts'
import type { TextSettings } from './text-settings.ts'
import { typesOf } from './values.ts'

export interface JsonSettings extends TextSettings {
  received: boolean
  compact: boolean
}

export class JsonEncoder implements Encoder {
  readonly bound: number
  readonly #types: Uint8Array
  readonly #settings: JsonSettings
  readonly #precision: number
  readonly #comma: string
  readonly #colon: string

  constructor(signals: readonly Signal[], settings: JsonSettings) {
    this.#types = typesOf(signals)
    this.#settings = settings
    // 0 is jansson's default.
    this.#precision = settings.precision || 17
    this.#comma = settings.compact ? ',' : ', '
    this.#colon = settings.compact ? ':' : ': '
    this.bound = 256 + signals.length * valueBound
  }

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    const { u32, i32 } = samples
    const { origin, received, sequence, data } = this.#settings
    const word = samples.word(index)
    const flags = u32[word + SampleField.flags]!
    out[at++] = 0x7b
    const start = at
    const hasOrigin = origin && (flags & SampleFlag.tsOrigin) !== 0
    const hasReceived = received && (flags & SampleFlag.tsReceived) !== 0
    if (hasOrigin || hasReceived) {
      at = this.#key(out, at, start, 'ts')
      out[at++] = 0x7b
      const times = at
      if (hasOrigin) at = this.#time(out, this.#key(out, at, times, 'origin'), samples, word + SampleField.origin)
      if (hasReceived) at = this.#time(out, this.#key(out, at, times, 'received'), samples, word + SampleField.received)
      out[at++] = 0x7d
    }
    if (flags & (SampleFlag.newSimulation | SampleFlag.newFrame)) {
      at = writeText(out, this.#key(out, at, start, 'flags'), '[')
      if (flags & SampleFlag.newSimulation) at = writeText(out, at, '"new_simulation"')
      if ((flags & SampleFlag.newSimulation) !== 0 && flags & SampleFlag.newFrame) at = writeText(out, at, this.#comma)
      if (flags & SampleFlag.newFrame) at = writeText(out, at, '"new_frame"')
      out[at++] = 0x5d
    }
    if (sequence && flags & SampleFlag.sequence) {
      at = this.#key(out, at, start, 'sequence')
      at = writeInt64(out, at, u32[word + SampleField.sequence]!, i32[word + SampleField.sequence + 1]!, true)
    }
    if (data) {
      at = writeText(out, this.#key(out, at, start, 'data'), '[')
      const length = u32[word + SampleField.length]!
      for (let i = 0; i < length; i++) {
        if (i > 0) at = writeText(out, at, this.#comma)
        at = this.#value(out, at, samples, word + SampleField.data + 2 * i, this.#types[i]!)
      }
      out[at++] = 0x5d
    }
    out[at] = 0x7d
    out[at + 1] = 0x0a
    return at + 2
  }

  #key(out: Uint8Array, at: number, start: number, name: string): number {
    if (at !== start) at = writeText(out, at, this.#comma)
    out[at] = 0x22
    at = writeText(out, at + 1, name)
    out[at] = 0x22
    return writeText(out, at + 1, this.#colon)
  }

  #time(out: Uint8Array, at: number, samples: Samples, word: number): number {
    const { u32, i32 } = samples
    out[at] = 0x5b
    at = writeInt64(out, at + 1, u32[word]!, i32[word + 1]!, true)
    at = writeText(out, at, this.#comma)
    at = writeInt64(out, at, u32[word + 2]!, i32[word + 3]!, true)
    out[at] = 0x5d
    return at + 1
  }

  #value(out: Uint8Array, at: number, samples: Samples, word: number, type: number): number {
    const { u32, i32, f32, f64 } = samples
    if (type === SignalType.float) return writeJsonReal(out, at, f64[word >> 1]!, this.#precision)
    if (type === SignalType.integer) return writeInt64(out, at, u32[word]!, i32[word + 1]!, true)
    if (type === SignalType.boolean) return writeText(out, at, u32[word] ? 'true' : 'false')
    out[at++] = 0x7b
    const start = at
    at = writeJsonReal(out, this.#key(out, at, start, 'real'), f32[word]!, this.#precision)
    at = writeJsonReal(out, this.#key(out, at, start, 'imag'), f32[word + 1]!, this.#precision)
    out[at] = 0x7d
    return at + 1
  }
}
