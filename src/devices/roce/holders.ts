/**
 * The processes that have descriptors of the sockets of a shared device, in its segment: where each listens for others that ask for
 * them. A process is there by its service thread, which gives them out and drives the device for all while programs do not.
 */
import type { Host } from '../../verbs/provider/index.ts'
import { RoceDev } from './layout.ts'
import { maxSlots, Slot } from './socket-table.ts'

/** The service thread's use of an attachment, 0 while the entry is free; and where it listens, 128 random bits. */
const Holder = { words: 8, use: 0, key: 4 } as const
const maxHolders = 256

/** Addresses that a device has at most; each has a socket, and so has each group. */
export const maxAddresses = 128
/** Where the addresses are (address-table.ts), in words behind the first of the table of sockets: behind the holders. */
export const addressesAt: number = maxSlots * Slot.words + maxHolders * Holder.words

/** Bytes of a device's table of sockets, with the holders and addresses behind them. */
export const tableBytes: number = (addressesAt + (maxAddresses + 1) * 16) * 4

export class Holders {
  readonly #host: Host
  readonly #at: number

  constructor(host: Host, index: number) {
    this.#host = host
    this.#at = host.i32[host.deviceWord(index) + RoceDev.sockets]! + maxSlots * Slot.words
  }

  /** First words of all entries. */
  *#entries(): Generator<number> {
    for (let n = 0; n < maxHolders; n++) yield this.#at + n * Holder.words
  }

  /** Those of living holders. */
  *#taken(): Generator<number> {
    const { i32, segment } = this.#host
    for (const word of this.#entries()) {
      const use = Atomics.load(i32, word + Holder.use)
      if (use !== 0 && segment.usesAttachment(use)) yield word
    }
  }

  /** Enters this thread, and where it listens (16 bytes); false if there are too many. */
  enter(key: Uint8Array): boolean {
    const { i32, segment } = this.#host
    return this.#host.control(() => {
      for (const word of this.#entries()) {
        const use = i32[word + Holder.use]!
        if (use !== 0 && segment.usesAttachment(use)) continue
        new Uint8Array(i32.buffer, (word + Holder.key) * 4, 16).set(key)
        Atomics.store(i32, word + Holder.use, segment.lockValue)
        return true
      }
      return false
    })
  }

  /** This thread is no holder any more. */
  leave(): void {
    const { i32, segment } = this.#host
    for (const word of this.#entries()) Atomics.compareExchange(i32, word + Holder.use, segment.lockValue, 0)
  }

  /** Where the service threads of other processes listen. */
  *others(): Generator<Uint8Array> {
    const { i32, segment } = this.#host
    for (const word of this.#taken())
      if (!segment.isOwn(i32[word + Holder.use]!)) yield new Uint8Array(i32.buffer, (word + Holder.key) * 4, 16).slice()
  }

  /** Wakes the service threads of all processes: something of the device has changed, or nobody drives it. */
  wake(): void {
    const { i32, segment } = this.#host
    for (const word of this.#taken())
      if (i32[word + Holder.use] !== segment.lockValue) segment.wakeOwner(word + Holder.use)
  }
}

/** The abstract name at which a holder listens. */
export function keyText(key: Uint8Array): string {
  return `verbena ${Buffer.from(key).toString('hex')}`
}
