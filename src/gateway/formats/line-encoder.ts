/** What the formats write alike that have a line for each sample and names of signals in a first one. */
import { SampleField, type Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { type Encoder, valueBound } from './codec.ts'
import type { LineSettings } from './lines.ts'
import type { TextSettings } from './text-settings.ts'
import { typesOf, writeValue } from './values.ts'

export abstract class LineEncoder<Settings extends TextSettings & LineSettings> implements Encoder {
  readonly bound: number
  protected readonly settings: Settings
  /** Before each value. */
  protected abstract readonly separator: number
  readonly #types: Uint8Array
  /** Until it is written. */
  #header: Uint8Array | undefined

  /** `header` is the first line, without its end. */
  constructor(signals: readonly Signal[], settings: Settings, header: string) {
    this.settings = settings
    this.#types = typesOf(signals)
    if (settings.header) this.#header = new TextEncoder().encode(header + String.fromCharCode(settings.delimiter))
    this.bound = (this.#header?.length ?? 0) + 128 + signals.length * valueBound
  }

  /** Writes what comes before the values of the sample at `word`; returns where they come. */
  protected abstract writeHead(samples: Samples, word: number, out: Uint8Array, at: number): number

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    if (this.#header !== undefined) {
      out.set(this.#header, at)
      at += this.#header.length
      this.#header = undefined
    }
    const word = samples.word(index)
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
