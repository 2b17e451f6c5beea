/** A socket under middleware: every packet goes through the chain by itself, on its way out and in. */
import { errnos, nowNs } from '../../memory/index.ts'
import { gidOfIp, IcrcFlow, ipOfGid } from '../../wire/index.ts'
import { type Chain, Packet } from '../middleware/index.ts'
import type { PacketSocket } from './packet-socket.ts'

/** Maximum number of packets that have arrived and were not taken yet. */
const mostWaiting = 65_536
/** Bytes of the longest packet. */
const roomBytes = 65_536

export class WrappedSocket implements PacketSocket {
  readonly segmentation: boolean = false
  segmentBytes = 0
  trafficClass = 0
  hopLimit = 0
  truncated = false
  sourcePort = 0
  readonly source: Uint8Array
  readonly sourceWords: Uint32Array

  readonly #inner: PacketSocket
  readonly #chain: Chain
  readonly #u8: Uint8Array
  /** Offset of the room in the segment for packets to be sent that are not in it. */
  readonly #room: number
  /** GID of this end; for a socket of a multicast group that of the group. */
  readonly #local: Uint8Array
  readonly #port: number
  readonly #packet = new Packet()
  readonly #gids: Uint8Array[] = []
  #trafficClass = 0
  #hopLimit = 0
  #arrived: Packet[] = []
  #flow: IcrcFlow | null = null
  #flowKey = ''
  #refused = 0
  #open = true
  readonly #lost: () => void

  /**
   * Constructs a socket. `room` is the offset of 64 KiB in the segment whose bytes are `u8`. `lost` is called for each packet that was
   * held when the socket closed.
   */
  constructor(
    inner: PacketSocket,
    chain: Chain,
    u8: Uint8Array,
    room: number,
    local: Uint8Array,
    port: number,
    lost: () => void,
  ) {
    this.#lost = lost
    this.#inner = inner
    this.#chain = chain
    this.#u8 = u8
    this.#room = room
    this.#local = local
    this.#port = port
    this.sourceWords = new Uint32Array(4)
    this.source = new Uint8Array(this.sourceWords.buffer)
  }

  get fd(): number {
    return this.#inner.fd
  }
  get family(): 4 | 6 {
    return this.#inner.family
  }
  get kernelDrops(): number {
    return this.#inner.kernelDrops
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  send(at: number, length: number, segmentBytes: number, destination: number): number {
    const step = segmentBytes > 0 ? segmentBytes : length
    this.#refused = 0
    for (let done = 0; done < length; done += step) {
      const packet = this.#packet
      packet.outbound = true
      packet.bytes = this.#u8
      packet.start = at + done
      packet.end = at + Math.min(done + step, length)
      packet.source = this.#local
      packet.destination = this.#gids[destination]!
      packet.sourcePort = this.#port
      packet.trafficClass = this.#trafficClass
      packet.hopLimit = this.#hopLimit
      packet.identification = 0
      packet.timeNs = nowNs()
      packet.way = this
      this.#chain.send(packet)
    }
    return this.#refused < 0 ? this.#refused : length
  }

  /** Sends a packet from the far end of the chain. */
  toWire(packet: Packet): void {
    if (!this.#open) {
      this.#lost()
      return
    }
    const length = packet.end - packet.start
    let at = packet.start
    if (packet.bytes !== this.#u8) {
      at = this.#room
      this.#u8.set(packet.bytes.subarray(packet.start, packet.end), at)
    }
    const inner = this.#inner
    inner.setTrafficClass(packet.trafficClass)
    inner.setHopLimit(packet.hopLimit)
    const sent = inner.send(at, length, 0, inner.destination(ipOfGid(packet.destination), this.#port))
    if (sent < 0) this.#refused = sent
  }

  destination(address: Uint8Array, port: number): number {
    const index = this.#inner.destination(address, port)
    this.#gids[index] = gidOfIp(address)
    return index
  }

  forgetDestinations(): void {
    this.#inner.forgetDestinations()
    this.#gids.length = 0
  }

  setTrafficClass(value: number): void {
    this.#trafficClass = value
  }
  setHopLimit(value: number): void {
    this.#hopLimit = value
  }
  setMulticastInterface(interfaceIndex: number): void {
    this.#inner.setMulticastInterface(interfaceIndex)
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  receive(at: number, capacity: number): number {
    const inner = this.#inner
    while (this.#arrived.length === 0) {
      const bytes = inner.receive(at, capacity)
      if (bytes < 0) return bytes
      if (inner.truncated) {
        this.truncated = true
        return bytes
      }
      for (let from = at; from < at + bytes; from += inner.segmentBytes)
        this.#take(from, Math.min(from + inner.segmentBytes, at + bytes))
      if (inner.segmentBytes === 0) this.#take(at, at)
    }
    const packet = this.#arrived.shift()!
    const length = packet.end - packet.start
    if (length > capacity) return -errnos.EMSGSIZE
    this.#u8.set(packet.bytes.subarray(packet.start, packet.end), at)
    this.segmentBytes = length
    this.trafficClass = packet.trafficClass
    this.hopLimit = packet.hopLimit
    this.truncated = false
    this.sourcePort = packet.sourcePort
    this.source.set(packet.source)
    return length
  }

  #take(start: number, end: number): void {
    const inner = this.#inner
    const packet = this.#packet
    packet.outbound = false
    packet.bytes = this.#u8
    packet.start = start
    packet.end = end
    packet.source = inner.source
    packet.destination = this.#local
    packet.sourcePort = inner.sourcePort
    packet.trafficClass = inner.trafficClass
    packet.hopLimit = inner.hopLimit
    packet.identification = end - start >= 16 ? this.#flowOf(inner).check(this.#u8, start, end - 4) : -1
    packet.timeNs = nowNs()
    packet.way = this
    this.#chain.receive(packet)
  }

  /** Receives a packet from the near end of the chain. */
  toProgram(packet: Packet): void {
    if (this.#open && this.#arrived.length < mostWaiting) this.#arrived.push(packet.copy())
    else this.#lost()
  }

  #flowOf({ source, sourcePort }: PacketSocket): IcrcFlow {
    const key = `${source.join()} ${sourcePort}`
    if (this.#flow === null || key !== this.#flowKey) {
      this.#flow = new IcrcFlow(ipOfGid(source), ipOfGid(this.#local), sourcePort)
      this.#flowKey = key
    }
    return this.#flow
  }

  /** True if packets wait that no descriptor signals. */
  get waiting(): boolean {
    return this.#arrived.length > 0
  }

  close(): void {
    this.#open = false
    for (const _ of this.#arrived) this.#lost()
    this.#arrived = []
    this.#inner.close()
  }
}

export { roomBytes as wrappedRoomBytes }
