/**
 * Two adapters on a link in memory, for tests: packets are copied into a queue and come out at the other side, as the
 * link's faults will have it. Time is virtual: it stands still while somebody works, and jumps to what happens next when
 * nobody has anything to do.
 */
import { type DeviceInfo, type GidEntry, GidType, openDevice } from '../../src/index.ts'
import { NetworkDevice, type PacketSink, type TransportOptions, TransportQp } from '../../src/transport/index.ts'
import { begun } from '../../src/transport/layout.ts'
import type { Host } from '../../src/verbs/provider/index.ts'
import { type DeviceDriver, layout, QpState, QpType, registerDriver } from '../../src/verbs/provider/index.ts'
import { Bth, gidOfIp, IcrcFlow, OpBit, opcodeBits } from '../../src/wire/index.ts'
import { seeded } from '../random.ts'

const { Av, Dev, Meta, Qp } = layout

/** What the link does to packets, each with its probability from 0 to 1. */
export interface Faults {
  loss?: number
  duplication?: number
  /** The packet is overtaken by those that follow it within `reorderNs`. */
  reordering?: number
  reorderNs?: number
  /** One bit is flipped: the ICRC is wrong, and the receiver drops the packet. */
  corruption?: number
  delayNs?: number
  jitterNs?: number
  /** How long a byte takes to leave: with 0 packets stand at the same time on the link, and any jitter shuffles them. */
  byteNs?: number
  /** A switch on the way marks the packet: it met congestion. */
  marking?: number
  /** The thread that drives an adapter is killed in that turn: see mortal.ts. */
  killing?: number
  /**
   * While it returns true nothing is lost or damaged, and nobody is killed: `onLastTry`. A QP has at most seven retries, and at random
   * any number of tries in a row fails; then the requester is right to give up. With its last try spared, a connection that
   * breaks all the same has lost something that no retry brings back.
   */
  spares?: () => boolean
}

interface Flight {
  arrivalNs: number
  order: number
  bytes: Uint8Array
  from: number
  to: Uint8Array
  /** The number of the adapter that it reaches. */
  at: number
  trafficClass: number
  hopLimit: number
}

export class Link {
  nowNs = 1e9
  faults: Faults = {}
  random: () => number = seeded(1)
  /** Packets seen, for tests that look at the wire. */
  watch: ((bytes: Uint8Array, from: number) => void) | null = null
  readonly counts = { sent: 0, lost: 0, duplicated: 0, reordered: 0, corrupted: 0, lostRequests: 0 }
  readonly devices: VirtualDevice[] = []
  #flights: Flight[] = []
  #order = 0
  /** When the packet before has left, by adapter. */
  readonly #leftNs: number[] = []

  /** Who is not an adapter but a test, by the last byte of its address: it gets packets at once, without faults. */
  readonly peers: Map<number, (bytes: Uint8Array) => void> = new Map()
  /** Time stands still, whoever polls. */
  frozen = false
  /** Where packets wait until the thread that makes them sends them all; null if each is sent at once. */
  held: (() => void)[] | null = null

  send(bytes: Uint8Array, from: number, to: Uint8Array, trafficClass: number, hopLimit: number): void {
    if (this.held !== null) {
      this.held.push(() => this.send(bytes, from, to, trafficClass, hopLimit))
      return
    }
    this.peers.get(to[15]!)?.(bytes)
    for (const device of Object.values(this.devices))
      if (device.isReachedAt(to))
        this.#carry({ arrivalNs: 0, order: 0, bytes, from, to, at: device.number, trafficClass, hopLimit })
  }

  #carry(flight: Flight): void {
    const { faults, counts } = this
    const { bytes, from } = flight
    counts.sent++
    this.watch?.(bytes, from)
    const copies = this.#happens(faults.duplication) ? 2 : 1
    counts.duplicated += copies - 1
    let unharmed = false
    const leftNs = Math.max(this.nowNs, this.#leftNs[from] ?? 0) + bytes.length * (faults.byteNs ?? 0)
    this.#leftNs[from] = leftNs
    for (let copy = 0; copy < copies; copy++) {
      if (this.#harms(faults.loss)) {
        counts.lost++
        continue
      }
      let arrivalNs = leftNs + (faults.delayNs ?? 1000) + (faults.jitterNs ?? 0) * this.random()
      if (this.#happens(faults.reordering)) {
        counts.reordered++
        arrivalNs += (faults.reorderNs ?? 50_000) * this.random()
      }
      const carried = bytes.slice()
      if (this.#harms(faults.corruption)) {
        counts.corrupted++
        // The ICRC does not cover the byte with the ECN bits.
        const byte = Math.floor(this.random() * (carried.length - 1))
        carried[byte < Bth.ecn ? byte : byte + 1]! ^= 1 << Math.floor(this.random() * 8)
      } else unharmed = true
      const trafficClass = this.#happens(faults.marking) ? flight.trafficClass | 3 : flight.trafficClass
      this.#flights.push({ ...flight, arrivalNs, order: this.#order++, bytes: carried, trafficClass })
    }
    if (!unharmed && (opcodeBits[bytes[0]!]! & OpBit.Request) !== 0) counts.lostRequests++
  }

  /** A packet from 10.0.0.`from` + 1 that arrives at `device` now, whatever the faults. */
  inject(device: VirtualDevice, bytes: Uint8Array, from: number, trafficClass = 0): void {
    const flight = { bytes, from, to: gidOfIp(device.address), at: device.number, trafficClass, hopLimit: 64 }
    this.#flights.push({ ...flight, arrivalNs: this.nowNs, order: this.#order++ })
  }

  #happens(probability = 0): boolean {
    return probability > 0 && this.random() < probability
  }

  #harms(probability?: number): boolean {
    return this.#happens(probability) && this.faults.spares?.() !== true
  }

  arrived(device: VirtualDevice): boolean {
    return this.#flights.some((flight) => flight.arrivalNs <= this.nowNs && flight.at === device.number)
  }

  /** The packets that have arrived at `device` by now, in order. */
  take(device: VirtualDevice): Flight[] {
    const here = (flight: Flight): boolean => flight.arrivalNs <= this.nowNs && flight.at === device.number
    const arrived = this.#flights.filter(here).sort((a, b) => a.arrivalNs - b.arrivalNs || a.order - b.order)
    const taken = arrived.slice(0, device.batch)
    if (taken.length > 0) this.#flights = this.#flights.filter((flight) => !taken.includes(flight))
    return taken
  }

  /** Lets everything happen that can happen now; then time jumps to the next event, within `limitNs`. False: nothing left. */
  step(limitNs = Number.POSITIVE_INFINITY): boolean {
    for (let busy = true; busy; ) {
      busy = false
      for (const device of Object.values(this.devices)) busy = device.drive(true) > 0 || busy
    }
    if (this.frozen) return false
    let next = Number.POSITIVE_INFINITY
    for (const flight of this.#flights) next = Math.min(next, flight.arrivalNs)
    for (const device of Object.values(this.devices)) next = Math.min(next, device.nextDeadlineNs)
    if (next === Number.POSITIVE_INFINITY) return Object.values(this.devices).some((device) => device.isOrphaned)
    if (next > limitNs) return false
    this.nowNs = Math.max(this.nowNs, next)
    return true
  }
}

export const link: Link = new Link()

/** Whether a requester, of whichever adapter, has something outstanding and no retry left. */
export function onLastTry(): boolean {
  const { host } = Object.values(link.devices)[0]!
  const { i32 } = host
  for (let slot = 0; slot < i32[host.at.meta + Meta.qpsUsed]!; slot++) {
    const q = host.qpWord(slot)
    if (i32[q + Qp.number] === 0 || i32[q + Qp.type] !== QpType.RC || i32[q + Qp.state] !== QpState.Rts) continue
    const t = i32[q + Qp.wire]!
    if ((i32[t + TransportQp.ready]! & begun.requester) === 0 || i32[t + TransportQp.retriesLeft] !== 0) continue
    if (i32[t + TransportQp.una] !== i32[t + TransportQp.newPsn]) return true
  }
  return false
}

/** Collects a packet in scratch memory and gives it to the link. */
class LinkSink implements PacketSink {
  device!: VirtualDevice
  readonly at: number
  readonly #host: Host
  readonly #u8: Uint8Array
  #av = 0

  constructor(host: Host) {
    this.#host = host
    this.#u8 = new Uint8Array(host.segment.buffer)
    this.at = host.segment.allocate(8192)
  }

  open(av: number): number {
    this.#av = av
    return this.at
  }

  close(length: number): void {
    const { i32 } = this.#host
    const u8 = this.#u8
    const gid = new Uint8Array(i32.buffer, (this.#av + Av.gid) * 4, 16).slice()
    this.device.flow(gid).write(u8, this.at, this.at + length)
    const tc = i32[this.#av + Av.trafficClass]!
    link.send(u8.slice(this.at, this.at + length + 4), this.device.number, gid, tc, i32[this.#av + Av.hopLimit]!)
  }
}

const firstIndex = 32

export class VirtualDevice extends NetworkDevice {
  readonly number: number
  readonly address: Uint8Array
  /** Where its packets are made: from, to. */
  readonly scratch: readonly [number, number]
  readonly #u8: Uint8Array
  readonly #at: number
  readonly #flows = new Map<string, IcrcFlow>()
  icrcErrors = 0
  /** Whether a call sends one turn of packets, and not all that there are. */
  oneTurn = false
  /** Packets that it takes in one call, at most. */
  batch: number = Number.POSITIVE_INFINITY
  /** So long its thread is held up before packets leave. */
  heldUpNs = 0

  constructor(host: Host, number: number, options: Partial<TransportOptions> = {}) {
    const sink = new LinkSink(host)
    const address = Uint8Array.of(10, 0, 0, number + 1)
    const gid: GidEntry = { gid: gidOfIp(address), gidIndex: 0, portNum: 1, gidType: GidType.RoceV2, ndevIfindex: 0 }
    const guid = 0x0256424e00000010n + BigInt(number)
    super(
      host,
      {
        name: `virtual${number}`,
        index: firstIndex + number,
        guid,
        gids: [gid],
        activeMtu: 4096,
        options,
        defersAcks: false,
      },
      sink,
    )
    sink.device = this
    this.number = number
    this.address = address
    this.#u8 = new Uint8Array(host.segment.buffer)
    this.scratch = [sink.at, sink.at + 8192]
    this.#at = host.segment.allocate(8192)
    host.i32[host.deviceWord(this.index) + Dev.state] = 1
    link.devices[number] = this
  }

  get nextDeadlineNs(): number {
    return this.transport.nextDeadlineNs
  }

  /** Whether the thread that drove it was killed, and nobody has taken over: it is not at rest, though nothing is on its way. */
  get isOrphaned(): boolean {
    return false
  }

  set congestionControl(on: boolean) {
    this.transport.congestionControl = on
  }

  /** The thread that drove the adapter was killed between two turns. */
  orphan(): void {
    this.transport.orphan()
  }

  /** The ICRC's view of the way to an address. */
  flow(gid: Uint8Array): IcrcFlow {
    const key = gid.join()
    const flow = this.#flows.get(key) ?? new IcrcFlow(this.address, gid.slice(12), 4791)
    this.#flows.set(key, flow)
    return flow
  }

  isReachedAt(to: Uint8Array): boolean {
    if (to[0] === 0xff) return true
    return to.slice(12).every((byte, i) => byte === this.address[i])
  }

  protected nowNs(): number {
    return link.nowNs
  }

  protected receive(nowNs: number): number {
    const flights = link.take(this)
    const u8 = this.#u8
    for (const { bytes, from, to, trafficClass, hopLimit } of flights) {
      u8.set(bytes, this.#at)
      const source = Uint8Array.of(10, 0, 0, from + 1)
      const end = this.#at + bytes.length - 4
      if (new IcrcFlow(source, to.slice(12), 4791).check(u8, this.#at, end) !== 0) {
        this.icrcErrors++
        this.host.count(this.index, 'icrc_errors')
        continue
      }
      const { origin } = this.transport
      origin.sourceBytes.set(gidOfIp(source))
      origin.destinationBytes.set(to)
      origin.trafficClass = trafficClass
      origin.hopLimit = hopLimit
      this.transport.receive(this.#at, end, nowNs)
    }
    return flights.length
  }

  protected flush(): void {
    link.nowNs += this.heldUpNs
  }
  protected wakeThread(): void {
    this.drive(true)
  }
  protected room(): boolean {
    return !this.oneTurn
  }
  rest(): void {}
  /** A thread that blocks has nothing to do, so that time goes on. */
  sleep(): boolean {
    link.step()
    return true
  }
  joinGroup(): void {}
  leaveGroup(): void {}
  open(): void {}
  close(): void {}

  override progress(): void {
    link.step()
  }
}

/** Two for all tests, and two with congestion control. */
const names = ['virtual0', 'virtual1']
export const congested: readonly [string, string] = ['virtual-congested0', 'virtual-congested1']
const devices = new Map<string, VirtualDevice>()

const driver: DeviceDriver = {
  kind: 'virtual',
  list: (): DeviceInfo[] => names.map((name) => ({ name, guid: open(name)!.attr.nodeGuid as bigint, kind: 'virtual' })),
  open,
}

function open(name: string): VirtualDevice | null {
  const number = [...names, ...congested].indexOf(name)
  if (number < 0) return null
  let device = devices.get(name)
  if (!device) {
    const probe = openDevice('shm0')
    device = new VirtualDevice(probe.device.host, number, congested.includes(name) ? { congestionControl: true } : {})
    probe.close()
    devices.set(name, device)
  }
  return device
}

export function registerVirtual(): void {
  registerDriver(driver)
}
