/**
 * Requests by PSN: the packet that carried it first, its time, and its kind. A ring of typed arrays that grows with the number of
 * outstanding requests, up to a limit of its own and one that all rings share; beyond it, the oldest are forgotten.
 */
const smallest = 16
const largest = 16_384
const slotBytes = 4 + 8 + 8 + 1

/** Memory that rings share beyond their first 16 slots: a ring that finds too little left grows less, or stays as it is. */
export interface RingMemory {
  bytesLeft: number
}

export const RequestFlag = {
  /** Last packet of its message. */
  Last: 1,
  AckReq: 2,
  /** Request that is answered by READ responses; takes as many PSNs as these. */
  Read: 4,
} as const

export class Outstanding {
  #psn = new Int32Array(0)
  #packet = new Float64Array(0)
  #timeNs = new Float64Array(0)
  #flags = new Uint8Array(0)
  readonly #memory: RingMemory

  constructor(memory: RingMemory) {
    this.#memory = memory
  }

  /** Returns the slot of a PSN, or -1 if it has not been seen or is forgotten. */
  find(psn: number): number {
    const slot = psn & (this.#psn.length - 1)
    return this.#psn[slot] === psn ? slot : -1
  }

  packetOf(slot: number): number {
    return this.#packet[slot]!
  }

  timeOf(slot: number): number {
    return this.#timeNs[slot]!
  }

  flagsOf(slot: number): number {
    return this.#flags[slot]!
  }

  /** @param depth PSNs between the oldest one that matters and this one */
  put(psn: number, depth: number, packet: number, timeNs: number, flags: number): void {
    if (depth >= this.#psn.length && this.#psn.length < largest) this.#grow(depth)
    const slot = psn & (this.#psn.length - 1)
    this.#psn[slot] = psn
    this.#packet[slot] = packet
    this.#timeNs[slot] = timeNs
    this.#flags[slot] = flags
  }

  get capacity(): number {
    return this.#psn.length
  }

  /** Forgets the requests more than `depth` PSNs before `psn`. */
  forget(psn: number, depth: number): void {
    const psns = this.#psn
    for (let slot = 0; slot < psns.length; slot++)
      if (psns[slot]! >= 0 && ((psn - psns[slot]!) & 0xffffff) > depth) psns[slot] = -1
  }

  clear(): void {
    this.#psn.fill(-1)
  }

  /** Returns the shared memory, and forgets all requests. */
  free(): void {
    this.#memory.bytesLeft += sharedBytes(this.#psn.length)
    if (this.#psn.length > smallest) this.#psn = new Int32Array(0)
    else this.#psn.fill(-1)
  }

  #grow(depth: number): void {
    let size = Math.max(smallest, this.#psn.length)
    while (size <= depth && size < largest) size *= 2
    const available = this.#memory.bytesLeft + sharedBytes(this.#psn.length)
    while (sharedBytes(size) > available && size > smallest) size /= 2
    if (size <= this.#psn.length) return
    this.#memory.bytesLeft = available - sharedBytes(size)
    const old = { psn: this.#psn, packet: this.#packet, timeNs: this.#timeNs, flags: this.#flags }
    this.#psn = new Int32Array(size).fill(-1)
    this.#packet = new Float64Array(size)
    this.#timeNs = new Float64Array(size)
    this.#flags = new Uint8Array(size)
    for (const [from, psn] of old.psn.entries()) {
      if (psn < 0) continue
      const slot = psn & (size - 1)
      this.#psn[slot] = psn
      this.#packet[slot] = old.packet[from]!
      this.#timeNs[slot] = old.timeNs[from]!
      this.#flags[slot] = old.flags[from]!
    }
  }
}

/** Returns the shared memory that a ring of `slots` slots takes, in bytes. */
function sharedBytes(slots: number): number {
  return Math.max(0, slots - smallest) * slotBytes
}
