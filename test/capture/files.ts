/** Captures as bytes in memory, for tests: written by our writers or by hand, read with the parser. */
import { CaptureParser, type CaptureSink, type Damage, type InterfaceInfo, Step } from '../../src/capture/index.ts'

export interface Read {
  number: number
  fileOffset: number
  bytes: Uint8Array
  originalLength: number
  seconds: number
  nanoseconds: number
  hasTime: boolean
  linkType: number
  interfaceId: number
}

export interface ReadAll {
  packets: Read[]
  damage: readonly Damage[]
  damageCount: number
  format: string | undefined
  interfaces: readonly InterfaceInfo[]
  parser: CaptureParser
}

/** Reads a file in memory, given to the parser `step` bytes at a time. */
export function readBytes(file: Uint8Array, step: number = file.length, windowSize = 4096): ReadAll {
  const parser = new CaptureParser(windowSize)
  const packets: Read[] = []
  let at = 0
  for (;;) {
    const what = parser.next()
    if (what === Step.End) break
    if (what === Step.More) {
      if (at === file.length) parser.end()
      else {
        parser.push(file.subarray(at, at + step))
        at = Math.min(at + step, file.length)
      }
      continue
    }
    const { packet } = parser
    packets.push({
      number: packet.number,
      fileOffset: packet.fileOffset,
      bytes: packet.bytes.slice(packet.offset, packet.offset + packet.length),
      originalLength: packet.originalLength,
      seconds: packet.seconds,
      nanoseconds: packet.nanoseconds,
      hasTime: packet.hasTime,
      linkType: packet.linkType,
      interfaceId: packet.interfaceId,
    })
  }
  const { damage, format, interfaces } = parser
  return { packets, damage: damage.list, damageCount: damage.count, format, interfaces, parser }
}

/** A sink in memory; `bytes` joins what it was given. */
export function memorySink(): CaptureSink & { bytes(): Uint8Array } {
  const parts: Uint8Array[] = []
  return {
    write: (bytes) => void parts.push(bytes.slice()),
    bytes: () => concat(parts),
  }
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

/** A pcapng block around a body, padded. */
export function block(type: number, body: Uint8Array, littleEndian = true): Uint8Array {
  const padded = (body.length + 3) & ~3
  const b = new Uint8Array(12 + padded)
  const view = new DataView(b.buffer)
  view.setUint32(0, type, littleEndian)
  view.setUint32(4, b.length, littleEndian)
  b.set(body, 8)
  view.setUint32(b.length - 4, b.length, littleEndian)
  return b
}

/** Words of 32 bits one after the other. */
export function words(values: readonly number[], littleEndian = true): Uint8Array {
  const b = new Uint8Array(values.length * 4)
  const view = new DataView(b.buffer)
  for (const [i, value] of values.entries()) view.setUint32(4 * i, value, littleEndian)
  return b
}

export function sectionHeader(littleEndian = true): Uint8Array {
  return block(
    0x0a0d0d0a,
    words([0x1a2b3c4d, littleEndian ? 1 : 0x00010000, 0xffffffff, 0xffffffff], littleEndian),
    littleEndian,
  )
}
