/** Encoder common to the formats that have a line for each sample and the names of signals in a first line. */
import { SampleField, type Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { type Encoder, valueBound } from './codec.ts'
import type { LineSettings } from './lines.ts'
import type { TextSettings } from './text-settings.ts'
import { typesOf, writeValue } from './values.ts'

export abstract class LineEncoder<Settings extends TextSettings & LineSettings> implements Encoder {
  readonly bound: number
  protected readonly settings: Settings
  /** Character before each value. */
  protected abstract readonly separator: number
  readonly #signals: readonly Signal[]
  readonly #types: Uint8Array
  readonly #headerOf: (signals: readonly Signal[]) => string
  #needsHeader: boolean

  /** Makes an encoder. `headerOf` makes the first line, without its end. */
  constructor(signals: readonly Signal[], settings: Settings, headerOf: (signals: readonly Signal[]) => string) {
    this.settings = settings
    this.#signals = signals
    this.#types = typesOf(signals)
    this.#headerOf = headerOf
    this.#needsHeader = settings.header
    const headerBytes = settings.header ? this.#header(signals).length : 0
    this.bound = headerBytes + 128 + signals.length * valueBound
  }

  #header(signals: readonly Signal[]): Uint8Array {
    return new TextEncoder().encode(this.#headerOf(signals) + String.fromCharCode(this.settings.delimiter))
  }

  /** Writes the header. Of signals that were only assumed, it has those that the first sample has. */
  #writeHeader(length: number, out: Uint8Array, at: number): number {
    this.#needsHeader = false
    const header = this.#header(this.#signals.filter(({ assumed }, i) => !assumed || i < length))
    out.set(header, at)
    return at + header.length
  }

  /** Writes the fields before the values of the sample at `word`; returns the position of the values. */
  protected abstract writeHead(samples: Samples, word: number, out: Uint8Array, at: number): number

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    const word = samples.word(index)
    if (this.#needsHeader) at = this.#writeHeader(samples.u32[word + SampleField.length]!, out, at)
    at = this.writeHead(samples, word, out, at)
    at = this.#writeData(samples, word, out, at)
    out[at] = this.settings.delimiter
    return at + 1
  }

  #writeData(samples: Samples, word: number, out: Uint8Array, at: number): number {
    const { separator } = this
    const { data, precision } = this.settings
    if (!data) return at
    const types = this.#types
    const length = samples.u32[word + SampleField.length]!
    for (let i = 0; i < length; i++) {
      out[at++] = separator
      at = writeValue(out, at, samples, word + SampleField.data + 2 * i, types[i]!, precision)
    }
    return at
  }
}
