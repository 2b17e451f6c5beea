/** Key of a packet from its headers, in addition to the data of its flow. */
import { type Analysis, type Dissection, Service } from '../trace/index.ts'
import { Bth, Deth, Ipv4, OpBit, u24 } from '../wire/index.ts'
import { putAddress, unknownQp, Word } from './key.ts'

/** Returns the key of a packet without a flow: it is damaged, or there was no room. */
export function looseKey(
  bytes: Uint8Array,
  d: Dissection,
  { addresses, source, destination }: Analysis,
  key: Int32Array,
): void {
  key.fill(0)
  const kind = putAddress(addresses, source, key, Word.source)
  putAddress(addresses, destination, key, Word.destination)
  key[Word.rest] = kind << 30
  const isDatagram = d.complete && d.opcode >> 5 === Service.UD && (d.bits & OpBit.Deth) !== 0
  const srcQp = isDatagram ? u24(bytes, d.bth + Bth.length + Deth.srcQp) : unknownQp
  key[Word.sourceQp] = ((d.opcode >> 5) << 24) | srcQp
  key[Word.destinationQp] = d.complete ? d.destQp : 0
}

/** Returns the type of service, or traffic class; 0 without an IP header or GRH. */
export function trafficClassOf(b: Uint8Array, { ip, ipVersion }: Dissection): number {
  if (ipVersion === 4) return b[ip + Ipv4.tos]!
  if (ipVersion === 6) return ((b[ip]! & 15) << 4) | (b[ip + 1]! >> 4)
  return 0
}
