/**
 * The processes that have descriptors of the sockets of a shared device, in its segment: the address at which each listens for processes
 * that request them. A process is entered by its service thread, which gives out the descriptors and drives the device for all while
 * programs do not.
 */
import type { Host } from '../../verbs/provider/index.ts'
import { RoceDev } from './layout.ts'
import { maxSlots, Slot } from './socket-table.ts'

/**
 * Words of an entry: the service thread's use of an attachment, 0 while the entry is free; and the address at which it listens, 128
 * random bits.
 */
const Holder = { words: 8, use: 0, key: 4 } as const
const maxHolders = 256

/** Maximum number of addresses of a device; each has a socket, and so has each group. */
export const maxAddresses = 128
/** Offset of the addresses (address-table.ts), in words from the beginning of the table of sockets: after the holders. */
export const addressesAt: number = maxSlots * Slot.words + maxHolders * Holder.words

/** Bytes of a device's table of sockets, with the holders and addresses after it. */
export const tableBytes: number = (addressesAt + (maxAddresses + 1) * 16) * 4

export class Holders {
  readonly #host: Host
  readonly #at: number

  constructor(host: Host, index: number) {
    this.#host = host
    this.#at = host.i32[host.deviceWord(index) + RoceDev.sockets]! + maxSlots * Slot.words
  }

  /** Yields the first words of all entries. */
  *#entries(): Generator<number> {
    for (let n = 0; n < maxHolders; n++) yield this.#at + n * Holder.words
  }

  /** Yields the first words of the entries of living holders. */
  *#taken(): Generator<number> {
    const { i32, segment } = this.#host
    for (const word of this.#entries()) {
      const use = Atomics.load(i32, word + Holder.use)
      if (use !== 0 && segment.usesAttachment(use)) yield word
    }
  }

  /** Enters this thread, and the address at which it listens (16 bytes); false if there are too many entries. */
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

  /** Removes this thread from the holders. */
  leave(): void {
    const { i32, segment } = this.#host
    for (const word of this.#entries()) Atomics.compareExchange(i32, word + Holder.use, segment.lockValue, 0)
  }

  /** Yields the addresses at which the service threads of other processes listen. */
  *others(): Generator<Uint8Array> {
    const { i32, segment } = this.#host
    for (const word of this.#taken())
      if (!segment.isOwn(i32[word + Holder.use]!)) yield new Uint8Array(i32.buffer, (word + Holder.key) * 4, 16).slice()
  }

  /** Wakes the service threads of all processes: the device has changed, or no thread drives it. */
  wake(): void {
    const { i32, segment } = this.#host
    for (const word of this.#taken())
      if (i32[word + Holder.use] !== segment.lockValue) segment.wakeOwner(word + Holder.use)
  }
}

/** Returns the abstract name at which a holder listens. */
export function keyText(key: Uint8Array): string {
  return `verbena ${Buffer.from(key).toString('hex')}`
}
