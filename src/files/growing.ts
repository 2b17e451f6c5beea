/**
 * Captures that are still being written: the pcapng files of a folder, those that are yet to come among them, as one capture. Packets come in
 * the order in which they are found; those of one file in the file's order. Each process of a command that is tapped writes such a file.
 *
 * Blocks of all files become one section, as if one program had written them: packets get the numbers that interfaces have there.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { CaptureParser, type CaptureSource, drain, type PacketHandler, type ReadOptions } from '../capture/index.ts'

const chunkBytes = 1 << 19
/** Between two looks at files that have not grown. */
const pauseMs = 20
const sectionHeader = 0x0a0d0d0a
const interfaceDescription = 1
const enhancedPacket = 6
const smallestBlock = 12
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
  { onProgress, onIdle, signal }: ReadOptions,
): Promise<CaptureParser> {
  const parser = new CaptureParser()
  const files = new Map<string, GrowingFile>()
  const section = { hasBegun: false, interfaces: 0 }
  try {
    while (signal?.aborted !== true) {
      // Asked first: what is in the files at the end is read.
      const isLast = hasEnded()
      for (const name of readdirSync(folder))
        if (!files.has(name)) files.set(name, new GrowingFile(join(folder, name), section))
      let bytes = 0
      for (const file of files.values()) {
        bytes += file.take(parser)
        if (!drain(parser, onPacket)) return parser
      }
      if (bytes > 0) {
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

/** What all files have together. */
interface Section {
  hasBegun: boolean
  interfaces: number
}

class GrowingFile {
  readonly #path: string
  readonly #descriptor: number
  readonly #section: Section
  /** Of this file's present section: their numbers in the section of all. */
  readonly #interfaces: number[] = []
  /** A device that is opened again stays the same interface. */
  readonly #described = new Map<string, number>()
  #at = 0
  #isBroken = false

  constructor(path: string, section: Section) {
    this.#path = path
    this.#descriptor = openSync(path, 'r')
    this.#section = section
  }

  /** Hands the whole blocks of the next chunk over; returns the bytes that they have in the file. */
  take(parser: CaptureParser): number {
    const { size } = fstatSync(this.#descriptor)
    if (this.#isBroken || size <= this.#at) return 0
    const chunk = new Uint8Array(Math.min(chunkBytes, size - this.#at))
    const count = readSync(this.#descriptor, chunk, 0, chunk.length, this.#at)
    const view = new DataView(chunk.buffer)
    let at = 0
    while (count - at >= smallestBlock) {
      const length = view.getUint32(at + 4, true)
      if (length < smallestBlock || length % 4 !== 0 || length > chunkBytes) {
        parser.damage.add(this.#at + at, parser.packet.number + 1, `${this.#path}: a block of ${length} bytes`)
        this.#isBroken = true
        break
      }
      if (length > count - at) break
      this.#block(parser, view, at, length)
      at += length
    }
    this.#at += at
    return at
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
