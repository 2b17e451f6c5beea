/** Conversions of bytes that are all there, cut into chunks as a test likes. */
import { Converter, formatOf, type Problems, type Samples, signalsOf } from '../../src/gateway/index.ts'

export interface Converted {
  bytes: Buffer
  text: string
  problems: Problems
  samples: number
}

export type Description = Parameters<typeof formatOf>[0]

/** Samples as a message of a network. */
export function encodedMessage(format: Description, samples: Samples, types: string): string {
  const encoder = formatOf(format, true).encoder(signalsOf(types))
  const out = new Uint8Array(encoder.bound * samples.count)
  const parts = Array.from({ length: samples.count }, (_, i) =>
    Buffer.from(out.slice(0, encoder.encode(samples, i, out, 0))),
  )
  const { open = '', between = '', close = '' } = encoder.framing ?? {}
  return Buffer.from(open).toString() + parts.join(Buffer.from(between).toString()) + Buffer.from(close).toString()
}

export async function converted(
  input: Uint8Array | string,
  from: Description,
  to: Description,
  types = '64f',
  chunks: readonly number[] = [],
): Promise<Converted> {
  const bytes = typeof input === 'string' ? Buffer.from(input, 'latin1') : input
  const signals = signalsOf(types)
  const parts: Buffer[] = []
  const write = (part: Uint8Array): void => void parts.push(Buffer.from(part))
  const decoder = formatOf(from).decoder(signals)
  const converter = new Converter(decoder, formatOf(to).encoder(signals), { write, values: signals.length })
  let at = 0
  for (const size of chunks) {
    await converter.push(bytes.subarray(at, at + size))
    at = Math.min(at + size, bytes.length)
  }
  await converter.push(bytes.subarray(at))
  await converter.end()
  const output = Buffer.concat(parts)
  return { bytes: output, text: output.toString('latin1'), problems: decoder.problems, samples: converter.samples }
}
