/** One packet as a plain object: printed by `show`, matched by filters, and written by --json, one line for each. */
import type { CapturedPacket } from '../capture/index.ts'
import {
  type CmMessage,
  type Extensions,
  isMalformed,
  Mad,
  MgmtClass,
  madCodec,
  madName,
  OpBit,
  type OpcodeInfo,
  opcodeTable,
  parsePacket,
  syndromeText,
} from '../wire/index.ts'
import type { Analysis } from './analysis.ts'
import { type Dissection, IcrcState, Kind, kindNames } from './dissect.ts'
import { type Flow, Service, serviceNames } from './flow.ts'
import { problemNames } from './problems.ts'
import { Tunnel, tunnelNames } from './tunnels.ts'
import { Mark, type Verdict } from './verdict.ts'

/** Packet with the information that its connection adds. Fields are absent where the packet has none of the kind. */
export interface Row {
  /** Number from 1. */
  number: number
  /** Seconds since the first packet. */
  time: number
  /** Seconds since the packet before, shown or not. */
  delta: number
  /** Time since 1970, UTC; absent if the file has no time stamps. */
  epoch?: { seconds: number; nanoseconds: number }
  /** Bytes on the wire. */
  length: number
  /** Kind: RoCEv2, RoCEv1, InfiniBand, or other. */
  kind: (typeof kindNames)[number]
  /** Tunnel in which the RDMA packet travels, as the capture shows it; of several, the innermost. */
  tunnel?: (typeof tunnelNames)[number]
  source?: string
  destination?: string
  /** Number of the conversation, from 1; both directions have the same. */
  conversation?: number
  /** QP that sends, if it is known. */
  srcQp?: number
  destQp?: number
  service?: string
  opcode?: number
  operation?: OpcodeInfo['operation']
  place?: OpcodeInfo['place']
  psn?: number
  ackReq?: boolean
  solicited?: boolean
  migReq?: boolean
  pkey?: number
  fecn?: boolean
  becn?: boolean
  pad?: number
  payload?: number
  /** Extension headers; their 64-bit fields are bigint. */
  headers?: Extensions
  /** Meaning of the AETH. */
  answer?: string
  icrc?: 'valid' | 'invalid' | 'unknown'
  /** Names of the rules that the packet breaks. */
  malformed?: string[]
  /** Flag: the capture does not have all of the packet. */
  cut?: boolean
  retransmission?: boolean
  duplicate?: boolean
  repeat?: boolean
  late?: boolean
  /** Flag: the capture has the same packet before: `refersTo`. */
  copy?: boolean
  /** Flag: the acknowledgement of the packet was recorded before it. */
  overtaken?: boolean
  restart?: boolean
  /** Number of PSNs left out before this packet. */
  missing?: number
  /** Number of the packet that carried this PSN first, or of the request that this responds to. */
  refersTo?: number
  /** PSNs that this acknowledges for the first time, and the number of their packets and messages in the capture. */
  covers?: { from: number; to: number; packets: number; messages: number }
  /** Flag: it acknowledges requests that the capture does not have. */
  unseen?: boolean
  /** Flag: a response whose requests are not in the capture. */
  unpaired?: boolean
  nak?: boolean
  rnr?: boolean
  cnp?: boolean
  /** Flag: ECN, congestion experienced. */
  marked?: boolean
  latencyNs?: number
  /** Management datagram, to queue pair 0 or 1. */
  mad?: MadRow
  cm?: CmMessage
}

export interface MadRow {
  /** Name as in tshark: SubnGet(SMInfo). */
  name: string
  mgmtClass: number
  method: number
  attributeId: number
  attributeModifier: number
  status: number
  transactionId: bigint
  /** Position in a directed route: the hop pointer, the number of hops, and true if the datagram returns. */
  hopPointer?: number
  hopCount?: number
  returns?: boolean
  /** Ports of the outward route; the first is that of the sender's host. */
  route?: number[]
}

export function rowOf(packet: CapturedPacket, d: Dissection, v: Verdict, analysis: Analysis): Row {
  const row: Row = {
    number: packet.number,
    time: v.timeNs / 1e9,
    delta: v.deltaNs / 1e9,
    length: packet.originalLength,
    kind: kindNames[d.kind]!,
  }
  if (packet.hasTime) row.epoch = { seconds: packet.seconds, nanoseconds: packet.nanoseconds }
  if (d.kind === Kind.Other) return row
  if (d.tunnel !== Tunnel.None) row.tunnel = tunnelNames[d.tunnel]!
  if (d.ipVersion !== 0 || d.kind === Kind.InfiniBand) {
    row.source = analysis.addresses.text(analysis.source)
    row.destination = analysis.addresses.text(analysis.destination)
  }
  row.icrc = d.icrc === IcrcState.Valid ? 'valid' : d.icrc === IcrcState.Invalid ? 'invalid' : 'unknown'
  if (d.problems !== 0) row.malformed = problemNames(d.problems)
  if (d.cut) row.cut = true
  if (d.complete) transportFields(row, packet.bytes, d)
  if (holdsMad(d)) row.mad = madOf(packet.bytes, d.payload)
  if (v.flow !== undefined) flowFields(row, v, v.flow, analysis)
  if (analysis.message !== undefined) row.cm = copyMessage(analysis.message)
  return row
}

function transportFields(row: Row, b: Uint8Array, d: Dissection): void {
  const info = opcodeTable[d.opcode]
  row.opcode = d.opcode
  row.service = serviceNames[d.opcode >> 5]!
  if (info !== undefined) {
    row.service = info.transport
    row.operation = info.operation
    row.place = info.place
  }
  row.destQp = d.destQp
  row.psn = d.psn
  row.ackReq = d.ackReq
  row.pad = d.pad
  row.payload = d.payloadLength
  // Only the headers, without pad and with the version that the reader accepts: a damaged packet is shown as it is.
  const headers = b.slice(d.bth, d.payload)
  headers[1]! &= 0xc0
  const parsed = parsePacket(headers, 0, headers.length)
  if (isMalformed(parsed)) return
  const { bth, payload: _, ...extensions } = parsed
  row.solicited = bth.solicited
  row.migReq = bth.migReq
  row.pkey = bth.pkey
  row.fecn = bth.fecn
  row.becn = bth.becn
  row.headers = extensions
  if (d.syndrome >= 0) row.answer = syndromeText(d.syndrome)
  if (extensions.deth !== undefined) row.srcQp = extensions.deth.srcQp
}

function flowFields(row: Row, v: Verdict, flow: Flow, analysis: Analysis): void {
  const { marks } = v
  row.conversation = analysis.numberOf(flow)
  if (flow.srcQp >= 0 && flow.service !== Service.CNP) row.srcQp = flow.srcQp
  if (marks & Mark.Retransmission) row.retransmission = true
  if (marks & Mark.Duplicate) row.duplicate = true
  if (marks & Mark.Repeat) row.repeat = true
  if (marks & Mark.Late) row.late = true
  if (marks & Mark.Copy) row.copy = true
  if (marks & Mark.Overtaken) row.overtaken = true
  if (marks & Mark.Restart) row.restart = true
  if (marks & Mark.Gap) row.missing = v.missing
  if (marks & Mark.Unseen) row.unseen = true
  if (marks & Mark.Unpaired) row.unpaired = true
  if (marks & Mark.Nak) row.nak = true
  if (marks & Mark.RnrNak) row.rnr = true
  if (marks & Mark.Cnp) row.cnp = true
  if (marks & Mark.Marked) row.marked = true
  if (v.refersTo > 0) row.refersTo = v.refersTo
  if (marks & Mark.Covers)
    row.covers = { from: v.coverFrom, to: v.coverTo, packets: v.coverPackets, messages: v.coverMessages }
  if (v.latencyNs >= 0) row.latencyNs = v.latencyNs
}

/** True if the payload is a whole management datagram, of any class. */
function holdsMad({ complete, problems, icrc, bits, destQp, cut, payloadLength }: Dissection): boolean {
  const isSound = complete && problems === 0 && icrc !== IcrcState.Invalid && !cut
  return isSound && (bits & OpBit.Deth) !== 0 && destQp <= 1 && payloadLength === Mad.totalLength
}

/** Offset of a directed route in its datagram. */
const initialPath = 128

function madOf(b: Uint8Array, at: number): MadRow {
  const { mgmtClass, method, attributeId, attributeModifier, status, transactionId } = madCodec.read(b, at)
  const name = madName(mgmtClass, method, attributeId)
  const row: MadRow = { name, mgmtClass, method, attributeId, attributeModifier, status, transactionId }
  if (mgmtClass !== MgmtClass.subnDirected) return row
  row.returns = (status & 0x8000) !== 0
  row.status = status & 0x7fff
  row.hopPointer = b[at + Mad.classSpecific]!
  row.hopCount = b[at + Mad.classSpecific + 1]!
  if (row.hopCount < 64) row.route = Array.from(b.subarray(at + initialPath, at + initialPath + row.hopCount + 1))
  return row
}

/** Returns a copy of the message, whose byte fields are views of the reader's memory. */
function copyMessage(message: CmMessage): CmMessage {
  const copy = <T extends object>(value: T): T =>
    Object.fromEntries(
      Object.entries(value).map(([key, field]) => [
        key,
        field instanceof Uint8Array ? field.slice() : typeof field === 'object' ? copy(field as object) : field,
      ]),
    ) as T
  return copy(message)
}

/** Replacer for JSON.stringify: 64-bit numbers as hexadecimal strings, bytes as hexadecimal digits. */
export function plainJson(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `0x${value.toString(16)}`
  return value instanceof Uint8Array ? hexOf(value) : value
}

export function hexOf(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}
