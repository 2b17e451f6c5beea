/** Capture formats: pcap and pcapng, in and out. Pure: files and streams are in `src/files`. Other folders import from here only. */
export { type Compression, compressionMagicLength, compressionOf } from './compression.ts'
export { CaptureCopy, type CaptureCopyOptions, LinkTypeError } from './copy.ts'
export { BlockCopy, type CapturedBlock, extrasOf } from './copy-blocks.ts'
export { type Damage, describeDamage } from './damage.ts'
export { LinkType, linkTypeName } from './format.ts'
export { LinkLayer, type Located, locate, located } from './link-layer.ts'
export {
  CapturedPacket,
  type CaptureFormat,
  CaptureParser,
  Direction,
  type InterfaceInfo,
  type PacketDirection,
  Step,
  unreadLinkTypes,
} from './parser.ts'
export type { CaptureSink } from './sink.ts'
export { bytesSource, type CaptureSource, drain, type PacketHandler, type ReadOptions } from './source.ts'
export { type CaptureWriter, PcapWriter, type PcapWriterOptions } from './write-pcap.ts'
export { type InterfaceOptions, type PacketOptions, PcapngWriter, type PcapngWriterOptions } from './write-pcapng.ts'
