/**
 * Reads the samples of the format json: first the end of an object is found, byte by byte and across chunks, then the object is
 * parsed from its bytes. A malformed object is counted and skipped; one that a line break and a `{` at the begin of a line cut off
 * ends there, so that a truncated line costs one sample and not all that follow.
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
const quote = 0x22
const newline = 0x0a

/** What the parser throws away a sample with; one for all, since input may be nothing but malformed. */
class Malformed {
  what = ''
}
const malformed = new Malformed()

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
  /** Of the object that is not complete yet: bytes that were looked at, depth of brackets, whether within a string. */
  #scanned = 0
  #depth = 0
  #inString = false
  #escaped = false
  #lines = 0
  /** Skipping, up to the next line that begins with an object. */
  #lost = false
  #bytes: Uint8Array = new Uint8Array(0)
  #at = 0

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
    // What comes after the end of a message is another one.
    if (last && at === bytes.length) this.#lost = false
    return at
  }

  #add(what: string): void {
    this.problems.add(what, this.#offset, this.#line)
  }

  /** The next `{`; anything else but white space is a problem, and skipped up to the end of its line. */
  #begin(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const c = bytes[at]!
      if (c === newline) {
        this.#line++
        this.#lost = false
      } else if (this.#lost) continue
      else if (c === open) return at
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

  /** Behind the object that begins at `from`; −1 if it is not complete. With a depth above 0 it is cut off there. */
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
    let data = false
    this.#members((key) => {
      if (key === 'ts') {
        this.#members((name) => {
          if (name === 'origin') this.#time(samples, word, word + SampleField.origin, SampleFlag.tsOrigin)
          else if (name === 'received') this.#time(samples, word, word + SampleField.received, SampleFlag.tsReceived)
          else this.#skip(0)
        })
      } else if (key === 'flags') {
        this.#elements(() => {
          const flag = this.#string()
          if (flag === 'new_frame') u32[word + SampleField.flags]! |= SampleFlag.newFrame
          else if (flag === 'new_simulation') u32[word + SampleField.flags]! |= SampleFlag.newSimulation
        })
      } else if (key === 'sequence') {
        this.#integer(samples, word + SampleField.sequence, key)
        if (samples.i32[word + SampleField.sequence + 1]! < 0) fail('sequence is negative')
        u32[word + SampleField.flags]! |= SampleFlag.sequence
      } else if (key === 'data') {
        data = true
        this.#data(samples, word)
      } else this.#skip(0)
    })
    if (!data) fail('there is no "data"')
  }

  #data(samples: Samples, word: number): void {
    const types = this.#types
    let count = 0
    let surplus = false
    this.#elements(() => {
      if (count === types.length) {
        surplus = true
        this.#skip(0)
        return
      }
      this.#value(samples, word + SampleField.data + 2 * count, types[count]!, count + 1)
      count++
    })
    if (surplus) this.problems.surplus++
    samples.u32[word + SampleField.length] = count
    if (count > 0) samples.u32[word + SampleField.flags]! |= SampleFlag.data
  }

  #value(samples: Samples, word: number, type: number, number: number): void {
    if (type === SignalType.float) samples.f64[word >> 1] = this.#number(`value ${number}`)
    else if (type === SignalType.integer) this.#integer(samples, word, `value ${number}`)
    else if (type === SignalType.boolean) {
      const c = this.#bytes[this.#at]
      if (c !== 0x74 && c !== 0x66) fail(`value ${number} is not a ${signalTypeNames[type]}`)
      this.#skip(0)
      samples.u32[word] = c === 0x74 ? 1 : 0
      samples.u32[word + 1] = 0
    } else {
      let parts = 0
      if (this.#bytes[this.#at] !== open) fail(`value ${number} is not a complex number`)
      this.#members((key) => {
        if (key !== 'real' && key !== 'imag') return this.#skip(0)
        parts |= key === 'real' ? 1 : 2
        samples.f32[key === 'real' ? word : word + 1] = this.#number(`value ${number}`)
      })
      if (parts !== 3) fail(`value ${number} is not a complex number: it needs "real" and "imag"`)
    }
  }

  /** null is what the encoder writes for NaN. */
  #number(name: string): number {
    if (this.#bytes[this.#at] === 0x6e) {
      this.#word('null')
      return Number.NaN
    }
    const c = this.#bytes[this.#at]!
    const digit = c === 0x2d ? this.#bytes[this.#at + 1]! : c
    const value = this.#reader.float(this.#bytes, this.#at)
    if (!(digit >= 0x30 && digit <= 0x39) || this.#reader.end === this.#at) fail(`${name} is not a number`)
    this.#at = this.#reader.end
    return value
  }

  #integer(samples: Samples, word: number, name: string): void {
    const reader = this.#reader
    const c = this.#bytes[this.#at]
    if (c === 0x2b || !reader.integer(this.#bytes, this.#at, true)) fail(`${name} is not an integer`)
    const next = this.#bytes[reader.end]
    if (next === 0x2e || next === 0x65 || next === 0x45) fail(`${name} is not an integer`)
    this.#at = reader.end
    samples.u32[word] = reader.low
    samples.i32[word + 1] = reader.high
  }

  #time(samples: Samples, word: number, field: number, flag: number): void {
    let count = 0
    this.#elements(() => {
      if (count === 2) fail('a time has more than two numbers')
      this.#integer(samples, field + 2 * count++, 'a time')
    })
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

  #members(member: (key: string) => void): void {
    this.#expect(open)
    if (this.#space() !== close) {
      for (;;) {
        this.#space()
        const key = this.#string()
        this.#expect(0x3a)
        this.#space()
        member(key)
        if (this.#space() !== 0x2c) break
        this.#at++
      }
    }
    this.#expect(close)
  }

  #elements(element: () => void): void {
    this.#expect(0x5b)
    if (this.#space() !== 0x5d) {
      for (;;) {
        this.#space()
        element()
        if (this.#space() !== 0x2c) break
        this.#at++
      }
    }
    this.#expect(0x5d)
  }

  /** Names that matter are short and have no escapes: those of others need not be right. */
  #string(): string {
    this.#expect(quote)
    const start = this.#at
    while (this.#bytes[this.#at] !== quote) {
      if (this.#bytes[this.#at] === 0x5c) this.#at++
      if (++this.#at >= this.#bytes.length) fail('a string has no end')
    }
    const end = this.#at++
    let text = ''
    for (let i = start; i < end && i < start + 32; i++) text += String.fromCharCode(this.#bytes[i]!)
    return text
  }

  /** Any value. */
  #skip(depth: number): void {
    if (depth > deepest) fail(`more than ${deepest} brackets within each other`)
    const c = this.#space()
    if (c === open) this.#members(() => this.#skip(depth + 1))
    else if (c === 0x5b) this.#elements(() => this.#skip(depth + 1))
    else if (c === quote) this.#string()
    else if (c === 0x74) this.#word('true')
    else if (c === 0x66) this.#word('false')
    else if (c === 0x6e) this.#word('null')
    else this.#number('a value')
  }

  #word(word: string): void {
    for (let i = 0; i < word.length; i++)
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i))
        fail(`something that is no JSON: ${quoted(this.#bytes, this.#at, this.#at + word.length)}`)
    this.#at += word.length
  }
}
