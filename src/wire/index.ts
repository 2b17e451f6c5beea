/** Packet formats: encode and decode only, without state, time or sockets. docs/guide/wire.md shows how to use it. */
export * from './aeth.ts'
export * from './bytes.ts'
export * from './cm.ts'
export * from './cm-messages.ts'
export { type Field, type Fields, HeaderCodec, type HeaderRule } from './codec.ts'
export { crcUpdate, type LongCrc32, useCrc32 } from './crc32.ts'
export * from './errors.ts'
export * from './frame.ts'
export * from './gid.ts'
export * from './headers.ts'
export {
  IcrcFlow,
  icrcOfGlobalPacket,
  icrcOfLocalPacket,
  icrcOfRoceV2,
  identificationOf,
} from './icrc.ts'
export * from './ip-extensions.ts'
export * from './link.ts'
export * from './locate.ts'
export * from './mad.ts'
export * from './mad-names.ts'
export * from './opcodes.ts'
export * from './packet.ts'
export * from './perf-attributes.ts'
export * from './psn.ts'
export * from './rdma-cm.ts'
export * from './rmpp.ts'
export * from './smp.ts'
export * from './subnet-attributes.ts'
export { vcrc } from './vcrc.ts'
