/**
 * print: writes samples in any format, to a file, or with `prefix` and the name of the node or path before each to standard output.
 */

import type { Encoder } from '../formats/codec.ts'
import { formatOf } from '../formats/registry.ts'
import { Samples } from '../samples.ts'
import type { Settings } from '../settings.ts'
import type { Signal } from '../signals.ts'
import { copySample } from '../words.ts'
import { type Hook, type HookContext, type HookOutput, type HookType, usualPriority, Verdict } from './hook.ts'

class Print implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #encoder: Encoder
  readonly #path: string
  readonly #prefix: Uint8Array
  readonly #out: Uint8Array
  readonly #sample: Samples
  #output: HookOutput | undefined

  constructor(context: HookContext, encoder: Encoder, path: string, prefix: string) {
    this.signals = context.signals
    this.#context = context
    this.#encoder = encoder
    this.#path = path
    this.#prefix = new TextEncoder().encode(prefix)
    this.#out = new Uint8Array(this.#prefix.length + encoder.bound)
    this.#out.set(this.#prefix)
    this.#sample = new Samples(1, context.values)
  }

  process(samples: Samples, word: number): Verdict {
    // An encoder takes the index of a sample, and hooks know its word.
    copySample(samples, word, this.#sample, 0)
    const end = this.#encoder.encode(this.#sample, 0, this.#out, this.#prefix.length)
    this.#output?.write(this.#out.subarray(0, end))
    return Verdict.ok
  }

  restart(): void {
    this.#output ??= this.#context.open(this.#path)
  }

  stop(): void {
    this.#output?.close()
    this.#output = undefined
  }
}

const formatsWithHeader = ['villas.human', 'csv', 'tsv']

export const print: HookType = {
  name: 'print',
  is: 'writes samples to standard output or a file, in any format',
  priority: usualPriority,
  make(settings, context) {
    const path = settings.has('output') ? settings.string('output', null, 'samples.log') : undefined
    if (path !== undefined && settings.has('prefix'))
      settings.fail(`${settings.of}: 'prefix' and 'output' exclude each other`, 'prefix')
    const format = settings.any('format') ?? 'villas.human'
    const plain = (typeof format === 'string' ? { type: format } : format) as Settings
    // A header between lines of other hooks would be of no use.
    const bare = path === undefined && formatsWithHeader.includes(plain.type as string)
    const encoder = formatOf(bare ? { header: false, ...plain } : plain).encoder(context.signals)
    const prefix = path === undefined ? `${settings.string('prefix', '', 'in: ')}${context.owner} ` : ''
    return new Print(context, encoder, path ?? 'stdout', prefix)
  },
}
