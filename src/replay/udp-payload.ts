/**
 * What a packet has from the BTH on, as a datagram between two other addresses: the ICRC covers IP and UDP headers, so it changes
 * with them. RoCEv1 and InfiniBand packets become RoCEv2 on the way.
 */
import type { CapturedPacket } from '../capture/index.ts'
import { computeIcrc, type Dissection, IcrcState, Kind } from '../trace/index.ts'
import { Icrc, IcrcFlow, Ipv4, put32le, u32le } from '../wire/index.ts'

/** Makes datagrams of captured packets, between two addresses. */
export class UdpPayload {
  readonly #flow: IcrcFlow

  /** Addresses of 4 or 16 bytes, both the same. IPv4 packets leave with identification 0 and DF. */
  constructor(source: Uint8Array, destination: Uint8Array, sourcePort: number, destinationPort: number) {
    this.#flow = new IcrcFlow(source, destination, sourcePort, destinationPort)
  }

  /**
   * Gives the packet the ICRC that it has between the two; one that was wrong stays wrong. The bytes that it returns, from `d.bth`
   * on, are the datagram; 0 if the capture does not have all of it.
   */
  prepare(packet: CapturedPacket, d: Dissection): number {
    if (d.kind === Kind.Other || d.icrc === IcrcState.Unknown) return 0
    const b = packet.bytes
    const residue = d.icrc === IcrcState.Invalid ? u32le(b, d.end) ^ computeIcrc(b, d) : 0
    put32le(b, d.end, this.#flow.compute(b, d.bth, d.end) ^ residue)
    return d.end + Icrc.length - d.bth
  }
}

/** TOS or traffic class of a packet; 0 for InfiniBand without a GRH. */
export function trafficClassOf({ bytes }: CapturedPacket, { ip, ipVersion }: Dissection): number {
  if (ipVersion === 4) return bytes[ip + Ipv4.tos]!
  return ipVersion === 6 ? ((bytes[ip]! & 15) << 4) | (bytes[ip + 1]! >> 4) : 0
}
