/**
 * A packet of the InfiniBand transport as a value: BTH, the extension headers of its opcode, payload. The pad and the
 * header list are derived from these, so that they cannot be inconsistent. Reserved bits are dropped.
 *
 *     const packet = parsePacket(b, bth, end)         // end: where the ICRC begins
 *     if (isMalformed(packet)) count(packet)
 *     else if (packet.reth) console.log(packet.bth.psn, packet.reth.va)
 *
 * checkPacket and checkLengths are the rules alone, without allocation, for the data path.
 */
import { u32 } from './bytes.ts'
import { bits, bytesField, flag, HeaderCodec, u8Field, u16Field, u24Field, u32Field, u64Field } from './codec.ts'
import { type MalformedReason, WireError } from './errors.ts'
import {
  Aeth,
  AtomicAckEth,
  AtomicEth,
  Bth,
  BthEcn,
  BthFlag,
  bthAckReqBit,
  CnpPad,
  Deth,
  Feth,
  Ieth,
  ImmDt,
  Rdeth,
  Reth,
  Xrceth,
} from './headers.ts'
import { type HeaderName, headerLength, OpBit, opcodeBits, opcodeTable, WireOpcode } from './opcodes.ts'

export interface BthFields {
  opcode: number
  solicited: boolean
  migReq: boolean
  pkey: number
  fecn: boolean
  becn: boolean
  destQp: number
  ackReq: boolean
  psn: number
}

export const bthCodec: HeaderCodec<BthFields> = new HeaderCodec<BthFields>('BTH', Bth.length, {
  opcode: u8Field(Bth.opcode),
  solicited: flag(Bth.flags, BthFlag.solicited),
  migReq: flag(Bth.flags, BthFlag.migReq),
  pkey: u16Field(Bth.pkey),
  fecn: flag(Bth.ecn, BthEcn.fecn),
  becn: flag(Bth.ecn, BthEcn.becn),
  destQp: u24Field(Bth.destQp),
  ackReq: flag(Bth.ackReq, bthAckReqBit),
  psn: u24Field(Bth.psn),
})

/** Extension headers of a packet; its opcode determines which of them are present. */
export interface Extensions {
  rdeth?: { eeContext: number }
  deth?: { qkey: number; srcQp: number }
  xrceth?: { srqn: number }
  feth?: { placement: number; selectivity: number }
  reth?: { va: bigint; rkey: number; dmaLength: number }
  atomicEth?: { va: bigint; rkey: number; swapAdd: bigint; compare: bigint }
  aeth?: { syndrome: number; msn: number }
  atomicAckEth?: { original: bigint }
  immDt?: { data: number }
  ieth?: { rkey: number }
  /** Sixteen bytes after the BTH of a CNP: zeros, but some adapters write there. */
  cnp?: { reserved: Uint8Array }
}

export interface RocePacket extends Extensions {
  bth: BthFields
  /** Payload without the pad; parsePacket returns a view of the given bytes. */
  payload: Uint8Array
}

/** Property of a header in a RocePacket, and its codec. */
export type Extension = { [K in keyof Extensions]-?: [K, HeaderCodec<NonNullable<Extensions[K]>>] }[keyof Extensions]

/** Property and codec of each header of the opcode table. */
export const extensionCodecs: Readonly<Record<HeaderName, Extension>> = {
  RDETH: ['rdeth', new HeaderCodec('RDETH', Rdeth.length, { eeContext: u24Field(Rdeth.eeContext) })],
  DETH: ['deth', new HeaderCodec('DETH', Deth.length, { qkey: u32Field(Deth.qkey), srcQp: u24Field(Deth.srcQp) })],
  XRCETH: ['xrceth', new HeaderCodec('XRCETH', Xrceth.length, { srqn: u24Field(Xrceth.srqn) })],
  FETH: [
    'feth',
    new HeaderCodec('FETH', Feth.length, { placement: bits(Feth.type, 4, 4), selectivity: bits(Feth.type, 2, 2) }),
  ],
  RETH: [
    'reth',
    new HeaderCodec('RETH', Reth.length, {
      va: u64Field(Reth.va),
      rkey: u32Field(Reth.rkey),
      dmaLength: u32Field(Reth.dmaLength),
    }),
  ],
  AtomicETH: [
    'atomicEth',
    new HeaderCodec('AtomicETH', AtomicEth.length, {
      va: u64Field(AtomicEth.va),
      rkey: u32Field(AtomicEth.rkey),
      swapAdd: u64Field(AtomicEth.swapAdd),
      compare: u64Field(AtomicEth.compare),
    }),
  ],
  AETH: ['aeth', new HeaderCodec('AETH', Aeth.length, { syndrome: u8Field(Aeth.syndrome), msn: u24Field(Aeth.msn) })],
  AtomicAckETH: [
    'atomicAckEth',
    new HeaderCodec('AtomicAckETH', AtomicAckEth.length, { original: u64Field(AtomicAckEth.original) }),
  ],
  ImmDt: ['immDt', new HeaderCodec('ImmDt', ImmDt.length, { data: u32Field(ImmDt.data) })],
  IETH: ['ieth', new HeaderCodec('IETH', Ieth.length, { rkey: u32Field(Ieth.rkey) })],
  CNP: ['cnp', new HeaderCodec('CNP', CnpPad.length, { reserved: bytesField(0, CnpPad.length) })],
}

/** Longest payload of a packet: the largest path MTU. */
export const maxPayload = 4096
/** Longest message, and therefore the largest DMA length: 2 GiB. */
export const maxMessage = 0x80000000

/**
 * Checks the rules that a receiver must check first, and whose violation drops the packet silently (9.6.1): version,
 * opcode, and that all headers are present. The packet is b[start, end), without the ICRC. Allocates nothing.
 */
export function checkPacket(b: Uint8Array, start: number, end: number): MalformedReason | undefined {
  const length = end - start
  if (length < Bth.length) return 'tooShort'
  const flags = b[start + Bth.flags]!
  // IBA 9.6.1: the transport version is 0, and the opcode known.
  if ((flags & BthFlag.tver) !== 0) return 'transportVersion'
  const opcode = b[start]!
  const headers = headerLength[opcode]!
  if (headers === 0) return 'unknownOpcode'
  if (length < headers) return 'truncatedHeaders'
  if (length & 3) return 'notWords'
  const pad = (flags & BthFlag.pad) >>> BthFlag.padShift
  if ((opcodeBits[opcode]! & OpBit.Payload) === 0)
    return length === headers && pad === 0 ? undefined : 'unexpectedPayload'
  return pad > length - headers ? 'padExceedsPayload' : undefined
}

/**
 * Checks the rules on lengths whose violation a responder NAKs as an invalid request instead of dropping it (9.7.4.1.6), as far as
 * one packet can violate them. For a packet that passed checkPacket. Allocates nothing.
 */
export function checkLengths(b: Uint8Array, start: number, end: number): MalformedReason | undefined {
  const opcode = b[start]!
  const op = opcodeBits[opcode]!
  const payload = end - start - headerLength[opcode]! - ((b[start + Bth.flags]! & BthFlag.pad) >>> BthFlag.padShift)
  if (payload > maxPayload) return 'payloadTooLong'
  // IBA 9.7.4.1.6: first and middle packets have a path MTU of payload, a last one at least a byte.
  if (op & (OpBit.First | OpBit.Middle) && !isPathMtu(payload)) return 'notPathMtu'
  if (op & OpBit.Last && payload === 0) return 'emptyLast'
  if ((op & OpBit.Reth) === 0) return undefined
  // The RETH follows the transport's own headers, at most one FETH, and precedes an ImmDt.
  const behind = op & OpBit.Imm ? ImmDt.length : 0
  const dmaLength = u32(b, start + headerLength[opcode]! - behind - Reth.length + Reth.dmaLength)
  // IBA 9.7.4.1.6: a DMA length is at most 2 GiB, and that of a WRITE equals the total payload of its packets.
  if (dmaLength > maxMessage) return 'dmaLengthTooLong'
  if (op & OpBit.AtomicWrite) return payload === 8 && dmaLength === 8 ? undefined : 'dmaLengthMismatch'
  if ((op & OpBit.Write) === 0) return undefined
  return (op & OpBit.Only ? dmaLength === payload : dmaLength > payload) ? undefined : 'dmaLengthMismatch'
}

/** True for 256, 512, 1024, 2048 and 4096. */
export function isPathMtu(bytes: number): boolean {
  return bytes >= 256 && bytes <= maxPayload && (bytes & (bytes - 1)) === 0
}

/** Parses the packet b[start, end), from the BTH to the end of the pad. It checks the rules of checkPacket, not those of checkLengths. */
export function parsePacket(b: Uint8Array, start: number, end: number): RocePacket | MalformedReason {
  const bad = checkPacket(b, start, end)
  if (bad !== undefined) return bad
  const opcode = b[start]!
  const pad = (b[start + Bth.flags]! & BthFlag.pad) >>> BthFlag.padShift
  const payload = b.subarray(start + headerLength[opcode]!, end - pad)
  const packet: RocePacket = { bth: bthCodec.read(b, start), payload }
  let at = start + Bth.length
  for (const name of opcodeTable[opcode]!.headers) {
    const [key, codec] = extensionCodecs[name]
    Object.assign(packet, { [key]: codec.read(b, at) })
    at += codec.length
  }
  return packet
}

/** Number of bytes from the BTH to the end of the pad; the ICRC, which follows, is not included. */
export function packetLength(packet: RocePacket): number {
  const { length } = packet.payload
  return headerLengthOf(packet.bth.opcode) + length + (-length & 3)
}

/**
 * Writes the packet at b[at], from the BTH to the end of the pad, and returns the offset after it, where the ICRC
 * belongs. Throws a WireError if a header is missing or superfluous, a value does not fit, or the payload is not allowed.
 */
export function emitPacket(packet: RocePacket, b: Uint8Array, at: number): number {
  const { bth, payload } = packet
  const length = packetLength(packet)
  const info = opcodeTable[bth.opcode]!
  if (at + length > b.length)
    throw new WireError('ERR_WIRE_SPACE', `${info.name}: ${length} bytes do not fit at ${at} of ${b.length}`)
  if (!info.payload && payload.length > 0)
    throw new WireError('ERR_WIRE_PAYLOAD', `${info.name} has no payload, not ${payload.length} bytes`)
  checkExtensions(packet, info.headers, info.name)
  let next = bthCodec.emit(bth, b, at)
  b[at + Bth.flags]! |= (-payload.length & 3) << BthFlag.padShift
  for (const name of info.headers) next = emitExtension(packet, name, b, next)
  b.set(payload, next)
  b.fill(0, next + payload.length, at + length)
  return at + length
}

function emitExtension(packet: RocePacket, name: HeaderName, b: Uint8Array, at: number): number {
  const [key, codec] = extensionCodecs[name]
  return (codec as HeaderCodec<object>).emit(packet[key]!, b, at)
}

function checkExtensions(packet: RocePacket, headers: readonly HeaderName[], opcode: string): void {
  for (const name of Object.keys(extensionCodecs) as HeaderName[]) {
    const given = packet[extensionCodecs[name][0]] !== undefined
    if (given === headers.includes(name)) continue
    const what = given ? `has no ${name}, but one is given` : `needs a ${name} (\`${extensionCodecs[name][0]}\`)`
    throw new WireError('ERR_WIRE_HEADER', `${opcode} ${what}`)
  }
}

function headerLengthOf(opcode: number): number {
  const length = headerLength[opcode]
  if (!length) throw new WireError('ERR_WIRE_OPCODE', `${opcode} is no BTH opcode; WireOpcode lists them`)
  return length
}

/** IBA CA17-44: a congestion notification packet to a queue pair: BECN set, MigReq and PSN 0, 16 zero bytes. */
export function cnpPacket(destQp: number, pkey = 0xffff): RocePacket {
  const flags = { solicited: false, migReq: false, fecn: false, becn: true, ackReq: false }
  const bth = { opcode: WireOpcode.Cnp, pkey, destQp, psn: 0, ...flags }
  return { bth, cnp: { reserved: new Uint8Array(CnpPad.length) }, payload: new Uint8Array(0) }
}

/** Checks the rules of checkPacket and checkLengths: all that one packet can violate by itself. */
export function checkAll(b: Uint8Array, start: number, end: number): MalformedReason | undefined {
  return checkPacket(b, start, end) ?? checkLengths(b, start, end)
}
