/** What both scenarios share: what a set has found, what it waits for, and the byte by which messages of a repetition are known. */
import type { End } from './end.ts'
import type { Lanes } from './lanes.ts'
import type { CollectiveSettings } from './settings.ts'
import type { Waiter } from './waiting.ts'

/** What a rank found in a set. */
export interface Tally {
  /** Nanoseconds of each repetition; NaN where a message was lost. Empty at ranks that measure nothing. */
  values: Float64Array
  /** Messages to and from this rank: those that were sent by it or to it are counted where they were sent, and where they arrived. */
  sent: number
  received: number
}

export interface SetRun {
  end: End
  waiter: Waiter
  settings: CollectiveSettings
  /** Repetitions before those that count. */
  warmUp: number
  /** Those of all sets before: the same at all ranks. */
  before: number
  /** A message of an unreliable service that has not come for so long is lost. */
  lostNs: number
}

/** SET_MEM of the seed marks a message by its last byte: 1 to 255 in turn. */
export function stateOf(repetition: number): number {
  return (repetition % 255) + 1
}

/** Nothing is lost on the way: what does not come is an error. */
export function isReliable({ transport }: CollectiveSettings): boolean {
  return transport === 'RC'
}

/** The looks of one repetition, made once: nothing is allocated while it is measured. */
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

  /** By completions; with RDMA WRITE in memory, as WAIT_MEM_RECV of the seed. */
  get allArrived(): () => boolean {
    return this.#settings.mode === 'WRITE' ? this.#inMemory : this.#completed
  }

  readonly #completed = (): boolean => {
    this.arrived += this.#lanes.arrived(this.#settings.mode, this.#settings.size, this.state)
    return this.arrived >= this.wantedArrived
  }

  readonly #inMemory = (): boolean => {
    // A device on a network moves when it is polled.
    this.sent += this.#lanes.sent()
    while (this.arrived < this.wantedArrived && this.#slots[this.#last(this.arrived)] === this.state) this.arrived++
    return this.arrived >= this.wantedArrived
  }

  /** Before a repetition: what was left of earlier ones goes, and no slot looks like a message of this one. */
  clear(slots: number): void {
    const { mode, size } = this.#settings
    while (this.#lanes.arrived(mode, size, 0) > 0);
    if (mode === 'WRITE') for (let slot = 0; slot < slots; slot++) this.#slots[this.#last(slot)] = 0
  }

  #last(slot: number): number {
    return slot * this.#slotBytes + this.#settings.size - 1
  }
}
