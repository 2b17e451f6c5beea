/** The first of two readings: what a capture tells about its connections, for a second one to know from its start. */
import type { CaptureSource } from '../capture/index.ts'
import { Analysis, type Hints } from './analysis.ts'
import { Dissection, dissect, type TraceOptions } from './dissect.ts'
import { Verdict } from './verdict.ts'

/** So many packets are read beforehand: in a large file, what is asked for should not wait for its end. */
const most = 2_000_000

/** Undefined for what can be read only once. */
export async function learnHints(source: CaptureSource, options: TraceOptions): Promise<Hints | undefined> {
  if (!source.repeatable) return undefined
  const analysis = new Analysis()
  const d = new Dissection(options)
  const v = new Verdict()
  await source.read((packet) => {
    dissect(packet, d, true)
    analysis.packet(packet, d, v)
    return packet.number < most
  }, options)
  analysis.finish()
  return analysis.hints()
}
