/**
 * Captures that are still being written: the pcapng files of a folder, including files created later, as one capture. Among the packets
 * present, the oldest come first, within 10 ms; those of one file in the file's order. Each process of a tapped command writes such a file.
 *
 * Blocks of all files become one section, as if one program had written them: packets get the interface numbers of that section.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { CaptureParser, type CaptureSource, drain, type PacketHandler, type ReadOptions } from '../capture/index.ts'

/** Bytes of a file to read at once, and the maximum length of a block. */
const chunkBytes = 1 << 18
/** Bytes after which the event loop runs. */
const roundBytes = 1 << 19
/** Bytes of one file to pass on before the other files are examined, at least one packet. */
const turnBytes = 1 << 16
/** Maximum time of a file's next packet after that of another file, for which reading of the file continues. */
const slackNs = 10e6
/** Pause between two checks of files that have not grown. */
const pauseMs = 20
const sectionHeader = 0x0a0d0d0a
const interfaceDescription = 1
const enhancedPacket = 6
const smallestBlock = 12
/** Bytes of a packet's block besides the packet. */
const leastPacket = 32
const decoder = new TextDecoder('latin1')

/** Returns a source of all files of the folder, until `hasEnded` and all is read. They are little-endian, as `PcapngWriter` writes them. */
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
      // Called first: data in the files at the end is then read.
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

/** Passes on the oldest waiting packets; false if there are none. */
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

/** Common state of all files. */
interface Section {
  hasBegun: boolean
  interfaces: number
  /** Bytes of blocks that were passed on, or need not be. */
  bytes: number
}

class GrowingFile {
  readonly #path: string
  readonly #descriptor: number
  readonly #section: Section
  /** Interfaces of this file's current section: their numbers in the common section. */
  readonly #interfaces: number[] = []
  /** Known interface descriptions: a device that is opened again stays the same interface. */
  readonly #described = new Map<string, number>()
  /** Chunk read last, its offset in the file, and the number of bytes of it that were used. */
  #chunk = new DataView(new ArrayBuffer(0))
  #at = 0
  #used = 0
  #isBroken = false
  /** Time of the next packet, since 1970; Infinity until it is complete. */
  nextNs = Number.POSITIVE_INFINITY

  constructor(path: string, section: Section) {
    this.#path = path
    this.#descriptor = openSync(path, 'r')
    this.#section = section
  }

  /** Finds the next packet, if there is none yet, and passes on the blocks before it. */
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

  /** Passes on the next packet and those that are no later than `untilNs`: at most a chunk. */
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

  /** Returns the length of the next block; 0 if it is not complete. */
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

  /** Reads more bytes from the next block on; false if there are none. */
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
      // A packet whose interface its section does not describe gets an unused number: the parser reports it.
      view.setUint32(at + 8, this.#interfaces[view.getUint32(at + 8, true)] ?? 0xffff_ffff, true)
    else return
    parser.push(new Uint8Array(view.buffer, at, length))
  }
}
