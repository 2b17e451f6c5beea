/** The current packet of a parser: one record, filled again for each packet, so that reading allocates nothing. */
import { isReadLinkType, linkTypeName } from './format.ts'

/** An interface as the file describes it; a pcap file has exactly one. */
export interface InterfaceInfo {
  id: number
  linkType: number
  snapLength: number
  name?: string
  description?: string
  /** Time stamps count in units of 1 / unitsPerSecond seconds. */
  unitsPerSecond: number
  /** Seconds to add to each time stamp. */
  offsetSeconds: number
  /** From Interface Statistics Blocks: packets the interface had no room for, where the file says so. */
  dropped?: number
}

/** The link types of interfaces of which nothing is known, in words, each once. */
export function unreadLinkTypes(interfaces: readonly InterfaceInfo[]): string[] {
  const unread = interfaces.filter(({ linkType }) => !isReadLinkType(linkType))
  return [...new Set(unread.map(({ linkType }) => linkTypeName(linkType)))]
}

/** Which way a packet went, as its interface saw it. */
export const Direction = { Unknown: 0, Inbound: 1, Outbound: 2 } as const
/** A value of `Direction`. */
export type PacketDirection = (typeof Direction)[keyof typeof Direction]

/** One captured packet: a record that its reader fills again for each. */
export class CapturedPacket {
  /** From 1, as tshark's frame.number, which counts some blocks of pcapng files that are no packets, too: custom and journal blocks. */
  number = 0
  /** Where its record begins in the (uncompressed) file. */
  fileOffset = 0
  /** Where its captured bytes begin in that file. */
  dataOffset = 0
  /** The bytes are bytes[offset .. offset + length), until the reader goes on. */
  bytes: Uint8Array = new Uint8Array(0)
  view: DataView = new DataView(this.bytes.buffer)
  offset = 0
  length = 0
  /** Of a pcapng file: where its block begins in the bytes, and how long that is. */
  blockOffset = 0
  blockLength = 0
  /** Length on the wire; more than `length` if the capture has only the beginning. */
  originalLength = 0
  /** Seconds since 1970, and the rest in nanoseconds. Both 0 if the file does not say (Simple Packet Blocks). */
  seconds = 0
  nanoseconds = 0
  hasTime = false
  linkType = 0
  interfaceId = 0
  /** Whether the interface received or sent it, where the file says so (epb_flags of pcapng). */
  direction: PacketDirection = Direction.Unknown
}
