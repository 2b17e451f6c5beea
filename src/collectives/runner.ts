/** Execution of schedules, one after the other, as far as the messages that have arrived allow. */

import { type Call, elsewhere, lengths } from './call.ts'
import type { Lane } from './lane.ts'
import { emptyRange, type Memory, type Range, Staging } from './memory.ts'
import type { Mesh } from './mesh.ts'
import { callNumbers, Kind } from './message.ts'
import type { Multicast } from './multicast.ts'
import { checkCalls } from './same-calls.ts'
import { Place, type Round, type Transfer } from './schedule/index.ts'

/** States of a transfer in the present round. */
const waiting = 0
/** State: the other end was notified: by a receiver of the destination of all data, or by a sender of their length. */
const announced = 1
const done = 2
/** State of a receive: this end reads the data in place. */
const direct = 3
/** State: the sender writes the first half, and the receiver reads the rest. */
const split = 4
/** State: this end has copied its half. */
const halfDone = 5
/** State: all data are read, and the notification of the sender is outstanding. */
const told = 6
/** State: all data were read into `#arrival`, and will be combined when this rank's own sends no longer use the memory that changes. */
const kept = 7

/** Bytes from which on sender and receiver copy a half each, if both can reach the memory. */
const splitBytes = 131_072

export class Runner {
  readonly #mesh: Mesh
  readonly #memory: Memory
  /** Multicast; null if the rules do not choose it. */
  readonly #multicast: Multicast | null
  readonly #lanes: (Lane | null)[]
  readonly #scratch: Staging
  readonly #arrivals: Staging
  /** Destination of long transfers that are combined. */
  readonly #arrival: Range = emptyRange()
  /** Number of transfers that were begun, announced or ended so far. */
  moves = 0
  #directBytes: number
  #places: Call['places'] = [emptyRange(), emptyRange(), emptyRange()]
  #call: Call | null = null
  #index = 0
  #round: Round | null = null
  #sent = new Uint8Array(64)
  #received = new Uint8Array(64)
  #sendsLeft = 0
  #receivesLeft = 0

  constructor(mesh: Mesh, memory: Memory, multicast: Multicast | null) {
    this.#mesh = mesh
    this.#multicast = multicast
    this.#directBytes = mesh.slotBytes
    this.#memory = memory
    this.#lanes = mesh.lanes
    this.#scratch = new Staging(memory)
    this.#arrivals = new Staging(memory)
  }

  /** Bytes above which a rank with shared memory reads messages in place, even if they fit into a slot. */
  set directBytes(bytes: number) {
    this.#directBytes = Math.min(bytes, this.#mesh.slotBytes)
  }

  begin(call: Call): void {
    const { schedule } = call
    if (schedule.scratchBytes > 0) this.#scratch.reserve(call.places[Place.Scratch], schedule.scratchBytes)
    this.#places = call.places
    this.#call = call
    this.#index = -1
    this.#next()
  }

  /**
   * Checks that the ranks that have to send data, or a `Ready`, are alive and in the same call: they are notified of the call in which this
   * rank waits.
   */
  probe(): void {
    const round = this.#round
    if (round === null) return
    const { history, nameOf, tag } = this.#call!
    checkCalls(this.#lanes, history, nameOf)
    const probe = (lane: Lane): void => {
      lane.probe()
      lane.tellCall(history.count, tag)
    }
    if (round.multicast) for (const lane of this.#multicast!.awaited) probe(lane)
    for (const [i, { peer }] of round.sends.entries()) if (this.#sent[i] !== done) probe(this.#lanes[peer]!)
    for (const [i, { peer }] of round.receives.entries()) if (this.#received[i] !== done) probe(this.#lanes[peer]!)
  }

  /** Checks the time (nanoseconds); called from time to time while a thread polls. */
  urge(now: number): void {
    if (this.#round?.multicast) this.#multicast!.urge(now)
  }

  /**
   * Prepares for a wait: requests events for everything that this call waits for. Returns the milliseconds after which to call it again if
   * nothing arrives.
   */
  arm(now: number): number {
    const { sends, receives, multicast } = this.#round!
    if (multicast) return this.#multicast!.arm(now)
    for (const [i, { peer, place, offset, bytes }] of sends.entries()) {
      const lane = this.#lanes[peer]!
      if (lane.lost !== null) throw lane.lost
      if (this.#sent[i] === waiting && bytes > this.#mesh.slotBytes && lane.readies.count === 0 && lane.mayPost) {
        lane.announce(this.#call!.tag, this.#places[place].at + offset, bytes)
        this.#sent[i] = announced
      }
      lane.arm()
    }
    for (const { peer } of receives) {
      const lane = this.#lanes[peer]!
      lane.arm()
      this.#checkQuery(lane)
    }
    return Number.POSITIVE_INFINITY
  }

  /**
   * Throws if a peer multicasts in this call: it sends nothing else, and waits for this rank. A peer in a later call has sent all of this
   * one.
   */
  #checkQuery(lane: Lane): void {
    const { tag } = this.#call!
    if (lane.arrived.count > 0 || !this.#multicast?.begunBy(lane)) return
    if ((lane.askedTag - tag) % callNumbers === 0) throw elsewhere(this.#call!, lane.rank, lane.askedTag)
  }

  /** Description of the present call. */
  get what(): string {
    return this.#call === null ? 'nothing' : this.#call.nameOf(this.#call.tag)
  }

  /** Description of the ranks for which it waits. */
  get whom(): string {
    const round = this.#round
    if (round === null) return 'nobody'
    const of = (transfers: readonly Transfer[], state: Uint8Array): number[] =>
      transfers.filter((_, i) => state[i] !== done).map(({ peer }) => peer)
    if (round.multicast) return `rank ${this.#multicast!.whom.join(', ')}`
    const ranks = new Set([...of(round.receives, this.#received), ...of(round.sends, this.#sent)])
    return `rank ${[...ranks].sort((a, b) => a - b).join(', ')}`
  }

  /** Drops the present call: the communicator has failed. */
  drop(): void {
    this.#call = null
    this.#round = null
  }

  /** Does all that is possible now. Returns true when the call is over. */
  step(): boolean {
    while (this.#round !== null) {
      if (this.#round.multicast) {
        if (!this.#multicastOver()) return false
        continue
      }
      const left = this.#sendsLeft + this.#receivesLeft
      if (this.#sendsLeft > 0) this.#send()
      if (this.#receivesLeft > 0) this.#receive()
      if (this.#sendsLeft + this.#receivesLeft === 0 && this.#quiet()) this.#next()
      else if (this.#sendsLeft + this.#receivesLeft === left) return false
    }
    return true
  }

  /** Does all that is possible for a round by multicast, and begins the next round at its end. */
  #multicastOver(): boolean {
    const multicast = this.#multicast!
    const { moves } = multicast
    const over = multicast.step()
    if (multicast.moves !== moves) this.moves++
    if (over) this.#next()
    return over
  }

  #next(): void {
    const { rounds } = this.#call!.schedule
    const round = ++this.#index < rounds.length ? rounds[this.#index]! : null
    this.#round = round
    if (round === null) {
      this.#call = null
      return
    }
    const { copies, sends, receives } = round
    for (let i = 0; i < copies.length; i++) {
      const { from, fromOffset, to, toOffset, bytes } = copies[i]!
      const source = this.#places[from].at + fromOffset
      const target = this.#places[to].at + toOffset
      if (source !== target) this.#copy(target, source, bytes)
    }
    if (round.multicast) {
      const { root, place, offset, bytes } = round.multicast
      this.#multicast!.begin({ root, place: this.#places[place], offset, bytes, call: this.#call! })
    }
    this.#sendsLeft = sends.length
    this.#receivesLeft = receives.length
    if (sends.length > this.#sent.length) this.#sent = new Uint8Array(2 * sends.length)
    if (receives.length > this.#received.length) this.#received = new Uint8Array(2 * receives.length)
    for (let i = 0; i < sends.length; i++) this.#sent[i] = waiting
    for (let i = 0; i < receives.length; i++) this.#received[i] = waiting
    if (this.#sendsLeft > 0) this.#send()
  }

  /** Returns true if the memory of all sends of the round is free again. */
  #quiet(): boolean {
    const { sends } = this.#round!
    for (let i = 0; i < sends.length; i++) if (!this.#lanes[sends[i]!.peer]!.isQuiet()) return false
    return true
  }

  #send(): void {
    const { sends } = this.#round!
    const { tag } = this.#call!
    const { slotBytes } = this.#mesh
    for (let i = 0; i < sends.length; i++) {
      if (this.#sent[i] === done) continue
      const { peer, place, offset, bytes } = sends[i]!
      const lane = this.#lanes[peer]!
      if (!lane.hasRoom()) continue
      const from = this.#places[place]
      if (bytes > slotBytes || (bytes > this.#directBytes && lane.shared && !this.#changes(sends[i]!))) {
        if (!this.#sendLong(lane, i, from, offset, bytes)) continue
      } else lane.send(bytes > 0 ? Kind.Data : Kind.Empty, tag, from, offset, bytes)
      this.moves++
      this.#sent[i] = done
      this.#sendsLeft--
    }
  }

  /** Advances a long send. Returns true when this end has no more to do for it. */
  #sendLong(lane: Lane, i: number, from: Range, offset: number, bytes: number): boolean {
    const { tag } = this.#call!
    if (lane.shared && this.#sent[i] === waiting) {
      lane.announce(tag, from.at + offset, bytes)
      this.moves++
      this.#sent[i] = announced
    }
    if (lane.readies.count === 0 && lane.took === 0) lane.poll(lane.boxes(0))
    if (lane.readies.count > 0 && this.#sent[i] !== halfDone && lane.took !== Kind.TookAll) {
      if (lane.readies.tag !== tag) throw elsewhere(this.#call!, lane.rank, lane.readies.tag)
      if (lane.readies.total !== bytes) throw lengths(this.#call!, lane.rank, lane.readies.total, bytes)
      if (!lane.mayPost) return false
      const all = lane.readies.bytes === bytes
      lane.write(tag, from.addr + offset, from.lkey)
      if (all) return true
      this.#sent[i] = halfDone
    }
    if (lane.took === 0) {
      // A peer that sends a message instead of taking this one is in another call.
      if (lane.arrived.count > 0 && lane.arrived.tag !== tag) throw elsewhere(this.#call!, lane.rank, lane.arrived.tag)
      return false
    }
    if (lane.tookTag !== tag) throw elsewhere(this.#call!, lane.rank, lane.tookTag)
    if (lane.took === Kind.TookRest && this.#sent[i] !== halfDone) return false
    lane.took = 0
    return true
  }

  #receive(): void {
    const { receives } = this.#round!
    const { tag, combine } = this.#call!
    const { slotBytes } = this.#mesh
    let combining = true
    for (let i = 0; i < receives.length; i++) {
      if (this.#received[i] === done) continue
      const receive = receives[i]!
      const { peer, place, offset, bytes } = receive
      const lane = this.#lanes[peer]!
      const long = bytes > slotBytes
      if (long && this.#received[i] === waiting && !this.#announce(lane, receive, i)) continue
      if (receive.combine) {
        // The next receive that is combined waits for this one.
        if (!combining) continue
        combining = false
      }
      if (this.#received[i] === kept && !this.#combineKept(receive, i)) continue
      if (this.#received[i] === told) {
        if (!lane.isQuiet()) continue
      } else {
        const boxed = this.#receivesLeft === 1 && lane.boxes(bytes > this.#directBytes ? 0 : bytes)
        if (!(boxed ? lane.watch() : lane.hasMessage())) continue
        if (lane.arrived.tag !== tag) throw elsewhere(this.#call!, lane.rank, lane.arrived.tag)
        if (!long && lane.shared && lane.arrived.kind === Kind.Long) this.#received[i] = direct
        if (long || this.#received[i] === direct) {
          if (!this.#receiveLong(lane, receive, i)) continue
        } else {
          if (lane.arrived.kind === Kind.Written || lane.arrived.kind === Kind.Long || lane.arrived.bytes !== bytes)
            throw lengths(this.#call!, lane.rank, lane.arrived.bytes, bytes)
          const to = this.#places[place].at + offset
          if (!receive.combine) this.#copy(to, lane.arrived.at, bytes)
          else if (this.#mayChange(receive))
            combine!(to, this.#places[receive.base].at + offset, lane.arrived.at, bytes)
          else continue
          lane.take()
        }
      }
      combining ||= receive.combine
      this.moves++
      this.#received[i] = done
      this.#receivesLeft--
    }
  }

  /** Advances a long receive by the oldest message of the lane. Returns true when the transfer is over. */
  #receiveLong(lane: Lane, receive: Transfer, i: number): boolean {
    const { place, offset, bytes, base } = receive
    const { tag, combine } = this.#call!
    const state = this.#received[i]!
    const to = this.#places[place].at + offset
    if (lane.arrived.kind === Kind.Long && lane.arrived.bytes === bytes) {
      if (state === direct || state === split) {
        if (!lane.hasRoom()) return false
        const from = state === split ? halfOf(bytes) : 0
        const keep = receive.combine && !this.#mayChange(receive)
        if (keep) {
          this.#arrivals.reserve(this.#arrival, bytes)
          this.#copy(this.#arrival.at, lane.arrived.longAt, bytes)
        } else if (receive.combine) combine!(to, this.#places[base].at + offset, lane.arrived.longAt, bytes)
        else this.#copy(to + from, lane.arrived.longAt + from, bytes - from)
        lane.take()
        lane.notifyRead(state === split ? Kind.TookRest : Kind.TookAll, tag)
        this.moves++
        if (keep) {
          this.#received[i] = kept
          return this.#combineKept(receive, i) && lane.isQuiet()
        }
        this.#received[i] = state === split ? halfDone : told
        return state === direct && lane.isQuiet()
      }
      lane.take()
      if (!lane.hasMessage()) return false
    }
    if (lane.arrived.kind !== Kind.Written || state === direct)
      throw lengths(this.#call!, lane.rank, lane.arrived.bytes, bytes)
    if (receive.combine) {
      if (!this.#mayChange(receive)) return false
      combine!(to, this.#places[base].at + offset, this.#arrival.at, bytes)
    } else if (state === halfDone && !lane.isQuiet()) return false
    lane.take()
    return true
  }

  /** Combines the data that were kept, if that is possible now. Returns false if not. */
  #combineKept(receive: Transfer, i: number): boolean {
    if (!this.#mayChange(receive)) return false
    const { place, base, offset, bytes } = receive
    this.#call!.combine!(this.#places[place].at + offset, this.#places[base].at + offset, this.#arrival.at, bytes)
    this.#received[i] = told
    return true
  }

  /** Returns true if no send of the round still uses the memory that a receive changes. */
  #mayChange(receive: Transfer): boolean {
    const { sends } = this.#round!
    for (let i = 0; i < sends.length; i++)
      if (this.#meet(sends[i]!, receive) && (this.#sent[i] !== done || !this.#lanes[sends[i]!.peer]!.isQuiet()))
        return false
    return true
  }

  /** Returns true if a receive of the round changes the memory to send: then the data had better leave it at once. */
  #changes(send: Transfer): boolean {
    const { receives } = this.#round!
    for (let i = 0; i < receives.length; i++) if (this.#meet(send, receives[i]!)) return true
    return false
  }

  #meet(a: Transfer, b: Transfer): boolean {
    const distance = this.#places[a.place].at + a.offset - this.#places[b.place].at - b.offset
    return distance < b.bytes && -distance < a.bytes
  }

  /** Copies `bytes` bytes; short copies of whole words without a call. */
  #copy(to: number, from: number, bytes: number): void {
    if (bytes <= 64 && ((to | from | bytes) & 3) === 0) {
      const { i32 } = this.#memory
      for (let i = 0; i < bytes / 4; i++) i32[to / 4 + i] = i32[from / 4 + i]!
    } else this.#memory.copy(to, from, bytes)
  }

  /** Decides how a long transfer is received, and sends its destination to the sender. Returns false if that has to wait. */
  #announce(lane: Lane, receive: Transfer, i: number): boolean {
    const { place, offset, bytes, combine, peer } = receive
    const { receives, sends } = this.#round!
    // If both have data for each other, each copies one of the two transfers.
    if (
      lane.shared &&
      (combine || bytes < splitBytes || sends.some((send) => send.peer === peer && send.bytes >= splitBytes))
    ) {
      this.#received[i] = direct
      return true
    }
    if (!lane.hasRoom()) return false
    if (combine) {
      // All of these use the same memory: the earlier ones must be over.
      for (let k = 0; k < i; k++) if (receives[k]!.combine && this.#received[k] !== done) return false
      this.#arrivals.reserve(this.#arrival, bytes)
      lane.ready(this.#call!.tag, this.#arrival, 0, bytes, bytes)
    } else lane.ready(this.#call!.tag, this.#places[place], offset, bytes, lane.shared ? halfOf(bytes) : bytes)
    this.moves++
    this.#received[i] = lane.shared ? split : announced
    return true
  }
}

/** Returns the bytes of a split transfer that the sender writes. */
function halfOf(bytes: number): number {
  return Math.floor(bytes / 128) * 64
}
