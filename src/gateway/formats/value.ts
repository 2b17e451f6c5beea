/** value: a number on each line, and nothing else. A sample has one value. */

import { GatewayError } from '../errors.ts'
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { type Encoder, valueBound } from './codec.ts'
import { LineDecoder } from './lines.ts'
import { typesOf, writeValue } from './values.ts'

export class ValueDecoder extends LineDecoder {
  constructor(signals: readonly Signal[]) {
    super(signals.slice(0, 1), { delimiter: 0x0a })
  }

  protected readLine(bytes: Uint8Array, from: number, end: number, samples: Samples, word: number): string | undefined {
    const wrong = this.readValues(bytes, from, end, samples, word, 0)
    samples.u32[word + SampleField.flags] = SampleFlag.data
    return wrong
  }
}

export class ValueEncoder implements Encoder {
  readonly bound: number = valueBound
  readonly #types: Uint8Array
  readonly #precision: number

  constructor(signals: readonly Signal[], { precision }: { precision: number }) {
    this.#types = typesOf(signals)
    this.#precision = precision
  }

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    const word = samples.word(index)
    const length = samples.u32[word + SampleField.length]!
    if (length > 1)
      throw new GatewayError(
        'ERR_GATEWAY_FORMAT',
        `value carries one value, and a sample has ${length}: choose the first by one signal (for example: f), or another format`,
      )
    if (length === 0) return at
    at = writeValue(out, at, samples, word + SampleField.data, this.#types[0]!, this.#precision)
    out[at] = 0x0a
    return at + 1
  }
}
