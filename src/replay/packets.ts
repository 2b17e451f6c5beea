/** The packets of a capture, rewritten, one after the other: the selection of packets, and the treatment of damaged ones. */
import { CapturedPacket, type CaptureParser, type CaptureSource } from '../capture/index.ts'
import {
  type AnalysedHandler,
  Dissection,
  dissect,
  type Filter,
  IcrcState,
  Kind,
  readAhead,
  rowOf,
  type TraceOptions,
  Verdict,
} from '../trace/index.ts'
import type { Mapping } from './mappings.ts'
import { Rewriter } from './rewriter.ts'

/**
 * Policies for packets with a wrong ICRC, broken rules, or missing ends: `keep` rewrites them and leaves them as wrong as they were,
 * `drop` leaves them out, `mend` makes all checksums correct and puts zeros in place of bytes that were not captured.
 */
export const badPolicies = ['keep', 'drop', 'mend'] as const
/** Treatment of damaged packets: they stay as they are, are left out, or get correct checksums. */
export type BadPolicy = (typeof badPolicies)[number]

/** Options of the rewriting and the selection. */
export interface PacketReplayOptions extends TraceOptions {
  mappings?: readonly Mapping[]
  /** Default: keep. */
  bad?: BadPolicy
  /** Flag: packets that are not RDMA are passed on, too, at most with other Ethernet addresses. Default: false. */
  others?: boolean
  filter?: Filter
}

/** Counts of the packets by their treatment. */
export interface PacketCounts {
  packets: number
  rdma: number
  other: number
  /** Number of RDMA packets that the filter leaves out. */
  filtered: number
  /** Number of packets passed on, and of these rewritten. */
  passed: number
  rewritten: number
  icrcInvalid: number
  malformed: number
  cut: number
  /** Number of those three kinds of packets that were kept, dropped or mended. */
  kept: number
  dropped: number
  mended: number
  /** Number of packets that `mend` could not repair, since the defect is not in a checksum. */
  unmended: number
  /** Number of packets rewritten inside of a tunnel: the headers around them stay. */
  tunnelled: number
  /** Number of responses whose PSN stayed, since it is not known which queue pair sent them. */
  unpaired: number
}

/** Receives one packet, which is valid until it returns. */
export type PacketOut = (packet: CapturedPacket, d: Dissection, parser: CaptureParser) => void

/** Maximum length of packets that are completed by zeros: no link has longer ones. */
const longestMended = 70_000

class Replay {
  readonly counts: PacketCounts = {
    packets: 0,
    rdma: 0,
    other: 0,
    filtered: 0,
    passed: 0,
    rewritten: 0,
    icrcInvalid: 0,
    malformed: 0,
    cut: 0,
    kept: 0,
    dropped: 0,
    mended: 0,
    unmended: 0,
    tunnelled: 0,
    unpaired: 0,
  }
  readonly rewriter: Rewriter
  readonly d: Dissection
  readonly #bad: BadPolicy
  readonly #others: boolean
  readonly #out: PacketOut
  readonly #whole = new CapturedPacket()

  constructor(options: PacketReplayOptions, out: PacketOut) {
    this.rewriter = new Rewriter(options.mappings ?? [])
    this.d = new Dissection(options)
    this.#bad = options.bad ?? 'keep'
    this.#others = options.others ?? false
    this.#out = out
  }

  /** Handles a packet that `d` describes; `sender` as in Rewriter.packet. */
  take(packet: CapturedPacket, sender: number, parser: CaptureParser): void {
    const { counts, d } = this
    if (d.kind === Kind.Other) {
      if (!this.#others) return
      if (this.rewriter.ethernet(packet)) counts.rewritten++
      this.#pass(packet, parser)
      return
    }
    if (d.icrc !== IcrcState.Invalid && d.problems === 0 && !d.cut) {
      this.#rewrite(packet, sender, false, parser)
      return
    }
    if (d.icrc === IcrcState.Invalid) counts.icrcInvalid++
    if (d.problems !== 0) counts.malformed++
    if (d.cut) counts.cut++
    if (this.#bad === 'drop') counts.dropped++
    else if (this.#bad === 'keep') {
      counts.kept++
      this.#rewrite(packet, sender, false, parser)
    } else this.#mend(packet, sender, parser)
  }

  #mend(captured: CapturedPacket, sender: number, parser: CaptureParser): void {
    const { counts, d } = this
    const packet = d.cut ? this.#completed(captured) : captured
    if (packet !== captured) dissect(packet, d, true)
    this.#rewrite(packet, sender, true, parser, () => {
      dissect(packet, d, true)
      if (d.icrc === IcrcState.Valid && d.problems === 0 && !d.cut) counts.mended++
      else counts.unmended++
    })
  }

  #rewrite(
    packet: CapturedPacket,
    sender: number,
    mend: boolean,
    parser: CaptureParser,
    look: (() => void) | undefined = undefined,
  ): void {
    const { counts, d } = this
    if (this.rewriter.packet(packet, d, sender, mend)) {
      counts.rewritten++
      if (d.tunnel !== 0) counts.tunnelled++
    }
    look?.()
    this.#pass(packet, parser)
  }

  #pass(packet: CapturedPacket, parser: CaptureParser): void {
    this.counts.passed++
    this.#out(packet, this.d, parser)
  }

  /** Returns the packet with zeros for the bytes that were not captured. */
  #completed(packet: CapturedPacket): CapturedPacket {
    const length = packet.originalLength
    if (length <= packet.length || length > longestMended) return packet
    const whole = this.#whole
    if (whole.bytes.length < length) {
      whole.bytes = new Uint8Array(longestMended)
      whole.view = new DataView(whole.bytes.buffer)
    }
    const { bytes, offset, number, seconds, nanoseconds, hasTime, linkType, interfaceId, fileOffset } = packet
    whole.bytes.set(bytes.subarray(offset, offset + packet.length))
    whole.bytes.fill(0, packet.length, length)
    Object.assign(whole, { number, seconds, nanoseconds, hasTime, linkType, interfaceId, fileOffset })
    whole.offset = 0
    whole.length = length
    whole.originalLength = length
    return whole
  }
}

/** Result: packets read and passed on. */
export interface PacketReplayResult {
  counts: PacketCounts
  parser: CaptureParser
}

/** Reads the capture to its end and passes each selected packet to `out`. Throws the system's error if it cannot be read. */
export async function replayPackets(
  source: CaptureSource,
  options: PacketReplayOptions,
  out: PacketOut,
): Promise<PacketReplayResult> {
  const replay = new Replay(options, out)
  const { counts, d, rewriter } = replay
  const { filter } = options
  const count = (): boolean => {
    counts.packets++
    if (d.kind !== Kind.Other) counts.rdma++
    else counts.other++
    return d.kind !== Kind.Other
  }
  let parser: CaptureParser
  if (filter === undefined && !rewriter.needsPairs) {
    parser = await source.read((packet, reader) => {
      dissect(packet, d, true)
      count()
      replay.take(packet, -1, reader)
      return undefined
    }, options)
  } else {
    const v = new Verdict()
    const handler: AnalysedHandler = (packet, analysis, reader) => {
      dissect(packet, d, true)
      analysis.packet(packet, d, v)
      if (count() && filter !== undefined && !filter(rowOf(packet, d, v, analysis))) counts.filtered++
      else replay.take(packet, v.flow?.srcQp ?? -1, reader)
      return undefined
    }
    parser = await readAhead(source, handler, options)
  }
  counts.unpaired = rewriter.unpaired
  return { counts, parser }
}
