/** Packet formats: encode and decode, nothing else. Knows no state, time or sockets. */
export * from './aeth.ts'
export * from './bytes.ts'
export * from './gid.ts'
export * from './headers.ts'
export {
  IcrcFlow,
  icrcOfGlobalPacket,
  icrcOfLocalPacket,
  icrcOfRoceV2,
  identificationOf,
} from './icrc.ts'
export * from './opcodes.ts'
export { vcrc } from './vcrc.ts'
