/**
 * Management datagrams: 256 bytes, the first 24 of which are the same for all classes (InfiniBand Architecture
 * Specification, volume 1, 13.4.2).
 */
import { HeaderCodec, u8Field, u16Field, u32Field, u64Field } from './codec.ts'

/** Offsets of the fields of the MAD header. */
export const Mad = {
  /** Length of the header; the fields that the class defines follow. */
  length: 24,
  /** Length of the complete datagram. */
  totalLength: 256,
  baseVersion: 0,
  mgmtClass: 1,
  classVersion: 2,
  method: 3,
  status: 4,
  classSpecific: 6,
  transactionId: 8,
  attributeId: 16,
  attributeModifier: 20,
} as const

export const MgmtClass = {
  subnLid: 0x01,
  subnDirected: 0x81,
  subnAdm: 0x03,
  perf: 0x04,
  boardManagement: 0x05,
  deviceManagement: 0x06,
  comm: 0x07,
  snmp: 0x08,
  deviceAdministration: 0x10,
  bootInformation: 0x12,
  congestion: 0x21,
} as const

/** True for vendor classes of the second range, whose MAD header is followed by that of RMPP, and by the OUI of the vendor. */
export function isVendorClass2(mgmtClass: number): boolean {
  return mgmtClass >= 0x30 && mgmtClass <= 0x4f
}

/** True for subnet management packets (SMPs), which travel between QPs 0. */
export function isSubnClass(mgmtClass: number): boolean {
  return mgmtClass === MgmtClass.subnLid || mgmtClass === MgmtClass.subnDirected
}

export const MadMethod = {
  get: 0x01,
  set: 0x02,
  send: 0x03,
  trap: 0x05,
  report: 0x06,
  trapRepress: 0x07,
  getTable: 0x12,
  getMulti: 0x14,
  getResponse: 0x81,
  getTableResponse: 0x92,
  /** Bit that marks a response. */
  response: 0x80,
} as const

/** Status of a response, as far as all classes have it in common (13.4.7). */
export const MadStatus = {
  success: 0,
  busy: 0x01,
  badVersion: 0x04,
  unsupportedMethod: 0x08,
  unsupportedAttribute: 0x0c,
  invalidField: 0x1c,
} as const

/** Attribute ids that all classes have. */
export const MadAttribute = { classPortInfo: 0x01, notice: 0x02, informInfo: 0x03 } as const

/** True if a MAD answers another, and so belongs to the sender of that MAD. TrapRepress is one without the bit. */
export function isMadResponse(method: number): boolean {
  return (method & MadMethod.response) !== 0 || method === MadMethod.trapRepress
}

export interface MadFields {
  baseVersion: number
  /** MgmtClass. */
  mgmtClass: number
  classVersion: number
  /** MadMethod; bit 0x80 marks a response. */
  method: number
  status: number
  classSpecific: number
  transactionId: bigint
  attributeId: number
  attributeModifier: number
}

export const madCodec: HeaderCodec<MadFields> = new HeaderCodec<MadFields>(
  'MAD',
  Mad.length,
  {
    baseVersion: u8Field(Mad.baseVersion),
    mgmtClass: u8Field(Mad.mgmtClass),
    classVersion: u8Field(Mad.classVersion),
    method: u8Field(Mad.method),
    status: u16Field(Mad.status),
    classSpecific: u16Field(Mad.classSpecific),
    transactionId: u64Field(Mad.transactionId),
    attributeId: u16Field(Mad.attributeId),
    attributeModifier: u32Field(Mad.attributeModifier),
  },
  (b, at) => (b[at] === 1 ? undefined : 'madVersion'),
)
