/** Attributes of performance management, class 4 (InfiniBand Architecture Specification, volume 1, 16.1). They begin at byte 64 of the MAD. */
import { bits, bytesField, HeaderCodec, u8Field, u16Field, u32Field, u64Field } from './codec.ts'

/** Offset and length of the attribute in the MAD. */
export const Perf = { data: 64, dataLength: 192 } as const

export const PerfAttribute = {
  portCounters: 0x12,
  portCountersExtended: 0x1d,
} as const

/** Bits of the capability mask of ClassPortInfo. */
export const PerfCapability = {
  allPortSelect: 0x100,
  /** Flag: PortCountersExtended exists, with the counters of unicast and multicast. */
  extendedWidth: 0x200,
  /** Flag: PortCountersExtended exists, without those counters. */
  extendedWidthNoIetf: 0x400,
  xmitWait: 0x1000,
} as const

/** Port number that selects all ports. */
export const allPorts = 255

/** Properties that every class with agents reports (13.4.8.1). */
export interface ClassPortInfo {
  baseVersion: number
  classVersion: number
  capabilityMask: number
  capabilityMask2: number
  /** Response time: 4.096 µs · 2^respTimeValue. */
  respTimeValue: number
}

export const classPortInfoCodec: HeaderCodec<ClassPortInfo> = new HeaderCodec<ClassPortInfo>('ClassPortInfo', 72, {
  baseVersion: u8Field(0),
  classVersion: u8Field(1),
  capabilityMask: u16Field(2),
  capabilityMask2: bits(4, 0, 27),
  respTimeValue: bits(7, 3, 5),
})

export interface PortCounters {
  portSelect: number
  counterSelect: number
  symbolErrors: number
  linkErrorRecoveries: number
  linkDowned: number
  rcvErrors: number
  rcvRemotePhysicalErrors: number
  rcvSwitchRelayErrors: number
  xmitDiscards: number
  xmitConstraintErrors: number
  rcvConstraintErrors: number
  counterSelect2: number
  localLinkIntegrityErrors: number
  excessiveBufferOverrunErrors: number
  qp1Dropped: number
  vl15Dropped: number
  /** Data sent in words of four bytes, like `rcvData`. */
  xmitData: number
  rcvData: number
  xmitPkts: number
  rcvPkts: number
  xmitWait: number
}

export const portCountersCodec: HeaderCodec<PortCounters> = new HeaderCodec<PortCounters>('PortCounters', 44, {
  portSelect: u8Field(1),
  counterSelect: u16Field(2),
  symbolErrors: u16Field(4),
  linkErrorRecoveries: u8Field(6),
  linkDowned: u8Field(7),
  rcvErrors: u16Field(8),
  rcvRemotePhysicalErrors: u16Field(10),
  rcvSwitchRelayErrors: u16Field(12),
  xmitDiscards: u16Field(14),
  xmitConstraintErrors: u8Field(16),
  rcvConstraintErrors: u8Field(17),
  counterSelect2: u8Field(18),
  localLinkIntegrityErrors: bits(19, 0, 4),
  excessiveBufferOverrunErrors: bits(19, 4, 4),
  qp1Dropped: u16Field(20),
  vl15Dropped: u16Field(22),
  xmitData: u32Field(24),
  rcvData: u32Field(28),
  xmitPkts: u32Field(32),
  rcvPkts: u32Field(36),
  xmitWait: u32Field(40),
})

/** Same counters, and some more, in 64 bits each. */
export interface PortCountersExtended {
  portSelect: number
  counterSelect: number
  counterSelect2: number
  xmitData: bigint
  rcvData: bigint
  xmitPkts: bigint
  rcvPkts: bigint
  unicastXmitPkts: bigint
  unicastRcvPkts: bigint
  multicastXmitPkts: bigint
  multicastRcvPkts: bigint
  /** Fourteen error counters, eight bytes each. Our agent counts three of them (`wideErrors` of management); the rest are zero. */
  errors: Uint8Array
}

export const extendedErrors = 14

export const portCountersExtendedCodec: HeaderCodec<PortCountersExtended> = new HeaderCodec<PortCountersExtended>(
  'PortCountersExtended',
  72 + 8 * extendedErrors,
  {
    portSelect: u8Field(1),
    counterSelect: u16Field(2),
    counterSelect2: u32Field(4),
    xmitData: u64Field(8),
    rcvData: u64Field(16),
    xmitPkts: u64Field(24),
    rcvPkts: u64Field(32),
    unicastXmitPkts: u64Field(40),
    unicastRcvPkts: u64Field(48),
    multicastXmitPkts: u64Field(56),
    multicastRcvPkts: u64Field(64),
    errors: bytesField(72, 8 * extendedErrors),
  },
)
