/**
 * Every opcode of the BTH and the headers that follow it. `WireOpcode` lists the opcodes; `operations` describes each of the 32
 * operations, whatever the transport. All else is derived from these two: names, header lists, lengths, bits.
 *
 *     bits 7:5  transport     000 RC   001 UC   010 RD   011 UD   100 (0x81) CNP   101 XRC
 *     bits 4:0  operation
 *
 * Source: InfiniBand Architecture Specification, volume 1, 9.2.1 (table 38), annexes A14, A17 and A19.
 */
import { Aeth, AtomicAckEth, AtomicEth, Bth, CnpPad, Deth, Feth, Ieth, ImmDt, Rdeth, Reth, Xrceth } from './headers.ts'

export const WireOpcode = {
  RcSendFirst: 0x00,
  RcSendMiddle: 0x01,
  RcSendLast: 0x02,
  RcSendLastWithImm: 0x03,
  RcSendOnly: 0x04,
  RcSendOnlyWithImm: 0x05,
  RcWriteFirst: 0x06,
  RcWriteMiddle: 0x07,
  RcWriteLast: 0x08,
  RcWriteLastWithImm: 0x09,
  RcWriteOnly: 0x0a,
  RcWriteOnlyWithImm: 0x0b,
  RcReadRequest: 0x0c,
  RcReadResponseFirst: 0x0d,
  RcReadResponseMiddle: 0x0e,
  RcReadResponseLast: 0x0f,
  RcReadResponseOnly: 0x10,
  RcAck: 0x11,
  RcAtomicAck: 0x12,
  RcCompareSwap: 0x13,
  RcFetchAdd: 0x14,
  RcSendLastWithInv: 0x16,
  RcSendOnlyWithInv: 0x17,
  RcFlush: 0x1c,
  RcAtomicWrite: 0x1d,

  UcSendFirst: 0x20,
  UcSendMiddle: 0x21,
  UcSendLast: 0x22,
  UcSendLastWithImm: 0x23,
  UcSendOnly: 0x24,
  UcSendOnlyWithImm: 0x25,
  UcWriteFirst: 0x26,
  UcWriteMiddle: 0x27,
  UcWriteLast: 0x28,
  UcWriteLastWithImm: 0x29,
  UcWriteOnly: 0x2a,
  UcWriteOnlyWithImm: 0x2b,

  RdSendFirst: 0x40,
  RdSendMiddle: 0x41,
  RdSendLast: 0x42,
  RdSendLastWithImm: 0x43,
  RdSendOnly: 0x44,
  RdSendOnlyWithImm: 0x45,
  RdWriteFirst: 0x46,
  RdWriteMiddle: 0x47,
  RdWriteLast: 0x48,
  RdWriteLastWithImm: 0x49,
  RdWriteOnly: 0x4a,
  RdWriteOnlyWithImm: 0x4b,
  RdReadRequest: 0x4c,
  RdReadResponseFirst: 0x4d,
  RdReadResponseMiddle: 0x4e,
  RdReadResponseLast: 0x4f,
  RdReadResponseOnly: 0x50,
  RdAck: 0x51,
  RdAtomicAck: 0x52,
  RdCompareSwap: 0x53,
  RdFetchAdd: 0x54,
  RdResync: 0x55,
  RdFlush: 0x5c,

  UdSendOnly: 0x64,
  UdSendOnlyWithImm: 0x65,

  Cnp: 0x81,

  XrcSendFirst: 0xa0,
  XrcSendMiddle: 0xa1,
  XrcSendLast: 0xa2,
  XrcSendLastWithImm: 0xa3,
  XrcSendOnly: 0xa4,
  XrcSendOnlyWithImm: 0xa5,
  XrcWriteFirst: 0xa6,
  XrcWriteMiddle: 0xa7,
  XrcWriteLast: 0xa8,
  XrcWriteLastWithImm: 0xa9,
  XrcWriteOnly: 0xaa,
  XrcWriteOnlyWithImm: 0xab,
  XrcReadRequest: 0xac,
  XrcReadResponseFirst: 0xad,
  XrcReadResponseMiddle: 0xae,
  XrcReadResponseLast: 0xaf,
  XrcReadResponseOnly: 0xb0,
  XrcAck: 0xb1,
  XrcAtomicAck: 0xb2,
  XrcCompareSwap: 0xb3,
  XrcFetchAdd: 0xb4,
  XrcSendLastWithInv: 0xb6,
  XrcSendOnlyWithInv: 0xb7,
} as const
export type WireOpcode = (typeof WireOpcode)[keyof typeof WireOpcode]

export type Transport = 'RC' | 'UC' | 'RD' | 'UD' | 'XRC' | 'CNP'
export type Place = 'first' | 'middle' | 'last' | 'only'
export type Operation =
  | 'SEND'
  | 'WRITE'
  | 'READ_REQUEST'
  | 'READ_RESPONSE'
  | 'ACK'
  | 'ATOMIC_ACK'
  | 'COMPARE_SWAP'
  | 'FETCH_ADD'
  | 'RESYNC'
  | 'FLUSH'
  | 'ATOMIC_WRITE'
  | 'CNP'

export type HeaderName =
  | 'RDETH'
  | 'DETH'
  | 'XRCETH'
  | 'FETH'
  | 'RETH'
  | 'AtomicETH'
  | 'AETH'
  | 'AtomicAckETH'
  | 'ImmDt'
  | 'IETH'
  | 'CNP'

/** Lengths of all extension headers, by name. */
export const extensionLengths: Readonly<Record<HeaderName, number>> = {
  RDETH: Rdeth.length,
  DETH: Deth.length,
  XRCETH: Xrceth.length,
  FETH: Feth.length,
  RETH: Reth.length,
  AtomicETH: AtomicEth.length,
  AETH: Aeth.length,
  AtomicAckETH: AtomicAckEth.length,
  ImmDt: ImmDt.length,
  IETH: Ieth.length,
  CNP: CnpPad.length,
}

export interface OpcodeInfo {
  opcode: number
  /** Name in the specification's terms, with underscores: RC_SEND_LAST_WITH_IMMEDIATE. */
  name: string
  transport: Transport
  operation: Operation
  place: Place
  /** Extension headers in wire order; the BTH before them is not listed. */
  headers: readonly HeaderName[]
  /** True if a payload may follow. */
  payload: boolean
}

/** Bits of `opcodeBits`. */
export const OpBit = {
  First: 0x1,
  Middle: 0x2,
  Last: 0x4,
  Only: 0x8,
  Send: 0x10,
  Write: 0x20,
  ReadRequest: 0x40,
  ReadResponse: 0x80,
  Ack: 0x100,
  AtomicAck: 0x200,
  /** Flag: COMPARE SWAP and FETCH ADD. */
  Atomic: 0x400,
  Flush: 0x800,
  AtomicWrite: 0x1000,
  Resync: 0x2000,
  Cnp: 0x4000,
  Rdeth: 0x8000,
  Deth: 0x10000,
  Xrceth: 0x20000,
  Feth: 0x40000,
  Reth: 0x80000,
  AtomicEth: 0x100000,
  Aeth: 0x200000,
  AtomicAckEth: 0x400000,
  Imm: 0x800000,
  Ieth: 0x1000000,
  Payload: 0x2000000,
  /** Flag: the packet travels from requester to responder. */
  Request: 0x4000000,
  /** Flag: the packet travels from responder to requester. A CNP is neither. */
  Response: 0x8000000,
} as const

const placeBits = { first: OpBit.First, middle: OpBit.Middle, last: OpBit.Last, only: OpBit.Only } as const
const operationBits: Record<Operation, number> = {
  SEND: OpBit.Send | OpBit.Request,
  WRITE: OpBit.Write | OpBit.Request,
  READ_REQUEST: OpBit.ReadRequest | OpBit.Request,
  READ_RESPONSE: OpBit.ReadResponse | OpBit.Response,
  ACK: OpBit.Ack | OpBit.Response,
  ATOMIC_ACK: OpBit.AtomicAck | OpBit.Response,
  COMPARE_SWAP: OpBit.Atomic | OpBit.Request,
  FETCH_ADD: OpBit.Atomic | OpBit.Request,
  RESYNC: OpBit.Resync | OpBit.Request,
  FLUSH: OpBit.Flush | OpBit.Request,
  ATOMIC_WRITE: OpBit.AtomicWrite | OpBit.Request,
  CNP: OpBit.Cnp,
}
const headerBits: Record<HeaderName, number> = {
  RDETH: OpBit.Rdeth,
  DETH: OpBit.Deth,
  XRCETH: OpBit.Xrceth,
  FETH: OpBit.Feth,
  RETH: OpBit.Reth,
  AtomicETH: OpBit.AtomicEth,
  AETH: OpBit.Aeth,
  AtomicAckETH: OpBit.AtomicAckEth,
  ImmDt: OpBit.Imm,
  IETH: OpBit.Ieth,
  CNP: 0,
}

type Rule = readonly [name: string, Operation, Place, payload: boolean, ...HeaderName[]]

/** Name of an operation and the headers that follow those of its transport, by bits 4:0 of the opcode. */
const operations: Record<number, Rule> = {
  0: ['SEND_FIRST', 'SEND', 'first', true],
  1: ['SEND_MIDDLE', 'SEND', 'middle', true],
  2: ['SEND_LAST', 'SEND', 'last', true],
  3: ['SEND_LAST_WITH_IMMEDIATE', 'SEND', 'last', true, 'ImmDt'],
  4: ['SEND_ONLY', 'SEND', 'only', true],
  5: ['SEND_ONLY_WITH_IMMEDIATE', 'SEND', 'only', true, 'ImmDt'],
  6: ['RDMA_WRITE_FIRST', 'WRITE', 'first', true, 'RETH'],
  7: ['RDMA_WRITE_MIDDLE', 'WRITE', 'middle', true],
  8: ['RDMA_WRITE_LAST', 'WRITE', 'last', true],
  9: ['RDMA_WRITE_LAST_WITH_IMMEDIATE', 'WRITE', 'last', true, 'ImmDt'],
  10: ['RDMA_WRITE_ONLY', 'WRITE', 'only', true, 'RETH'],
  11: ['RDMA_WRITE_ONLY_WITH_IMMEDIATE', 'WRITE', 'only', true, 'RETH', 'ImmDt'],
  12: ['RDMA_READ_REQUEST', 'READ_REQUEST', 'only', false, 'RETH'],
  13: ['RDMA_READ_RESPONSE_FIRST', 'READ_RESPONSE', 'first', true, 'AETH'],
  14: ['RDMA_READ_RESPONSE_MIDDLE', 'READ_RESPONSE', 'middle', true],
  15: ['RDMA_READ_RESPONSE_LAST', 'READ_RESPONSE', 'last', true, 'AETH'],
  16: ['RDMA_READ_RESPONSE_ONLY', 'READ_RESPONSE', 'only', true, 'AETH'],
  17: ['ACKNOWLEDGE', 'ACK', 'only', false, 'AETH'],
  18: ['ATOMIC_ACKNOWLEDGE', 'ATOMIC_ACK', 'only', false, 'AETH', 'AtomicAckETH'],
  19: ['COMPARE_SWAP', 'COMPARE_SWAP', 'only', false, 'AtomicETH'],
  20: ['FETCH_ADD', 'FETCH_ADD', 'only', false, 'AtomicETH'],
  21: ['RESYNC', 'RESYNC', 'only', false],
  22: ['SEND_LAST_WITH_INVALIDATE', 'SEND', 'last', true, 'IETH'],
  23: ['SEND_ONLY_WITH_INVALIDATE', 'SEND', 'only', true, 'IETH'],
  28: ['FLUSH', 'FLUSH', 'only', false, 'FETH', 'RETH'],
  29: ['ATOMIC_WRITE', 'ATOMIC_WRITE', 'only', true, 'RETH'],
}
const cnp: Rule = ['CNP', 'CNP', 'only', false, 'CNP']

/** Headers that a transport puts first, in requests and in responses, by bits 7:5 of the opcode. */
const transports: Record<number, readonly [Transport, request: HeaderName[], response: HeaderName[]]> = {
  0: ['RC', [], []],
  1: ['UC', [], []],
  2: ['RD', ['RDETH', 'DETH'], ['RDETH']],
  3: ['UD', ['DETH'], []],
  4: ['CNP', [], []],
  5: ['XRC', ['XRCETH'], []],
}

/** Opcode descriptions, 256 entries; undefined if the opcode does not exist. */
export const opcodeTable: readonly (OpcodeInfo | undefined)[] = buildTable()
/** Length of the BTH and all extension headers together, in bytes; 0 if the opcode does not exist. A CNP's reserved bytes are included. */
export const headerLength: Uint8Array = new Uint8Array(256)
/** OpBit flags; 0 if the opcode does not exist. */
export const opcodeBits: Uint32Array = new Uint32Array(256)

for (const info of opcodeTable) {
  if (info === undefined) continue
  const { opcode, operation, place, headers, payload } = info
  headerLength[opcode] = headers.reduce<number>((sum, name) => sum + extensionLengths[name], Bth.length)
  const bits = operationBits[operation] | placeBits[place] | (payload ? OpBit.Payload : 0)
  opcodeBits[opcode] = headers.reduce((all, name) => all | headerBits[name], bits)
}

/** Returns the name of an opcode: RC_SEND_ONLY, or UNKNOWN_0xNN. */
export function opcodeName(opcode: number): string {
  return opcodeTable[opcode]?.name ?? `UNKNOWN_0x${opcode.toString(16).padStart(2, '0')}`
}

function buildTable(): (OpcodeInfo | undefined)[] {
  const table = new Array<OpcodeInfo | undefined>(256).fill(undefined)
  for (const opcode of Object.values(WireOpcode)) {
    const [transport, requestHeaders, responseHeaders] = transports[opcode >> 5]!
    const [name, operation, place, payload, ...own] = transport === 'CNP' ? cnp : operations[opcode & 31]!
    const first = operationBits[operation] & OpBit.Response ? responseHeaders : requestHeaders
    table[opcode] = {
      opcode,
      name: transport === 'CNP' ? name : `${transport}_${name}`,
      transport,
      operation,
      place,
      headers: [...first, ...own],
      payload,
    }
  }
  return table
}
