/** Values of commands under the names that libibverbs has for them. */
import {
  Access,
  EventType,
  GidType,
  LinkLayer,
  nameOf,
  Opcode,
  PortState,
  QpState,
  QpType,
  ReregFlag,
  SendFlag,
  WcOpcode,
  WcStatus,
} from '../../verbs/index.ts'
import type { TraceValue } from '../watch/index.ts'
import { qpMaskNames } from './qp-mask.ts'

type Table = Readonly<Record<string, number>>

/** `RnrRetryExcErr` as libibverbs writes names. */
const capitals = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase()

/** Names of libibverbs that are not formed from ours. */
const others: Readonly<Record<string, string>> = {
  WR_WRITE: 'WR_RDMA_WRITE',
  WR_WRITE_WITH_IMM: 'WR_RDMA_WRITE_WITH_IMM',
  WR_READ: 'WR_RDMA_READ',
  WC_WRITE: 'WC_RDMA_WRITE',
  WC_READ: 'WC_RDMA_READ',
  ACCESS_HUGE_TLB: 'ACCESS_HUGETLB',
  LINK_LAYER_INFINI_BAND: 'LINK_LAYER_INFINIBAND',
}

/** The name of a value, or its number. */
function named(prefix: string, table: Table, value: number): string {
  const name = nameOf(table, value)
  if (name === String(value)) return name
  const ours = `${prefix}_${capitals(name)}`
  return `IBV_${others[ours] ?? ours}`
}

/** Names of bits, with bars between; what has no name as a number. */
function flags(prefix: string, table: Table, value: number): string {
  if (value === 0) return '0'
  const known = Object.values(table).filter((bit) => (value & bit) !== 0)
  const rest = known.reduce((all, bit) => all & ~bit, value) >>> 0
  return [...known.map((bit) => named(prefix, table, bit)), ...(rest === 0 ? [] : [hex(rest)])].join('|')
}

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`
/** Two words of 32 bits. */
export const hex64 = (low: number, high: number): string => hex((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0))

export const opcodeName = (value: number): string => named('WR', Opcode, value)
export const sendFlagNames = (value: number): string => flags('SEND', SendFlag, value)
export const wcOpcodeName = (value: number): string => named('WC', WcOpcode, value)
export const wcStatusName = (value: number): string => named('WC', WcStatus, value)
export const eventName = (value: number): string => named('EVENT', EventType, value)
export const accessNames = (value: number): string => flags('ACCESS', Access, value)
const qpTypes = { ...QpType, RawPacket: 8, XrcSend: 9, XrcRecv: 10, Driver: 255 }

/** Formatters of values, by name of the field of a structure or the attribute of a method. */
const numbers: Readonly<Record<string, (value: number) => TraceValue>> = {
  qp_type: (value) => named('QPT', qpTypes, value),
  qp_state: (value) => named('QPS', QpState, value),
  cur_qp_state: (value) => named('QPS', QpState, value),
  access_flags: accessNames,
  qp_access_flags: accessNames,
  flags: hex,
  rereg_flags: (value) => flags('REREG_MR', ReregFlag, value),
  path_mtu: mtuName,
  max_mtu: mtuName,
  active_mtu: mtuName,
  qp_attr_mask: qpMaskNames,
  state: (value) => named('PORT', PortState, value),
  link_layer: (value) => named('LINK_LAYER', LinkLayer, value),
  gid_type: (value) => named('GID_TYPE', GidType, value),
  page_size_cap: hex,
  device_cap_flags: hex,
  port_cap_flags: hex,
}

function mtuName(value: number): TraceValue {
  return value >= 1 && value <= 5 ? `IBV_MTU_${128 << value}` : value
}

const isHex = /key$|qpn$|qp_num$|^(start|hca_va|iova|fw_ver|vendor_id)$|addr$/

export function namedValue(name: string, value: number | bigint | Uint8Array): TraceValue {
  if (value instanceof Uint8Array) return gidText(value)
  if (typeof value === 'bigint') return hex(value)
  const known = numbers[name]
  if (known !== undefined) return known(value)
  // A number of 64 bits that no number is.
  if (!Number.isFinite(value)) return '2^53 or more'
  return isHex.test(name) ? hex(value) : value
}

function gidText(gid: Uint8Array): string {
  return (Buffer.from(gid).toString('hex').match(/.{4}/g) ?? []).join(':')
}
