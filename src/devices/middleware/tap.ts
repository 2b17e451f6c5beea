/**
 * Packets into a pcapng file, each as the Ethernet frame that it was or will be: the headers below the BTH are made for it from what the
 * socket reports. Several devices may write to one file, each as an interface of its own. A name that ends with .pcap makes a pcap file,
 * in which devices and directions cannot be told apart.
 */
import { fstatSync, openSync, writeSync } from 'node:fs'
import { type CaptureWriter, PcapngWriter, PcapWriter } from '../../capture/index.ts'
import { nowNs } from '../../memory/index.ts'
import {
  Ethernet,
  EtherType,
  emitEthernet,
  IpProtocol,
  Ipv4,
  Ipv6,
  ipOfGid,
  ipv4Checksum,
  ipv4DontFragment,
  put16,
  put32,
  rocePort,
  Udp,
  udpChecksum,
} from '../../wire/index.ts'
import type { Layer, Next, Packet } from './packet.ts'

/** File that is being written in this thread, shared by all layers that tap into it. */
class TapFile {
  readonly writer: CaptureWriter
  users = 0
  /**
   * Times of one moment on the wall clock and on the monotonic clock; all devices of the file share them, so their packets are in one
   * order.
   */
  readonly wholeMs: number
  readonly offsetNs: number

  /** Opens the file, which exists already; its contents are kept. */
  constructor(path: string) {
    const descriptor = openSync(path, 'a')
    // Another thread may have begun the file: pcap has one header.
    let skipped = path.endsWith('.pcap') && fstatSync(descriptor).size > 0 ? pcapHeaderLength : 0
    const sink = {
      write(bytes: Uint8Array): void {
        let at = skipped
        skipped = 0
        while (at < bytes.length) at += writeSync(descriptor, bytes, at)
      },
    }
    this.writer = path.endsWith('.pcap') ? new PcapWriter(sink) : new PcapngWriter(sink, { application: 'verbena' })
    // The beginning of a millisecond: files of other processes have the same time within microseconds. A program's Date may stand still.
    const untilNs = nowNs() + 2e6
    const before = Date.now()
    let now = before
    while (now === before && nowNs() < untilNs) now = Date.now()
    this.wholeMs = now
    this.offsetNs = nowNs()
  }
}

const pcapHeaderLength = 24

const files = new Map<string, TapFile>()

export class TapLayer implements Layer {
  readonly nextDeadlineNs: number = Number.POSITIVE_INFINITY
  readonly #path: string
  #file: TapFile | null = null
  #interface = 0
  readonly #frame = new Uint8Array(Ethernet.length + Ipv6.length + Udp.length + 65_536)

  constructor(path: string, device: string) {
    this.#path = path
    this.#try(() => {
      const file = files.get(path) ?? new TapFile(path)
      files.set(path, file)
      file.users++
      this.#file = file
      const { writer } = file
      if (writer instanceof PcapngWriter)
        this.#interface = writer.addInterface({ name: device, description: `RoCEv2 of process ${process.pid}` })
    })
  }

  pass(packet: Packet, next: Next): void {
    const file = this.#file
    if (file !== null) {
      const length = writeFrame(packet, this.#frame)
      const ns = packet.timeNs - file.offsetNs
      const ms = file.wholeMs + Math.floor(ns / 1e6)
      const seconds = Math.floor(ms / 1000)
      const nanoseconds = (ms - seconds * 1000) * 1e6 + Math.floor(ns - Math.floor(ns / 1e6) * 1e6)
      const direction = packet.outbound ? 'outbound' : 'inbound'
      const { writer } = file
      const id = this.#interface
      this.#try(() => {
        if (writer instanceof PcapngWriter)
          writer.packet(this.#frame, 0, length, seconds, nanoseconds, length, id, { direction })
        else writer.packet(this.#frame, 0, length, seconds, nanoseconds, length)
      })
    }
    next(packet)
  }

  advance(): void {}

  flush(): void {
    this.#try(() => this.#file?.writer.flush())
  }

  close(): void {
    const file = this.#file
    if (file === null) return
    this.flush()
    this.#file = null
    if (--file.users === 0) files.delete(this.#path)
  }

  /** Runs `action`; if it fails, the tap ends with a warning: a full disk must not end the thread that answers peers. */
  #try(action: () => void): void {
    try {
      action()
    } catch (error) {
      this.#file = null
      process.stderr.write(`verbena: the tap ends: ${(error as Error).message}\n`)
    }
  }
}

/** Writes the frame of a packet, from the Ethernet header on, to the beginning of `b`; returns its length. */
export function writeFrame(packet: Packet, b: Uint8Array): number {
  const source = ipOfGid(packet.source)
  const destination = ipOfGid(packet.destination)
  const four = source.length === 4
  const etherType = four ? EtherType.ipv4 : EtherType.ipv6
  const ip = emitEthernet({ source: macOf(source), destination: macOf(destination), tags: [], etherType }, b, 0)
  const udp = ip + (four ? Ipv4.length : Ipv6.length)
  const bth = udp + Udp.length
  const end = bth + packet.end - packet.start
  b.fill(0, ip, bth)
  const hopLimit = packet.hopLimit || 64
  if (four) {
    b[ip] = 0x45
    b[ip + Ipv4.tos] = packet.trafficClass
    put16(b, ip + Ipv4.totalLength, end - ip)
    put16(b, ip + Ipv4.identification, Math.max(0, packet.identification))
    put16(b, ip + Ipv4.fragment, ipv4DontFragment)
    b[ip + Ipv4.ttl] = hopLimit
    b[ip + Ipv4.protocol] = IpProtocol.udp
    b.set(source, ip + Ipv4.source)
    b.set(destination, ip + Ipv4.destination)
    put16(b, ip + Ipv4.checksum, ipv4Checksum(b, ip, udp))
  } else {
    put32(b, ip, 0x60000000 | (packet.trafficClass << 20))
    put16(b, ip + Ipv6.payloadLength, end - udp)
    b[ip + Ipv6.nextHeader] = IpProtocol.udp
    b[ip + Ipv6.hopLimit] = hopLimit
    b.set(source, ip + Ipv6.source)
    b.set(destination, ip + Ipv6.destination)
  }
  put16(b, udp + Udp.sourcePort, packet.sourcePort)
  put16(b, udp + Udp.destinationPort, rocePort)
  put16(b, udp + Udp.udpLength, end - udp)
  b.set(packet.bytes.subarray(packet.start, packet.end), bth)
  put16(b, udp + Udp.checksum, udpChecksum(b, udp, end, source, destination))
  return end
}

/**
 * Returns a MAC address, since sockets do not report any: one made of the last four bytes of the address; for multicast the standard
 * mapping.
 */
function macOf(address: Uint8Array): Uint8Array {
  const [a, b, c, d] = address.subarray(-4) as unknown as [number, number, number, number]
  if (address.length === 4 && (address[0]! & 0xf0) === 0xe0) return Uint8Array.of(1, 0, 0x5e, b & 0x7f, c, d)
  if (address.length === 16 && address[0] === 0xff) return Uint8Array.of(0x33, 0x33, a, b, c, d)
  return Uint8Array.of(2, address.length === 4 ? 0 : 1, a, b, c, d)
}
