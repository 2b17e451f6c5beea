/** A line for each packet, in the words of `verbena trace show`, as it passes. */
import {
  Aeth,
  Bth,
  BthFlag,
  bthAckReqBit,
  Deth,
  formatIp,
  headerLength,
  Icrc,
  ipOfGid,
  OpBit,
  opcodeBits,
  opcodeName,
  Reth,
  syndromeText,
  u24,
  u32,
} from '../../wire/index.ts'
import type { Layer, Next, Packet } from './packet.ts'

export class TraceLayer implements Layer {
  readonly nextDeadlineNs: number = Number.POSITIVE_INFINITY
  readonly #print: (line: string) => void

  constructor(print: (line: string) => void) {
    this.#print = print
  }

  pass(packet: Packet, next: Next): void {
    this.#print(lineOf(packet))
    next(packet)
  }

  advance(): void {}
  flush(): void {}
  close(): void {}
}

/**
 * Formats `12.345678  out  127.0.0.1 → 127.0.0.2  RC_SEND_ONLY  QP 0x1a2b3c  PSN 17  64 B, ACK wanted`. Seconds are of the monotonic
 * clock.
 */
export function lineOf(packet: Packet): string {
  const { bytes, start, end, outbound, source, destination, identification, timeNs } = packet
  const ends = `${formatIp(ipOfGid(source))} → ${formatIp(ipOfGid(destination))}`
  const head = `${(timeNs / 1e9).toFixed(6)}  ${outbound ? 'out' : 'in '}  ${ends}`
  const op = bytes[start]!
  const header = headerLength[op]!
  const bits = opcodeBits[op]!
  const pad = (bytes[start + Bth.flags]! & BthFlag.pad) >> BthFlag.padShift
  const payload = end - start - header - pad - Icrc.length
  if (end - start < Bth.length + Icrc.length || header === 0 || payload < 0)
    return `${head}  ${end - start} bytes that are no RoCE packet${identification < 0 ? ', wrong ICRC' : ''}`
  const notes: string[] = []
  if ((bits & OpBit.Payload) !== 0) notes.push(`${payload} B`)
  const h = start + Bth.length
  if ((bits & OpBit.Deth) !== 0) notes.push(`from QP 0x${u24(bytes, h + Deth.srcQp).toString(16)}`)
  else if ((bits & OpBit.Reth) !== 0) notes.push(`of ${u32(bytes, h + Reth.dmaLength)} B`)
  else if ((bits & OpBit.Aeth) !== 0) notes.push(syndromeText(bytes[h + Aeth.syndrome]!))
  if ((bytes[start + Bth.ackReq]! & bthAckReqBit) !== 0) notes.push('ACK wanted')
  if (identification < 0) notes.push('wrong ICRC')
  const numbers = `QP 0x${u24(bytes, start + Bth.destQp).toString(16)}  PSN ${u24(bytes, start + Bth.psn)}`
  return `${head}  ${opcodeName(op)}  ${numbers}${notes.length > 0 ? `  ${notes.join(', ')}` : ''}`
}
