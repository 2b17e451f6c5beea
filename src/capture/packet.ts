/** The current packet of a parser: one record that is refilled for each packet, so that reading does not allocate. */
import { isReadLinkType, linkTypeName } from './format.ts'

/** Interface as the file describes it; a pcap file has exactly one. */
export interface InterfaceInfo {
  id: number
  linkType: number
  snapLength: number
  name?: string
  description?: string
  /** Resolution: time stamps count in units of 1 / unitsPerSecond seconds. */
  unitsPerSecond: number
  /** Seconds to add to each time stamp. */
  offsetSeconds: number
  /** Number of packets that the interface had no room for, if the file reports it in Interface Statistics Blocks. */
  dropped?: number
}

/** Returns the names of the unsupported link types of interfaces, each once. */
export function unreadLinkTypes(interfaces: readonly InterfaceInfo[]): string[] {
  const unread = interfaces.filter(({ linkType }) => !isReadLinkType(linkType))
  return [...new Set(unread.map(({ linkType }) => linkTypeName(linkType)))]
}

/** Direction of a packet, from the point of view of its interface. */
export const Direction = { Unknown: 0, Inbound: 1, Outbound: 2 } as const
/** Value of `Direction`. */
export type PacketDirection = (typeof Direction)[keyof typeof Direction]

/** Captured packet: a record that its reader refills for each packet. */
export class CapturedPacket {
  /** Number from 1, like tshark's frame.number, which also counts custom and journal blocks of pcapng files, which are not packets. */
  number = 0
  /** Offset of the packet's record in the (uncompressed) file. */
  fileOffset = 0
  /** Offset of the captured bytes in that file. */
  dataOffset = 0
  /** Buffer with the captured bytes: bytes[offset .. offset + length), valid until the reader continues. */
  bytes: Uint8Array = new Uint8Array(0)
  view: DataView = new DataView(this.bytes.buffer)
  offset = 0
  length = 0
  /** Offset in the bytes, and length, of the packet's block in a pcapng file. */
  blockOffset = 0
  blockLength = 0
  /** Length on the wire; greater than `length` if the capture has only the beginning. */
  originalLength = 0
  /** Seconds since 1970, and the rest in nanoseconds. Both are 0 if the file has no time (Simple Packet Blocks). */
  seconds = 0
  nanoseconds = 0
  hasTime = false
  linkType = 0
  interfaceId = 0
  /** Direction: received or sent by the interface, if the file reports it (epb_flags of pcapng). */
  direction: PacketDirection = Direction.Unknown
}
