/** Code that both scenarios share: results of a set, polling for its messages, and the byte that identifies messages of a repetition. */
import type { End } from './end.ts'
import type { Lanes } from './lanes.ts'
import type { CollectiveSettings } from './settings.ts'
import type { Waiter } from './waiting.ts'

/** Results of one rank in a set. */
export interface Tally {
  /** Nanoseconds of each repetition; NaN where a message was lost. Empty at ranks that measure nothing. */
  values: Float64Array
  /** Number of messages to and from this rank: sends are counted at the sender, and arrivals at the receiver. */
  sent: number
  received: number
}

export interface SetRun {
  end: End
  waiter: Waiter
  settings: CollectiveSettings
  /** Number of repetitions before those that are recorded. */
  warmUp: number
  /** Number of repetitions of all earlier sets: the same at all ranks. */
  before: number
  /** Time after which a message of an unreliable service that has not arrived is lost. */
  lostNs: number
}

/** Returns the last byte of a message, by which SET_MEM of the seed marks it: 1 to 255 in turn. */
export function stateOf(repetition: number): number {
  return (repetition % 255) + 1
}

/** True if the transport loses no message: one that does not arrive is an error. */
export function isReliable({ transport }: CollectiveSettings): boolean {
  return transport === 'RC'
}

/** Polling functions of one repetition, created once: nothing is allocated while it is measured. */
export class Looks {
  sent = 0
  arrived = 0
  wantedSent = 0
  wantedArrived = 0
  state = 0
  readonly #lanes: Lanes
  readonly #settings: CollectiveSettings
  readonly #slots: Uint8Array
  readonly #slotBytes: number

  constructor({ end, settings }: SetRun) {
    this.#lanes = end.lanes
    this.#settings = settings
    this.#slots = end.memory.slots
    this.#slotBytes = end.memory.slotBytes
  }

  begin(state: number, wantedSent: number, wantedArrived: number): void {
    this.state = state
    this.sent = 0
    this.arrived = 0
    this.wantedSent = wantedSent
    this.wantedArrived = wantedArrived
  }

  readonly allSent = (): boolean => {
    this.sent += this.#lanes.sent()
    return this.sent >= this.wantedSent
  }

  /** Returns the check for arrivals: by completions; with RDMA WRITE in memory, as WAIT_MEM_RECV of the seed. */
  get allArrived(): () => boolean {
    return this.#settings.mode === 'WRITE' ? this.#inMemory : this.#completed
  }

  readonly #completed = (): boolean => {
    this.arrived += this.#lanes.arrived(this.#settings.mode, this.#settings.size, this.state)
    return this.arrived >= this.wantedArrived
  }

  readonly #inMemory = (): boolean => {
    // A device on a network makes progress only when it is polled.
    this.sent += this.#lanes.sent()
    while (this.arrived < this.wantedArrived && this.#slots[this.#last(this.arrived)] === this.state) this.arrived++
    return this.arrived >= this.wantedArrived
  }

  /** Prepares a repetition: drains completions of earlier ones, and clears slots so that none looks like a message of this one. */
  clear(slots: number): void {
    const { mode, size } = this.#settings
    while (this.#lanes.arrived(mode, size, 0) > 0);
    if (mode === 'WRITE') for (let slot = 0; slot < slots; slot++) this.#slots[this.#last(slot)] = 0
  }

  #last(slot: number): number {
    return slot * this.#slotBytes + this.#settings.size - 1
  }
}
