/**
 * pcap files: one header, then records. Nothing in a record marks its beginning, so after damage the reader searches for the next
 * whole record: a header that is plausible by itself and is followed by another plausible one, or by the file's end.
 *
 * Joined files (`cat a.pcap b.pcap`) have file headers between their records; from there on, the new header applies.
 */
import type { DamageLog } from './damage.ts'
import {
  LinkType,
  longestRecord,
  longestResync,
  pcapHeaderLength,
  pcapMagic,
  pcapModifiedRecordLength,
  pcapRecordLength,
} from './format.ts'
import type { CapturedPacket, InterfaceInfo } from './packet.ts'
import { RecordReader } from './record-reader.ts'
import { setErfTime } from './time-stamp.ts'
import { type ByteWindow, Step, type StepValue } from './window.ts'

/** Maximum time between record headers that are considered to belong together, in the search for one. */
const believableGapSeconds = 86_400

const mostInterfaces = 65_536

const fits = { yes: 0, no: 1, unknown: 2 } as const
const unknownLength = -1
const noLength = -2

export class PcapReader extends RecordReader {
  #recordLength = pcapRecordLength
  #units = 1e6
  #begun = false
  /** Time of the last record and of the one before; -1 without any. The last may be an artefact of damage. */
  #lastSeconds = -1
  #beforeSeconds = -1

  constructor(window: ByteWindow, packet: CapturedPacket, damage: DamageLog, littleEndian: boolean) {
    super(window, packet, damage, littleEndian)
  }

  next(): StepValue {
    const { window, packet } = this
    if (!this.#begun) {
      if (!window.has(pcapHeaderLength))
        return this.#short('the file ends inside the pcap file header', pcapHeaderLength)
      this.#begin()
    }
    for (;;) {
      if (this.searching) {
        const found = this.resume()
        if (found !== Step.Packet) return found
      }
      const unread = window.limit - window.start
      if (unread < this.#recordLength) {
        window.wanted = this.#recordLength
        if (!window.ended) return Step.More
        if (unread > 0) this.note(`the file ends inside a record header: ${unread} of ${this.#recordLength} bytes`)
        window.start = window.limit
        return Step.End
      }
      const { view, start } = window
      const seconds = view.getUint32(start, this.littleEndian)
      const fraction = view.getUint32(start + 4, this.littleEndian)
      let captured = view.getUint32(start + 8, this.littleEndian)
      const original = view.getUint32(start + 12, this.littleEndian)
      if (captured > longestRecord) {
        this.lose(`a record of ${captured} bytes: its header is damaged`)
        continue
      }
      // Nearly all records: a whole packet, whose header satisfies `#possible`.
      const usual = captured === original && captured > 0 && captured <= longestResync && fraction < this.#units
      if (!usual && pcapByteOrder(view, start) !== undefined) {
        if (!window.has(pcapHeaderLength)) {
          if (!window.ended) return Step.More
          return this.#short('the file ends inside the header of another pcap file', pcapHeaderLength)
        }
        this.note('the header of another pcap file: its packets follow')
        this.#begin()
        continue
      }
      if (!usual && (captured !== original || !this.#possible(start))) {
        const length = this.#lengthOf(start)
        if (length === unknownLength) return Step.More
        if (length === noLength) {
          this.lose('a record header that is damaged: no record follows')
          continue
        }
        captured = length
      }
      const whole = this.#recordLength + captured
      if (unread < whole) {
        if (!window.ended) {
          window.wanted = whole
          return Step.More
        }
        this.lose(`the file ends inside this record: ${unread - this.#recordLength} of ${captured} bytes`)
        continue
      }
      packet.number++
      packet.fileOffset = window.base + start
      packet.bytes = window.bytes
      packet.view = view
      packet.offset = start + this.#recordLength
      packet.dataOffset = window.base + packet.offset
      packet.length = captured
      packet.originalLength = Math.max(original, captured)
      packet.seconds = seconds
      packet.nanoseconds = this.#units === 1e9 ? fraction : fraction * 1000
      packet.hasTime = true
      if (packet.linkType === LinkType.Erf) setErfTime(packet)
      packet.interfaceId = this.interfaces.length - 1
      window.start = start + whole
      this.#beforeSeconds = this.#lastSeconds
      this.#lastSeconds = seconds
      return Step.Packet
    }
  }

  #begin(): void {
    const { window } = this
    const { view, start } = window
    const littleEndian = pcapByteOrder(view, start) ?? this.littleEndian
    this.littleEndian = littleEndian
    const magic = view.getUint32(start, littleEndian)
    const network = view.getUint32(start + 20, littleEndian)
    this.#units = magic === pcapMagic.nano ? 1e9 : 1e6
    this.#recordLength = magic === pcapMagic.modified ? pcapModifiedRecordLength : pcapRecordLength
    const major = view.getUint16(start + 4, littleEndian)
    const minor = view.getUint16(start + 6, littleEndian)
    if (major !== 2 || minor < 3) this.note(`version ${major}.${minor} instead of 2.4: read as 2.4`)
    const info: InterfaceInfo = {
      id: this.interfaces.length,
      // The bits above the link type hold the length of a frame check sequence.
      linkType: network & 0xffff,
      snapLength: view.getUint32(start + 16, littleEndian),
      unitsPerSecond: this.#units,
      offsetSeconds: 0,
    }
    // A file that consists of headers must not grow the list without bound.
    if (this.interfaces.length < mostInterfaces) this.interfaces.push(info)
    this.#lastSeconds = this.#beforeSeconds = -1
    this.packet.linkType = info.linkType
    window.start += pcapHeaderLength
    this.#begun = true
  }

  #short(what: string, wanted: number): StepValue {
    const { window } = this
    window.wanted = wanted
    if (!window.ended) return Step.More
    this.note(`${what}: ${window.limit - window.start} of ${wanted} bytes`)
    window.start = window.limit
    return Step.End
  }

  /**
   * Returns the number of captured bytes of a record whose header is unusual: that of a cut packet, or a damaged one. It depends on
   * the bytes that follow; so the window has to reach beyond the record, or the result is `unknownLength`.
   */
  #lengthOf(start: number): number {
    const { window } = this
    const captured = window.view.getUint32(start + 8, this.littleEndian)
    const original = window.view.getUint32(start + 12, this.littleEndian)
    const fraction = window.view.getUint32(start + 4, this.littleEndian)
    const asCaptured = this.#follower(start, captured)
    if (asCaptured === fits.unknown) return unknownLength
    if (captured < original && fraction < this.#units && this.#leadsOn(start, captured)) return captured
    if (captured !== original && original <= longestResync) {
      const asOriginal = this.#follower(start, original)
      if (asOriginal === fits.unknown) return unknownLength
      // If a header seems to follow both, the one with the likelier time decides.
      const likelier = asCaptured === fits.no || this.#leadsOn(start, original)
      if (asOriginal === fits.yes && original > 0 && likelier) {
        this.note(`${captured} bytes captured of a packet of ${original}: the record has all of them`)
        return original
      }
    }
    if (fraction >= this.#units) {
      if (asCaptured === fits.no) return noLength
      this.note(`a fraction of a second of ${fraction} units of 1/${this.#units}`)
      return captured
    }
    // The record after a cut packet may be the damaged one.
    if (captured < original) return captured
    if (asCaptured === fits.no) return noLength
    if (captured > original) this.note(`${captured} bytes captured of a packet of ${original}`)
    return captured
  }

  protected search(): StepValue {
    const { window } = this
    const from = window.fileOffset
    for (; window.limit - window.start >= this.#recordLength; window.start++) {
      const { start, limit, view } = window
      if (pcapByteOrder(view, start) !== undefined) return Step.Packet
      const isNear = this.#plausible(start, this.#lastSeconds)
      if (!isNear && (this.#beforeSeconds < 0 || !this.#plausible(start, this.#beforeSeconds))) continue
      const end = start + this.#recordLength + window.view.getUint32(start + 8, this.littleEndian)
      if (end > limit) {
        if (window.ended) continue
        window.wanted = end - start
        return Step.More
      }
      const follower = this.#follower(start, end - start - this.#recordLength)
      if (follower === fits.yes) return Step.Packet
      if (follower === fits.unknown) return Step.More
    }
    window.wanted = this.#recordLength
    if (!window.ended) return Step.More
    // The rest is too short for a record, or no plausible record was found after `from`.
    if (window.fileOffset - from > 0) window.start = window.limit
    return Step.End
  }

  /** Checks if a record, or the file's end, follows a record at `start` with `length` bytes. */
  #follower(start: number, length: number): number {
    const { window } = this
    const position = start + this.#recordLength + length
    const unread = window.limit - position
    if (unread < this.#recordLength && !window.ended) {
      window.wanted = position + this.#recordLength - window.start
      return fits.unknown
    }
    if (unread < 0) return fits.no
    // The file may be cut off in the middle of the following header: nothing contradicts that.
    if (unread < this.#recordLength) return fits.yes
    return this.#possible(position) || pcapByteOrder(window.view, position) !== undefined ? fits.yes : fits.no
  }

  /** True if a plausible header, or the file's end, follows a record at `start` with `length` bytes. `#follower` has been called before. */
  #leadsOn(start: number, length: number): boolean {
    const { limit, view } = this.window
    const position = start + this.#recordLength + length
    const seconds = view.getUint32(start, this.littleEndian)
    if (limit - position < this.#recordLength) return limit === position
    return this.#plausible(position, seconds) || pcapByteOrder(view, position) !== undefined
  }

  /** True if this can be a record header. */
  #possible(position: number): boolean {
    const { view } = this.window
    const captured = view.getUint32(position + 8, this.littleEndian)
    const original = view.getUint32(position + 12, this.littleEndian)
    if (captured > original || original > longestResync) return false
    if (view.getUint32(position + 4, this.littleEndian) >= this.#units) return false
    // Zeros are not a valid header.
    return captured > 0 || view.getUint32(position, this.littleEndian) > 0
  }

  /** True if this is likely enough a header, near `seconds` in time, to continue with it after damage. */
  #plausible(position: number, seconds: number): boolean {
    const { view } = this.window
    if (!this.#possible(position) || view.getUint32(position + 8, this.littleEndian) === 0) return false
    // Before the first record there is nothing to compare with.
    return seconds < 0 || Math.abs(view.getUint32(position, this.littleEndian) - seconds) <= believableGapSeconds
  }
}

/** True if the pcap file header at `position`, with 16 bytes present, is little-endian; undefined if it is not a header. */
function pcapByteOrder(view: DataView, position: number): boolean | undefined {
  const first = view.getUint32(position)
  const last = first & 255
  // All magic numbers begin or end with a1.
  if (last !== 0xa1 && first >>> 24 !== 0xa1) return undefined
  const littleEndian = last === 0xa1
  const word = littleEndian ? view.getUint32(position, true) : first
  if (word !== pcapMagic.micro && word !== pcapMagic.nano && word !== pcapMagic.modified) return undefined
  return view.getUint16(position + 4, littleEndian) === 2 ? littleEndian : undefined
}
