/**
 * Network in memory and in virtual time, for captures: one adapter with the address of the client, and one with those of all servers, on a
 * switch. A packet leaves its sender at the bandwidth of the link, waits at the switch for its egress port, and is marked (ECN CE) if more
 * than `markBytes` wait there. The capture is that of the client's port: packets that it sends at the time they leave, packets that it
 * receives at the time they arrive. Time stands still while an adapter or a loop works.
 */
import { NetworkDevice, type PacketSink } from '../../transport/index.ts'
import {
  type DeviceDriver,
  type GidEntry,
  GidType,
  type Host,
  layout,
  registerDriver,
} from '../../verbs/provider/index.ts'
import { Bth, gidOfIp, Icrc, IcrcFlow, rocePort, u32le } from '../../wire/index.ts'
import { RandomStream, type TrafficFaults } from '../index.ts'
import type { Frames } from './frames.ts'

const { Av, Dev } = layout

/** First number of records that no other device of the segment of a process has. */
const firstIndex = 60
const linkDelayNs = 500
const markBytes = 100_000
const mostPacket = 4096 + 128
const reorderNs = 20_000

interface Flight {
  arrivalNs: number
  order: number
  bytes: Uint8Array
  source: number
  target: number
  trafficClass: number
  /** XOR of its ICRC and the right one. */
  damage: number
}

const nothing: readonly Flight[] = []

export interface NetworkOptions {
  faults: TrafficFaults
  bandwidthBps: number
  seed: number
  servers: number
  frames: Frames
  startNs: number
  /** Flag: packets that wait for long are marked, and adapters answer the marks with CNPs: RoCEv2 has that, RoCEv1 has not. */
  congestionControl: boolean
}

/** Returns the address of a host: 0 is the client. */
export function addressOf(host: number): Uint8Array {
  return Uint8Array.of(10, 0, (host + 1) >> 8, (host + 1) & 255)
}

export class Network {
  nowNs: number
  /** Time of the beginning: zero in the capture. */
  readonly startNs: number
  readonly devices: VirtualAdapter[] = []
  readonly frames: Frames
  readonly congestionControl: boolean
  readonly #faults: TrafficFaults
  readonly #byteNs: number
  readonly #random: RandomStream
  /** Packets in flight to each device, and the time when the first of them arrives. */
  readonly #flights: Flight[][] = [[], []]
  readonly #firstNs = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  readonly #flows = new Map<number, IcrcFlow>()
  #order = 0
  /** Times, by host, when its port has sent its packets, and when the switch has sent the packets to it. */
  readonly #leaving: Float64Array
  readonly #arriving: Float64Array

  /** Time continues from `startNs`: adapters keep their timers in memory that an earlier capture may have used. */
  constructor({ faults, bandwidthBps, seed, servers, frames, startNs, congestionControl }: NetworkOptions) {
    this.congestionControl = congestionControl
    this.startNs = startNs
    this.nowNs = startNs
    this.frames = frames
    this.#faults = faults
    this.#byteNs = 8e9 / bandwidthBps
    this.#random = new RandomStream(seed, 'network')
    this.#leaving = new Float64Array(servers + 1)
    this.#arriving = new Float64Array(servers + 1)
  }

  /** Sends a packet from host to host: BTH to ICRC. */
  send(bytes: Uint8Array, source: number, target: number, trafficClass: number): void {
    const { loss, duplication, corruption, reordering, marking, delayMs, jitterMs } = this.#faults
    const wireNs = (bytes.length + 62) * this.#byteNs
    const leftNs = Math.max(this.nowNs, this.#leaving[source]!) + wireNs
    this.#leaving[source] = leftNs
    if (source === 0)
      this.frames.add(leftNs - this.startNs, bytes, addressOf(source), addressOf(target), trafficClass, 0)
    if (this.#happens(loss)) return
    for (let copies = this.#happens(duplication) ? 2 : 1; copies > 0; copies--) {
      const reachedNs = leftNs + linkDelayNs + delayMs * 1e6 + jitterMs * 1e6 * this.#random.unit()
      const startNs = Math.max(reachedNs, this.#arriving[target]!)
      const queued = (startNs - reachedNs) / this.#byteNs
      this.#arriving[target] = startNs + wireNs
      const marked =
        this.congestionControl && (trafficClass & 3) !== 0 && (queued > markBytes || this.#happens(marking))
      const late = this.#happens(reordering) ? reorderNs * this.#random.unit() : 0
      const carried = bytes.slice()
      let damage = 0
      if (this.#happens(corruption)) {
        // The ICRC does not cover the byte with the ECN bits.
        const byte = this.#random.below(carried.length - 1)
        carried[byte < Bth.ecn ? byte : byte + 1]! ^= 1 << this.#random.below(8)
        const end = carried.length - Icrc.length
        damage = this.flow(source, target).compute(carried, 0, end) ^ u32le(carried, end)
      }
      const arrivalNs = startNs + wireNs + linkDelayNs + late
      const flight = { arrivalNs, order: this.#order++, bytes: carried, source, target, damage }
      const to = target === 0 ? 0 : 1
      this.#flights[to]!.push({ ...flight, trafficClass: marked ? trafficClass | 3 : trafficClass })
      this.#firstNs[to] = Math.min(this.#firstNs[to]!, arrivalNs)
    }
  }

  #happens(probability: number): boolean {
    return probability > 0 && this.#random.unit() < probability
  }

  /** Returns the packets that have arrived at a device by now, in order. */
  take(device: VirtualAdapter): readonly Flight[] {
    const to = device.first === 0 ? 0 : 1
    if (this.#firstNs[to]! > this.nowNs) return nothing
    const arrived: Flight[] = []
    const left: Flight[] = []
    this.#firstNs[to] = Number.POSITIVE_INFINITY
    for (const flight of this.#flights[to]!) {
      if (flight.arrivalNs <= this.nowNs) arrived.push(flight)
      else {
        left.push(flight)
        this.#firstNs[to] = Math.min(this.#firstNs[to]!, flight.arrivalNs)
      }
    }
    this.#flights[to] = left
    arrived.sort((a, b) => a.arrivalNs - b.arrivalNs || a.order - b.order)
    for (const { arrivalNs, bytes, source, target, trafficClass, damage } of arrived)
      if (target === 0)
        this.frames.add(arrivalNs - this.startNs, bytes, addressOf(source), addressOf(target), trafficClass, damage)
    return arrived
  }

  /** Returns the ICRC state of the flow from host to host. */
  flow(source: number, target: number): IcrcFlow {
    const key = source * 65536 + target
    let flow = this.#flows.get(key)
    if (flow === undefined) {
      flow = new IcrcFlow(addressOf(source), addressOf(target), rocePort)
      this.#flows.set(key, flow)
    }
    return flow
  }

  /** Lets the adapters do all work that is possible now. */
  settle(): void {
    for (let busy = true; busy; ) {
      busy = false
      for (const device of this.devices) busy = device.drive(true) > 0 || busy
    }
  }

  /** Time of the next event in the network or in an adapter. */
  get nextNs(): number {
    let next = Math.min(...this.#firstNs)
    for (const device of this.devices) next = Math.min(next, device.nextDeadlineNs)
    return next
  }
}

/** Sink that collects a packet in scratch memory and passes it to the network. */
class NetworkSink implements PacketSink {
  device!: VirtualAdapter
  readonly #host: Host
  readonly #at: number
  #av = 0
  #gid = 0

  constructor(host: Host) {
    this.#host = host
    this.#at = host.segment.allocate(2 * mostPacket)
  }

  open(av: number): number {
    this.#av = av
    this.#gid = this.#host.i32[av + Av.sgidIndex] ?? 0
    return this.#at
  }

  close(length: number): void {
    const { i32, u8 } = this.#host
    const gid = new Uint8Array(i32.buffer, i32.byteOffset + (this.#av + Av.gid) * 4, 16)
    const source = this.device.first + this.#gid
    const target = ((gid[14]! << 8) | gid[15]!) - 1
    this.device.network.flow(source, target).write(u8, this.#at, this.#at + length)
    const bytes = u8.slice(this.#at, this.#at + length + 4)
    this.device.network.send(bytes, source, target, i32[this.#av + Av.trafficClass]!)
  }
}

export class VirtualAdapter extends NetworkDevice {
  readonly network: Network
  /** First of its hosts. */
  readonly first: number
  readonly #at: number

  constructor(host: Host, network: Network, first: number, hosts: number, lineRateBps: number) {
    const sink = new NetworkSink(host)
    const gids: GidEntry[] = Array.from({ length: hosts }, (_, i) => {
      return { gid: gidOfIp(addressOf(first + i)), gidIndex: i, portNum: 1, gidType: GidType.RoceV2, ndevIfindex: 0 }
    })
    const index = firstIndex + Math.min(1, first)
    const name = first === 0 ? 'capture/client' : 'capture/servers'
    const options = { congestionControl: network.congestionControl, lineRateBps }
    super(
      host,
      { name, index, guid: 0x0256_4243_0000_0000n + BigInt(index), gids, activeMtu: 4096, options, defersAcks: false },
      sink,
    )
    sink.device = this
    this.network = network
    this.first = first
    this.#at = host.segment.allocate(2 * mostPacket)
    host.i32[host.deviceWord(this.index) + Dev.state] = 1
    network.devices.push(this)
  }

  get nextDeadlineNs(): number {
    return this.transport.nextDeadlineNs
  }

  protected nowNs(): number {
    return this.network.nowNs
  }

  protected receive(nowNs: number): number {
    const flights = this.network.take(this)
    const { u8 } = this.host
    for (const { bytes, source, target, trafficClass } of flights) {
      u8.set(bytes, this.#at)
      const end = this.#at + bytes.length - 4
      if (this.network.flow(source, target).check(u8, this.#at, end) !== 0) {
        this.host.count(this.index, 'icrc_errors')
        continue
      }
      const { origin } = this.transport
      origin.sourceBytes.set(gidOfIp(addressOf(source)))
      origin.destinationBytes.set(gidOfIp(addressOf(target)))
      origin.trafficClass = trafficClass
      origin.hopLimit = 64
      this.transport.receive(this.#at, end, nowNs)
    }
    return flights.length
  }

  protected flush(): void {}
  protected wakeThread(): void {
    this.drive(true)
  }
  protected room(): boolean {
    return true
  }
  rest(): void {}
  sleep(): boolean {
    return true
  }
  joinGroup(): void {}
  leaveGroup(): void {}
  open(): void {}
  close(): void {}
  override progress(): void {}
}

let current: readonly VirtualAdapter[] = []

const driver: DeviceDriver = {
  kind: 'capture',
  list: () => [],
  open: (name) => current.find((device) => device.name === name) ?? null,
}

/** Makes these adapters the ones that can be opened. */
export function plugIn(devices: readonly VirtualAdapter[]): void {
  registerDriver(driver)
  current = devices
}
