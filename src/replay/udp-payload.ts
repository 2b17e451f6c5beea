/**
 * The part of a packet from the BTH on, as a datagram between two other addresses: the ICRC covers IP and UDP headers, so it changes
 * with them. RoCEv1 and InfiniBand packets are converted to RoCEv2.
 */
import type { CapturedPacket } from '../capture/index.ts'
import { computeIcrc, type Dissection, IcrcState, Kind } from '../trace/index.ts'
import { Icrc, IcrcFlow, Ipv4, put32le, u32le } from '../wire/index.ts'

/** Converts captured packets to datagrams between two addresses. */
export class UdpPayload {
  readonly #flow: IcrcFlow

  /** Addresses have 4 or 16 bytes, both the same. IPv4 packets are sent with identification 0 and DF. */
  constructor(source: Uint8Array, destination: Uint8Array, sourcePort: number, destinationPort: number) {
    this.#flow = new IcrcFlow(source, destination, sourcePort, destinationPort)
  }

  /**
   * Sets the ICRC for the two addresses; one that was wrong stays wrong. Returns the length of the datagram, which begins at `d.bth`;
   * 0 if it is not completely in the capture.
   */
  prepare(packet: CapturedPacket, d: Dissection): number {
    if (d.kind === Kind.Other || d.icrc === IcrcState.Unknown) return 0
    const b = packet.bytes
    const residue = d.icrc === IcrcState.Invalid ? u32le(b, d.end) ^ computeIcrc(b, d) : 0
    put32le(b, d.end, this.#flow.compute(b, d.bth, d.end) ^ residue)
    return d.end + Icrc.length - d.bth
  }
}

/** Returns the TOS or traffic class of a packet; 0 for InfiniBand without a GRH. */
export function trafficClassOf({ bytes }: CapturedPacket, { ip, ipVersion }: Dissection): number {
  if (ipVersion === 4) return bytes[ip + Ipv4.tos]!
  return ipVersion === 6 ? ((bytes[ip]! & 15) << 4) | (bytes[ip + 1]! >> 4) : 0
}
