/**
 * Adapters on UDP port 4791: RoCEv2 from plain sockets, without privileges. `roce:ADDRESS` is an adapter on one address of this host,
 * `roce` one on all of them, with a GID for each. All processes of a user share it: it lives in a segment of its own (shared-hosts.ts),
 * and each process has descriptors of its sockets. With middleware, or without koffi, it is in the segment of one process, which uses it
 * alone.
 *
 * A thread that polls, posts or waits drives the adapter; while none does, a thread of one of the processes does (service.ts), so that a
 * peer's READ gets its response while the program computes. With `engine: 'thread'` that thread executes all requests.
 */
import { readFileSync } from 'node:fs'
import {
  type HostLink,
  hostLinks,
  type Listener,
  nativeAvailable,
  nativeReason,
  nowNs,
  type Parking,
  sleepUntilNs,
  UdpSocket,
  untilLook,
  waitReadable,
} from '../../memory/index.ts'
import { NetworkDevice } from '../../transport/index.ts'
import { processHost } from '../../verbs/index.ts'
import {
  EventType,
  type GidEntry,
  GidType,
  type Host,
  layout,
  type OpenOptions,
  type PortAttr,
  PortState,
  VerbsError,
} from '../../verbs/provider/index.ts'
import { gidOfIp, rocePort } from '../../wire/index.ts'
import type { Chain } from '../middleware/index.ts'
import { ProcessBytes } from '../process-memory/index.ts'
import { AddressTable, type PortNow, type TableEntry } from './address-table.ts'
import { guidOf, type HostAddress, stateOfAddress } from './addresses.ts'
import { portAt } from './datagram-table.ts'
import { addressesOf, recordOf } from './device-records.ts'
import { maxAddresses } from './holders.ts'
import { followed, served } from './host-changes.ts'
import { RoceDev } from './layout.ts'
import { chainOf, closeChain, listenToLines } from './middleware-relay.ts'
import type { PacketSocket } from './packet-socket.ts'
import { awaitOwner, mustNotDrive, serving, startService, wakeService } from './service-handle.ts'
import { maxSlots, SocketTable } from './socket-table.ts'
import { Sockets } from './sockets.ts'
import { DeviceUsers } from './users.ts'
import { WrappedSocket, wrappedRoomBytes } from './wrapped-socket.ts'

const { Chan, Ctx, drivenBy, Meta } = layout

/** Maximum time that a thread waits in the kernel at once: it cannot be terminated before the wait is over. */
const longestSleepMs = untilLook(250)

/** Maximum wait for duplicate address detection, which takes one or two seconds; with unusual settings more. */
const longestDetectionNs = 5e9

/** True if packets from the adapter to itself stay in memory. Otherwise they go through the kernel, where other programs see them. */
const loopsBack = process.env.VERBENA_ROCE_LOOPBACK !== '0'

/**
 * Number of looks that are skipped, since the kernel has signalled no packets, before a thread looks anyway: a program may poll without
 * its event loop.
 */
const mostVainLooks = 8

/** Time after which a thread that has blocked expects the service thread to look: if it would look later, the thread wakes it. */
const soonNs = 8e6

/**
 * Returns the maximum number of bytes in flight of one connection: a part of a socket's buffer, assuming the peer's buffer is like this
 * one. Only root gets the buffer size that it requests.
 */
function windowBytes(): number {
  const most = 512 * 1024
  if (process.geteuid?.() === 0) return most
  try {
    const limit = Number(readFileSync('/proc/sys/net/core/rmem_max', 'latin1'))
    return Math.min(most, Math.max(64 * 1024, limit / 2))
  } catch {
    return 128 * 1024
  }
}

export class RoceDevice extends NetworkDevice {
  readonly #sockets: Sockets
  /** Addresses by index of the GID, including those that the host has lost. */
  readonly #addresses: HostAddress[]
  readonly #addressTable: AddressTable
  /** Generation of that table when it was last read, and its contents. */
  #read = 0
  #gids: readonly GidEntry[]
  #portNow: PortNow | null = null
  readonly #dev: number
  /** Words of the threads to whose event loops the kernel signals packets. */
  readonly #signalled: readonly [looper: number, deputy: number]
  readonly #meta: number
  readonly table: SocketTable
  /** Users of the device. */
  readonly users: DeviceUsers
  /** Middleware, in the thread that drives: the chain, and the serial of the wrapping that it is for. */
  #chain: Chain | null = null
  #chainSerial = 0
  #generation = -1
  /** Flag for the service thread: a program has driven the device since the last look. */
  active = false
  /** Listener while this thread's event loop waits for its packets. */
  #inLoop: Listener | undefined
  /** Value of `LoopWakeups.resumedCount` when this thread last announced that it waits. */
  #resumedCount = -1
  /** Flag: this thread has waited for packets in its event loop last. */
  #loops = false
  /** Value of `Parking.signalCount` when the kernel was last requested to signal packets to this thread's event loop; −1 if it was not. */
  #signalsAt = -1
  /** Number of looks since then without a signal of the kernel. */
  #vainLooks = 0
  /** Sockets in which packets may wait that no descriptor signals. */
  readonly #waiting = new Set<{ readonly waiting: boolean }>()
  #room = 0
  /** Flag: this thread waits for packets of the device, possibly with those of other devices: `beginSleep`. */
  #sleeps = false
  /** Flag: this thread is the one that drives the device, if only one does. */
  #drives = false
  /** Flag: this thread calls `look` in each of its turns. */
  #looks = false
  #processes: ProcessBytes | null = null

  constructor(host: Host, name: string, found: readonly HostAddress[]) {
    const addresses = [...found]
    const index = recordOf(host, addresses, name === 'roce')
    const home = processHost()
    const own = host === home ? index : recordOf(home, addresses, name === 'roce')
    const gids = addresses.map(gidEntry)
    const dev = host.deviceWord(index)
    const table = new SocketTable({ host, index }, { host: home, index: own })
    const sockets = new Sockets(host, index, table, addresses, (...socket) => this.#attach(...socket))
    const options = { windowBytes: windowBytes() }
    super(host, { name, index, guid: guidOf(addresses[0]!), gids, activeMtu: addresses[0]!.roceMtu, options }, sockets)
    sockets.transport = this.transport
    this.#sockets = sockets
    this.#addresses = addresses
    this.#addressTable = new AddressTable(host, index)
    this.#gids = gids
    this.#dev = dev
    this.#signalled = [dev + RoceDev.looper, dev + RoceDev.deputy]
    this.#meta = host.at.meta
    this.table = table
    const owner = {
      name,
      addresses,
      begin: () => this.#begin(),
      wakeService: () => this.#wakeService(),
      awaitSleeper: () => this.#awaitSleeper(),
    }
    this.users = new DeviceUsers(host, index, table, owner)
  }

  // --- contexts ----------------------------------------------------------------------------------------------------

  /** True if other processes may use the device, too. */
  get shared(): boolean {
    return this.users.shared
  }

  open(context: number, options: OpenOptions): void {
    startService()
    for (const address of this.#addresses) awaitAddress(this.name, address)
    this.users.join(context, options)
    if (options.drives === true) this.#drives = true
    listenToLines(this.index, options)
    wakeService(processHost())
    this.#wakeService()
    const driven = nativeAvailable && this.i32[this.#dev + RoceDev.alone] === 0
    if (driven && options.waitForService === false) return
    awaitOwner(processHost())
    awaitOwner(this.host)
  }

  close(context: number): void {
    const { host, i32 } = this
    i32[host.ctxWord(context) + Ctx.uses] = 0
    this.#leaveLoop()
    this.closeUnused()
    if (this.#drives && i32[this.#dev + RoceDev.users] === 0) this.retire()
    wakeService(processHost())
    this.#wakeService()
    if (i32[this.#dev + RoceDev.users] === 0) this.#awaitUnwrapped()
  }

  closeUnused(): void {
    this.users.closeUnused()
  }

  /** Waits until the file of a tap is complete. */
  #awaitUnwrapped(): void {
    const { i32 } = this
    if (serving) return
    const isClosed = (serial: number): boolean =>
      i32[this.#dev + RoceDev.wrapsBytes] === 0 || serial === i32[this.#dev + RoceDev.wrapsSerial]
    this.host.segment.waitUntil(this.#dev + RoceDev.wrapsClosed, isClosed, untilLook(1000), 5)
  }

  // --- the host's network ------------------------------------------------------------------------------------------

  protected override portNow(made: PortAttr): PortAttr {
    this.#readAddresses()
    const now = this.#portNow
    return now === null ? made : { ...made, ...now, gidTblLen: this.#addresses.length }
  }

  protected override gidsNow(): readonly GidEntry[] {
    this.#readAddresses()
    return this.#gids
  }

  /** Reads the table of addresses if it has changed. */
  #readAddresses(): void {
    const { generation } = this.#addressTable
    if (generation === this.#read) return
    this.#read = generation
    const entries = this.#addressTable.read()
    this.#addresses.splice(0, this.#addresses.length, ...entries.map(({ address }) => address))
    this.#gids = this.#addresses.map(gidEntry).filter(({ gidIndex }) => entries[gidIndex]!.valid)
    this.#portNow = this.#addressTable.port
    this.transport.mtu = this.#portNow.activeMtu
  }

  get #isForAll(): boolean {
    return this.name === 'roce'
  }

  /** Prepares the device for its first user: the table becomes the current addresses of the host. */
  #begin(): void {
    const links = hostLinks()
    const known = addressesOf(this.name)
    const addresses = known.length > 0 ? known : this.#addresses
    const entries = addresses.map((address): TableEntry => ({ address, valid: true }))
    const { port } = followed(entries, { links, addresses }, false)
    this.#addressTable.write(entries, port)
    this.#readAddresses()
  }

  /**
   * Updates the GID table and the port after a change of the host's links or addresses, and raises events for the programs. The thread
   * that drives devices calls it in each process that uses this device; the first of them finds a difference. False if it has to be tried
   * again.
   */
  followHost(links: readonly HostLink[], addresses: readonly HostAddress[]): boolean {
    const events: EventType[] = []
    const table = this.#addressTable
    const follow = (open: (local: number) => boolean): void => {
      const before = { entries: table.read(), port: table.port }
      const all = this.#isForAll && nativeAvailable
      const usable = addresses.filter((address) => stateOfAddress(address) === 'usable')
      const now = { links, addresses: usable }
      const there = followed(before.entries, now, all)
      // Entries before their sockets: if this thread ends in between, another one opens what entries lack.
      const added = there.added.map((local): TableEntry => ({ ...there.entries[local]!, valid: false }))
      if (added.length > 0) table.write([...before.entries, ...added], before.port)
      this.#readAddresses()
      const after = served(before.entries, there, now, (local) => local < maxAddresses && open(local))
      const { port } = after
      const isSame = Object.entries(port).every(([key, value]) => before.port[key as keyof PortNow] === value)
      if (isSame && !after.gidsChanged) return
      table.write(after.entries, port)
      this.#readAddresses()
      if (after.gidsChanged) events.push(EventType.GidChange)
      if (port.state !== before.port.state)
        events.push(port.state === PortState.Active ? EventType.PortActive : EventType.PortErr)
    }
    const done = this.users.followHost(follow)
    for (const event of events) table.raise(this.index, event)
    return done
  }

  joinGroup(gid: Uint8Array, sgidIndex = -1): void {
    this.users.joinGroup(gid, sgidIndex)
    this.#wakeService()
  }

  leaveGroup(gid: Uint8Array): void {
    this.users.leaveGroup(gid)
    this.#wakeService()
  }

  // --- the link ----------------------------------------------------------------------------------------------------

  protected nowNs(): number {
    return nowNs()
  }

  protected receive(now: number): number {
    return this.#sockets.receive(now)
  }

  protected flush(): void {
    this.#sockets.flush()
  }

  protected override get toDeliver(): boolean {
    return this.#sockets.toDeliver
  }

  protected override deliver(now: number): number {
    return this.#sockets.deliver(now)
  }

  protected override get repliesLate(): boolean {
    return this.#loops
  }

  protected room(): boolean {
    return this.#sockets.room
  }

  protected override get drivenElsewhere(): boolean {
    const driver = this.i32[this.#dev + RoceDev.alone]
    return driver !== drivenBy.all && (driver === drivenBy.service ? !serving : !this.#drives)
  }

  protected override entered(): boolean {
    if (mustNotDrive()) return false
    this.#sockets.beginTurn()
    this.#follow()
    this.#chain?.advance(nowNs())
    return true
  }

  /** Follows sockets that were opened or closed; inside an operation. */
  #follow(): void {
    this.#readAddresses()
    const { generation } = this.table
    if (generation !== this.#generation) {
      // All sockets have to be attached again.
      this.#generation = generation
      this.#waiting.clear()
      const congestion = this.i32[this.#dev + RoceDev.congestion] === 1
      this.transport.congestionControl = congestion
      this.#sockets.ecnCapable = congestion
      this.#sockets.loopsBack = loopsBack && this.#chainNow() === null
    }
    this.#sockets.refresh()
  }

  override drive(look: boolean): number {
    if (this.drivenElsewhere) return 0
    const received = super.drive(look && this.#mayHavePackets())
    if (this.transport.takeArmed()) this.#wakeTimekeeper()
    return received
  }

  /**
   * True if packets may wait in the sockets: not while the kernel is to signal them and has not. A thread that goes on polling looks now
   * and then without a signal.
   */
  #mayHavePackets(): boolean {
    return this.#signalsAt !== this.host.segment.parking.signalCount || ++this.#vainLooks > mostVainLooks
  }

  override takeOver(): void {
    if (this.drivenElsewhere) return
    super.takeOver()
  }

  override progress(): void {
    if (!this.#looks) this.#lookNow()
  }

  look(): number {
    this.#looks = true
    return this.#lookNow()
  }

  #lookNow(): number {
    if (this.drivenElsewhere) return 0
    this.i32[this.#dev + RoceDev.heartbeat] = 1
    return this.drive(true)
  }

  /** Wakes the thread that waits if a timer is now earlier than it expects: timers run also while the program computes. */
  #wakeTimekeeper(): void {
    const { i32 } = this
    const { f64 } = this.host
    const dev = this.#dev
    const next = this.transport.nextDeadlineNs
    // Atomic, after the device's lock was given back: a thread that begins to sleep announces it before it reads the deadline.
    if (Atomics.load(i32, dev + RoceDev.sleeper) !== 0) {
      if (next < f64[(dev + RoceDev.sleepsUntil) >> 1]!) this.#wakeSleeper()
    } else if (Atomics.load(i32, dev + RoceDev.watched) !== 0 && next < f64[(dev + RoceDev.serviceLooksAt) >> 1]!)
      this.#callService()
  }

  /** Writes the descriptors of the device, for the thread that drives devices. */
  descriptors(into: Int32Array, from: number): number {
    return this.#sockets.descriptors(into, from)
  }

  get nextDeadlineNs(): number {
    const next = this.transport.nextDeadlineNs
    return this.#chain === null ? next : Math.min(next, this.#chain.nextDeadlineNs)
  }

  get busy(): boolean {
    return this.transport.pending || this.#packetsWait()
  }

  #packetsWait(): boolean {
    for (const socket of this.#waiting) if (socket.waiting) return true
    return false
  }

  // --- middleware --------------------------------------------------------------------------------------------------

  #attach(fd: number, slot: number, local: number, group: Uint8Array | null): PacketSocket | null {
    const { address, scopeId } = this.#addresses[local]!
    const port = nativeAvailable ? null : portAt(this.table.word(slot))
    // It was requested, but is not there yet; when it is, the generation changes again.
    if (port === null && !nativeAvailable) return null
    const socket = port ?? UdpSocket.adopt(this.host.segment.buffer, fd, address.length === 4 ? 4 : 6, scopeId)
    if (port !== null) this.#waiting.add(port)
    const chain = this.#chainNow()
    if (chain === null) return socket
    if (this.#room === 0) this.#room = this.host.segment.allocate(wrappedRoomBytes)
    const wrapped = new WrappedSocket(
      socket,
      chain,
      this.host.u8,
      this.#room,
      group ?? gidOfIp(address),
      rocePort,
      () => this.host.count(this.index, 'drops_no_path'),
    )
    this.#waiting.add(wrapped)
    return wrapped
  }

  #chainNow(): Chain | null {
    const serial = this.i32[this.#dev + RoceDev.wrapsSerial]!
    if (serial !== this.#chainSerial) {
      this.#dropChain()
      this.#chainSerial = serial
      this.#chain = chainOf(this.host, this.#dev, this.name, this.index)
    }
    return this.#chain
  }

  #dropChain(): void {
    if (this.#chain !== null) closeChain(this.#chain)
    this.#chain = null
    this.#waiting.clear()
  }

  /** Flushes the middleware, for the thread that drives devices when it has nothing to do. */
  flushWraps(): void {
    this.#chain?.flush()
  }

  /** Retires the device, for the thread that drives devices, once no context has it open. */
  retire(): void {
    const { segment } = this.host
    segment.enterNow()
    try {
      this.#follow()
    } finally {
      segment.leave()
    }
    this.#dropChain()
    this.#chainSerial = 0
  }

  // --- for the service thread --------------------------------------------------------------------------------------

  /** True if a program drives the device, or will as soon as a packet arrives. */
  isDriven(): boolean {
    const { i32 } = this
    const { segment } = this.host
    const dev = this.#dev
    if (i32[dev + RoceDev.alone] === drivenBy.opener) return true
    if (i32[dev + RoceDev.threads]! > 0 || i32[dev + RoceDev.alone] !== 0) return false
    this.active = Atomics.exchange(i32, dev + RoceDev.heartbeat, 0) === 1
    if (this.active) return true
    if (Atomics.load(i32, dev + RoceDev.sleeper) === 0 && !this.looped) return false
    if (this.drive(true) === 0 && !this.busy) return true
    // Packets were waiting: the thread that waits for them has ended, or its event loop is busy.
    segment.releaseDead(dev + RoceDev.sleeper)
    for (const word of this.#signalled) Atomics.store(i32, word, 0)
    return false
  }

  /** True if an event loop waits for packets of the device. */
  get looped(): boolean {
    const [looper, deputy] = this.#signalled
    return Atomics.load(this.i32, looper) !== 0 || Atomics.load(this.i32, deputy) !== 0
  }

  /** True if the program that drove the device has just stopped, and no other program waits. */
  get rests(): boolean {
    return Atomics.load(this.i32, this.#dev + RoceDev.heartbeat) === -1
  }

  get watched(): boolean {
    return this.i32[this.#dev + RoceDev.watched] === 1
  }

  /** Marks the device as watched: the service thread keeps its timers, and looks at `until`. */
  watch(until: number): void {
    this.host.f64[(this.#dev + RoceDev.serviceLooksAt) >> 1] = until
    Atomics.store(this.i32, this.#dev + RoceDev.watched, 1)
  }

  unwatch(): void {
    Atomics.store(this.i32, this.#dev + RoceDev.watched, 0)
  }

  // --- memory of other processes -----------------------------------------------------------------------------------

  get hosts(): boolean {
    return !this.drivenElsewhere
  }

  reachProcess(verb: string, pid: number, address: number, length: number): number {
    if (!nativeAvailable)
      throw new VerbsError('EOPNOTSUPP', verb, `memory of other processes needs native functions: ${nativeReason}`)
    if (this.drivenElsewhere)
      throw new VerbsError(
        'EOPNOTSUPP',
        verb,
        `${this.name} is driven by another thread, which cannot reach memory of other processes: open it without middleware`,
      )
    this.#processes ??= new ProcessBytes(this.host)
    this.transport.processMemory = this.#processes
    return this.#processes.reach(verb, pid, address, length)
  }

  // --- threads that wait -------------------------------------------------------------------------------------------

  rest(inLoop: boolean): void {
    if (inLoop && this.#waitInLoop()) return
    const { i32 } = this
    const looped = this.#leaveLoop()
    Atomics.store(i32, this.#dev + RoceDev.heartbeat, -1)
    // For a device for which an event loop waits, the service thread keeps the timers only.
    if (looped || this.busy || Atomics.load(i32, this.#dev + RoceDev.watched) === 0) this.#callService()
  }

  /** Has the kernel signal packets to this thread's event loop; false if another thread has to take them. */
  #waitInLoop(): boolean {
    const { i32 } = this
    const { segment } = this.host
    const dev = this.#dev
    if (serving || i32[dev + RoceDev.alone] !== 0 || i32[dev + RoceDev.threads]! > 0) return false
    if (this.busy) this.drive(true)
    if (this.busy) return false
    if (this.acksWait) this.drive(false)
    const { parking } = segment
    if (!parking.wakesByDescriptor) return false
    if (this.lookIsOwed) {
      // The kernel would signal packets again and again that the holder of the lock is about to take. It wakes this thread afterwards.
      this.#takesSignals()
      this.#beginLoopWait()
      queueMicrotask(this.#lookAgain)
      return true
    }
    if (this.#takesSignals()) {
      if (!this.#requestSignal()) return false
    } else {
      // Two others are signalled. If both are busy when packets come, the service thread takes these, and the next threads that rest are
      // signalled from then on.
      this.#signalsAt = -1
      Atomics.store(i32, dev + RoceDev.unsignalled, 1)
    }
    this.#beginLoopWait()
    this.#wakeTimekeeper()
    return true
  }

  /** Requests that the kernel signals the next packet to this thread's event loop; false if that is not possible. */
  #requestSignal(): boolean {
    const { segment } = this.host
    const { parking } = segment
    // A thread that closes a socket waits for the end of this, and then ends the requests.
    segment.enterNow()
    let waits = false
    const signals = parking.signalCount
    try {
      waits = parking.watchInLoop(sleeperFds, this.descriptors(sleeperFds, 0))
    } finally {
      segment.leave()
    }
    this.#signalsAt = waits ? signals : -1
    this.#vainLooks = 0
    return waits
  }

  /** True if this thread is one of the two whose event loops the kernel signals, or becomes one in the place of none or of a dead one. */
  #takesSignals(): boolean {
    if (this.#isSignalled) return true
    const { i32 } = this
    const { segment } = this.host
    for (const word of this.#signalled) {
      const before = Atomics.load(i32, word)
      if (before !== 0 && segment.usesAttachment(before)) continue
      if (Atomics.compareExchange(i32, word, before, segment.lockValue) === before) return true
    }
    return false
  }

  get #isSignalled(): boolean {
    const { lockValue } = this.host.segment
    const [looper, deputy] = this.#signalled
    return Atomics.load(this.i32, looper) === lockValue || Atomics.load(this.i32, deputy) === lockValue
  }

  /** Begins to wait in the event loop, whether the kernel signals packets to it or not. */
  #beginLoopWait(): void {
    this.#loops = true
    this.#resumedCount = this.host.segment.parking.loop.resumedCount
    this.#listen()
  }

  /**
   * Repeats `rest` if the lock has been released since: this thread announced only after `rest` that it waits, so the holder has not
   * woken it.
   */
  readonly #lookAgain = (): void => {
    if (!this.lookIsOwed && this.i32[this.#dev + RoceDev.users]! > 0 && this.host.segment.parking.loop.waits)
      this.rest(true)
  }

  #listen(): void {
    if (this.#inLoop !== undefined) return
    this.#inLoop = { woken: () => this.#woken(), stillWaiting: () => this.#stillWaiting() }
    this.host.segment.parking.loop.listen(this.#inLoop)
  }

  #woken(): void {
    if (this.host.segment.parking.loop.waits) {
      if (this.i32[this.#dev + RoceDev.users]! === 0) return
      this.progress()
      // Its wait may be over, and its program wait for something else: another thread's packets are signalled here all the same.
      if (this.i32[this.#dev + RoceDev.unsignalled] !== 0 && this.#isSignalled) this.#requestSignal()
    } else if (this.#isSignalled)
      // Packets for which no thread waits here any more: the service thread takes them.
      this.rest(false)
  }

  #stillWaiting(): void {
    const { loop } = this.host.segment.parking
    if (loop.resumedCount === this.#resumedCount && this.i32[this.#dev + RoceDev.users]! > 0) this.rest(true)
  }

  /** Ends the wait in this thread's event loop; true if it did wait. */
  #leaveLoop(): boolean {
    this.#signalsAt = -1
    this.#loops = false
    const looped = this.#isSignalled
    const { lockValue } = this.host.segment
    for (const word of this.#signalled) Atomics.compareExchange(this.i32, word, lockValue, 0)
    return looped
  }

  /**
   * Waits on the sockets, so that this thread goes on by itself when a packet arrives: no other thread has to wake it. If several threads
   * wait for one device, one of them does so for all.
   */
  sleep(channel: number, expected: number, timeoutMs: number): boolean {
    const { i32 } = this
    const { f64, segment } = this.host
    const dev = this.#dev
    if (serving || i32[dev + RoceDev.alone] !== 0 || i32[dev + RoceDev.threads]! > 0) return false
    const { parking } = segment
    if (Atomics.compareExchange(i32, dev + RoceDev.sleeper, 0, segment.lockValue) !== 0) return false
    this.#leaveLoop()
    if (this.acksWait) this.drive(false)
    // Until the deadline is known, every thread that posts wakes this one.
    f64[(dev + RoceDev.sleepsUntil) >> 1] = Number.POSITIVE_INFINITY
    parking.beginWait()
    // From here on a thread that makes an event or closes a socket wakes this one; earlier changes are found by looking again.
    const next = this.nextDeadlineNs
    f64[(dev + RoceDev.sleepsUntil) >> 1] = next
    const count = this.descriptors(sleeperFds, 0)
    if (Atomics.load(i32, channel + Chan.sequence) === expected && !this.busy && !this.#closes()) {
      const ms = Math.min(timeoutMs, longestSleepMs, Math.max(0, (next - nowNs()) / 1e6))
      sleeperParkings[0] = parking
      waitReadable(sleeperParkings, sleeperFds, count, ms)
    }
    parking.endWait()
    this.#awake()
    if (f64[(this.#meta + Meta.serviceLooksAt) >> 1]! - nowNs() > soonNs) this.#callService()
    return true
  }

  beginSleep(into: Int32Array, from: number): number {
    const { i32 } = this
    const { f64, segment } = this.host
    const dev = this.#dev
    if (this.acksWait) this.drive(false)
    if (this.busy || this.transport.hasMail) return -1
    this.#chain?.flush()
    const mayWait = !this.drivenElsewhere && i32[dev + RoceDev.threads] === 0
    const waits = mayWait && Atomics.compareExchange(i32, dev + RoceDev.sleeper, 0, segment.lockValue) === 0
    if (!waits) {
      // Another thread takes arriving packets, and leaves this thread's own packets to it.
      if (Atomics.load(i32, dev + RoceDev.sleeper) === 0) this.rest(false)
      return 0
    }
    this.#leaveLoop()
    this.#sleeps = true
    // As in `sleep`.
    f64[(dev + RoceDev.sleepsUntil) >> 1] = Number.POSITIVE_INFINITY
    f64[(dev + RoceDev.sleepsUntil) >> 1] = this.nextDeadlineNs
    if (!this.busy && !this.transport.hasMail && !this.#closes()) return this.descriptors(into, from)
    this.endSleep()
    return -1
  }

  endSleep(): void {
    if (!this.#sleeps) return
    this.#sleeps = false
    this.#awake()
  }

  /** Milliseconds to the next timer, if this thread keeps the time. */
  dueInMs(): number {
    return this.#sleeps ? Math.max(0, (this.nextDeadlineNs - nowNs()) / 1e6) : Number.POSITIVE_INFINITY
  }

  #awake(): void {
    const { i32 } = this
    const dev = this.#dev
    i32[dev + RoceDev.heartbeat] = 1
    i32[dev + RoceDev.sleeps] = (i32[dev + RoceDev.sleeps]! + 1) & 0x7fffffff
    Atomics.store(i32, dev + RoceDev.sleeper, 0)
    if (Atomics.load(i32, dev + RoceDev.closing) !== 0) this.host.segment.notify(dev + RoceDev.sleeper)
  }

  #wakeSleeper(): void {
    this.host.segment.wakeOwner(this.#dev + RoceDev.sleeper)
  }

  protected wakeThread(): void {
    this.#callService()
  }

  /**
   * Wakes the thread that drives devices while programs do not; if that of another process has just ended, all threads that may take its
   * place.
   */
  #callService(): void {
    if (!wakeService(this.host)) this.users.wakeOthers()
  }

  #wakeService(): void {
    this.#callService()
    this.#wakeSleeper()
  }

  /** Waits until no thread waits in the kernel for packets of a socket that is to be closed: that would keep the socket, and its port. */
  #awaitSleeper(): void {
    const { i32 } = this
    const { segment } = this.host
    const sleeper = this.#dev + RoceDev.sleeper
    const sleeps = i32[this.#dev + RoceDev.sleeps]!
    // A thread that is about to wait sees this, or is woken.
    Atomics.store(i32, this.#dev + RoceDev.closing, segment.lockValue)
    segment.endPollRequests()
    const isBack = (who: number): boolean => {
      if (who === 0 || i32[this.#dev + RoceDev.sleeps] !== sleeps) return true
      segment.wakeThread(who)
      segment.releaseDead(sleeper)
      return Atomics.load(i32, sleeper) === 0
    }
    segment.waitUntil(sleeper, isBack, untilLook(1000), 1)
    Atomics.store(i32, this.#dev + RoceDev.closing, 0)
  }

  /** True if a living thread waits until no thread waits in the kernel for packets. */
  #closes(): boolean {
    const closing = this.#dev + RoceDev.closing
    if (Atomics.load(this.i32, closing) === 0) return false
    this.host.segment.releaseDead(closing)
    return Atomics.load(this.i32, closing) !== 0
  }
}

function gidEntry({ address, ifindex }: HostAddress, gidIndex: number): GidEntry {
  return { gid: gidOfIp(address), gidIndex, portNum: 1, gidType: GidType.RoceV2, ndevIfindex: ifindex }
}

/** Descriptors and parkings that a thread waits for. */
const sleeperFds = new Int32Array(maxSlots + 2)
const sleeperParkings: Parking[] = []

/** Waits until the kernel has established that no other host has an IPv6 address that was just assigned: it cannot be bound before. */
function awaitAddress(name: string, address: HostAddress): void {
  const until = nowNs() + longestDetectionNs
  let state = stateOfAddress(address)
  for (; state === 'tentative' && nowNs() < until; state = stateOfAddress(address)) sleepUntilNs(nowNs() + 20e6)
  if (state === 'usable') return
  const what =
    state === 'duplicate'
      ? `another host of the network has ${address.text} already ('ip address' says dadfailed): give this one another`
      : `the kernel still asks whether another host has ${address.text} ('ip address' says tentative): try again`
  throw new VerbsError('ENODEV', 'openDevice', `${name}: ${what}`)
}
