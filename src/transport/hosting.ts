/**
 * Queue pairs that one thread hosts, on a device that any thread may drive. Only that thread reaches the memory that their requests name,
 * and knows their receives. So a thread that drives the device for all and finds work for such a queue pair of another thread leaves the
 * work to that thread, and wakes it:
 *
 *     a packet came       it is copied, with its properties from the network, to the mailbox of the thread
 *     it has to send      it is marked (`listed.host`), instead of being served
 *
 * The thread finds both when it drives the device next. Everything else, timers and flushing included, touches no memory of programs, and
 * any thread does it. A packet that finds no room is lost, which the transport recovers from; `drops_host_busy` counts it.
 *
 * A message that finds no receive waits in the mailbox of its own thread while that requests one from its program (`Host.refill`),
 * outside of all operations, and so do the packets after it.
 *
 * All of it is used under the device's lock, and is empty after a takeover.
 */
import { isOthers, layout, QpState, QpType, slotOf } from '../verbs/provider/index.ts'
import { Bth, OpBit, opcodeBits, u24 } from '../wire/index.ts'
import { begun, listed, Mailbox, TransportDevice, TransportQp } from './layout.ts'
import type { Origin } from './origin.ts'
import type { TransportState } from './state.ts'

const { Meta, Qp, Srq } = layout

/** Bytes of an entry: a packet of the largest MTU, its headers and the words about it. */
const entryBytes = 4352
const headBytes = 64
const mostPacketBytes = entryBytes - headBytes
/** Maximum number of packets of one device that wait for all threads, and for one of them: more than a few connections have in flight. */
const mostEntries = 2048
const mostEach = 1024
const attachmentMask = 1023

/** Words of an entry, before the packet. */
const Entry = {
  next: 0,
  lengthBytes: 1,
  /** Reference to the queue pair. */
  qp: 2,
  ipv4: 3,
  trafficClass: 4,
  hopLimit: 5,
  /** Flag: a receive was requested from its program already. */
  asked: 6,
  source: 8,
  destination: 12,
} as const

/** Queue for which receives are to be requested from the program. */
interface Asked {
  readonly queue: 'qp' | 'srq'
  readonly slot: number
}

export class Hosting {
  readonly #state: TransportState
  readonly #i32: Int32Array
  readonly #u8: Uint8Array
  readonly #record: number
  /** Mailbox of this thread. */
  readonly #own: number
  /** Requests that `ask` is to make to programs of this thread. */
  readonly #asked: Asked[] = []
  /** Flag: the current packet comes from this thread's mailbox. */
  #taking = false
  /** Flag: a receive was requested from the program for the current packet. */
  #hasAsked = false

  constructor(state: TransportState) {
    this.#state = state
    this.#i32 = state.i32
    this.#u8 = state.u8
    this.#record = state.record
    this.#own = this.#mailbox(state.host.segment.me)
  }

  #mailbox(attachment: number): number {
    return this.#record + TransportDevice.mailboxes + (attachment & attachmentMask) * Mailbox.words
  }

  // --- leaving work to others --------------------------------------------------------------------------------------

  /** Leaves the turn of a hosted QP to the thread that hosts it; false if this thread has to serve it. */
  leavesTurn(q: number): boolean {
    const { host } = this.#state
    if (!isOthers(host, q)) return false
    const flags = (this.#record + TransportDevice.flags) * 4 + host.qpSlot(q)
    this.#u8[flags] = this.#u8[flags]! | listed.host
    const owner = this.#i32[q + Qp.owner]!
    const box = this.#boxOf(owner)
    if (box < 0) return true
    this.#i32[box + Mailbox.turns] = 1
    this.#wake(owner)
    return true
  }

  /** Returns the mailbox for the current use of an attachment; −1 if its thread has died, and another thread is cleaning up after it. */
  #boxOf(attachment: number): number {
    const use = this.#state.host.segment.useOf(attachment)
    if (use <= 0) return -1
    const box = this.#mailbox(attachment)
    if (this.#i32[box + Mailbox.use] !== use) {
      this.#empty(box)
      this.#i32[box + Mailbox.use] = use
    }
    return box
  }

  /** Keeps a packet for a hosted QP that is not executed now; true if it waits for the thread that hosts it, or for a receive. */
  keeps(q: number, op: number, at: number, end: number, origin: Origin): boolean {
    if (isOthers(this.#state.host, q)) {
      const owner = this.#i32[q + Qp.owner]!
      if (this.#put(owner, q, at, end, origin, 0)) this.#wake(owner)
      return true
    }
    if (this.#taking) return this.#asks(q, op, at)
    // Earlier packets come first.
    const waits = this.hasMail
    if (!waits && !this.#asks(q, op, at)) return false
    this.#put(this.#state.host.segment.me, q, at, end, origin, waits ? 0 : 1)
    return true
  }

  #wake(attachment: number): void {
    const { segment } = this.#state.host
    segment.leaveWork(attachment)
    segment.wake(attachment)
  }

  /** Puts a packet into the mailbox of a thread; false if it was dropped. */
  #put(attachment: number, q: number, at: number, end: number, origin: Origin, asked: number): boolean {
    const i32 = this.#i32
    const { host, counters } = this.#state
    const box = this.#boxOf(attachment)
    const fits = box >= 0 && end - at <= mostPacketBytes && i32[box + Mailbox.count]! < mostEach
    const entry = fits ? this.#newEntry() : 0
    if (entry === 0) {
      this.#state.count(counters.drops_host_busy)
      return false
    }
    const e = this.#word(entry)
    i32[e + Entry.next] = 0
    i32[e + Entry.lengthBytes] = end - at
    i32[e + Entry.qp] = i32[q + Qp.ref]!
    i32[e + Entry.ipv4] = origin.ipv4 ? 1 : 0
    i32[e + Entry.trafficClass] = origin.trafficClass
    i32[e + Entry.hopLimit] = origin.hopLimit
    i32[e + Entry.asked] = asked
    for (let i = 0; i < 4; i++) {
      i32[e + Entry.source + i] = origin.source[i]!
      i32[e + Entry.destination + i] = origin.destination[i]!
    }
    host.segment.copy(e * 4 + headBytes, at, end - at)
    const last = i32[box + Mailbox.last]!
    if (last === 0) i32[box + Mailbox.first] = entry
    else i32[this.#word(last) + Entry.next] = entry
    i32[box + Mailbox.last] = entry
    i32[box + Mailbox.count] = i32[box + Mailbox.count]! + 1
    return true
  }

  // --- entries -----------------------------------------------------------------------------------------------------

  #word(entry: number): number {
    return (this.#state.f64[(this.#record + TransportDevice.mail) >> 1]! + (entry - 1) * entryBytes) / 4
  }

  /** Returns the number of a free entry, 0 if there is none. */
  #newEntry(): number {
    const i32 = this.#i32
    const { f64, host } = this.#state
    const record = this.#record
    const free = i32[record + TransportDevice.mailFree]!
    if (free !== 0) {
      i32[record + TransportDevice.mailFree] = i32[this.#word(free) + Entry.next]!
      return free
    }
    if (f64[(record + TransportDevice.mail) >> 1] === 0) {
      try {
        f64[(record + TransportDevice.mail) >> 1] = host.segment.allocate(mostEntries * entryBytes, 0)
      } catch {
        return 0
      }
    }
    const used = i32[record + TransportDevice.mailUsed]!
    if (used === mostEntries) return this.#emptyDead() ? this.#newEntry() : 0
    i32[record + TransportDevice.mailUsed] = used + 1
    return used + 1
  }

  #free(entry: number): void {
    const i32 = this.#i32
    i32[this.#word(entry) + Entry.next] = i32[this.#record + TransportDevice.mailFree]!
    i32[this.#record + TransportDevice.mailFree] = entry
  }

  #empty(box: number): void {
    const i32 = this.#i32
    for (let entry = i32[box + Mailbox.first]!; entry !== 0; ) {
      const next = i32[this.#word(entry) + Entry.next]!
      this.#free(entry)
      entry = next
    }
    i32.fill(0, box, box + Mailbox.words)
  }

  /** Empties the mailboxes of threads that have gone; true if any had contents. */
  #emptyDead(): boolean {
    const i32 = this.#i32
    let found = false
    for (let attachment = 1; attachment <= attachmentMask; attachment++) {
      const box = this.#mailbox(attachment)
      if (i32[box + Mailbox.first] === 0 || this.#state.host.segment.useOf(attachment) === i32[box + Mailbox.use])
        continue
      this.#empty(box)
      found = true
    }
    return found
  }

  /** Empties the mailboxes after a takeover: the packets that waited are lost. */
  clear(): void {
    const i32 = this.#i32
    const record = this.#record
    i32[record + TransportDevice.mailUsed] = 0
    i32[record + TransportDevice.mailFree] = 0
    i32.fill(0, record + TransportDevice.mailboxes, record + TransportDevice.words)
  }

  // --- this thread's -----------------------------------------------------------------------------------------------

  /** True if other threads have left work to this thread. */
  get hasMail(): boolean {
    const i32 = this.#i32
    const box = this.#own
    if (i32[box + Mailbox.use] !== this.#state.host.segment.lockValue) return false
    return i32[box + Mailbox.first] !== 0 || i32[box + Mailbox.turns] !== 0
  }

  /**
   * Schedules the QPs that other threads have marked for this one, and gives `receive` the packets that they left; returns their number.
   */
  take(origin: Origin, receive: (q: number, at: number, end: number) => void): number {
    const i32 = this.#i32
    const { host } = this.#state
    const box = this.#own
    // Reset here, too: an exception may have left it set.
    this.#taking = false
    this.#hasAsked = false
    if (!this.hasMail) return 0
    if (i32[box + Mailbox.turns] !== 0) {
      i32[box + Mailbox.turns] = 0
      this.#takeTurns()
    }
    const count = i32[box + Mailbox.count]!
    for (let taken = 0; taken < count; taken++) {
      const entry = i32[box + Mailbox.first]!
      const e = this.#word(entry)
      const q = host.qpWord(slotOf(i32[e + Entry.qp]!))
      if (i32[q + Qp.ref] === i32[e + Entry.qp] && i32[q + Qp.number]! > 0) {
        for (let i = 0; i < 4; i++) {
          origin.source[i] = i32[e + Entry.source + i]!
          origin.destination[i] = i32[e + Entry.destination + i]!
        }
        origin.ipv4 = i32[e + Entry.ipv4] === 1
        origin.trafficClass = i32[e + Entry.trafficClass]!
        origin.hopLimit = i32[e + Entry.hopLimit]!
        this.#hasAsked = i32[e + Entry.asked] === 1
        const at = e * 4 + headBytes
        this.#taking = true
        receive(q, at, at + i32[e + Entry.lengthBytes]!)
        this.#taking = false
        this.#hasAsked = false
        if (this.toAsk) {
          // The packet stays, with all packets after it, until its program was asked.
          i32[e + Entry.asked] = 1
          return taken
        }
      }
      const next = i32[e + Entry.next]!
      i32[box + Mailbox.first] = next
      if (next === 0) i32[box + Mailbox.last] = 0
      i32[box + Mailbox.count] = i32[box + Mailbox.count]! - 1
      this.#free(entry)
    }
    return count
  }

  #takeTurns(): void {
    const i32 = this.#i32
    const u8 = this.#u8
    const { host, device } = this.#state
    const flags = (this.#record + TransportDevice.flags) * 4
    const used = i32[host.at.meta + Meta.qpsUsed]!
    for (let slot = 0; slot < used; slot++) {
      if ((u8[flags + slot]! & listed.host) === 0) continue
      const q = host.qpWord(slot)
      if (i32[q + Qp.number]! > 0 && i32[q + Qp.device] === device && isOthers(host, q)) continue
      u8[flags + slot] = u8[flags + slot]! & ~listed.host
      if (i32[q + Qp.number]! > 0 && i32[q + Qp.device] === device) this.#state.schedule(q)
    }
  }

  // --- receives ----------------------------------------------------------------------------------------------------

  /** Prepares to ask the program of this thread if the packet takes a receive that is not there; true if it has to be asked first. */
  #asks(q: number, op: number, at: number): boolean {
    const i32 = this.#i32
    const { host } = this.#state
    if (this.#hasAsked || host.refill === null) return false
    const bits = opcodeBits[op]!
    const t = this.#state.of(q)
    if ((bits & OpBit.Response) !== 0 || i32[t + TransportQp.receive] !== 0) return false
    const begins = (bits & OpBit.Send) !== 0 && (bits & (OpBit.First | OpBit.Only)) !== 0
    if (!begins && (bits & OpBit.Imm) === 0 && i32[q + Qp.type] !== QpType.UD) return false
    if (i32[q + Qp.state]! < QpState.Rtr) return false
    // A duplicate, or a packet after a gap, takes no receive.
    const begunRc = i32[q + Qp.type] === QpType.RC && (i32[t + TransportQp.ready]! & begun.responder) !== 0
    if (begunRc && u24(this.#u8, at + Bth.psn) !== i32[t + TransportQp.epsn]) return false
    const slot = i32[q + Qp.srq]!
    if (slot < 0) {
      if (i32[q + Qp.rqTail] !== Atomics.load(i32, q + Qp.rqHead)) return false
      this.#asked.push({ queue: 'qp', slot: host.qpSlot(q) })
    } else {
      const srq = host.srqWord(slot)
      if (i32[srq + Srq.tail] !== Atomics.load(i32, srq + Srq.head)) return false
      if (i32[srq + Srq.hosted] !== 1 || i32[srq + Srq.owner] !== host.segment.me) return false
      this.#asked.push({ queue: 'srq', slot })
    }
    return true
  }

  /** True if `ask` has something to do. */
  get toAsk(): boolean {
    return this.#asked.length > 0
  }

  /** Requests the receives that messages lack from programs; no lock is held, and this thread is in no operation. */
  ask(): void {
    const asked = this.#asked.splice(0)
    for (const { queue, slot } of asked) this.#state.host.refill?.(queue, slot)
  }
}
