/**
 * The sockets of one device in one thread: one for each GID, and one for each multicast group. Descriptors belong to the process and are
 * listed in a table (`SocketTable`), so that every thread can use them.
 *
 * Sending collects packets of one destination and one size in a burst that the kernel cuts (UDP_SEGMENT): they lie one after the other,
 * and only the last may be shorter. Receiving takes bursts that the kernel has coalesced (UDP_GRO).
 */
import { nativeCrc32 } from '../../memory/index.ts'
import { type Counters, countersOf, type PacketSink, type Transport } from '../../transport/index.ts'
import { type Host, layout } from '../../verbs/provider/index.ts'
import { Bth, gidOfIp, Icrc, IcrcFlow, ipOfGid, rocePort, useCrc32 } from '../../wire/index.ts'
import { Loopback, loopbackBytes } from './loopback.ts'
import type { PacketSocket } from './packet-socket.ts'
import { groupAddress, type Path, Paths } from './paths.ts'
import { maxSlots, Slot, type SocketTable } from './socket-table.ts'

const { Av, avMulticast } = layout

/** TTL and hop limit that Linux gives packets by default. */
const usualHopLimit = 64

/** Codepoint ECT(0) of the two ECN bits of a traffic class. Bits that a program sets itself are kept. */
const ecnCapableTransport = 2

/** Maximum bytes of one burst, and packets in it. */
const burstBytes = 62 * 1024
const burstPackets = 64
/** Room in bytes for the data of one receiving call. */
const receiveBytes = 65_536
/** Maximum number of receiving calls in one turn. */
const maxReceives = 16
/** Number of bytes in one call from which on more packets are expected. */
const muchBytes = 8192
/** Maximum bytes that one turn sends before packets are received. */
const turnBytes = 512 * 1024

interface Open {
  readonly socket: PacketSocket
  readonly slot: number
  readonly local: number
  /** GID of a group; null for a unicast socket. */
  readonly group: Uint8Array | null
  /** GID that packets to this socket are addressed to, as words. */
  readonly gidWords: Int32Array
}

export interface LocalGid {
  readonly address: Uint8Array
  readonly scopeId: number
  readonly ifindex: number
}

/**
 * Function that returns the socket with this descriptor, as this thread uses it, null while there is none; `group` is the GID of a
 * multicast group, or null.
 */
export type Attach = (fd: number, slot: number, local: number, group: Uint8Array | null) => PacketSocket | null

export class Sockets implements PacketSink {
  transport!: Transport
  /** True if packets allow routers to mark them when there is congestion: ECT(0). */
  set ecnCapable(yes: boolean) {
    this.#ect = yes ? ecnCapableTransport : 0
  }
  /** True if packets to the adapter itself stay in memory; to be set before `refresh`. */
  loopsBack = true
  readonly #loopback: Loopback
  readonly #table: SocketTable
  readonly #locals: readonly LocalGid[]
  readonly #attach: Attach
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #u8: Uint8Array
  readonly #txAt: number
  readonly #rxAt: number
  readonly #counters: Counters
  #opens: Open[] = []
  #unicast: (PacketSocket | null)[] = []
  /** GIDs as words, by index of the GID. */
  #gidWords: Int32Array[] = []
  #generation = -1
  /** Descriptors in the table, and the generation of the table at which they were listed. */
  #fds: readonly number[] = []
  #listed = -1
  readonly #to = new Paths()
  readonly #from = new Paths()

  // The burst that is being collected.
  #path: Path | null = null
  #ect = 0
  #used = 0
  #segment = 0
  #packets = 0
  #last = false
  #trafficClass = 0
  #hopLimit = 0
  #sent = 0
  #receives = 1
  #fullTurns = 0

  constructor(host: Host, device: number, table: SocketTable, locals: readonly LocalGid[], attach: Attach) {
    useCrc32(nativeCrc32())
    this.#table = table
    this.#locals = locals
    this.#attach = attach
    this.#i32 = host.i32
    this.#f64 = host.f64
    this.#u8 = host.u8
    this.#txAt = host.segment.allocate(burstBytes + 8192)
    this.#rxAt = host.segment.allocate(receiveBytes)
    this.#loopback = new Loopback(host.segment.allocate(loopbackBytes))
    this.#counters = countersOf(host, device)
  }

  #count(counter: number, by = 1): void {
    this.#f64[counter] = this.#f64[counter]! + by
  }

  // --- which sockets there are -------------------------------------------------------------------------------------

  /**
   * Follows the table. Only inside an operation (`segment.enter`): a descriptor that is in the table then is closed, and its number given
   * to another file, only after the operation has ended.
   */
  refresh(): void {
    const { generation } = this.#table
    if (generation === this.#generation) return
    this.#generation = generation
    for (const { socket } of this.#opens) socket.close()
    this.#opens = []
    this.#unicast = this.#locals.map(() => null)
    this.#gidWords = this.#locals.map(({ address }) => new Int32Array(gidOfIp(address).slice().buffer))
    this.#to.clear()
    this.#from.clear()
    this.#path = null
    this.#loopback.clear()
    for (let slot = 0; slot < maxSlots; slot++) {
      const fd = this.#table.fd(slot)
      if (fd < 0) continue
      const local = this.#i32[this.#table.word(slot) + Slot.local]!
      const group = this.#table.group(slot)
      const socket = this.#attach(fd, slot, local, group)
      if (socket === null) continue
      const gidWords = group === null ? this.#gidWords[local]! : new Int32Array(group.slice().buffer)
      this.#opens.push({ socket, slot, local, group, gidWords })
      if (group === null) this.#unicast[local] = socket
    }
  }

  /**
   * Writes the descriptors that are in the table, for a thread that waits for them; returns their number. A descriptor that is closed
   * meanwhile ends the wait: `OpenSockets.closeSlot` ensures that.
   */
  descriptors(into: Int32Array, from: number): number {
    const { generation } = this.#table
    if (generation !== this.#listed) {
      this.#listed = generation
      this.#fds = this.#table.descriptors()
    }
    const fds = this.#fds
    for (let i = 0; i < fds.length; i++) into[from + i] = fds[i]!
    return fds.length
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  open(av: number, lengthBytes: number, markable = true): number {
    const i32 = this.#i32
    const total = lengthBytes + Icrc.length
    const local = i32[av + Av.sgidIndex]!
    // IBA CA17-4: the DSCP is that of the address vector's traffic class.
    let trafficClass = i32[av + Av.trafficClass]!
    // IBA CA17-5: without congestion management routers must not mark packets: the ECN bits are 0.
    // IBA CA17-5 deviation: ECN bits that a program puts into a traffic class go out in any case; it may want marks counted, which the
    // adapter then does not answer.
    if ((trafficClass & 3) === 0 && markable) trafficClass |= this.#ect
    // IBA CA17-9: the hop limit is that of the address vector, or the usual one.
    const hopLimit = i32[av + Av.hopLimit]!
    let path = this.#path
    const gid = av + Av.gid
    if (
      path === null ||
      path.local !== local ||
      path.words[3] !== i32[gid + 3] ||
      path.words[2] !== i32[gid + 2] ||
      path.words[1] !== i32[gid + 1] ||
      path.words[0] !== i32[gid] ||
      trafficClass !== this.#trafficClass ||
      hopLimit !== this.#hopLimit
    ) {
      if (this.#used > 0) this.flush()
      path = this.#to.find(i32, gid, local, rocePort) ?? this.#newPath(av, local)
      this.#path = path
      this.#trafficClass = trafficClass
      this.#hopLimit = hopLimit
    } else if (
      this.#used > 0 &&
      (this.#last || total > this.#segment || this.#packets === burstPackets || this.#used + total > burstBytes)
    )
      this.flush()
    return path !== null && path.inside >= 0 ? this.#loopback.open(lengthBytes) : this.#txAt + this.#used
  }

  close(lengthBytes: number): void {
    const path = this.#path
    const total = lengthBytes + Icrc.length
    if (path === null || path.socket === null) {
      this.#count(this.#counters.drops_no_path)
      return
    }
    if (path.inside >= 0) {
      this.#loopback.close(lengthBytes, path, this.#trafficClass, this.#hopLimit)
      // A packet that stays in memory takes less time.
      this.#sent += total >> 3
      this.#count(this.#counters.sent_pkts)
      this.#count(this.#counters.loopback_pkts)
      this.#count(this.#counters.sent_bytes, total)
      return
    }
    const at = this.#txAt + this.#used
    // The kernel numbers the segments of one call 0, 1, 2, …; without segmentation each is a packet of its own.
    // IBA CA17-22: the ICRC covers the headers that the kernel is about to write.
    path.flow.write(this.#u8, at, at + lengthBytes, path.socket.segmentation ? this.#packets : 0)
    if (this.#packets === 0) this.#segment = total
    else if (total < this.#segment) this.#last = true
    this.#packets++
    this.#used += total
  }

  flush(): void {
    const path = this.#path
    const length = this.#used
    const packets = this.#packets
    this.#used = 0
    this.#packets = 0
    this.#last = false
    if (length === 0 || path === null || path.socket === null) return
    const { socket } = path
    socket.setTrafficClass(this.#trafficClass)
    // The usual value is the system's own: then no control message is needed with each call.
    socket.setHopLimit(this.#hopLimit === usualHopLimit ? 0 : this.#hopLimit)
    let done = 0
    while (done < length) {
      const sent = socket.send(this.#txAt + done, length - done, packets > 1 ? this.#segment : 0, path.destination)
      if (sent < 0) {
        // The buffer is full, or the path does not take it: to the transport the burst is lost.
        this.#count(this.#counters.send_err)
        break
      }
      done += sent
      if (done < length && !socket.segmentation) this.#renumber(path, done, length)
    }
    this.#sent += done
    this.#count(this.#counters.sent_pkts, done < length ? Math.floor(done / this.#segment) : packets)
    this.#count(this.#counters.sent_bytes, done)
  }

  /**
   * Computes the ICRC of the rest again after the kernel has rejected segmentation: it goes as single packets, whose identification is 0.
   */
  #renumber(path: Path, from: number, end: number): void {
    for (let at = from; at < end; at += this.#segment) {
      const stop = Math.min(at + this.#segment, end) - Icrc.length
      path.flow.write(this.#u8, this.#txAt + at, this.#txAt + stop, 0)
    }
  }

  /** True if this turn may send more. */
  get room(): boolean {
    return this.#sent < turnBytes && !this.#loopback.full
  }

  beginTurn(): void {
    this.#sent = 0
  }

  #newPath(av: number, local: number): Path | null {
    const socket = this.#unicast[local] ?? null
    const here = this.#locals[local]
    if (socket === null || here === undefined) return null
    const i32 = this.#i32
    const gid = new Uint8Array(i32.buffer, (av + Av.gid) * 4, 16).slice()
    const group = (i32[av + Av.flags]! & avMulticast) !== 0
    const address = group ? groupAddress(gid, socket.family) : ipOfGid(gid)
    if (address.length !== here.address.length) return null
    // Addresses of peers go with the paths: a peer that sends a request to QP 1 gets one reply and need not be remembered.
    if (this.#to.full) {
      this.#to.clear()
      for (const open of this.#opens) open.socket.forgetDestinations()
    }
    let destination: number
    try {
      if (group) socket.setMulticastInterface(here.ifindex)
      destination = socket.destination(address, rocePort)
    } catch {
      return null
    }
    const flow = new IcrcFlow(here.address, address, rocePort)
    const inside = group || !this.loopsBack ? -1 : this.#localOf(address, here.scopeId)
    return this.#to.add(i32, av + Av.gid, local, rocePort, flow, socket, destination, inside)
  }

  /** Returns the index of the GID with this address, in this zone, that has a socket; −1 if there is none. */
  #localOf(address: Uint8Array, scopeId: number): number {
    const isHere = (here: LocalGid, i: number): boolean =>
      this.#unicast[i] != null && here.scopeId === scopeId && Buffer.compare(here.address, address) === 0
    return this.#locals.findIndex(isHere)
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  /** True if packets to the adapter itself wait for `deliver`. */
  get toDeliver(): boolean {
    return this.#loopback.waiting
  }

  /** Gives the transport the waiting packets to the adapter itself, and those that it sends meanwhile. */
  deliver(nowNs: number): number {
    const loopback = this.#loopback
    const { transport } = this
    const { origin } = transport
    let packets = 0
    for (let path = loopback.next(); path !== null; path = loopback.next()) {
      const destination = this.#gidWords[path.inside]!
      const source = this.#gidWords[path.local]!
      for (let i = 0; i < 4; i++) {
        origin.source[i] = source[i]!
        origin.destination[i] = destination[i]!
      }
      origin.ipv4 = path.socket!.family === 4
      origin.trafficClass = loopback.trafficClass
      origin.hopLimit = loopback.hopLimit === 0 ? usualHopLimit : loopback.hopLimit
      const { at, end } = loopback
      this.#count(this.#counters.rcvd_bytes, end - at + Icrc.length)
      transport.receive(at, end, nowNs)
      packets++
    }
    return packets
  }

  /** Gives the transport the packets that have arrived, at most a batch; returns their number. */
  receive(nowNs: number): number {
    let packets = 0
    for (const open of this.#opens) {
      const { socket } = open
      let turns = 0
      for (; turns < this.#receives; turns++) {
        const bytes = socket.receive(this.#rxAt, receiveBytes)
        if (bytes < 0) break
        packets += this.#burst(open, bytes, nowNs)
        if (bytes >= muchBytes && this.#receives < maxReceives) this.#receives++
      }
      this.#adapt(turns)
    }
    return packets
  }

  /** Adapts the number of receiving calls to recent turns: a call that finds nothing costs as much as one that returns a packet. */
  #adapt(turns: number): void {
    if (turns < this.#receives) {
      this.#receives = Math.max(1, turns)
      this.#fullTurns = 0
    } else if (++this.#fullTurns >= 8 && this.#receives < maxReceives) {
      this.#receives++
      this.#fullTurns = 0
    }
  }

  #burst({ socket, slot, local, group, gidWords }: Open, bytes: number, nowNs: number): number {
    const { transport } = this
    this.#count(this.#counters.rcvd_bytes, bytes)
    if (socket.kernelDrops !== 0) this.#dropped(slot, socket.kernelDrops)
    const { origin } = transport
    const u8 = this.#u8
    // An empty datagram has no packet to look at.
    if (socket.truncated || bytes === 0) {
      this.#count(this.#counters.drops_malformed)
      return 1
    }
    // Packets to a group have another destination in their ICRC than packets to the address itself.
    const key = group === null ? local : -1 - local
    let path = this.#from.find(socket.sourceWords, 0, key, socket.sourcePort)
    if (path === null) {
      const source = ipOfGid(socket.source)
      const destination = group === null ? this.#locals[local]!.address : groupAddress(group, socket.family)
      const flow = new IcrcFlow(source, destination, socket.sourcePort)
      path = this.#from.add(socket.sourceWords, 0, key, socket.sourcePort, flow, null, -1, -1)
    }
    for (let i = 0; i < 4; i++) {
      origin.source[i] = path.words[i]!
      origin.destination[i] = gidWords[i]!
    }
    origin.ipv4 = socket.family === 4
    origin.trafficClass = socket.trafficClass
    origin.hopLimit = socket.hopLimit
    const segment = socket.segmentBytes
    let packets = 0
    for (let at = 0; at < bytes; at += segment) {
      const start = this.#rxAt + at
      const end = this.#rxAt + Math.min(at + segment, bytes) - Icrc.length
      packets++
      if (end - start < Bth.length) this.#count(this.#counters.drops_malformed)
      // IBA CA17-24: a packet with a wrong ICRC is dropped silently.
      else if (path.flow.check(u8, start, end) < 0) this.#count(this.#counters.icrc_errors)
      else transport.receive(start, end, nowNs)
    }
    return packets
  }

  /** Counts drops: the kernel reports how many datagrams a full buffer has cost since the socket was opened. */
  #dropped(slot: number, drops: number): void {
    const word = this.#table.word(slot) + Slot.drops
    const more = (drops - this.#i32[word]!) | 0
    if (more <= 0) return
    this.#i32[word] = drops
    this.#count(this.#counters.drops_socket_buffer, more)
  }
}
