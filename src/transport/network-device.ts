/**
 * The part that devices on a network share: the loop that lets any thread of the process run the transport.
 *
 * No thread blocks on the device's lock. A poster that finds it taken rings the doorbell; the holder looks for doorbells again after it
 * has unlocked. So one of the two always serves the request.
 */
import {
  type AhAttr,
  type Device,
  type DeviceAttr,
  defaultPkey,
  deviceAttr,
  type FastPath,
  type GidEntry,
  type Host,
  LinkLayer,
  layout,
  type OpenOptions,
  type PortAttr,
  portAttr,
  QpState,
} from '../verbs/provider/index.ts'
import type { AckPolicy } from './ack-policy.ts'
import { countersOf } from './counters.ts'
import { maxResources, TransportDevice, TransportQp } from './layout.ts'
import type { PacketSink } from './sink.ts'
import { noticeableNs, type TransportOptions } from './state.ts'
import { Transport } from './transport.ts'

const { Dev, Qp } = layout

/** Number of times that a thread finds the lock taken before it checks whether its owner lives, which reads a file in /proc. */
const looksBeforeDoubt = 256

/**
 * Maximum time in milliseconds for which closing a queue pair waits for the thread that drives the device: it may be delayed, or stopped.
 */
const acknowledgeMs = 20

/** Maximum number of turns in which a thread goes on with packets to the adapter itself; then the thread that drives devices does. */
const mostTurns = 64

/** Maximum number of batches of packets that are handled before timers are served. */
const mostBatches = 256

export interface NetworkDeviceInit {
  name: string
  index: number
  guid: bigint
  gids: readonly GidEntry[]
  activeMtu: PortAttr['activeMtu']
  options?: Partial<TransportOptions>
  /** Flag, true by default; false: no ACK waits for a packet to go with. */
  defersAcks?: boolean
}

/** Returns the first word of the transport's record for device `index`, which the first thread that needs it makes. */
function transportDeviceOf(host: Host, index: number): number {
  const { i32 } = host
  const dev = host.deviceWord(index)
  // First without the lock, since its holder may wait for this thread: a record that was made stays.
  if (i32[dev + Dev.transport] !== 0) return i32[dev + Dev.transport]!
  return host.control(() => {
    if (i32[dev + Dev.transport] === 0) {
      const record = host.allocate(TransportDevice.words * 4, 'openDevice', 0) / 4
      Transport.prepare(host, record)
      i32[dev + Dev.transport] = record
    }
    return i32[dev + Dev.transport]!
  })
}

export abstract class NetworkDevice implements Device {
  readonly name: string
  readonly host: Host
  readonly index: number
  readonly attr: DeviceAttr
  readonly #port: PortAttr
  readonly #gids: readonly GidEntry[]
  readonly pkeys: readonly number[] = [defaultPkey]
  readonly qpWords: number = TransportQp.words
  readonly driven: boolean = true
  protected readonly transport: Transport
  protected readonly i32: Int32Array
  readonly #lock: number
  readonly #looker: number
  /** Flag: a request was posted whose context leaves the work to a thread. */
  #forThread = false
  /** Queue pair that this thread has just posted to, −1 if there is none. */
  #posted = -1
  /** Flag: a microtask will send the packets that may wait. */
  #sendsLater = false
  readonly #sendLater = (): void => {
    this.#sendsLater = false
    if (this.transport.pending) this.drive(false)
  }
  /** Number of times in a row that the lock was found taken. */
  #looks = 0
  /** Flag: the last turn delivered packets to the adapter itself. */
  #delivered = false
  readonly #acks: AckPolicy
  readonly #defersAcks: boolean
  readonly #deferredCounter: number
  /** Time, in milliseconds, before which no thread waits for an acknowledgement. */
  #waitsFrom = 0

  constructor(host: Host, init: NetworkDeviceInit, sink: PacketSink) {
    this.name = init.name
    this.host = host
    this.index = init.index
    this.i32 = host.i32
    this.#gids = init.gids
    const record = transportDeviceOf(host, init.index)
    this.#lock = record + TransportDevice.lock
    this.#looker = record + TransportDevice.looker
    this.#deferredCounter = countersOf(host, init.index).ack_deferred
    this.transport = new Transport(host, init.index, record, init.activeMtu, sink, init.options)
    this.#acks = this.transport.ackPolicy
    this.#defersAcks = init.defersAcks ?? true
    this.attr = deviceAttr(host, init.guid, { vendorPartId: 2, localCaAckDelay: 15, maxRdAtomic: maxResources })
    const { activeMtu } = init
    const { length } = init.gids
    this.#port = portAttr({ activeMtu, gidTblLen: length, lid: 0, smLid: 0, linkLayer: LinkLayer.Ethernet })
  }

  get port(): PortAttr {
    return this.portNow(this.#port)
  }

  get gids(): readonly GidEntry[] {
    return this.gidsNow(this.#gids)
  }

  // --- the link: what a device adds --------------------------------------------------------------------------------

  /** Returns the current state of the port, from its initial attributes. */
  protected portNow(made: PortAttr): PortAttr {
    return made
  }
  /** Returns the GIDs that are valid now, from the initial ones. */
  protected gidsNow(made: readonly GidEntry[]): readonly GidEntry[] {
    return made
  }
  /** Returns the monotonic time for timers, nanoseconds. */
  protected abstract nowNs(): number
  /**
   * Begins a turn: the link's sockets stay as they are until this operation ends. False if this thread may not drive the device any more.
   */
  protected entered(): boolean {
    return true
  }
  /** Gives packets that have arrived to the transport, at most a batch; returns their number. */
  protected abstract receive(nowNs: number): number
  /** Sends the packets that the sink has collected. */
  protected abstract flush(): void
  /** True if packets that were sent are for this adapter itself, and wait for `deliver`. */
  protected get toDeliver(): boolean {
    return false
  }
  /** Gives those to the transport; returns their number. */
  protected deliver(_nowNs: number): number {
    return 0
  }
  /** Wakes the thread that plays the adapter, for which requests were posted. */
  protected abstract wakeThread(): void
  /** True if this thread must leave the device to another one. */
  protected get drivenElsewhere(): boolean {
    return false
  }
  abstract open(context: number, options: OpenOptions): void
  abstract close(context: number): void
  abstract rest(inLoop: boolean): void
  abstract sleep(channel: number, expected: number, timeoutMs: number): boolean
  abstract joinGroup(gid: Uint8Array, sgidIndex?: number): void
  abstract leaveGroup(gid: Uint8Array): void

  // --- Device ------------------------------------------------------------------------------------------------------

  route(attr: AhAttr): number {
    return attr.grh ? 0 : -1
  }

  fastPath(): FastPath | null {
    return null
  }

  doorbell(q: number): void {
    if (this.i32[q + Qp.engine] === 1) {
      this.transport.ring(q)
      this.#forThread = true
      return
    }
    // Usually the lock is free when the queue's own is released, and no doorbell is needed.
    if (this.#posted >= 0 && this.#posted !== q) this.transport.ring(this.#posted)
    this.#posted = q
  }

  settle(): void {
    if (this.#forThread) {
      this.#forThread = false
      this.wakeThread()
    }
    if (this.#posted < 0) return
    if (this.transport.mayBatch(this.#posted)) {
      this.#deferSend()
      return
    }
    this.#drivePosted()
  }

  acknowledge(q: number): void {
    if (this.#posted >= 0 && this.#posted !== q) this.transport.ring(this.#posted)
    this.#posted = q
    this.#drivePosted()
    if (Atomics.load(this.i32, q + Qp.rung) !== 0) this.#awaitAcknowledgement(q)
  }

  /**
   * Waits until another thread, which drives the device, has sent the acknowledgement that it may owe for delivered data; it clears the
   * doorbell before it does so. This polls, and not for long: notifying would cost every doorbell, and few threads close what another
   * thread is about to serve.
   */
  #awaitAcknowledgement(q: number): void {
    const { i32 } = this
    const t = i32[q + Qp.wire]!
    const end = performance.now() + acknowledgeMs
    if (end < this.#waitsFrom) return
    for (;;) {
      const rung = Atomics.load(i32, q + Qp.rung)
      if (rung === 0 && (!this.#acks.owes(t) || i32[q + Qp.state] === QpState.Err)) return
      if (performance.now() >= end) break
      this.host.segment.wait(q + Qp.rung, rung, 0.1)
    }
    // The thread is stopped, or there is none any more: closing many queue pairs must not take so long for each.
    this.#waitsFrom = end + 1000
  }

  #drivePosted(): void {
    this.drive(false)
    // This thread may not drive the device, so the request was not served: the thread that drives the device will.
    if (this.#posted < 0) return
    this.transport.ring(this.#posted)
    this.#posted = -1
    this.wakeThread()
  }

  /**
   * Leaves the posted requests to the next look at the queue: the program's poll, or the end of its current task; the thread that drives
   * devices finds them, too.
   */
  #deferSend(): void {
    const posted = this.#posted
    this.transport.ring(posted)
    this.#posted = -1
    // All that was outstanding may be done by now, and the thread that drives the device asleep.
    if (this.drivenElsewhere && !this.transport.mayBatch(posted)) this.wakeThread()
    if (this.#sendsLater) return
    this.#sendsLater = true
    queueMicrotask(this.#sendLater)
  }

  resume(): void {}

  progress(): void {
    this.drive(true)
  }

  /**
   * Runs the transport once, unless another thread runs it: takes packets that have arrived (`look`), serves timers, sends. Returns the
   * number of packets received.
   */
  drive(look: boolean): number {
    const i32 = this.i32
    const lock = this.#lock
    const { transport } = this
    const { segment } = this.host
    const posted = this.#posted
    this.#posted = -1
    if (i32[lock] !== 0 || !segment.tryLock(lock)) {
      // Rings the doorbell first and tries again after: the holder of the lock looks for doorbells after it has unlocked.
      if (posted >= 0) transport.ring(posted)
      // Of several threads the first one is woken; the other ones poll the kernel for packets, as if they had not found the lock taken.
      if (look) Atomics.compareExchange(i32, this.#looker, 0, segment.lockValue)
      const free = (look || posted >= 0) && segment.tryLock(lock)
      if (!free && !this.#isOrphaned()) return 0
    } else if (posted >= 0) transport.schedule(posted)
    return this.#turns(look)
  }

  /** True if this thread found the lock taken, and is still to be woken by its holder. */
  protected get lookIsOwed(): boolean {
    return Atomics.load(this.i32, this.#looker) === this.host.segment.lockValue
  }

  /** Runs the transport with the lock held, and releases it; returns the number of packets received. */
  #turns(look: boolean): number {
    const { i32 } = this
    const { segment } = this.host
    const lock = this.#lock
    // A thread that is woken may run at once in this one's place: it is not to find the lock taken.
    segment.parking.deferWakes()
    let received = 0
    try {
      let looks = look
      for (let turns = 1; ; turns++) {
        const came = this.#turn(looks)
        if (came < 0) return received
        received += came
        // There is more for the adapter itself than fits into a turn: no packet from outside will have a thread go on with it.
        const more = this.#delivered && this.transport.pending
        if (this.transport.toAsk) this.transport.ask()
        else if (more && turns >= mostTurns) {
          this.wakeThread()
          return received
        } else if (!more && !this.transport.rung) {
          // As much as one turn may send: a program that does not poll is reminded of the rest by nothing, if no peer acknowledges that.
          if (!look && this.transport.pending) this.wakeThread()
          return received
        }
        if (more) {
          this.#wakeNoted()
          segment.parking.deferWakes()
        }
        looks = more
        if (Atomics.compareExchange(i32, lock, 0, segment.lockValue) !== 0) return received
      }
    } finally {
      this.#wakeNoted()
    }
  }

  /** Wakes the thread that has found the lock taken, and those that were woken meanwhile. */
  #wakeNoted(): void {
    const { i32 } = this
    const { segment } = this.host
    // A thread that has found the lock taken may have gone to wait. It tries the lock after it has stored itself as looker: one of the
    // two sees the other.
    const looker = Atomics.load(i32, this.#looker) === 0 ? 0 : Atomics.exchange(i32, this.#looker, 0)
    if (looker !== segment.lockValue) segment.wakeThread(looker)
    segment.parking.wakeDeferred()
  }

  /**
   * Runs one turn with the lock, which is free afterwards; returns the number of packets received, or −1 if this thread may not drive the
   * device any more.
   */
  #turn(look: boolean): number {
    const i32 = this.i32
    const lock = this.#lock
    const { host, transport } = this
    const { segment, f64 } = host
    let received = 0
    segment.enterNow()
    host.journal = transport.journal
    transport.enter()
    let whole = false
    try {
      if (!this.entered()) {
        whole = true
        return -1
      }
      const now = this.nowNs()
      transport.takeOver(now)
      // Packets that other threads have left come before those that arrive now.
      received += transport.takeMail(now)
      if (look) received += this.#receiveBatch(now)
      // A thread that was delayed finds timers expired and, after other packets, the acknowledgements that they waited for.
      if (transport.nextDeadlineNs <= now)
        for (let batch = 0, n = 1; n > 0 && batch < mostBatches; batch++) received += n = this.#receiveBatch(now)
      transport.advance(now)
      this.#transmit(now)
      if (!this.#defersAcks || !this.#acks.defers(look, received, this.repliesLate)) transport.acknowledge()
      else if (this.#acks.begins) f64[this.#deferredCounter] = f64[this.#deferredCounter]! + 1
      this.flush()
      this.#delivered = this.toDeliver
      while (this.toDeliver) {
        received += this.deliver(now)
        transport.acknowledge()
        if (this.room()) this.#transmit(now)
        this.flush()
      }
      // Timers run from when packets left; on a busy machine that may be long after the clock was read.
      if (transport.hasArmed) {
        const heldUpNs = this.nowNs() - now
        if (heldUpNs > noticeableNs) transport.postpone(heldUpNs)
      }
      whole = true
    } finally {
      host.journal = 0
      // Work that an exception left unfinished is treated as if this thread had died: the next thread brings it into order.
      if (!whole) transport.orphan()
      transport.leave()
      segment.leave()
      Atomics.store(i32, lock, 0)
    }
    return received
  }

  #transmit(nowNs: number): void {
    const { transport } = this
    for (let more = transport.pending; more; ) more = transport.transmit(nowNs) && this.room()
  }

  /** True if ACKs wait for a packet to go with. */
  protected get acksWait(): boolean {
    return this.#acks.waiting
  }

  #receiveBatch(nowNs: number): number {
    this.#acks.beginBatch()
    return this.receive(nowNs)
  }

  /** True if there may be several looks before a program replies to received packets, as in an event loop. */
  protected get repliesLate(): boolean {
    return false
  }
  /** True if the sink takes more packets in this call. */
  protected abstract room(): boolean

  takeOver(): void {
    this.#looks = looksBeforeDoubt
    if (this.#isOrphaned()) this.#turns(true)
    else this.transport.ringAgain()
  }

  /** Checks now and then if the holder of the lock was killed; then this thread takes the lock over. */
  #isOrphaned(): boolean {
    if (++this.#looks < looksBeforeDoubt) return false
    this.#looks = 0
    if (!this.host.segment.takeFromDead(this.#lock)) return false
    this.transport.orphan()
    return true
  }
}
