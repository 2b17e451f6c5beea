/**
 * villas.human, the default of files and pipes:
 *
 *     # seconds.nanoseconds+offset(sequence)	signal0	signal1
 *     1553516817.042435000+1.250000e-05(7)F	0.50000000000000000	-1.00000000000000000
 *
 * The digits after the point are nanoseconds, not a fraction: "1.5" is 5 ns past a second. Offset (received − origin), sequence and F (new
 * frame) may be missing.
 */
import { SampleField, SampleFlag, type Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { writeExponential, writeInt64, writePadded, writeText } from '../text/digits.ts'
import { LineEncoder } from './line-encoder.ts'
import { headerNames, LineDecoder, type LineSettings } from './lines.ts'
import type { TextSettings } from './text-settings.ts'

export class HumanDecoder extends LineDecoder {
  constructor(signals: readonly Signal[], settings: LineSettings) {
    super(signals, settings)
  }

  protected readLine(bytes: Uint8Array, from: number, end: number, samples: Samples, word: number): string | undefined {
    const { reader } = this
    const { u32, i32 } = samples
    const origin = word + SampleField.origin
    if (!reader.integer(bytes, from, false)) return 'it does not begin with seconds'
    let at = reader.end
    let flags: number = SampleFlag.tsOrigin
    // Both are cut to 32 bits, as in VILLASnode.
    u32[origin] = reader.low
    i32[origin + 1] = 0
    u32[origin + 2] = 0
    i32[origin + 3] = 0
    if (bytes[at] === 0x2e) {
      if (!reader.integer(bytes, at + 1, false)) return 'there are no nanoseconds behind the point'
      u32[origin + 2] = reader.low
      at = reader.end
    }
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) {
      const offset = Math.fround(reader.float(bytes, at))
      if (reader.end === at || !Number.isFinite(offset)) return 'the offset behind the time is not a number'
      at = reader.end
      samples.setReceived(word, offset)
      flags |= SampleFlag.offset | SampleFlag.tsReceived
    }
    if (bytes[at] === 0x28) {
      if (!reader.integer(bytes, at + 1, false)) return 'there is no sequence number in the brackets'
      u32[word + SampleField.sequence] = reader.low
      i32[word + SampleField.sequence + 1] = reader.high
      at = reader.end
      if (bytes[at] !== 0x29) return 'the bracket of the sequence number is not closed'
      at++
      flags |= SampleFlag.sequence
    }
    if (bytes[at] === 0x46) {
      flags |= SampleFlag.newFrame
      at++
    }
    if (at < end && bytes[at] !== 0x20 && bytes[at] !== 0x09 && bytes[at] !== 0x0d)
      return 'there is no white space between the time and the values'
    const wrong = this.readValues(bytes, at, end, samples, word, 0)
    if (wrong !== undefined) return wrong
    if (u32[word + SampleField.length] !== 0) flags |= SampleFlag.data
    u32[word + SampleField.flags] = flags
    return undefined
  }
}

function headerOf(signals: readonly Signal[], settings: TextSettings): string {
  const { origin, offset, sequence, data } = settings
  const parts = [origin && 'seconds.nanoseconds', offset && '+offset', sequence && '(sequence)']
  const names = data ? headerNames(signals).map((name) => `\t${name}`) : []
  return `# ${parts.filter(Boolean).join('')}${names.join('')}`
}

export class HumanEncoder extends LineEncoder<TextSettings & LineSettings> {
  protected readonly separator: number = 0x09

  constructor(signals: readonly Signal[], settings: TextSettings & LineSettings) {
    super(signals, settings, (named) => headerOf(named, settings))
  }

  protected writeHead(samples: Samples, word: number, out: Uint8Array, at: number): number {
    const { origin, offset, sequence } = this.settings
    const { u32, i32 } = samples
    const flags = u32[word + SampleField.flags]!
    if (origin) {
      if (flags & SampleFlag.tsOrigin) {
        const time = word + SampleField.origin
        at = writeInt64(out, at, i32[time]!, i32[time + 1]!, false)
        out[at++] = 0x2e
        at = writeNanoseconds(out, at, u32[time + 2]!)
      } else at = writeText(out, at, '0.0')
    }
    if (offset && flags & SampleFlag.tsReceived) at = writeExponential(out, at, samples.offset(word), 0)
    if (sequence && flags & SampleFlag.sequence) {
      out[at++] = 0x28
      at = writeInt64(out, at, i32[word + SampleField.sequence]!, i32[word + SampleField.sequence + 1]!, false)
      out[at++] = 0x29
    }
    if (flags & SampleFlag.newFrame) out[at++] = 0x46
    return at
  }
}

/** Writes nanoseconds as `%09llu`: nine digits, or more if it is more than a second. */
export function writeNanoseconds(out: Uint8Array, at: number, value: number): number {
  return value < 1e9 ? writePadded(out, at, value, 9) : writeInt64(out, at, value, 0, false)
}
