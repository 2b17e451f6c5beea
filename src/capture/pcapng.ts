/**
 * pcapng files: blocks that have their length at both ends. After damage, the reader searches for the next block of a known type whose
 * two lengths agree. Interfaces, and with them link types and clocks, are known only within a section.
 */
import type { CapturedBlock } from './copy-blocks.ts'
import type { DamageLog } from './damage.ts'
import { blockType, byteOrderMagic, longestRecord, longestResync, optionCode } from './format.ts'
import { type CapturedPacket, Direction, type InterfaceInfo, type PacketDirection } from './packet.ts'
import { RecordReader } from './record-reader.ts'
import { setTime, unitsOfResolution } from './time-stamp.ts'
import { type ByteWindow, Step, type StepValue } from './window.ts'

const smallestBlock = 12
/** Length of type, length, and for a section header the byte order magic. */
const blockHead = 12

const knownTypes: ReadonlySet<number> = new Set(Object.values(blockType))

/**
 * Maximum number of bytes searched per byte of the file. A search for a block's own length costs up to `longestResync` bytes; the bound
 * keeps the time proportional to the size, even for a file of damaged blocks only.
 */
const scannedPerByte = 16

const text = new TextDecoder()

export class PcapngReader extends RecordReader {
  /** Index of the first interface of this section: packets refer to those of their section. */
  #sectionFirst = 0
  #cut = false
  /** Number of blocks that are numbered like packets. */
  others = 0
  /** Function that receives each block that is not a packet. */
  onBlock: ((block: CapturedBlock) => void) | undefined
  /** Number of bytes that `#ownLength` has examined. */
  #scanned = 0

  constructor(window: ByteWindow, packet: CapturedPacket, damage: DamageLog) {
    super(window, packet, damage, true)
  }

  next(): StepValue {
    const { window } = this
    for (;;) {
      if (this.searching) {
        const found = this.resume()
        if (found !== Step.Packet) return found
      }
      const unread = window.limit - window.start
      if (unread < blockHead) {
        window.wanted = blockHead
        if (!window.ended) return Step.More
        if (unread > 0) this.note(`the file ends inside the head of a block: ${unread} bytes are left`)
        window.start = window.limit
        return Step.End
      }
      const { view, start } = window
      let type = view.getUint32(start, this.littleEndian)
      if (type === blockType.sectionHeader && !this.#setByteOrder(start)) {
        this.lose('a section header whose byte order magic is damaged')
        continue
      }
      type = view.getUint32(start, this.littleEndian)
      let total = view.getUint32(start + 4, this.littleEndian)
      const sane = total >= smallestBlock && total % 4 === 0 && total <= longestRecord
      if (sane && unread < total && !window.ended) {
        window.wanted = total
        return Step.More
      }
      const whole = sane && unread >= total
      if (!whole || view.getUint32(start + total - 4, this.littleEndian) !== total) {
        const wanted = (whole ? total : blockHead) + longestResync
        if (!window.ended && unread < wanted) {
          window.wanted = wanted
          return Step.More
        }
        const own = knownTypes.has(type) ? this.#ownLength(start, unread) : 0
        if (own > 0) this.note(`a block that says ${total} bytes at its beginning and ${own} at its end`)
        else if (!sane) this.lose(`a block of ${total} bytes: its head is damaged`)
        else if (!whole) this.lose(`the file ends inside a block: ${unread} of ${total} bytes`)
        else {
          const trailing = view.getUint32(start + total - 4, this.littleEndian)
          const what = `a block that says ${total} bytes at its beginning and ${trailing} at its end`
          if (unread === total || this.#believable(start + total)) this.note(what)
          else this.lose(what)
        }
        if (this.searching) continue
        if (own > 0) total = own
      }
      const isPacket = this.#block(type, start, total)
      window.start = start + total
      if (isPacket) return Step.Packet
    }
  }

  /** Reads one whole block; true if it was a packet. */
  #block(type: number, start: number, total: number): boolean {
    const { view } = this.window
    switch (type) {
      case blockType.enhancedPacket:
        if (total < 32) return this.#bad('an enhanced packet block that is too short')
        return this.#packet(
          view.getUint32(start + 8, this.littleEndian),
          start,
          28,
          total,
          view.getUint32(start + 20, this.littleEndian),
          view.getUint32(start + 24, this.littleEndian),
        )
      case blockType.packet:
        if (total < 32) return this.#bad('a packet block that is too short')
        return this.#packet(
          view.getUint16(start + 8, this.littleEndian),
          start,
          28,
          total,
          view.getUint32(start + 20, this.littleEndian),
          view.getUint32(start + 24, this.littleEndian),
        )
      case blockType.simplePacket:
        return this.#simplePacket(start, total)
      case blockType.interfaceDescription:
        if (this.#interface(start, total)) this.#hand(type, start, total)
        return false
      case blockType.interfaceStatistics:
        if (this.#statistics(start, total)) this.#hand(type, start, total)
        return false
      case blockType.sectionHeader:
        this.#sectionFirst = this.interfaces.length
        if (total < 28) this.note('a section header that is too short')
        this.#hand(type, start, total)
        return false
      case blockType.systemdJournal:
      case blockType.custom:
      case blockType.customNoCopy:
        // The numbering is that of tshark.
        this.packet.number++
        this.others++
        this.#hand(type, start, total)
        return false
      default:
        this.#hand(type, start, total)
        return false
    }
  }

  #hand(type: number, start: number, length: number): void {
    if (this.onBlock === undefined) return
    const { bytes, view } = this.window
    this.onBlock({ type, bytes, view, start, length, littleEndian: this.littleEndian })
  }

  #packet(id: number, start: number, head: number, total: number, captured: number, original: number): boolean {
    const { window, packet } = this
    const info = this.interfaces[this.#sectionFirst + id]
    if (info === undefined)
      return this.#bad(`a packet of interface ${id}, which the section does not describe: it is left out`)
    if (captured > total - head - 4)
      return this.#bad(`${captured} bytes captured in a block of ${total} bytes: it is left out`)
    this.#place(start, head, captured, original, total)
    packet.direction = this.#direction(start + head + ((captured + 3) & ~3), start + total - 4)
    packet.interfaceId = info.id
    packet.linkType = info.linkType
    setTime(
      packet,
      info,
      window.view.getUint32(start + 12, this.littleEndian),
      window.view.getUint32(start + 16, this.littleEndian),
    )
    return true
  }

  #simplePacket(start: number, total: number): boolean {
    const info = this.interfaces[this.#sectionFirst]
    if (total < 16) return this.#bad('a simple packet block that is too short')
    if (info === undefined) return this.#bad('a simple packet before any interface: it is left out')
    const original = this.window.view.getUint32(start + 8, this.littleEndian)
    const cut = info.snapLength === 0 ? original : Math.min(original, info.snapLength)
    this.#place(start, 12, Math.min(cut, total - 16), original, total)
    const { packet } = this
    packet.interfaceId = info.id
    packet.linkType = info.linkType
    packet.seconds = 0
    packet.nanoseconds = 0
    packet.hasTime = false
    packet.direction = Direction.Unknown
    return true
  }

  /** Returns the last two bits of epb_flags, 3 being reserved. Most packets have no options. */
  #direction(from: number, to: number): PacketDirection {
    const { view } = this.window
    for (let at = from; to - at >= 8; ) {
      const code = view.getUint16(at, this.littleEndian)
      const length = view.getUint16(at + 2, this.littleEndian)
      if (code === optionCode.end) break
      if (code === optionCode.epbFlags && length === 4)
        return ((view.getUint32(at + 4, this.littleEndian) & 3) % 3) as PacketDirection
      at += 4 + ((length + 3) & ~3)
    }
    return Direction.Unknown
  }

  #place(start: number, head: number, captured: number, original: number, total: number): void {
    const { window, packet } = this
    packet.number++
    packet.fileOffset = window.base + start
    packet.bytes = window.bytes
    packet.view = window.view
    packet.offset = start + head
    packet.dataOffset = window.base + packet.offset
    packet.length = captured
    packet.blockOffset = start
    packet.blockLength = total
    packet.originalLength = Math.max(original, captured)
  }

  /** Reads an interface description; false if it is not valid. */
  #interface(start: number, total: number): boolean {
    const { window } = this
    if (total < 20) return this.#bad('an interface description that is too short')
    const info: InterfaceInfo = {
      id: this.interfaces.length,
      linkType: window.view.getUint16(start + 8, this.littleEndian),
      snapLength: window.view.getUint32(start + 12, this.littleEndian),
      unitsPerSecond: 1e6,
      offsetSeconds: 0,
    }
    this.#options(start + 16, start + total - 4, (code, at, length) => {
      if (code === optionCode.ifName) info.name = text.decode(window.bytes.subarray(at, at + length))
      else if (code === optionCode.ifDescription) info.description = text.decode(window.bytes.subarray(at, at + length))
      else if (code === optionCode.ifTsresol && length >= 1) info.unitsPerSecond = unitsOfResolution(window.bytes[at]!)
      else if (code === optionCode.ifTsoffset && length >= 8)
        info.offsetSeconds = Number(window.view.getBigInt64(at, this.littleEndian))
    })
    // Dropping interfaces of earlier sections would change the numbers of later ones; the bound limits the memory for a file of garbage.
    if (this.interfaces.length < 65536) this.interfaces.push(info)
    else this.note('more than 65536 interfaces: this one is left out')
    return true
  }

  #statistics(start: number, total: number): boolean {
    if (total < 24) return this.#bad('interface statistics that are too short')
    const { view } = this.window
    const info = this.interfaces[this.#sectionFirst + view.getUint32(start + 8, this.littleEndian)]
    if (info === undefined) return true
    this.#options(start + 20, start + total - 4, (code, at, length) => {
      if (code === optionCode.isbIfDrop && length >= 8) info.dropped = Number(view.getBigUint64(at, this.littleEndian))
    })
    return true
  }

  #options(from: number, to: number, each: (code: number, at: number, length: number) => void): void {
    const { view } = this.window
    let at = from
    while (to - at >= 4) {
      const code = view.getUint16(at, this.littleEndian)
      const length = view.getUint16(at + 2, this.littleEndian)
      if (code === optionCode.end) return
      if (length > to - at - 4) {
        this.note(`an option of ${length} bytes that does not fit into its block`)
        return
      }
      each(code, at + 4, length)
      at += 4 + ((length + 3) & ~3)
    }
  }

  /** Sets the byte order of the section header at `position`; false if its magic is neither. */
  #setByteOrder(position: number): boolean {
    const order = byteOrderOf(this.window.view, position)
    if (order === undefined) return false
    this.littleEndian = order
    return true
  }

  /** Records damage within a block whose frame is valid; it yields no packet. */
  #bad(what: string): false {
    this.note(what)
    return false
  }

  protected override lose(what: string): void {
    super.lose(what)
    this.#cut = what.startsWith('the file ends')
  }

  protected search(): StepValue {
    const { window } = this
    for (; window.limit - window.start >= blockHead; window.start++) {
      const { start, limit, view } = window
      const isSection = view.getUint32(start, true) === blockType.sectionHeader
      const little = isSection ? byteOrderOf(view, start) : this.littleEndian
      if (little === undefined) continue
      if (!isSection && !knownTypes.has(view.getUint32(start, little))) continue
      const total = view.getUint32(start + 4, little)
      if (total < smallestBlock || total % 4 !== 0 || total > longestResync) continue
      if (limit - start < total) {
        if (window.ended) continue
        window.wanted = total
        return Step.More
      }
      if (view.getUint32(start + total - 4, little) === total) return Step.Packet
    }
    window.wanted = blockHead
    if (!window.ended) return Step.More
    if (!this.#cut) this.note('no whole block follows')
    window.start = window.limit
    return Step.End
  }

  /** Returns the length of the block at `start` from the length at its end, if another block or the file's end follows; otherwise 0. */
  #ownLength(start: number, unread: number): number {
    const { view, fileOffset } = this.window
    const most = Math.min(unread, longestResync, scannedPerByte * fileOffset + longestResync - this.#scanned)
    this.#scanned += Math.max(0, most)
    for (let length = smallestBlock; length <= most; length += 4) {
      if (view.getUint32(start + length - 4, this.littleEndian) !== length) continue
      if (length !== unread && !this.#believable(start + length)) continue
      this.#scanned -= most - length
      return length
    }
    return 0
  }

  /** True if there is a whole block with two equal lengths at `position` of the window. */
  #believable(position: number): boolean {
    const { view, limit } = this.window
    if (limit - position < blockHead) return false
    const isSection = view.getUint32(position, true) === blockType.sectionHeader
    const little = isSection ? byteOrderOf(view, position) : this.littleEndian
    if (little === undefined) return false
    const total = view.getUint32(position + 4, little)
    if (total < smallestBlock || total % 4 !== 0 || total > limit - position) return false
    return view.getUint32(position + total - 4, little) === total
  }
}

/** True for little-endian, false for big-endian, undefined if the magic is damaged. */
function byteOrderOf(view: DataView, position: number): boolean | undefined {
  if (view.getUint32(position + 8, true) === byteOrderMagic) return true
  if (view.getUint32(position + 8, false) === byteOrderMagic) return false
  return undefined
}
