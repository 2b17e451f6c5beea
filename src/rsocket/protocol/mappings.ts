/** What a program has mapped for its peer with `riomap`, and the entries of the peer's target iomap that say so. */
import type { MemoryRegion, ProtectionDomain } from '../../verbs/index.ts'
import { Access } from '../../verbs/provider/index.ts'
import type { Mapped } from './mapped.ts'

interface Mapping {
  buffer: Uint8Array
  region: MemoryRegion
  offset: number
  /** The peer's entry; −1 for memory that is mapped for this end alone. */
  index: number
  /** The update that the peer has not got yet. */
  pending: 'map' | 'unmap' | null
}

export class Mappings {
  readonly #pd: ProtectionDomain
  #all: Mapping[] = []
  /** Entries in which the peer has a mapping, perhaps one of a buffer that is no longer mapped. */
  readonly #told = new Set<number>()

  constructor(pd: ProtectionDomain) {
    this.#pd = pd
  }

  /** Whether an update for the peer is pending. */
  get pending(): boolean {
    return this.#all.some(({ pending }) => pending !== null)
  }

  /** The offset; undefined if all entries are in use. */
  map(buffer: Uint8Array, write: boolean, offset: number, mapped: Mapped): number | undefined {
    let index = -1
    if (write) {
      do index++
      while (this.#all.some((one) => one.index === index && one.pending !== 'unmap'))
      if (index >= mapped.peerEntries) return undefined
    }
    const access = write ? Access.LocalWrite | Access.RemoteWrite : Access.LocalWrite
    const region = this.#pd.regMr(buffer, access)
    const at = offset === -1 ? region.addr : offset
    // An entry that the peer does not know to be free is free all the same: what it gets to know overwrites it.
    if (write) this.#all = this.#all.filter((one) => one.index !== index)
    this.#all.push({ buffer, region, offset: at, index, pending: write ? 'map' : null })
    return at
  }

  /** False if `buffer` is not mapped. The peer can write no more when this returns. */
  unmap(buffer: Uint8Array): boolean {
    const one = this.#all.find(
      (other) =>
        !other.region.closed &&
        other.buffer.byteOffset === buffer.byteOffset &&
        other.buffer.length === buffer.length &&
        other.buffer.buffer === buffer.buffer,
    )
    if (one === undefined) return false
    one.region.close()
    // Even if the peer does not know of this one, its entry may still name the one before.
    if (this.#told.has(one.index)) one.pending = 'unmap'
    else this.#all = this.#all.filter((other) => other !== one)
    return true
  }

  /** Tells the peer what it does not know; false if not all could be said yet. */
  tell(mapped: Mapped): boolean {
    for (const one of this.#all) {
      if (one.pending === null) continue
      const { region, offset, buffer, index } = one
      const length = one.pending === 'map' ? buffer.length : 0
      if (!mapped.tell(index, offset, length > 0 ? region.addr : 0, length > 0 ? region.rkey : 0, length)) return false
      if (length === 0) {
        this.#told.delete(index)
        this.#all = this.#all.filter((other) => other !== one)
      } else this.#told.add(index)
      one.pending = null
    }
    return true
  }

  close(): void {
    for (const { region } of this.#all) if (!region.closed) region.close()
    this.#all = []
  }
}
