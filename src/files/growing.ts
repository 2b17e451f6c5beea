/**
 * Captures that are still being written: the pcapng files of a folder, those that are yet to come among them, as one capture. Of what
 * is there, the oldest packets come first, within 10 ms; those of one file in the file's order. Each process of a command that is tapped writes such a file.
 *
 * Blocks of all files become one section, as if one program had written them: packets get the numbers that interfaces have there.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { CaptureParser, type CaptureSource, drain, type PacketHandler, type ReadOptions } from '../capture/index.ts'

/** Of a file at once; the longest block that it may have. */
const chunkBytes = 1 << 18
/** After so many the event loop gets its turn. */
const roundBytes = 1 << 19
/** So much of one file is handed over before the others are looked at, and not less than a packet. */
const turnBytes = 1 << 16
/** A file is read on while its next packet is no later than so long after that of another one. */
const slackNs = 10e6
/** Between two looks at files that have not grown. */
const pauseMs = 20
const sectionHeader = 0x0a0d0d0a
const interfaceDescription = 1
const enhancedPacket = 6
const smallestBlock = 12
/** Bytes of a packet's block beside the packet. */
const leastPacket = 32
const decoder = new TextDecoder('latin1')

/** Every file of the folder, until `hasEnded` and all is read. They are little-endian, as `PcapngWriter` writes them. */
export function growingSource(folder: string, hasEnded: () => boolean): CaptureSource {
  return {
    repeatable: false,
    read: async (onPacket, options = {}) => await readGrowing(folder, hasEnded, onPacket, options),
  }
}

async function readGrowing(
  folder: string,
  hasEnded: () => boolean,
  onPacket: PacketHandler,
  { onProgress, onIdle, onBlock, signal }: ReadOptions,
): Promise<CaptureParser> {
  const parser = new CaptureParser()
  parser.onBlock = onBlock
  const files = new Map<string, GrowingFile>()
  const section = { hasBegun: false, interfaces: 0, bytes: 0 }
  try {
    while (signal?.aborted !== true) {
      // Asked first: what is in the files at the end is read.
      const isLast = hasEnded()
      const { bytes } = section
      for (const name of readdirSync(folder))
        if (!files.has(name)) files.set(name, new GrowingFile(join(folder, name), section))
      for (const file of files.values()) file.look(parser)
      do if (!drain(parser, onPacket)) return parser
      while (section.bytes - bytes < roundBytes && takeOldest(files.values(), parser))
      if (section.bytes > bytes) {
        await onProgress?.(parser.fileOffset)
        await nextTurn()
      } else if (isLast) return parser
      else {
        onIdle?.()
        await pause(pauseMs, undefined, { ...(signal && { signal }) }).catch(() => {})
      }
    }
    return parser
  } finally {
    for (const file of files.values()) file.close()
  }
}

/** Hands over the oldest packets that wait; false if none does. */
function takeOldest(files: Iterable<GrowingFile>, parser: CaptureParser): boolean {
  let oldest: GrowingFile | undefined
  let firstNs = Number.POSITIVE_INFINITY
  let secondNs = Number.POSITIVE_INFINITY
  for (const file of files) {
    const { nextNs } = file
    if (nextNs < firstNs) {
      secondNs = firstNs
      firstNs = nextNs
      oldest = file
    } else secondNs = Math.min(secondNs, nextNs)
  }
  oldest?.take(parser, secondNs + slackNs)
  return oldest !== undefined
}

/** What all files have together. */
interface Section {
  hasBegun: boolean
  interfaces: number
  /** Of blocks that were handed over, or need not be. */
  bytes: number
}

class GrowingFile {
  readonly #path: string
  readonly #descriptor: number
  readonly #section: Section
  /** Of this file's present section: their numbers in the section of all. */
  readonly #interfaces: number[] = []
  /** A device that is opened again stays the same interface. */
  readonly #described = new Map<string, number>()
  /** What was read last, from which place of the file, and how much of it was used. */
  #chunk = new DataView(new ArrayBuffer(0))
  #at = 0
  #used = 0
  #isBroken = false
  /** The time of the next packet, since 1970; Infinity while none is there as a whole. */
  nextNs = Number.POSITIVE_INFINITY

  constructor(path: string, section: Section) {
    this.#path = path
    this.#descriptor = openSync(path, 'r')
    this.#section = section
  }

  /** Finds the next packet, if there is none yet, and hands the blocks before it over. */
  look(parser: CaptureParser): void {
    while (this.nextNs === Number.POSITIVE_INFINITY) {
      const length = this.#blockLength(parser)
      if (length > 0) {
        const at = this.#used
        if (this.#chunk.getUint32(at, true) !== enhancedPacket) this.#pass(parser, length)
        else if (length < leastPacket) this.nextNs = 0
        else this.nextNs = this.#chunk.getUint32(at + 12, true) * 2 ** 32 + this.#chunk.getUint32(at + 16, true)
      } else if (!this.#fill()) return
    }
  }

  /** Hands packets over, the next one and those that are no later than `untilNs`: a chunk at most. */
  take(parser: CaptureParser, untilNs: number): void {
    const end = this.#section.bytes + turnBytes
    do {
      this.nextNs = Number.POSITIVE_INFINITY
      this.#pass(parser, this.#chunk.getUint32(this.#used + 4, true))
      this.look(parser)
    } while (this.nextNs <= untilNs && this.nextNs < Number.POSITIVE_INFINITY && this.#section.bytes < end)
  }

  #pass(parser: CaptureParser, length: number): void {
    this.#block(parser, this.#chunk, this.#used, length)
    this.#used += length
    this.#section.bytes += length
  }

  /** Of the next block; 0 if it is not there as a whole. */
  #blockLength(parser: CaptureParser): number {
    const at = this.#used
    const left = this.#chunk.byteLength - at
    if (this.#isBroken || left < smallestBlock) return 0
    const length = this.#chunk.getUint32(at + 4, true)
    if (length >= smallestBlock && length % 4 === 0 && length <= chunkBytes) return length > left ? 0 : length
    parser.damage.add(this.#at + at, parser.packet.number + 1, `${this.#path}: a block of ${length} bytes`)
    this.#isBroken = true
    return 0
  }

  /** Reads on from the next block; false if there is no more than was read. */
  #fill(): boolean {
    if (this.#isBroken) return false
    const from = this.#at + this.#used
    const left = this.#chunk.byteLength - this.#used
    const wanted = Math.min(chunkBytes, fstatSync(this.#descriptor).size - from)
    if (wanted <= left) return false
    const bytes = new Uint8Array(wanted)
    const count = readSync(this.#descriptor, bytes, 0, wanted, from)
    this.#chunk = new DataView(bytes.buffer, 0, count)
    this.#at = from
    this.#used = 0
    return count > left
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #block(parser: CaptureParser, view: DataView, at: number, length: number): void {
    const type = view.getUint32(at, true)
    const section = this.#section
    if (type === sectionHeader) {
      this.#interfaces.length = 0
      if (section.hasBegun) return
      section.hasBegun = true
    } else if (type === interfaceDescription) {
      const text = decoder.decode(new Uint8Array(view.buffer, at, length))
      const known = this.#described.get(text)
      this.#interfaces.push(known ?? section.interfaces)
      if (known !== undefined) return
      this.#described.set(text, section.interfaces++)
    } else if (type === enhancedPacket)
      // One that its section does not describe gets a number that nobody has: the parser says so.
      view.setUint32(at + 8, this.#interfaces[view.getUint32(at + 8, true)] ?? 0xffff_ffff, true)
    else return
    parser.push(new Uint8Array(view.buffer, at, length))
  }
}
