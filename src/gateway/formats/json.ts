/**
 * json: an object for each sample, as jansson writes it, one on each line; read with any white space.
 *
 *     {"ts": {"origin": [1553516817, 42435000]}, "sequence": 7, "data": [0.5, -1.0]}
 *
 * Members may be missing except "data". "flags" is an array of "new_simulation" and "new_frame"; complex values are objects with "real" and
 * "imag". VILLASnode reads "received" beside "origin", but does not write it; the setting ts_received does. A message of a network is an
 * array of such objects.
 *
 * JSON has no NaN and no infinities, and VILLASnode ends at anything that it does not expect among the values, null included. So "data"
 * ends before the first value that is not finite, and "rest", which other readers skip, has that value and those that follow:
 *
 *     {"sequence": 8, "data": [0.5], "rest": ["nan", -1.0, "-inf"]}
 */
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { writeInt64, writeJsonReal, writeText } from '../text/digits.ts'
import { type Encoder, type Framing, valueBound } from './codec.ts'
import type { JsonStyle } from './json-style.ts'
import type { TextSettings } from './text-settings.ts'
import { typesOf } from './values.ts'

export interface JsonSettings extends TextSettings, JsonStyle {
  received: boolean
  /** True if the samples of a message are an array. */
  array: boolean
}

type Member = 'ts' | 'flags' | 'sequence' | 'data' | 'rest'
const members: readonly Member[] = ['ts', 'flags', 'sequence', 'data', 'rest']

export class JsonEncoder implements Encoder {
  readonly bound: number
  readonly framing?: Framing
  readonly #types: Uint8Array
  readonly #settings: JsonSettings
  readonly #precision: number
  readonly #colon: string
  readonly #members: readonly Member[]
  /** Text between members, and before the first and after the last, for each depth. */
  readonly #commas: readonly string[]
  readonly #breaks: readonly string[]
  /** Depth of an object: 1 in the array of a message, else 0. */
  readonly #depth: number
  readonly #end: string

  constructor(signals: readonly Signal[], settings: JsonSettings) {
    const { sorted, array, colon, comma, lineBreak } = settings
    this.#types = typesOf(signals)
    this.#settings = settings
    // 0 is jansson's default.
    this.#precision = settings.precision || 17
    this.#members = sorted ? members.toSorted() : members
    this.#colon = colon
    this.#depth = array ? 1 : 0
    this.#breaks = Array.from({ length: 5 }, (_, depth) => lineBreak(depth))
    this.#commas = this.#breaks.map((line) => comma + line)
    this.#end = array ? '' : '\n'
    const longest = this.#commas.at(-1)!.length
    this.bound = 256 + 24 * longest + signals.length * (valueBound + 4 * longest)
    if (array)
      this.framing = {
        open: bytes(`[${this.#breaks[1]}`),
        between: bytes(this.#commas[1]!),
        close: bytes(`${this.#breaks[0]}]`),
      }
  }

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    const word = samples.word(index)
    const depth = this.#depth + 1
    out[at++] = 0x7b
    const start = at
    for (let i = 0; i < this.#members.length; i++) at = this.#member(out, at, start, samples, word, this.#members[i]!)
    if (at !== start) at = writeText(out, at, this.#breaks[depth - 1]!)
    out[at] = 0x7d
    return writeText(out, at + 1, this.#end)
  }

  #member(out: Uint8Array, at: number, start: number, samples: Samples, word: number, member: Member): number {
    const { u32, i32 } = samples
    const { origin, received, sequence, data } = this.#settings
    const flags = u32[word + SampleField.flags]!
    const depth = this.#depth + 1
    if (member === 'ts') {
      const hasOrigin = origin && (flags & SampleFlag.tsOrigin) !== 0
      const hasReceived = received && (flags & SampleFlag.tsReceived) !== 0
      if (!hasOrigin && !hasReceived) return at
      at = this.#key(out, at, start, depth, 'ts')
      out[at++] = 0x7b
      const times = at
      if (hasOrigin) at = this.#time(out, at, times, 'origin', samples, word + SampleField.origin)
      if (hasReceived) at = this.#time(out, at, times, 'received', samples, word + SampleField.received)
      at = writeText(out, at, this.#breaks[depth]!)
      out[at] = 0x7d
      return at + 1
    }
    if (member === 'flags') {
      const simulation = (flags & SampleFlag.newSimulation) !== 0
      const frame = (flags & SampleFlag.newFrame) !== 0
      if (!simulation && !frame) return at
      at = this.#open(out, this.#key(out, at, start, depth, 'flags'))
      if (simulation) at = writeText(out, at, '"new_simulation"')
      if (simulation && frame) at = writeText(out, at, this.#commas[depth + 1]!)
      if (frame) at = writeText(out, at, '"new_frame"')
      return this.#close(out, at)
    }
    if (member === 'sequence') {
      if (!sequence || (flags & SampleFlag.sequence) === 0) return at
      at = this.#key(out, at, start, depth, 'sequence')
      return writeInt64(out, at, i32[word + SampleField.sequence]!, i32[word + SampleField.sequence + 1]!, true)
    }
    if (!data) return at
    const length = u32[word + SampleField.length]!
    const finite = this.#finite(samples, word, length)
    const first = member === 'rest' ? finite : 0
    const end = member === 'rest' ? length : finite
    if (member === 'rest' && first === end) return at
    at = this.#key(out, at, start, depth, member)
    if (first === end) return writeText(out, at, '[]')
    at = this.#open(out, at)
    for (let i = first; i < end; i++) {
      if (i > first) at = writeText(out, at, this.#commas[depth + 1]!)
      at = this.#value(out, at, samples, word + SampleField.data + 2 * i, this.#types[i]!)
    }
    return this.#close(out, at)
  }

  /** Returns the number of values before the first that is not finite. */
  #finite({ f32, f64 }: Samples, word: number, length: number): number {
    const types = this.#types
    for (let i = 0, at = word + SampleField.data; i < length; i++, at += 2) {
      if (types[i] === SignalType.float && !Number.isFinite(f64[at >> 1])) return i
      if (types[i] === SignalType.complex && !(Number.isFinite(f32[at]) && Number.isFinite(f32[at + 1]))) return i
    }
    return length
  }

  /** Writes the opening bracket of an array that is a member. */
  #open(out: Uint8Array, at: number): number {
    out[at] = 0x5b
    return writeText(out, at + 1, this.#breaks[this.#depth + 2]!)
  }

  #close(out: Uint8Array, at: number): number {
    at = writeText(out, at, this.#breaks[this.#depth + 1]!)
    out[at] = 0x5d
    return at + 1
  }

  /** Writes a name and its colon. `start`: position of the object's first member. */
  #key(out: Uint8Array, at: number, start: number, depth: number, name: string): number {
    at = writeText(out, at, (at === start ? this.#breaks : this.#commas)[depth]!)
    out[at] = 0x22
    at = writeText(out, at + 1, name)
    out[at] = 0x22
    return writeText(out, at + 1, this.#colon)
  }

  #time(out: Uint8Array, at: number, start: number, name: string, samples: Samples, word: number): number {
    const { i32 } = samples
    const depth = this.#depth + 2
    at = this.#key(out, at, start, depth, name)
    out[at] = 0x5b
    at = writeText(out, at + 1, this.#breaks[depth + 1]!)
    at = writeInt64(out, at, i32[word]!, i32[word + 1]!, true)
    at = writeText(out, at, this.#commas[depth + 1]!)
    at = writeInt64(out, at, i32[word + 2]!, i32[word + 3]!, true)
    at = writeText(out, at, this.#breaks[depth]!)
    out[at] = 0x5d
    return at + 1
  }

  #value(out: Uint8Array, at: number, samples: Samples, word: number, type: number): number {
    if (type !== SignalType.complex) return writeJsonValue(out, at, samples, word, type, this.#precision)
    const { f32 } = samples
    const { sorted } = this.#settings
    const depth = this.#depth + 3
    out[at++] = 0x7b
    const start = at
    at = this.#key(out, at, start, depth, sorted ? 'imag' : 'real')
    at = writeJsonReal(out, at, f32, sorted ? word + 1 : word, this.#precision)
    at = this.#key(out, at, start, depth, sorted ? 'real' : 'imag')
    at = writeJsonReal(out, at, f32, sorted ? word : word + 1, this.#precision)
    at = writeText(out, at, this.#breaks[depth - 1]!)
    out[at] = 0x7d
    return at + 1
  }
}

/** Writes a value other than a complex number. */
function writeJsonValue(
  out: Uint8Array,
  at: number,
  { u32, i32, f64 }: Samples,
  word: number,
  type: number,
  precision: number,
): number {
  if (type === SignalType.float) return writeJsonReal(out, at, f64, word >> 1, precision)
  if (type === SignalType.integer) return writeInt64(out, at, i32[word]!, i32[word + 1]!, true)
  return writeText(out, at, u32[word] ? 'true' : 'false')
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
