/**
 * Subnet management packets: MADs of the classes 0x01, routed by LID, and 0x81, along a route of ports that the packet lists
 * (InfiniBand Architecture Specification, volume 1, 14.2.1).
 *
 *      0  MAD header; of directed routes the status has the direction, and the hop pointer and count follow it
 *     24  M_Key       32  DrSLID  34  DrDLID     64  attribute, 64 bytes
 *    128  initial path: the port by which hop i leaves, at i     192  return path
 */
import { bits, flag, HeaderCodec, u16Field, u64Field } from './codec.ts'

/** Offsets of the fields. */
export const Smp = {
  hopPointer: 6,
  hopCount: 7,
  mKey: 24,
  drSlid: 32,
  drDlid: 34,
  data: 64,
  dataLength: 64,
  initialPath: 128,
  returnPath: 192,
  pathLength: 64,
  /** Length up to the attribute. */
  length: 64,
} as const

/** Bit of a directed route's status that marks the return direction. */
export const smpDirection = 0x8000
/** LID that addresses the adjacent node, whatever its LID; on a directed route, it indicates that no part is routed by LID. */
export const permissiveLid = 0xffff
/** Maximum number of hops of a directed route. */
export const maxHops = 63

export interface SmpFields {
  /** True if the packet is on its return path. */
  direction: boolean
  status: number
  hopPointer: number
  hopCount: number
  mKey: bigint
  drSlid: number
  drDlid: number
}

/** Fields of SMPs besides those of all MADs; only for reading, since the header begins with theirs. */
export const smpCodec: HeaderCodec<SmpFields> = new HeaderCodec<SmpFields>('SMP', Smp.length, {
  direction: flag(4, 0x80),
  status: bits(4, 1, 15),
  hopPointer: bits(Smp.hopPointer, 0, 8),
  hopCount: bits(Smp.hopCount, 0, 8),
  mKey: u64Field(Smp.mKey),
  drSlid: u16Field(Smp.drSlid),
  drDlid: u16Field(Smp.drDlid),
})

/** Attributes of subnet management. */
export const SubnAttribute = {
  nodeDescription: 0x10,
  nodeInfo: 0x11,
  switchInfo: 0x12,
  guidInfo: 0x14,
  portInfo: 0x15,
  pkeyTable: 0x16,
  slToVlTable: 0x17,
  vlArbitrationTable: 0x18,
  linearForwardingTable: 0x19,
  multicastForwardingTable: 0x1b,
  smInfo: 0x20,
} as const
