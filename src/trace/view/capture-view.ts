/**
 * Capture that was read once, and of which any packet can be shown again: the analysis with its connections, and the index of packets. The
 * packets themselves stay in the file.
 */
import { CapturedPacket, type CaptureParser } from '../../capture/index.ts'
import {
  Analysis,
  type CaptureInfo,
  captureInfo,
  captureTotals,
  Dissection,
  dissect,
  type Flow,
  IcrcState,
  Kind,
  Mark,
  type Row,
  rowOf,
  type TraceOptions,
  Verdict,
} from '../index.ts'
import type { CaptureBytes, ReadingOptions } from './bytes.ts'
import { Details } from './details.ts'
import { PacketIndex } from './packet-index.ts'

/** Maximum number of packets that are listed; later ones are analysed and counted, but cannot be shown one by one. */
const mostListed: number = 1 << 24
/** Maximum number of bytes of a file that are read at once to show packets again. */
const longestRead = 4 << 20
/** Maximum distance, in bytes, of packets that are read together. */
const widestGap = 1 << 16

export interface Tally {
  icrcValid: number
  naks: number
  rnrNaks: number
  cnps: number
  retransmissions: number
  gaps: number
}

/** Processes one packet as a row; the objects that it was made of are valid until it returns. `false` ends the reading. */
export type RowHandler = (row: Row, packet: CapturedPacket, d: Dissection) => boolean | undefined

export class CaptureView {
  /** Analysis of the first reading: the result of `trace info`. */
  readonly analysis: Analysis = new Analysis()
  index: PacketIndex = new PacketIndex()
  details: Details = new Details()
  readonly tally: Tally = { icrcValid: 0, naks: 0, rnrNaks: 0, cnps: 0, retransmissions: 0, gaps: 0 }
  /** Flag: the capture was read to its end. */
  isWhole = false
  /** Flag: a second reading for the list was cancelled: packets that were not listed until then are only in the figures. */
  listingCancelled = false
  readonly #source: CaptureBytes
  readonly #d: Dissection
  readonly #v = new Verdict()
  readonly #packet = new CapturedPacket()
  readonly #limit: number
  #parser: CaptureParser | undefined
  /** Analysis from which rows are made. */
  #rowAnalysis: Analysis = this.analysis

  /** @param limit maximum number of packets that are listed */
  constructor(source: CaptureBytes, options: Pick<TraceOptions, 'decodeAs'> = {}, limit: number = mostListed) {
    this.#source = source
    this.#d = new Dissection(options)
    this.#limit = limit
  }

  /**
   * Reads the capture; twice if responses came before it was known to which requests they belong, as `trace show` does. Throws the error of
   * the system if the file cannot be read.
   */
  async load(options: ReadingOptions): Promise<void> {
    const { analysis, tally } = this
    /** Flows of responses that could not be followed. */
    const unpaired = new Set<Flow>()
    const v = new Verdict()
    this.#parser = await this.#source.read((packet, parser) => {
      this.#parser = parser
      dissect(packet, this.#d, true)
      analysis.packet(packet, this.#d, v)
      count(tally, this.#d, v)
      if ((v.marks & Mark.Unpaired) !== 0) unpaired.add(v.flow!)
      this.#list(packet, v)
      return undefined
    }, options)
    analysis.finish()
    analysis.numberAll()
    this.isWhole = !options.signal.aborted
    if (this.isWhole && [...unpaired].some(({ peer }) => peer !== undefined)) await this.#again(options)
  }

  /**
   * Reads again with an analysis that knows from the beginning which flows belong together. The index begins again: there is one at a time.
   */
  async #again(options: ReadingOptions): Promise<void> {
    const { count: wanted } = this.index
    const again = new Analysis(this.analysis)
    const v = new Verdict()
    this.#rowAnalysis = again
    this.index = new PacketIndex()
    this.details = new Details()
    await this.#source.read((packet) => {
      dissect(packet, this.#d, true)
      again.packet(packet, this.#d, v)
      this.#list(packet, v)
      return this.index.count < wanted
    }, options)
    this.listingCancelled = this.index.count < wanted && options.signal.aborted
    again.finish()
    again.numberAll()
  }

  #list(packet: CapturedPacket, v: Verdict): void {
    const { index, details } = this
    if (index.count >= this.#limit) return
    details.add(index.count, v)
    index.add(packet, this.#d, v)
  }

  /** Returns the same as `verbena trace info --json`. */
  info(): CaptureInfo | undefined {
    return this.#parser === undefined ? undefined : captureInfo(this.analysis, this.#parser)
  }

  /** Returns the same without the conversations. */
  totals(): Omit<CaptureInfo, 'conversations'> | undefined {
    return this.#parser === undefined ? undefined : captureTotals(this.analysis, this.#parser)
  }

  get parser(): CaptureParser | undefined {
    return this.#parser
  }

  /** Passes the rows of the packets with these numbers, from 0 and ascending, to `onRow`. */
  async rows(packets: ArrayLike<number>, onRow: RowHandler): Promise<void> {
    const { index } = this
    for (let first = 0; first < packets.length; ) {
      const from = index.dataOffset(packets[first]!)
      let end = from + index.length(packets[first]!)
      let last = first + 1
      for (; last < packets.length; last++) {
        const next = index.dataOffset(packets[last]!)
        const nextEnd = next + index.length(packets[last]!)
        if (next - end > widestGap || nextEnd - from > longestRead) break
        end = nextEnd
      }
      const bytes = await this.#source.slice(from, end)
      for (; first < last; first++) {
        const at = packets[first]!
        if (!this.#place(at, bytes, index.dataOffset(at) - from)) return
        if (this.#visit(at, onRow) === false) return
      }
    }
  }

  #visit(at: number, onRow: RowHandler): boolean | undefined {
    const packet = this.#packet
    const d = this.#d
    const v = this.#v
    dissect(packet, d, false)
    d.icrc = this.index.icrc(at)
    this.#recall(at)
    this.#rowAnalysis.revisit(packet, d, v)
    return onRow(rowOf(packet, d, v, this.#rowAnalysis), packet, d)
  }

  /** Returns false if the file has become shorter since it was read. */
  #place(at: number, bytes: Uint8Array, offset: number): boolean {
    const { analysis, index } = this
    const packet = this.#packet
    packet.number = index.number(at)
    packet.dataOffset = index.dataOffset(at)
    packet.bytes = bytes
    packet.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    packet.offset = offset
    packet.length = index.length(at)
    packet.originalLength = index.originalLength(at)
    packet.interfaceId = index.interfaceId(at)
    packet.linkType = this.#parser!.interfaces[packet.interfaceId]?.linkType ?? 0
    packet.hasTime = index.hasTime(at)
    const sinceSecond = analysis.firstNanoseconds + index.timeNs(at)
    const seconds = Math.floor(sinceSecond / 1e9)
    packet.seconds = packet.hasTime ? analysis.firstSeconds + seconds : 0
    packet.nanoseconds = packet.hasTime ? sinceSecond - seconds * 1e9 : 0
    return offset + packet.length <= bytes.length
  }

  /** Restores the verdict on the packet. */
  #recall(at: number): void {
    const { index } = this
    const v = this.#v
    v.reset()
    v.flow = this.#rowAnalysis.table.flows[index.flow(at)]
    v.marks = index.marks(at)
    v.timeNs = index.timeNs(at)
    v.deltaNs = at === 0 ? 0 : v.timeNs - index.timeNs(at - 1)
    this.details.fill(at, v)
  }
}

function count(tally: Tally, d: Dissection, { marks }: Verdict): void {
  if (d.kind !== Kind.Other && d.icrc === IcrcState.Valid) tally.icrcValid++
  if (marks === 0) return
  if ((marks & Mark.Nak) !== 0) tally.naks++
  if ((marks & Mark.RnrNak) !== 0) tally.rnrNaks++
  if ((marks & Mark.Cnp) !== 0) tally.cnps++
  if ((marks & Mark.Retransmission) !== 0) tally.retransmissions++
  if ((marks & Mark.Gap) !== 0) tally.gaps++
}
