/**
 * Second reading of the same capture that goes ahead of the one that shows packets, so that the first packets of a connection are shown
 * with what later ones reveal about it. It stays a fixed number of packets ahead: the first line of a large file need not wait for its end,
 * and only the flows stay in memory.
 */
import type { CapturedPacket, CaptureParser, CaptureSource, PacketHandler } from '../capture/index.ts'
import { Analysis } from './analysis.ts'
import { Dissection, dissect, type TraceOptions } from './dissect.ts'
import { Verdict } from './verdict.ts'

/** Default number of packets: those that identify a connection are usually among its first. */
const defaultPackets = 131_072

/** Processes one packet, with all that is known of its connection. */
export type AnalysedHandler = (packet: CapturedPacket, analysis: Analysis, parser: CaptureParser) => boolean | undefined

/** Passes each packet of `source` to `onPacket`, with an analysis that knows later packets if the source can be read twice. */
export async function readAhead(
  source: CaptureSource,
  onPacket: AnalysedHandler,
  options: TraceOptions,
): Promise<CaptureParser> {
  if (!source.repeatable) {
    const analysis = new Analysis()
    return await source.read((packet, parser) => onPacket(packet, analysis, parser), options)
  }
  const { lookAheadPackets = defaultPackets } = options
  const ahead = new LookAhead(source, options, lookAheadPackets)
  const analysis = new Analysis(ahead.analysis)
  let number = 0
  const handler: PacketHandler = (packet, parser) => {
    number = packet.number
    return onPacket(packet, analysis, parser)
  }
  const onProgress = async (offset: number): Promise<void> => {
    await options.onProgress?.(offset)
    await ahead.reaches(number + lookAheadPackets)
  }
  try {
    await ahead.reaches(lookAheadPackets)
    return await source.read(handler, { ...options, onProgress })
  } finally {
    await ahead.stop()
  }
}

class LookAhead {
  /** Analysis of the packets that were read so far. */
  readonly analysis: Analysis = new Analysis()
  readonly #reading: Promise<void>
  #goal: number
  #ended = false
  #goOn: (() => void) | undefined
  #reached: (() => void) | undefined

  /** @param first number of packets after which it pauses for the first time */
  constructor(source: CaptureSource, options: TraceOptions, first: number) {
    this.#goal = first
    this.#reading = this.#read(source, options, first).finally(() => {
      this.#ended = true
      this.#reached?.()
    })
    // `reaches` throws its error.
    this.#reading.catch(() => {})
  }

  /** Resolves when packet `number` has been read, or the reading has ended. Throws the error of the reading. */
  async reaches(number: number): Promise<void> {
    this.#goal = number
    if (!this.#ended && this.analysis.packets < number) {
      await new Promise<void>((resolve) => {
        this.#reached = resolve
        this.#goOn?.()
      })
    }
    if (this.#ended) await this.#reading
  }

  /** Ends the reading; resolves when the source is closed. */
  async stop(): Promise<void> {
    this.#ended = true
    this.#goOn?.()
    await this.#reading.catch(() => {})
  }

  async #read(source: CaptureSource, options: TraceOptions, first: number): Promise<void> {
    const { analysis } = this
    const d = new Dissection(options)
    const v = new Verdict()
    const { onBlock: _, ...rest } = options
    const handler: PacketHandler = (packet) => {
      if (this.#ended) return false
      dissect(packet, d, true)
      analysis.packet(packet, d, v)
      // Flows that are the only ones in both directions so far are taken for a pair, as at the end.
      if (analysis.packets === first) analysis.finish()
      return undefined
    }
    await source.read(handler, { ...rest, onProgress: () => this.#pause() })
    analysis.finish()
  }

  #pause(): Promise<void> | undefined {
    if (this.#ended || this.analysis.packets < this.#goal) return undefined
    return new Promise((resolve) => {
      this.#goOn = resolve
      this.#reached?.()
    })
  }
}
