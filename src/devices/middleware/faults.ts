/**
 * Seeded faults. A packet meets them in this order: lost, doubled, damaged, late, overtaken. Each direction has random
 * numbers of its own, so that what is sent does not change what happens to what comes.
 */
import { seeded } from '../../stats/index.ts'
import type { FaultRates } from '../../verbs/provider/index.ts'
import type { Layer, Next, Packet } from './packet.ts'

/** Names of the counters of a device. */
export type FaultCounter =
  | 'injected_losses'
  | 'injected_duplicates'
  | 'injected_corruptions'
  | 'injected_delays'
  | 'injected_reorderings'

interface Held {
  dueNs: number
  order: number
  packet: Packet
  next: Next
  /** Flag: released after the next packet of its direction has passed. */
  overtaken: boolean
}

/** Maximum number of packets held back; beyond it the oldest is released. */
const mostHeld = 65_536

export class FaultLayer implements Layer {
  readonly #rates: FaultRates
  readonly #count: (name: FaultCounter) => void
  readonly #random: readonly [inbound: () => number, outbound: () => number]
  #held: Held[] = []
  #order = 0
  #next = Number.POSITIVE_INFINITY

  /** Constructs a layer; `salt` keeps two devices with the same seed from losing the same packets. */
  constructor(rates: FaultRates, salt: number, count: (name: FaultCounter) => void) {
    this.#rates = rates
    this.#count = count
    const seed = Math.imul(rates.seed ?? 1, 0x9e3779b1) ^ salt
    this.#random = [seeded(seed), seeded(seed ^ 0x55555555)]
  }

  get nextDeadlineNs(): number {
    return this.#next
  }

  pass(packet: Packet, next: Next): void {
    const { loss, duplication, direction } = this.#rates
    if (direction === (packet.outbound ? 'in' : 'out')) {
      next(packet)
      return
    }
    const random = this.#random[packet.outbound ? 1 : 0]
    if (happens(loss, random)) {
      this.#count('injected_losses')
      return
    }
    const twice = happens(duplication, random)
    if (twice) this.#count('injected_duplicates')
    for (let copies = twice ? 2 : 1; copies > 0; copies--) this.#carry(packet, next, random)
  }

  #carry(original: Packet, next: Next, random: () => number): void {
    const { corruption, reordering, reorderMs = 2, delayMs = 0, jitterMs = 0 } = this.#rates
    let packet = original
    if (happens(corruption, random)) {
      this.#count('injected_corruptions')
      packet = packet.copy()
      damage(packet, random)
    }
    const late = (delayMs + jitterMs * (jitterMs > 0 ? random() : 0)) * 1e6
    const overtaken = happens(reordering, random)
    if (late > 0) this.#count('injected_delays')
    if (overtaken) this.#count('injected_reorderings')
    if (late === 0 && !overtaken) {
      next(packet)
      this.#release(packet)
      return
    }
    const kept = packet === original ? packet.copy() : packet
    const dueNs = packet.timeNs + late + (overtaken ? reorderMs * 1e6 : 0)
    this.#held.push({ dueNs, order: this.#order++, packet: kept, next, overtaken: overtaken && late === 0 })
    if (dueNs < this.#next) this.#next = dueNs
    if (this.#held.length > mostHeld) this.advance(this.#next)
  }

  /** Releases the packets that were held until another packet overtakes them: one has just passed. */
  #release({ outbound, timeNs }: Packet): void {
    if (this.#held.length === 0) return
    this.#letGo(
      this.#held.filter((held) => held.overtaken && held.packet.outbound === outbound),
      timeNs,
    )
  }

  advance(nowNs: number): void {
    if (nowNs < this.#next) return
    const due = this.#held.filter((held) => held.dueNs <= nowNs)
    this.#letGo(
      due.sort((a, b) => a.dueNs - b.dueNs || a.order - b.order),
      nowNs,
    )
  }

  #letGo(going: readonly Held[], timeNs: number): void {
    if (going.length === 0) return
    const gone = new Set(going)
    this.#held = this.#held.filter((held) => !gone.has(held))
    this.#next = this.#held.reduce((next, { dueNs }) => Math.min(next, dueNs), Number.POSITIVE_INFINITY)
    for (const { packet, next } of going) {
      packet.timeNs = timeNs
      next(packet)
    }
  }

  flush(): void {}

  /** Drops the packets that are held: they are never sent. */
  close(): void {
    this.#held = []
    this.#next = Number.POSITIVE_INFINITY
  }
}

function happens(probability: number | undefined, random: () => number): boolean {
  return probability !== undefined && probability > 0 && random() < probability
}

/** Flips one bit of what the ICRC covers, or of the ICRC: byte 4 of the BTH, which routers may change, is left out. */
function damage({ bytes, start, end }: Packet, random: () => number): void {
  const bit = Math.floor(random() * (end - start - 1) * 8)
  const byte = bit >> 3
  const at = start + byte + (byte >= 4 ? 1 : 0)
  bytes[at] = bytes[at]! ^ (1 << (bit & 7))
}
