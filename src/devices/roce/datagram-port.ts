/** A socket of node:dgram as `Sockets` uses it: packets that have arrived wait here until `receive` takes them. */
import { errnos } from '../../memory/index.ts'
import { gidOfIp } from '../../wire/index.ts'
import type { HostAddress } from './addresses.ts'
import type { DatagramSocket } from './datagram-socket.ts'
import type { PacketSocket } from './packet-socket.ts'

interface Arrived {
  readonly bytes: Uint8Array
  readonly source: Uint8Array
  readonly port: number
}

/** Maximum number of packets that wait: the rest is dropped, as with a full socket buffer. */
const mostWaiting = 8192
/** Maximum number of packets that were given to the system and that it has not taken yet. */
const mostUnsent = 1024

export class DatagramPort implements PacketSocket {
  readonly fd: number = -1
  readonly family: 4 | 6
  readonly segmentation: boolean = false
  segmentBytes = 0
  /** Placeholder: Node does not report the fields of the IP header. */
  readonly trafficClass: number = 0
  readonly hopLimit: number = 64
  truncated = false
  sourcePort = 0
  readonly sourceWords: Uint32Array = new Uint32Array(4)
  readonly source: Uint8Array = new Uint8Array(this.sourceWords.buffer)
  /** Number of packets that the kernel dropped, as far as the system reports it. */
  systemDrops = 0
  #full = 0

  readonly #socket: DatagramSocket
  readonly #u8: Uint8Array
  #arrived: Arrived[] = []
  #next = 0

  /** Constructs a port; `rang` is called when a packet has come and none was waiting. */
  constructor(socket: DatagramSocket, local: HostAddress, u8: Uint8Array, rang: () => void) {
    this.#socket = socket
    this.#u8 = u8
    this.family = local.address.length === 4 ? 4 : 6
    socket.onPacket = (bytes, source, port) => {
      if (this.#arrived.length - this.#next >= mostWaiting) {
        this.#full++
        return
      }
      this.#arrived.push({ bytes, source: source.slice(), port })
      if (this.#arrived.length - this.#next === 1) rang()
    }
  }

  get kernelDrops(): number {
    return this.#full + this.systemDrops
  }

  get waiting(): boolean {
    return this.#next < this.#arrived.length
  }

  send(at: number, length: number, segmentBytes: number, destination: number): number {
    const step = segmentBytes > 0 ? segmentBytes : length
    for (let done = 0; done < length; done += step) {
      if (this.#socket.unsent >= mostUnsent) return done > 0 ? done : -errnos.EAGAIN
      this.#socket.send(this.#u8.slice(at + done, at + Math.min(done + step, length)), destination)
    }
    return length
  }

  destination(address: Uint8Array, port: number): number {
    return this.#socket.destination(gidOfIp(address), port)
  }

  forgetDestinations(): void {
    this.#socket.forgetDestinations()
  }

  setTrafficClass(): void {}

  setHopLimit(value: number): void {
    this.#socket.setHopLimit(value)
  }

  setMulticastInterface(): void {
    this.#socket.sendGroupsFromHere()
  }

  receive(at: number, capacity: number): number {
    const packet = this.#arrived[this.#next]
    if (packet === undefined) return -errnos.EAGAIN
    if (++this.#next === this.#arrived.length) {
      this.#arrived = []
      this.#next = 0
    }
    const length = Math.min(packet.bytes.length, capacity)
    this.truncated = packet.bytes.length > capacity
    this.#u8.set(packet.bytes.subarray(0, length), at)
    this.segmentBytes = length
    this.sourcePort = packet.port
    this.source.set(packet.source)
    return length
  }

  /** Does nothing: the socket belongs to datagram-table.ts, and packets that wait here stay for the next call of `receive`. */
  close(): void {}
}
