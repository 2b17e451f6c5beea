/**
 * Writes the blocks of a pcapng file that is being read into another one unchanged, in their byte order: comments, directions, drop
 * counts, statistics, names, secrets and custom blocks of programs are kept. Options that do not fit into their block are left out, and
 * those that their author marked as not to be copied.
 */
import { blockType, byteOrderMagic, optionCode } from './format.ts'
import type { CapturedPacket } from './packet.ts'
import { type CaptureSink, SinkBuffer } from './sink.ts'
import { PcapngWriter } from './write-pcapng.ts'

/** Complete block of a pcapng file, which is valid until the reader continues. */
export interface CapturedBlock {
  type: number
  bytes: Uint8Array
  view: DataView
  /** Offset of the block in the bytes, and its length including both length words. */
  start: number
  length: number
  littleEndian: boolean
}

/** Custom options that must not be copied. */
const notCopied: ReadonlySet<number> = new Set([19372, 19373])

/** Offset of the options in a block, for types that have them at a fixed offset. */
const optionsAt = new Map<number, number>([
  [blockType.sectionHeader, 24],
  [blockType.interfaceDescription, 16],
  [blockType.interfaceStatistics, 20],
])

const sectionHead = 24

export class BlockCopy {
  /** Number of packets written so far. */
  written = 0
  /** Number of blocks that their authors marked as not to be copied. */
  leftOut = 0
  readonly #out: SinkBuffer
  #hasSection = false

  constructor(sink: CaptureSink) {
    this.#out = new SinkBuffer(sink)
  }

  /** Copies a block that is not a packet. */
  block({ type, bytes, view, start, length, littleEndian }: CapturedBlock): void {
    if (type === blockType.customNoCopy) {
      this.leftOut++
      return
    }
    if (type === blockType.sectionHeader) {
      this.#hasSection = true
      this.#section(bytes, view, start, length, littleEndian)
      return
    }
    this.#begin(littleEndian)
    const options = start + (optionsAt.get(type) ?? length - 4)
    this.#copy(bytes, view, start, options, start + length, littleEndian)
  }

  packet({ bytes, view, offset, length, blockOffset, blockLength }: CapturedPacket, littleEndian: boolean): void {
    this.#begin(littleEndian)
    this.written++
    // A simple packet block has no options.
    const padded = (offset + length - blockOffset + 3) & ~3
    const isSimple = view.getUint32(blockOffset, littleEndian) === blockType.simplePacket
    const end = blockOffset + blockLength
    this.#copy(
      bytes,
      view,
      blockOffset,
      isSimple ? end - 4 : Math.min(blockOffset + padded, end - 4),
      end,
      littleEndian,
    )
  }

  /** Writes buffered bytes, and a section header if there were no blocks. Closes the sink. */
  close(): void {
    this.#begin(true)
    this.#out.flush()
    this.#out.sink.close?.()
  }

  /** Writes a section header if the first one of the file is missing or damaged. */
  #begin(littleEndian: boolean): void {
    if (this.#hasSection) return
    this.#hasSection = true
    const { sink } = this.#out
    new PcapngWriter({ write: (bytes) => sink.write(bytes) }, { littleEndian, application: 'verbena' }).flush()
  }

  /** Copies a section header. The length of the section is not known: −1. */
  #section(bytes: Uint8Array, view: DataView, start: number, length: number, littleEndian: boolean): void {
    const out = this.#out
    out.reserve(length + sectionHead + 8)
    const { at } = out
    out.bytes.set(bytes.subarray(start, start + Math.min(sectionHead, length - 4)), at)
    // A block that is too short gets a standard version and length.
    if (length < sectionHead + 4) {
      out.view.setUint32(at, blockType.sectionHeader, littleEndian)
      out.view.setUint32(at + 8, byteOrderMagic, littleEndian)
      out.view.setUint16(at + 12, 1, littleEndian)
      out.view.setUint16(at + 14, 0, littleEndian)
    }
    out.bytes.fill(0xff, at + 16, at + sectionHead)
    out.at = at + sectionHead
    if (length > sectionHead + 4) this.#options(view, bytes, start + sectionHead, start + length - 4, littleEndian)
    this.#finish(at, littleEndian)
  }

  /** Copies [start, options) unchanged, then the options up to the last word before `end`. */
  #copy(bytes: Uint8Array, view: DataView, start: number, options: number, end: number, littleEndian: boolean): void {
    const out = this.#out
    out.reserve(end - start + 8)
    const { at } = out
    out.bytes.set(bytes.subarray(start, options), at)
    out.at = at + options - start
    if (options < end - 4) this.#options(view, bytes, options, end - 4, littleEndian)
    this.#finish(at, littleEndian)
  }

  #options(view: DataView, bytes: Uint8Array, from: number, to: number, littleEndian: boolean): void {
    const out = this.#out
    let hasOptions = false
    for (let at = from; to - at >= 4; ) {
      hasOptions = true
      const code = view.getUint16(at, littleEndian)
      const padded = 4 + ((view.getUint16(at + 2, littleEndian) + 3) & ~3)
      if (code === optionCode.end || padded > to - at) break
      if (!notCopied.has(code)) {
        out.bytes.set(bytes.subarray(at, at + padded), out.at)
        out.at += padded
      }
      at += padded
    }
    if (!hasOptions) return
    out.view.setUint32(out.at, 0)
    out.at += 4
  }

  #finish(at: number, littleEndian: boolean): void {
    const out = this.#out
    const total = out.at + 4 - at
    out.view.setUint32(at + 4, total, littleEndian)
    out.view.setUint32(out.at, total, littleEndian)
    out.at += 4
  }
}

const blockWords = new Map<number, string>([
  [blockType.nameResolution, 'names of addresses'],
  [blockType.interfaceStatistics, 'statistics of interfaces'],
  [blockType.systemdJournal, 'entries of the journal'],
  [blockType.decryptionSecrets, 'decryption secrets'],
  [blockType.custom, 'custom blocks'],
  [blockType.customNoCopy, 'custom blocks'],
])

const optionWords = new Map<number, string>([
  [optionCode.comment, 'comments'],
  [optionCode.epbFlags, 'directions of packets'],
  [optionCode.epbDropCount, 'drop counts of packets'],
])

/** Adds to `found` the kinds of data of a block, or of a packet of a pcapng file, that a pcap file cannot hold. */
export function extrasOf(from: CapturedBlock, found: Set<string>): void
export function extrasOf(from: CapturedPacket, found: Set<string>, littleEndian: boolean): void
export function extrasOf(from: CapturedBlock | CapturedPacket, found: Set<string>, littleEndian?: boolean): void {
  if ('type' in from) {
    const word = blockWords.get(from.type)
    if (word !== undefined) found.add(word)
    const options = optionsAt.get(from.type)
    if (options === undefined) return
    for (const code of codesOf(from.view, from.start + options, from.start + from.length - 4, from.littleEndian))
      if (code === optionCode.comment) found.add('comments')
    return
  }
  const { view, offset, length, blockOffset, blockLength } = from
  const end = blockOffset + blockLength - 4
  const options = blockOffset + ((offset + length - blockOffset + 3) & ~3)
  if (options >= end || view.getUint32(blockOffset, littleEndian) === blockType.simplePacket) return
  for (const code of codesOf(view, options, end, littleEndian!))
    found.add(optionWords.get(code) ?? 'other options of packets')
}

function* codesOf(view: DataView, from: number, to: number, littleEndian: boolean): Generator<number> {
  for (let at = from; to - at >= 4; at += 4 + ((view.getUint16(at + 2, littleEndian) + 3) & ~3)) {
    const code = view.getUint16(at, littleEndian)
    if (code === optionCode.end) return
    yield code
  }
}
