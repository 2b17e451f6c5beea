/**
 * digest: a hash of the samples of each frame, written when the next one begins:
 *
 *     1548104309.033621000-0 1548104309.133998900-1 sha256 A8952855…
 *
 * First and last sample (origin and sequence number), the algorithm, the hash. The hash is over the following fields of a sample, as far as
 * it has them: origin (2 × u64), sequence number (u64), values: 8 bytes of floats (any NaN is 0x7ff8…0) and integers, 1 of booleans, 2 × 4
 * of complex numbers; little-endian. A frame that is not complete at the end has no hash.
 */
import { SampleField, SampleFlag, Samples } from '../samples.ts'
import { type Signal, SignalType } from '../signals.ts'
import { writeInt64, writePadded, writeText } from '../text/digits.ts'
import { type Hook, type HookContext, type HookHash, type HookOutput, type HookType, Verdict } from './hook.ts'

const gathered = 1 << 14
const hexDigits = '0123456789ABCDEF'

class Digest implements Hook {
  readonly signals: readonly Signal[]
  readonly #types: Uint8Array
  readonly #context: HookContext
  readonly #hash: HookHash
  readonly #algorithm: string
  readonly #uri: string
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #filled = 0
  #output: HookOutput | undefined
  /** First and last sample of the frame, without values. */
  readonly #first = new Samples(1, 0)
  readonly #last = new Samples(1, 0)
  #within = false

  constructor(context: HookContext, hash: HookHash, algorithm: string, uri: string) {
    this.signals = context.signals
    this.#types = Uint8Array.from(context.signals, ({ type }) => type)
    this.#context = context
    this.#hash = hash
    this.#algorithm = algorithm
    this.#uri = uri
    this.#bytes = new Uint8Array(gathered + 24 + 8 * context.values)
    this.#view = new DataView(this.#bytes.buffer)
  }

  process(samples: Samples, word: number): Verdict {
    const { u32 } = samples
    const flags = u32[word + SampleField.flags]!
    const length = u32[word + SampleField.length]!
    if (length > this.#types.length) return Verdict.error
    if (flags & SampleFlag.newFrame) {
      this.#finish()
      this.#within = true
      keep(samples, word, this.#first)
    }
    keep(samples, word, this.#last)
    if (this.#within) this.#gather(samples, word, flags, length)
    return Verdict.ok
  }

  restart(): void {
    this.#output ??= this.#context.open(this.#uri)
    this.#forget()
  }

  stop(): void {
    this.#output?.close()
    this.#output = undefined
    this.#forget()
  }

  #forget(): void {
    this.#within = false
    this.#filled = 0
    this.#hash.finish()
  }

  #gather(samples: Samples, word: number, flags: number, length: number): void {
    if (flags & SampleFlag.tsOrigin) this.#words(samples, word + SampleField.origin, 4)
    if (flags & SampleFlag.sequence) this.#words(samples, word + SampleField.sequence, 2)
    if (flags & SampleFlag.data)
      for (let i = 0; i < length; i++) this.#value(samples, word + SampleField.data + 2 * i, this.#types[i]!)
    if (this.#filled >= gathered) this.#update()
  }

  #words({ u32 }: Samples, from: number, count: number): void {
    for (let i = 0; i < count; i++, this.#filled += 4) this.#view.setUint32(this.#filled, u32[from + i]!, true)
  }

  #value(samples: Samples, word: number, type: number): void {
    const { f32, f64 } = samples
    if (type === SignalType.float) {
      this.#view.setFloat64(this.#filled, oneNan(f64[word >> 1]!), true)
      this.#filled += 8
    } else if (type === SignalType.boolean) this.#bytes[this.#filled++] = samples.u32[word] ? 1 : 0
    else if (type === SignalType.integer) this.#words(samples, word, 2)
    else
      for (let part = word; part < word + 2; part++, this.#filled += 4)
        this.#view.setFloat32(this.#filled, oneNan(f32[part]!), true)
  }

  #update(): void {
    this.#hash.update(this.#bytes.subarray(0, this.#filled))
    this.#filled = 0
  }

  #finish(): void {
    if (!this.#within) return
    this.#update()
    const hash = this.#hash.finish()
    const line = new Uint8Array(256 + this.#algorithm.length + 2 * hash.length)
    let at = writeEnd(line, 0, this.#first)
    at = writeEnd(line, at, this.#last)
    at = writeText(line, at, `${this.#algorithm} `)
    for (const byte of hash) at = writeText(line, at, hexDigits[byte >> 4]! + hexDigits[byte & 15]!)
    line[at++] = 0x0a
    this.#output?.write(line.subarray(0, at))
  }
}

/** Replaces any NaN by the same one. */
function oneNan(value: number): number {
  return Number.isNaN(value) ? Number.NaN : value
}

/** Keeps the fields of a sample, not its values. */
function keep(samples: Samples, word: number, to: Samples): void {
  for (let i = SampleField.flags; i < SampleField.data; i++) to.i32[i] = samples.i32[word + i]!
}

/** Writes "seconds.nanoseconds-sequence ". */
function writeEnd(out: Uint8Array, at: number, { u32, i32 }: Samples): number {
  const { origin, sequence } = SampleField
  at = writeInt64(out, at, u32[origin]!, i32[origin + 1]!, true)
  out[at++] = 0x2e
  at = writePadded(out, at, u32[origin + 2]!, 9)
  out[at++] = 0x2d
  at = writeInt64(out, at, u32[sequence]!, i32[sequence + 1]!, false)
  out[at++] = 0x20
  return at
}

export const digest: HookType = {
  name: 'digest',
  is: 'writes a hash of the samples of each frame to a file',
  priority: 999,
  make(settings, context) {
    const uri = settings.string('uri', null, 'digest.txt')
    const algorithm = settings.string('algorithm', null, 'sha256')
    const hash = context.hash(algorithm) ?? settings.refuse('algorithm', 'the name of a hash function', '"sha256"')
    return new Digest(context, hash, algorithm, uri)
  },
}
