/**
 * Numbers of the two capture file formats: pcap, as libpcap has always written it, and pcapng.
 *
 *   pcap    24-byte file header, then for each packet a 16-byte header (seconds, fraction, captured, original) and bytes
 *   pcapng  blocks: type, total length, body padded to 4, total length again; sections begin with a Section Header
 *
 * Both are written in the byte order of the machine that captured; the first word determines it.
 */

/** First word of a pcap file, in the byte order of the file. */
export const pcapMagic = { micro: 0xa1b2c3d4, nano: 0xa1b23c4d, modified: 0xa1b2cd34 } as const

export const pcapHeaderLength = 24
export const pcapRecordLength = 16
/** Record header length of patched libpcaps of the nineties, with eight more bytes (interface, protocol, packet type). */
export const pcapModifiedRecordLength = 24

export const blockType = {
  sectionHeader: 0x0a0d0d0a,
  interfaceDescription: 1,
  packet: 2,
  simplePacket: 3,
  nameResolution: 4,
  interfaceStatistics: 5,
  enhancedPacket: 6,
  systemdJournal: 9,
  decryptionSecrets: 10,
  custom: 0x00000bad,
  customNoCopy: 0x40000bad,
} as const

/** Second word of a Section Header Block's body, in the byte order of the file. */
export const byteOrderMagic = 0x1a2b3c4d

export const optionCode = {
  end: 0,
  comment: 1,
  shbHardware: 2,
  shbOs: 3,
  shbUserAppl: 4,
  ifName: 2,
  ifDescription: 3,
  ifTsresol: 9,
  ifOs: 12,
  ifTsoffset: 14,
  epbFlags: 2,
  epbDropCount: 4,
  isbIfRecv: 4,
  isbIfDrop: 5,
} as const

/** Types of the first bytes of a packet (https://www.tcpdump.org/linktypes.html). */
export const LinkType = {
  Null: 0,
  Ethernet: 1,
  Ppp: 9,
  RawBsd: 12,
  RawOpenBsd: 14,
  PppHdlc: 50,
  Raw: 101,
  Loop: 108,
  LinuxSll: 113,
  Ppi: 192,
  Erf: 197,
  Ipv4: 228,
  Ipv6: 229,
  IpOverInfiniBand: 242,
  InfiniBand: 247,
  LinuxSll2: 276,
} as const

const linkTypeNames: Readonly<Record<number, string>> = {
  [LinkType.Null]: 'BSD loopback',
  [LinkType.Ethernet]: 'Ethernet',
  [LinkType.Ppp]: 'PPP',
  [LinkType.PppHdlc]: 'PPP',
  [LinkType.Ppi]: 'PPI',
  [LinkType.IpOverInfiniBand]: 'IP over InfiniBand',
  [LinkType.RawBsd]: 'raw IP',
  [LinkType.RawOpenBsd]: 'raw IP',
  [LinkType.Raw]: 'raw IP',
  [LinkType.Loop]: 'OpenBSD loopback',
  [LinkType.LinuxSll]: 'Linux cooked',
  [LinkType.Erf]: 'ERF',
  [LinkType.Ipv4]: 'raw IPv4',
  [LinkType.Ipv6]: 'raw IPv6',
  [LinkType.InfiniBand]: 'InfiniBand',
  [LinkType.LinuxSll2]: 'Linux cooked v2',
}

/** Returns the name of a link type; for an unsupported type, a text that it is not read. */
export function linkTypeName(linkType: number): string {
  return linkTypeNames[linkType] ?? `link type ${linkType}, which is not read`
}

/** True if packets of this link type are supported. */
export function isReadLinkType(linkType: number): boolean {
  return linkTypeNames[linkType] !== undefined
}

/**
 * Length of a packet or block above which it is considered damaged. Real packets of these link types have less than
 * 64 KiB plus headers; the margin is for aggregated ones and for blocks with many options. It bounds a reader's memory.
 */
export const longestRecord: number = 16 * 1024 * 1024

/** Maximum length of a packet that is accepted in the search for the next valid one after damage. */
export const longestResync: number = 256 * 1024
