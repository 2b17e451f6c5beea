/** Attributes of subnet management that describe nodes and ports (InfiniBand Architecture Specification, volume 1, 14.2.5). */
import { bits, flag, HeaderCodec, u8Field, u16Field, u24Field, u32Field, u64Field } from './codec.ts'
import { Smp } from './smp.ts'

/** Description of a node, and the port on which it received the request. */
export interface NodeInfo {
  baseVersion: number
  classVersion: number
  /** NodeType. */
  nodeType: number
  numPorts: number
  systemImageGuid: bigint
  nodeGuid: bigint
  portGuid: bigint
  partitionCap: number
  deviceId: number
  revision: number
  localPortNum: number
  vendorId: number
}

export const NodeType = { ca: 1, switch: 2, router: 3 } as const

export const nodeInfoCodec: HeaderCodec<NodeInfo> = new HeaderCodec<NodeInfo>('NodeInfo', 40, {
  baseVersion: u8Field(0),
  classVersion: u8Field(1),
  nodeType: u8Field(2),
  numPorts: u8Field(3),
  systemImageGuid: u64Field(4),
  nodeGuid: u64Field(12),
  portGuid: u64Field(20),
  partitionCap: u16Field(28),
  deviceId: u16Field(30),
  revision: u32Field(32),
  localPortNum: u8Field(36),
  vendorId: u24Field(37),
})

export const PortState = { noChange: 0, down: 1, init: 2, armed: 3, active: 4 } as const
export const PortPhysState = { noChange: 0, sleep: 1, polling: 2, disabled: 3, training: 4, linkUp: 5 } as const

/** Bits of `capabilityMask`. */
export const PortCapability = {
  isSm: 0x2,
  notice: 0x4,
  trap: 0x8,
  smDisabled: 0x400,
  systemImageGuid: 0x800,
  commManagement: 0x10000,
  vendorClass: 0x100000,
  clientReregistration: 0x2000000,
} as const

/** Properties of a port. Widths, speeds, MTUs and numbers of lanes are codes. */
export interface PortInfo {
  mKey: bigint
  gidPrefix: bigint
  lid: number
  masterSmLid: number
  capabilityMask: number
  diagCode: number
  mKeyLeasePeriod: number
  localPortNum: number
  linkWidthEnabled: number
  linkWidthSupported: number
  linkWidthActive: number
  linkSpeedSupported: number
  portState: number
  portPhysState: number
  linkDownDefaultState: number
  mKeyProtectBits: number
  lmc: number
  linkSpeedActive: number
  linkSpeedEnabled: number
  neighborMtu: number
  masterSmSl: number
  vlCap: number
  initType: number
  vlHighLimit: number
  vlArbitrationHighCap: number
  vlArbitrationLowCap: number
  initTypeReply: number
  mtuCap: number
  vlStallCount: number
  hoqLife: number
  operationalVls: number
  partitionEnforcementInbound: boolean
  partitionEnforcementOutbound: boolean
  filterRawInbound: boolean
  filterRawOutbound: boolean
  mKeyViolations: number
  pKeyViolations: number
  qKeyViolations: number
  guidCap: number
  clientReregister: boolean
  multicastPkeyTrapSuppression: number
  subnetTimeout: number
  respTimeValue: number
  localPhyErrors: number
  overrunErrors: number
  maxCreditHint: number
  linkRoundTripLatency: number
  capabilityMask2: number
  linkSpeedExtActive: number
  linkSpeedExtSupported: number
  linkSpeedExtEnabled: number
}

export const portInfoCodec: HeaderCodec<PortInfo> = new HeaderCodec<PortInfo>('PortInfo', Smp.dataLength, {
  mKey: u64Field(0),
  gidPrefix: u64Field(8),
  lid: u16Field(16),
  masterSmLid: u16Field(18),
  capabilityMask: u32Field(20),
  diagCode: u16Field(24),
  mKeyLeasePeriod: u16Field(26),
  localPortNum: u8Field(28),
  linkWidthEnabled: u8Field(29),
  linkWidthSupported: u8Field(30),
  linkWidthActive: u8Field(31),
  linkSpeedSupported: bits(32, 0, 4),
  portState: bits(32, 4, 4),
  portPhysState: bits(33, 0, 4),
  linkDownDefaultState: bits(33, 4, 4),
  mKeyProtectBits: bits(34, 0, 2),
  lmc: bits(34, 5, 3),
  linkSpeedActive: bits(35, 0, 4),
  linkSpeedEnabled: bits(35, 4, 4),
  neighborMtu: bits(36, 0, 4),
  masterSmSl: bits(36, 4, 4),
  vlCap: bits(37, 0, 4),
  initType: bits(37, 4, 4),
  vlHighLimit: u8Field(38),
  vlArbitrationHighCap: u8Field(39),
  vlArbitrationLowCap: u8Field(40),
  initTypeReply: bits(41, 0, 4),
  mtuCap: bits(41, 4, 4),
  vlStallCount: bits(42, 0, 3),
  hoqLife: bits(42, 3, 5),
  operationalVls: bits(43, 0, 4),
  partitionEnforcementInbound: flag(43, 0x08),
  partitionEnforcementOutbound: flag(43, 0x04),
  filterRawInbound: flag(43, 0x02),
  filterRawOutbound: flag(43, 0x01),
  mKeyViolations: u16Field(44),
  pKeyViolations: u16Field(46),
  qKeyViolations: u16Field(48),
  guidCap: u8Field(50),
  clientReregister: flag(51, 0x80),
  multicastPkeyTrapSuppression: bits(51, 1, 2),
  subnetTimeout: bits(51, 3, 5),
  respTimeValue: bits(52, 3, 5),
  localPhyErrors: bits(53, 0, 4),
  overrunErrors: bits(53, 4, 4),
  maxCreditHint: u16Field(54),
  linkRoundTripLatency: bits(57, 0, 24),
  capabilityMask2: u16Field(60),
  linkSpeedExtActive: bits(62, 0, 4),
  linkSpeedExtSupported: bits(62, 4, 4),
  linkSpeedExtEnabled: bits(63, 3, 5),
})

/** Number of P_Keys in a block of their table, and of GUIDs in one of theirs. */
export const pkeysPerBlock = 32
export const guidsPerBlock = 8
