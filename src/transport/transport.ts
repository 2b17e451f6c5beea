/**
 * The transport of one device in one thread, without I/O: packets and the time go in, packets and the next deadline come
 * out. All state is in the segment, so that any thread may run it, one at a time (see state.ts).
 *
 *     ring(q)                      requests were posted: from any thread, without the lock
 *     receive(at, end, now)        a packet came, whole and with a right ICRC; it lies in the segment
 *     advance(now)                 timers; needed when `nextDeadline` has passed
 *     transmit(now)                sends what may be sent; true if there is more than the sink took
 *     acknowledge()                sends ACKs that were deferred in the hope of a packet to send them with
 *     takeOver(now)                call this first: the thread that ran it before may have been killed
 *     nextDeadline                 may become earlier with every one of these calls
 */
import { EventType, gsiQpn, type Host, layout, multicastQpn, QpState, QpType } from '../verbs/provider/index.ts'
import { Bth, BthEcn, BthFlag, headerLength, OpBit, opcodeBits, psnDiff, u16, u24, WireOpcode } from '../wire/index.ts'
import { AckPolicy } from './ack-policy.ts'
import { Acknowledgements } from './acknowledgements.ts'
import { padOf, putBth } from './bth.ts'
import { turnPackets } from './buffers.ts'
import { Completer } from './completer.ts'
import { Datagrams } from './datagrams.ts'
import { Hosting } from './hosting.ts'
import { begun, listed, TransportDevice, TransportQp } from './layout.ts'
import { Origin } from './origin.ts'
import type { ProcessMemory } from './process-memory.ts'
import { Requester } from './requester.ts'
import { Responder } from './responder.ts'
import { Responses } from './responses.ts'
import { SendQueue } from './send-queue.ts'
import type { PacketSink } from './sink.ts'
import { type TransportOptions, TransportState } from './state.ts'
import { Takeover } from './takeover.ts'

const { Av, Dev, Meta, Qp, qpEngine } = layout

/** Maximum number of QPs served in one call: then the caller receives packets. */
const turnsPerCall = 64

/** Transport class of an opcode, bits 7:5. */
const rcClass = 0
const ucClass = 1
const udClass = 3

/** Number of outstanding packets of a QP from which on the next ones may wait. */
const manyOutstanding = 8

/** Value of the two ECN bits of a packet that met congestion. */
const congestionExperienced = 3

export class Transport {
  readonly ackPolicy: AckPolicy
  /** Properties of the packet from the network layer, filled by the device before `receive`. */
  readonly origin: Origin = new Origin()
  readonly #state: TransportState
  readonly #i32: Int32Array
  readonly #u8: Uint8Array
  readonly #requester: Requester
  readonly #completer: Completer
  readonly #responder: Responder
  readonly #responses: Responses
  readonly #acks: Acknowledgements
  readonly #datagrams: Datagrams
  readonly #takeover: Takeover
  readonly #hosting: Hosting
  readonly #sink: PacketSink
  readonly #record: number

  /** Sets the MTU of the port, bytes: the maximum for the path MTU of a QP when that is set, and for a datagram when it is sent. */
  set mtu(bytes: number) {
    this.#datagrams.mtu = bytes
  }

  /**
   * Constructs the transport; `record` is the first word of `TransportDevice.words` words in the segment, zeroed, the same for all
   * threads.
   */
  constructor(
    host: Host,
    device: number,
    record: number,
    mtu: number,
    sink: PacketSink,
    options: Partial<TransportOptions> = {},
  ) {
    const state = new TransportState(host, device, record, options)
    this.#state = state
    this.#i32 = host.i32
    this.#u8 = host.u8
    this.#record = record
    this.#sink = sink
    const queue = new SendQueue(state)
    this.#requester = new Requester(state, queue)
    this.#completer = new Completer(state, queue)
    this.ackPolicy = new AckPolicy(state.i32)
    this.#acks = new Acknowledgements(state, this.ackPolicy)
    this.#responses = new Responses(state, this.#acks)
    this.#responder = new Responder(state, this.#acks, this.#responses)
    this.#hosting = new Hosting(state)
    this.#takeover = new Takeover(state, queue, this.#completer, this.#responses, this.#acks, this.#hosting)
    this.#datagrams = new Datagrams(state, mtu, host.segment.allocate(64), this.#hosting)
  }

  /** Initializes a new record. */
  static prepare(host: Host, record: number): void {
    host.f64[(record + TransportDevice.nextDeadline) >> 1] = Number.POSITIVE_INFINITY
  }

  get nextDeadlineNs(): number {
    return this.#state.timers.nextDeadlineNs
  }

  // --- posting -----------------------------------------------------------------------------------------------------

  /** Rings the doorbell: requests are in the send queue of `q`. */
  ring(q: number): void {
    const i32 = this.#i32
    const record = this.#record
    if (Atomics.exchange(i32, q + Qp.rung, 1) === 1) return
    const { segment } = this.#state.host
    segment.lock(record + TransportDevice.doorbellLock)
    this.#ring(this.#state.host.qpSlot(q))
    segment.unlock(record + TransportDevice.doorbellLock)
  }

  #ring(slot: number): void {
    const i32 = this.#i32
    const record = this.#record
    const tail = i32[record + TransportDevice.doorbellTail]!
    i32[record + TransportDevice.doorbellRing + (tail & (TransportDevice.slots - 1))] = slot
    Atomics.store(i32, record + TransportDevice.doorbellTail, (tail + 1) | 0)
  }

  /** Rings the doorbell again after a thread was killed, for QPs for which its ring may be incomplete. */
  ringAgain(): void {
    const i32 = this.#i32
    const record = this.#record
    const { host, device } = this.#state
    const { segment } = host
    for (let slot = 0; slot < i32[host.at.meta + Meta.qpsUsed]!; slot++) {
      const q = host.qpWord(slot)
      if (i32[q + Qp.number]! <= 0 || i32[q + Qp.device] !== device || Atomics.load(i32, q + Qp.rung) === 0) continue
      // QPs whose ring was complete are in the ring twice now. That does no harm.
      segment.lock(record + TransportDevice.doorbellLock)
      const rung = i32[record + TransportDevice.doorbellTail]! - i32[record + TransportDevice.doorbellHead]!
      if ((rung | 0) < TransportDevice.slots / 2) this.#ring(slot)
      segment.unlock(record + TransportDevice.doorbellLock)
    }
  }

  /** Schedules a QP, like `ring`, for the thread that holds the device's lock. */
  schedule(q: number): void {
    this.#state.schedule(q)
  }

  /**
   * True if the request last posted to `q` may wait for more: it is one packet, and so much is outstanding that the program will poll for
   * completions soon. One system call then sends many packets instead of one.
   */
  mayBatch(q: number): boolean {
    const { i32 } = this.#state
    const t = this.#state.of(q)
    if (
      i32[q + Qp.type] !== QpType.RC ||
      psnDiff(i32[t + TransportQp.newPsn]!, i32[t + TransportQp.una]!) < manyOutstanding
    )
      return false
    return this.#requester.hasShortBacklog(q)
  }

  /** True if another thread rang the doorbell. */
  get rung(): boolean {
    const i32 = this.#i32
    return (
      Atomics.load(i32, this.#record + TransportDevice.doorbellTail) !==
      i32[this.#record + TransportDevice.doorbellHead]
    )
  }

  #serveDoorbells(): void {
    const i32 = this.#i32
    const record = this.#record
    for (;;) {
      const head = i32[record + TransportDevice.doorbellHead]!
      if (head === Atomics.load(i32, record + TransportDevice.doorbellTail)) return
      const q = this.#state.host.qpWord(
        i32[record + TransportDevice.doorbellRing + (head & (TransportDevice.slots - 1))]!,
      )
      i32[record + TransportDevice.doorbellHead] = (head + 1) | 0
      // Cleared before the queue is read: a request posted from now on rings again.
      Atomics.store(i32, q + Qp.rung, 0)
      if (i32[q + Qp.number]! > 0) this.#state.schedule(q)
    }
  }

  /** Turns congestion control on or off for this thread; all threads of a device have to agree. */
  set congestionControl(on: boolean) {
    this.#state.controlCongestion(on)
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  /** True if a call of `transmit` would find something to do. */
  get pending(): boolean {
    const i32 = this.#i32
    return i32[this.#record + TransportDevice.txHead] !== i32[this.#record + TransportDevice.txTail] || this.rung
  }

  transmit(nowNs: number): boolean {
    const state = this.#state
    this.#serveDoorbells()
    const until = this.#i32[this.#record + TransportDevice.txTail]!
    for (let turns = 0; turns < turnsPerCall; turns++) {
      if (((this.#i32[this.#record + TransportDevice.txHead]! - until) | 0) >= 0) break
      const q = state.next(listed.tx, TransportDevice.txHead, TransportDevice.txTail, TransportDevice.txRing)
      if (q < 0) return false
      if (this.#i32[q + Qp.engine] === qpEngine.hosted && this.#hosting.leavesTurn(q)) continue
      if (this.#serve(q, nowNs)) state.schedule(q)
    }
    return this.pending
  }

  /** Serves one QP's turn; true if it has more to send. */
  #serve(q: number, nowNs: number): boolean {
    const i32 = this.#i32
    const sink = this.#sink
    this.#state.buffers.beginTurn()
    const type = i32[q + Qp.type]
    if (type === QpType.UD || type === QpType.GSI) return this.#datagrams.transmit(q, sink, turnPackets)
    const qpState = i32[q + Qp.state]!
    let left = turnPackets
    // A QP in ERR only finishes the responses before its last NAK.
    if (qpState >= QpState.Rtr && (qpState !== QpState.Err || this.#acks.owesNak(q))) {
      const sent = this.#responses.send(q, sink, left)
      if (sent < 0 || sent === left) return true
      left -= sent
    }
    const more = this.#requester.transmit(q, nowNs, sink, left)
    return !this.#acks.send(q, sink) || more
  }

  /** Sends the ACKs that are due; false if there was no room for all. */
  acknowledge(): boolean {
    const state = this.#state
    for (;;) {
      const q = state.next(listed.ack, TransportDevice.ackHead, TransportDevice.ackTail, TransportDevice.ackRing)
      if (q < 0) return true
      if (this.#acks.send(q, this.#sink)) continue
      state.scheduleAck(q)
      return false
    }
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  /** Handles a packet from `origin`: [at, end) from BTH to the end of the pad. */
  receive(at: number, end: number, nowNs: number): void {
    const state = this.#state
    const i32 = this.#i32
    const u8 = this.#u8
    const { counters, host } = state
    const op = u8[at]!
    const header = headerLength[op]!
    if (end - at < Bth.length || (header !== 0 && end - at < header)) {
      state.count(counters.drops_malformed)
      return
    }
    state.count(counters.rcvd_pkts)
    // IBA 9.6.1: a packet of another transport version, or with an unknown opcode, is dropped silently.
    if (header === 0 || (u8[at + Bth.flags]! & BthFlag.tver) !== 0) {
      state.count(counters.drops_opcode)
      return
    }
    // IBA 10.9.3: a packet of another partition is dropped and counted; every QP is a full member of the default partition.
    if ((u16(u8, at + Bth.pkey) & 0x7fff) !== 0x7fff) {
      state.count(counters.drops_pkey)
      Atomics.add(i32, host.deviceWord(state.device) + Dev.badPkeys, 1)
      return
    }
    const bits = opcodeBits[op]!
    const pad = padOf(u8, at)
    const bytes = end - at - header - pad
    if (bytes < 0 || (bytes + pad > 0 && (bits & OpBit.Payload) === 0) || ((bytes + pad) & 3) !== 0) {
      state.count(counters.drops_malformed)
      return
    }
    const number = u24(u8, at + Bth.destQp)
    const kind = op >> 5
    if (number === multicastQpn && kind === udClass) {
      if (this.#datagrams.receiveGroup(op, at, end, this.origin) === 0) state.count(counters.drops_no_qp)
      return
    }
    if (number === gsiQpn && kind === udClass) {
      this.#datagrams.receiveManagement(op, at, end, this.origin)
      return
    }
    const q = host.findQp(number)
    // On the path of an existing QP the word beside this one is read anyway.
    if (q >= 0 && i32[q + Qp.engine] === qpEngine.hosted && this.#hosting.keeps(q, op, at, end, this.origin)) return
    this.#execute(q, op, bits, at, end, nowNs)
  }

  /** Executes a packet for the QP `q`, −1 if there is none with its number. */
  #execute(q: number, op: number, bits: number, at: number, end: number, nowNs: number): void {
    const state = this.#state
    const i32 = this.#i32
    const { counters } = state
    // IBA CA17-33: there is no QP 0; a packet to it is dropped silently, as for any QP that does not exist.
    if (q < 0 || i32[q + Qp.device] !== state.device || i32[q + Qp.type] === QpType.GSI) {
      state.count(counters.drops_no_qp)
      return
    }
    const type = i32[q + Qp.type]!
    const kind = op >> 5
    const own = type === QpType.RC ? rcClass : type === QpType.UC ? ucClass : udClass
    const fits = kind === own || (op === WireOpcode.Cnp && own !== udClass)
    if (!fits) {
      state.count(counters.drops_opcode)
      return
    }
    const qpState = i32[q + Qp.state]!
    if (qpState < QpState.Rtr || qpState === QpState.Err) {
      state.count(counters.drops_qp_state)
      return
    }
    if (type === QpType.UD) {
      this.#datagrams.receive(q, op, at, end, this.origin)
      return
    }
    // IBA 9.6.1.2.3: packets to a connected QP must come from the address that the QP is connected with.
    const { source } = this.origin
    const gid = q + Qp.av + Av.gid
    if (
      i32[gid] !== source[0] ||
      i32[gid + 1] !== source[1] ||
      i32[gid + 2] !== source[2] ||
      i32[gid + 3] !== source[3]
    ) {
      state.count(counters.drops_source)
      return
    }
    if (op === WireOpcode.Cnp) {
      state.count(counters.cnps_rcvd)
      // IBA CA17-45: a CNP lowers the rate of the QP that it names.
      if (qpState >= QpState.Rts) state.congestion?.slowDown(state.of(q), nowNs)
      return
    }
    // Not for a CNP: with both directions congested each CNP would cause another one.
    // IBA CA17-44: a packet that a router has marked is reported to its sender.
    if ((this.origin.trafficClass & 3) === congestionExperienced) this.#marked(q, nowNs)
    const psn = u24(this.#u8, at + Bth.psn)
    if ((bits & OpBit.Response) !== 0) {
      this.#completer.receive(q, op, at, end, psn, nowNs)
      return
    }
    this.#established(q, qpState)
    this.#responder.receive(q, op, at, end, psn, this.#sink)
    if (this.#responder.completed) this.ackPolicy.receiveCompleted()
  }

  /** Prepares for the holder of the lock to run the transport until `leave`. */
  enter(): void {
    this.#state.buffers.enter()
    this.#state.timers.beginTurn()
  }

  leave(): void {
    this.#state.buffers.leave()
  }

  // --- queue pairs that one thread hosts: see hosting.ts -----------------------------------------------------------

  /** Sets this thread's access to memory of other processes. */
  set processMemory(processes: ProcessMemory) {
    this.#state.buffers.processes = processes
  }

  /** True if packets wait for this thread. */
  get hasMail(): boolean {
    return this.#hosting.hasMail
  }

  /** Handles the packets and turns that other threads have left to this one; returns the number of packets. */
  takeMail(nowNs: number): number {
    if (!this.#hosting.hasMail) return 0
    this.#mailNs = nowNs
    return this.#hosting.take(this.origin, this.#takeOne)
  }

  #mailNs = 0
  readonly #takeOne = (q: number, at: number, end: number): void => {
    const op = this.#u8[at]!
    if (!this.#hosting.keeps(q, op, at, end, this.origin)) this.#execute(q, op, opcodeBits[op]!, at, end, this.#mailNs)
  }

  /** True if receives are to be requested from programs of this thread. */
  get toAsk(): boolean {
    return this.#hosting.toAsk
  }

  /** Requests the receives from the programs; the lock was released. The packets that wait for them come with the next `takeMail`. */
  ask(): void {
    this.#hosting.ask()
  }

  /** Sends a CNP to the peer of a packet that a switch has marked, but not for every packet. */
  #marked(q: number, nowNs: number): void {
    const state = this.#state
    const { counters, congestion } = state
    state.count(counters.ecn_marked)
    if (congestion === null || !congestion.cnpDue(state.of(q), nowNs)) return
    const length = headerLength[WireOpcode.Cnp]!
    const at = this.#sink.open(q + Qp.av, length, false)
    if (at < 0) return
    const u8 = this.#u8
    // IBA CA17-44 deviation: MigReq is 1, where the figure of the CNP has 0: `putBth` sets it in every packet. A
    // receiver reads the QP number and BECN.
    putBth(u8, at, WireOpcode.Cnp, 0, this.#i32[q + Qp.destQpNum]!, false, 0)
    u8[at + Bth.ecn] = BthEcn.becn
    u8.fill(0, at + Bth.length, at + length)
    this.#sink.close(length)
    state.count(counters.cnps_sent)
  }

  /** Raises the event CommEst for the first request that reaches a QP in RTR. */
  #established(q: number, qpState: number): void {
    const t = this.#state.of(q)
    if (qpState !== QpState.Rtr || (this.#i32[t + TransportQp.ready]! & begun.responder) !== 0) return
    const { host } = this.#state
    host.qpEvent(q, EventType.CommEst)
  }

  // --- time --------------------------------------------------------------------------------------------------------

  /** True if timers that wait for a peer were armed since `enter`. */
  get hasArmed(): boolean {
    return this.#state.timers.hasArmed
  }

  /** Returns true if this thread has armed a timer since the last call. */
  takeArmed(): boolean {
    return this.#state.timers.takeArmed()
  }

  /** Postpones these: packets have left up to `ns` after the time with which they were armed. */
  postpone(ns: number): void {
    this.#state.timers.postpone(ns)
  }

  /** Marks the transport after the lock was taken over from a killed thread: the thread that runs it next repairs the unfinished work. */
  orphan(): void {
    this.#i32[this.#record + TransportDevice.orphaned] = 1
  }

  /** Repairs the work that a killed thread left unfinished, if any. */
  takeOver(nowNs: number): void {
    const orphaned = this.#record + TransportDevice.orphaned
    if (this.#i32[orphaned] === 0) return
    this.#takeover.run(nowNs)
    this.#i32[orphaned] = 0
  }

  /** First word of the `Journal` for completions by the holder of the lock. */
  get journal(): number {
    return this.#record + TransportDevice.journal
  }

  /** Serves timers that have expired. */
  advance(nowNs: number): void {
    this.#state.timers.advance(nowNs, this.#completer)
  }
}
