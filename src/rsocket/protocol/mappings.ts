/** Buffers that a program has mapped for its peer with `riomap`, and the entries of the peer's target iomap that describe them. */
import type { MemoryRegion, ProtectionDomain } from '../../verbs/index.ts'
import { Access } from '../../verbs/provider/index.ts'
import type { Mapped } from './mapped.ts'

interface Mapping {
  buffer: Uint8Array
  region: MemoryRegion
  offset: number
  /** Index of the peer's entry; −1 for memory that is mapped for this end alone. */
  index: number
  /** Update that the peer has not received yet. */
  pending: 'map' | 'unmap' | null
}

export class Mappings {
  readonly #pd: ProtectionDomain
  #all: Mapping[] = []
  /** Entries in which the peer has a mapping, possibly of a buffer that is no longer mapped. */
  readonly #known = new Set<number>()

  constructor(pd: ProtectionDomain) {
    this.#pd = pd
  }

  /** True if an update for the peer is pending. */
  get pending(): boolean {
    return this.#all.some(({ pending }) => pending !== null)
  }

  /** Maps a buffer and returns its offset; undefined if all entries are in use. */
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
    // An entry is free even if the peer does not know it yet: its next update overwrites it.
    if (write) this.#all = this.#all.filter((one) => one.index !== index)
    this.#all.push({ buffer, region, offset: at, index, pending: write ? 'map' : null })
    return at
  }

  /** Unmaps `buffer`; returns false if it is not mapped. After the return the peer can no longer write to it. */
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
    // Even if the peer does not know this mapping, its entry may still describe the previous one.
    if (this.#known.has(one.index)) one.pending = 'unmap'
    else this.#all = this.#all.filter((other) => other !== one)
    return true
  }

  /** Sends the pending updates to the peer; returns false if some could not be sent yet. */
  sendPending(mapped: Mapped): boolean {
    for (const one of this.#all) {
      if (one.pending === null) continue
      const { region, offset, buffer, index } = one
      const length = one.pending === 'map' ? buffer.length : 0
      if (!mapped.sendEntry(index, offset, length > 0 ? region.addr : 0, length > 0 ? region.rkey : 0, length))
        return false
      if (length === 0) {
        this.#known.delete(index)
        this.#all = this.#all.filter((other) => other !== one)
      } else this.#known.add(index)
      one.pending = null
    }
    return true
  }

  close(): void {
    for (const { region } of this.#all) if (!region.closed) region.close()
    this.#all = []
  }
}
