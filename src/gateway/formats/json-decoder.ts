/**
 * Reads the samples of the format json, objects or arrays of them: first the end of an object is found, byte by byte and across chunks,
 * then the object is parsed from its bytes. A malformed object is counted and skipped; one that is cut off by a line break and a `{` at the
 * beginning of a line ends there, so that a truncated line costs one sample and not all that follow.
 */
import { Problems } from '../problems.ts'
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import { type Signal, SignalType, signalTypeNames } from '../signals.ts'
import { NumberReader } from '../text/number-reader.ts'
import { type Decoder, longestRest } from './codec.ts'
import { quoted } from './lines.ts'
import { typesOf } from './values.ts'

const open = 0x7b
const close = 0x7d
const openList = 0x5b
const closeList = 0x5d
const quote = 0x22
const newline = 0x0a

/** Exception by which the parser discards a sample; a single object, since all of the input may be malformed. */
class Malformed {
  what = ''
}
const malformed = new Malformed()
/** Destination of numbers that do not matter. */
const unused = new Float64Array(1)

function fail(what: string): never {
  malformed.what = what
  throw malformed
}

const deepest = 64

export class JsonDecoder implements Decoder {
  readonly problems: Problems = new Problems()
  readonly #reader = new NumberReader()
  readonly #types: Uint8Array
  #offset = 0
  #line = 1
  /** State of an object that is not complete yet: bytes scanned, depth of brackets, whether within a string. */
  #scanned = 0
  #depth = 0
  #inString = false
  #escaped = false
  #lines = 0
  /** True while skipping, up to the next line that begins with an object. */
  #lost = false
  /** True within the array that a message consists of. */
  #inArray = false
  #bytes: Uint8Array = new Uint8Array(0)
  #at = 0
  /** Position and length of the last string. */
  #keyAt = 0
  #keyLength = 0

  constructor(signals: readonly Signal[]) {
    this.#types = typesOf(signals)
  }

  decode(bytes: Uint8Array, from: number, samples: Samples, last: boolean): number {
    let at = from
    while (samples.count < samples.capacity && at < bytes.length) {
      if (this.#scanned === 0) {
        const begin = this.#begin(bytes, at)
        this.#offset += begin - at
        at = begin
        if (at === bytes.length) break
      }
      const end = this.#end(bytes, at)
      if (end > 0) {
        if (this.#depth === 0) this.#readOne(bytes, at, end, samples)
        else this.#add('an object that is cut off: the next line begins another one')
      } else if (last) this.#add('the input ends within an object')
      else if (bytes.length - at > longestRest) {
        this.#add(`an object of more than ${longestRest} bytes`)
        this.#lost = true
      } else return at
      const next = end > 0 ? end : bytes.length
      this.#offset += next - at
      this.#line += this.#lines
      at = next
      this.#scanned = this.#depth = this.#lines = 0
      this.#inString = this.#escaped = false
    }
    // After the end of a message, another one begins.
    if (last && at === bytes.length) {
      if (this.#inArray && !this.#lost) this.#add('the input ends within an array')
      this.#lost = this.#inArray = false
    }
    return at
  }

  #add(what: string): void {
    this.problems.add(what, this.#offset, this.#line)
  }

  /**
   * Returns the position of the next `{`. Any other text but white space and the brackets and commas of an array is a problem, and skipped
   * up to the end of its line.
   */
  #begin(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const c = bytes[at]!
      if (c === newline) {
        this.#line++
        this.#lost = false
      } else if (this.#lost) continue
      else if (c === open) return at
      else if (c === openList && !this.#inArray) this.#inArray = true
      else if (c === closeList && this.#inArray) this.#inArray = false
      else if (c === 0x2c && this.#inArray) continue
      else if (c !== 0x20 && c !== 0x09 && c !== 0x0d) {
        this.problems.add(
          `no object: it begins with ${quoted(bytes, at, at + 1)}`,
          this.#offset + at - from,
          this.#line,
        )
        this.#lost = true
      }
    }
    return bytes.length
  }

  /** Returns the position after the object that begins at `from`; −1 if it is not complete. With a depth above 0 it is cut off there. */
  #end(bytes: Uint8Array, from: number): number {
    for (let at = from + this.#scanned; at < bytes.length; at++) {
      const c = bytes[at]!
      if (c === newline) this.#lines++
      if (this.#lines > 0 && c === open && bytes[at - 1] === newline && at > from) return at
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (c === 0x5c) this.#escaped = true
        else if (c === quote) this.#inString = false
      } else if (c === quote) this.#inString = true
      else if (c === open || c === 0x5b) this.#depth++
      else if ((c === close || c === 0x5d) && --this.#depth === 0) return at + 1
    }
    this.#scanned = bytes.length - from
    return -1
  }

  #readOne(bytes: Uint8Array, from: number, end: number, samples: Samples): void {
    const word = samples.word(samples.count)
    samples.clear(word)
    this.#bytes = bytes
    this.#at = from
    try {
      this.#sample(samples, word)
      if (this.#at !== end) fail('the brackets do not match')
      samples.count++
    } catch (error) {
      if (error !== malformed) throw error
      this.#add(malformed.what)
    }
  }

  #sample(samples: Samples, word: number): void {
    const { u32 } = samples
    const flag = word + SampleField.flags
    let data = false
    let rest = -1
    for (let more = this.#first(open, close); more; more = this.#more(close)) {
      this.#key()
      if (this.#isKey('ts')) this.#times(samples, word)
      else if (this.#isKey('flags')) u32[flag] = u32[flag]! | this.#flags()
      else if (this.#isKey('sequence')) {
        this.#integer(samples, word + SampleField.sequence, 'sequence', 0)
        // From 2^63 on jansson, and so the encoder, writes it as a negative integer.
        u32[flag] = u32[flag]! | SampleFlag.sequence
      } else if (this.#isKey('data')) {
        data = true
        u32[word + SampleField.length] = 0
        this.#data(samples, word)
      } else {
        if (this.#isKey('rest') && this.#bytes[this.#at] === openList) rest = this.#at
        this.#skip(0)
      }
    }
    if (!data) fail('there is no "data"')
    if (rest < 0) return
    // Wherever it stands, its values follow those of "data".
    const end = this.#at
    this.#at = rest
    this.#data(samples, word)
    this.#at = end
  }

  #times(samples: Samples, word: number): void {
    for (let more = this.#first(open, close); more; more = this.#more(close)) {
      this.#key()
      if (this.#isKey('origin')) this.#time(samples, word, word + SampleField.origin, SampleFlag.tsOrigin)
      else if (this.#isKey('received')) this.#time(samples, word, word + SampleField.received, SampleFlag.tsReceived)
      else this.#skip(0)
    }
  }

  #flags(): number {
    let flags = 0
    for (let more = this.#first(openList, closeList); more; more = this.#more(closeList)) {
      this.#string()
      if (this.#isKey('new_frame')) flags |= SampleFlag.newFrame
      else if (this.#isKey('new_simulation')) flags |= SampleFlag.newSimulation
    }
    return flags
  }

  /** Reads values, which follow those that the sample has. */
  #data(samples: Samples, word: number): void {
    const types = this.#types
    let count = samples.u32[word + SampleField.length]!
    let surplus = false
    for (let more = this.#first(openList, closeList); more; more = this.#more(closeList)) {
      if (count === types.length) {
        surplus = true
        this.#skip(0)
      } else {
        this.#value(samples, word + SampleField.data + 2 * count, types[count]!, count + 1)
        count++
      }
    }
    if (surplus) this.problems.surplus++
    samples.u32[word + SampleField.length] = count
    if (count > 0) samples.u32[word + SampleField.flags]! |= SampleFlag.data
  }

  /** Reads a value. `number`: which value it is, from 1 on. */
  #value(samples: Samples, word: number, type: number, number: number): void {
    if (type === SignalType.float) this.#float(samples.f64, word >> 1, number)
    else if (type === SignalType.integer) this.#integer(samples, word, 'value', number)
    else if (type === SignalType.boolean) {
      const c = this.#bytes[this.#at]
      if (c !== 0x74 && c !== 0x66) fail(`value ${number} is not a ${signalTypeNames[type]}`)
      this.#skip(0)
      samples.u32[word] = c === 0x74 ? 1 : 0
      samples.u32[word + 1] = 0
    } else {
      let parts = 0
      if (this.#bytes[this.#at] !== open) fail(`value ${number} is not a complex number`)
      for (let more = this.#first(open, close); more; more = this.#more(close)) {
        this.#key()
        const real = this.#isKey('real')
        if (!real && !this.#isKey('imag')) this.#skip(0)
        else {
          parts |= real ? 1 : 2
          this.#float(samples.f32, real ? word : word + 1, number)
        }
      }
      if (parts !== 3) fail(`value ${number} is not a complex number: it needs "real" and "imag"`)
    }
  }

  /**
   * Reads a number into `out[index]`; null, which many programs write for NaN, is one. `number`: of the value, from 1 on; 0: of one that
   * does not matter.
   */
  #float(out: Float64Array | Float32Array, index: number, number: number): void {
    const c = this.#bytes[this.#at]!
    if (c === 0x6e) {
      this.#word('null')
      out[index] = Number.NaN
    } else if (c === quote) {
      this.#string()
      if (this.#isKey('nan')) out[index] = Number.NaN
      else if (this.#isKey('inf')) out[index] = Number.POSITIVE_INFINITY
      else if (this.#isKey('-inf')) out[index] = Number.NEGATIVE_INFINITY
      else fail(`value ${number} is not a number`)
    } else {
      const digit = c === 0x2d ? this.#bytes[this.#at + 1]! : c
      if (!(digit >= 0x30 && digit <= 0x39) || !this.#reader.floatInto(this.#bytes, this.#at, out, index))
        fail(`${number === 0 ? 'a value' : `value ${number}`} is not a number`)
      this.#at = this.#reader.end
    }
  }

  /** Reads an integer. `name`, and `number` unless it is 0, identify it in messages. */
  #integer(samples: Samples, word: number, name: string, number: number): void {
    const reader = this.#reader
    const c = this.#bytes[this.#at]
    const isInteger = c !== 0x2b && reader.integer(this.#bytes, this.#at, true)
    const next = this.#bytes[reader.end]
    if (!isInteger || next === 0x2e || next === 0x65 || next === 0x45)
      fail(`${name}${number === 0 ? '' : ` ${number}`} is not an integer`)
    this.#at = reader.end
    samples.u32[word] = reader.low
    samples.i32[word + 1] = reader.high
  }

  #time(samples: Samples, word: number, field: number, flag: number): void {
    let count = 0
    for (let more = this.#first(openList, closeList); more; more = this.#more(closeList)) {
      if (count === 2) fail('a time has more than two numbers')
      this.#integer(samples, field + 2 * count++, 'a time', 0)
    }
    if (count < 2) fail('a time has fewer than two numbers')
    samples.u32[word + SampleField.flags]! |= flag
  }

  #space(): number {
    for (;;) {
      const c = this.#bytes[this.#at]!
      if (c !== 0x20 && c !== newline && c !== 0x09 && c !== 0x0d) return c
      this.#at++
    }
  }

  #expect(c: number): void {
    if (this.#space() !== c) fail(`'${String.fromCharCode(c)}' is missing`)
    this.#at++
  }

  /** Moves past an opening bracket, to the first element or member; returns false if there is none, and the bracket was closed. */
  #first(opening: number, closing: number): boolean {
    this.#expect(opening)
    if (this.#space() !== closing) return true
    this.#at++
    return false
  }

  /** Moves to the next element or member; returns false if there is none, and the bracket was closed. */
  #more(closing: number): boolean {
    if (this.#space() === 0x2c) {
      this.#at++
      this.#space()
      return true
    }
    this.#expect(closing)
    return false
  }

  /** Reads a name and its colon. */
  #key(): void {
    this.#string()
    this.#expect(0x3a)
    this.#space()
  }

  /**
   * Reads a string, against which `isKey` compares afterwards. Names that matter have no escapes; escapes of other names are not decoded.
   */
  #string(): void {
    this.#expect(quote)
    this.#keyAt = this.#at
    while (this.#bytes[this.#at] !== quote) {
      if (this.#bytes[this.#at] === 0x5c) this.#at++
      if (++this.#at >= this.#bytes.length) fail('a string has no end')
    }
    this.#keyLength = this.#at++ - this.#keyAt
  }

  #isKey(name: string): boolean {
    if (this.#keyLength !== name.length) return false
    for (let i = 0; i < name.length; i++) if (this.#bytes[this.#keyAt + i] !== name.charCodeAt(i)) return false
    return true
  }

  /** Skips a value of any type. */
  #skip(depth: number): void {
    if (depth > deepest) fail(`more than ${deepest} brackets within each other`)
    const c = this.#space()
    if (c === open || c === openList) this.#skipAll(c, depth + 1)
    else if (c === quote) this.#string()
    else if (c === 0x74) this.#word('true')
    else if (c === 0x66) this.#word('false')
    else if (c === 0x6e) this.#word('null')
    else this.#float(unused, 0, 0)
  }

  #skipAll(opening: number, depth: number): void {
    const closing = opening === open ? close : closeList
    for (let more = this.#first(opening, closing); more; more = this.#more(closing)) {
      if (opening === open) this.#key()
      this.#skip(depth)
    }
  }

  #word(word: string): void {
    for (let i = 0; i < word.length; i++)
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i))
        fail(`something that is no JSON: ${quoted(this.#bytes, this.#at, this.#at + word.length)}`)
    this.#at += word.length
  }
}
