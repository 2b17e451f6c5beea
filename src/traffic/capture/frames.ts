/** Packets as Ethernet frames in a capture, in the order of their time. */
import type { CaptureWriter } from '../../capture/index.ts'
import {
  Ethernet,
  EtherType,
  emitEthernet,
  IpProtocol,
  Ipv4,
  ipv4Checksum,
  ipv4DontFragment,
  put16,
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
  #pending: Frame[] = []
  #order = 0
  packets = 0

  constructor(writer: CaptureWriter) {
    this.#writer = writer
  }

  /** A packet from BTH to ICRC, between two IPv4 addresses; `timeNs` may be later than that of packets to come. */
  add(timeNs: number, packet: Uint8Array, source: Uint8Array, destination: Uint8Array, trafficClass: number): void {
    const headers = Ethernet.length + Ipv4.length + Udp.length
    const b = new Uint8Array(headers + packet.length)
    const ip = emitEthernet(
      { source: macOf(source), destination: macOf(destination), tags: [], etherType: EtherType.ipv4 },
      b,
      0,
    )
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
    b.set(packet, headers)
    this.#pending.push({ timeNs, order: this.#order++, bytes: b })
  }

  /** Writes what is not later than this: nothing earlier will come. */
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
