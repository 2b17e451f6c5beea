/** Packets as Ethernet frames in a capture, in the order of their time. */
import type { CaptureWriter } from '../../capture/index.ts'
import {
  Ethernet,
  EtherType,
  emitEthernet,
  Grh,
  gidOfIp,
  grhNextHeaderBth,
  Icrc,
  IpProtocol,
  Ipv4,
  icrcOfGlobalPacket,
  ipv4Checksum,
  ipv4DontFragment,
  put16,
  put32le,
  rocePort,
  Udp,
} from '../../wire/index.ts'

interface Frame {
  timeNs: number
  order: number
  bytes: Uint8Array
}

export class Frames {
  readonly #writer: CaptureWriter
  readonly #roceV1: boolean
  #pending: Frame[] = []
  #order = 0
  packets = 0

  /** @param roceV1 a GRH after the Ethernet header, instead of IPv4 and UDP */
  constructor(writer: CaptureWriter, roceV1: boolean) {
    this.#writer = writer
    this.#roceV1 = roceV1
  }

  /**
   * Adds a packet from BTH to ICRC, between two IPv4 addresses; `timeNs` may be later than that of packets to come. `damage` is the XOR of
   * its ICRC and the right one.
   */
  add(
    timeNs: number,
    packet: Uint8Array,
    source: Uint8Array,
    destination: Uint8Array,
    trafficClass: number,
    damage: number,
  ): void {
    const addresses = { source: macOf(source), destination: macOf(destination), tags: [] }
    const headers = Ethernet.length + (this.#roceV1 ? Grh.length : Ipv4.length + Udp.length)
    const b = new Uint8Array(headers + packet.length)
    b.set(packet, headers)
    emitEthernet({ ...addresses, etherType: this.#roceV1 ? EtherType.rocev1 : EtherType.ipv4 }, b, 0)
    if (this.#roceV1) this.#global(b, source, destination, trafficClass, damage)
    else this.#datagram(b, source, destination, trafficClass)
    this.#pending.push({ timeNs, order: this.#order++, bytes: b })
  }

  #global(b: Uint8Array, source: Uint8Array, destination: Uint8Array, trafficClass: number, damage: number): void {
    const grh = Ethernet.length
    b[grh] = 0x60 | (trafficClass >> 4)
    b[grh + 1] = (trafficClass & 15) << 4
    put16(b, grh + Grh.payloadLength, b.length - grh - Grh.length)
    b[grh + Grh.nextHeader] = grhNextHeaderBth
    b[grh + Grh.hopLimit] = 64
    b.set(gidOfIp(source), grh + Grh.sgid)
    b.set(gidOfIp(destination), grh + Grh.dgid)
    const end = b.length - Icrc.length
    put32le(b, end, icrcOfGlobalPacket(b, grh, end) ^ damage)
  }

  #datagram(b: Uint8Array, source: Uint8Array, destination: Uint8Array, trafficClass: number): void {
    const ip = Ethernet.length
    const udp = ip + Ipv4.length
    b[ip] = 0x45
    b[ip + Ipv4.tos] = trafficClass
    put16(b, ip + Ipv4.totalLength, b.length - ip)
    put16(b, ip + Ipv4.fragment, ipv4DontFragment)
    b[ip + Ipv4.ttl] = 64
    b[ip + Ipv4.protocol] = IpProtocol.udp
    b.set(source, ip + Ipv4.source)
    b.set(destination, ip + Ipv4.destination)
    put16(b, ip + Ipv4.checksum, ipv4Checksum(b, ip, udp))
    put16(b, udp + Udp.sourcePort, rocePort)
    put16(b, udp + Udp.destinationPort, rocePort)
    put16(b, udp + Udp.udpLength, b.length - udp)
  }

  /** Writes the frames that are not later than this: no earlier one will come. */
  writeUntil(timeNs: number): void {
    if (this.#pending.length === 0) return
    const due = this.#pending.filter((frame) => frame.timeNs <= timeNs)
    if (due.length === 0) return
    this.#pending = this.#pending.filter((frame) => frame.timeNs > timeNs)
    due.sort((a, b) => a.timeNs - b.timeNs || a.order - b.order)
    for (const { timeNs: at, bytes } of due) {
      const seconds = Math.floor(at / 1e9)
      this.#writer.packet(bytes, 0, bytes.length, seconds, Math.floor(at - seconds * 1e9))
      this.packets++
    }
  }
}

function macOf(address: Uint8Array): Uint8Array {
  return Uint8Array.of(2, 0, ...address)
}
