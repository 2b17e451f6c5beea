/** Samples from a stream of bytes in one format to another: in constant memory, as fast as its reader takes them. */
import type { Decoder, Encoder } from './formats/codec.ts'
import { Verdict } from './hooks/hook.ts'
import { Samples } from './samples.ts'
import { StreamBytes } from './stream-bytes.ts'

export interface ConvertOptions {
  /** Takes bytes; they are overwritten when it has returned, or its promise is fulfilled. */
  write(bytes: Uint8Array): void | Promise<void>
  /** Signals: values that a sample may have. */
  values: number
  /** Stage that samples pass on their way, usually hooks. Samples that it holds back come at the end. */
  between?: { process(samples: Samples, word: number): number; drain(samples: Samples, word: number): boolean }
  /** Samples that are read at once; 128. */
  batch?: number
}

const usualBatch = 128
const outputBytes = 1 << 18

/** Reads chunks into samples, and samples into bytes. */
export class Converter {
  /** Samples written. */
  samples = 0
  readonly #decoder: Decoder
  readonly #encoder: Encoder
  readonly #write: ConvertOptions['write']
  readonly #samples: Samples
  readonly #between: ConvertOptions['between']
  readonly #out: Uint8Array
  #filled = 0
  /** Bytes of the input that the decoder has left. */
  readonly #input = new StreamBytes(1 << 18)

  constructor(decoder: Decoder, encoder: Encoder, { write, values, between, batch = usualBatch }: ConvertOptions) {
    this.#decoder = decoder
    this.#encoder = encoder
    this.#write = write
    this.#between = between
    this.#samples = new Samples(batch, values)
    this.#out = new Uint8Array(outputBytes + encoder.bound)
  }

  async push(chunk: Uint8Array): Promise<void> {
    this.#input.append(chunk)
    await this.#convert(false)
  }

  /** Ends the conversion: there is no more input. */
  async end(): Promise<void> {
    await this.#convert(true)
    await this.drain()
  }

  /** Writes the samples that are held back; `end` does so, too. */
  async drain(): Promise<void> {
    while (this.#between?.drain(this.#samples, 0)) {
      if (this.#filled > outputBytes) await this.#flush()
      this.#encode(0)
    }
    await this.#flush()
  }

  async #convert(last: boolean): Promise<void> {
    const samples = this.#samples
    const { bytes } = this.#input
    let at = 0
    do {
      samples.count = 0
      at = this.#decoder.decode(bytes, at, samples, last)
      for (let i = 0; i < samples.count; i++) {
        if (this.#between !== undefined && this.#between.process(samples, samples.word(i)) !== Verdict.ok) continue
        if (this.#filled > outputBytes) await this.#flush()
        this.#encode(i)
      }
    } while (samples.count === samples.capacity)
    this.#input.drop(at)
    await this.#flush()
  }

  #encode(index: number): void {
    this.samples++
    this.#filled = this.#encoder.encode(this.#samples, index, this.#out, this.#filled)
  }

  async #flush(): Promise<void> {
    if (this.#filled === 0) return
    const bytes = this.#out.subarray(0, this.#filled)
    this.#filled = 0
    await this.#write(bytes)
  }
}
