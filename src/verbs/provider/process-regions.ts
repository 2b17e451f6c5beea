/**
 * Memory regions whose bytes lie in another process. In the table of keys such a region is one like all others, and so are the windows
 * bound to it, except for the address: that of byte 0 of the other process is −2^52, so that it is negative wherever the region begins.
 * `Host.resolve` makes the same checks of it as of other regions, and its result then is negative, as for a failed check: code without
 * support for other processes rejects the access. Code with support calls `ProcessRegions`.
 *
 * The kernel lets a process reach the memory of another only if it is an ancestor (Yama), so only the thread that registered the region
 * touches its bytes.
 */
import type { Host } from './host.ts'
import { Key, keyKind } from './layout.ts'

/** User space ends below 2^47, with the largest page tables below 2^57, of which Linux hands out nothing unasked. */
const base = 2 ** 52

/** Returns the table's form of an address of another process; negative, and never −1. */
export function inProcess(address: number): number {
  return address - base
}

/** The address in its process that such a number means. */
export function processAddress(at: number): number {
  return at + base
}

/** Result of `resolve` for a failed check: not a range. */
const forbidden = -1

export class ProcessRegions {
  readonly #host: Host
  /** The number that the device has given to the process of the range that was resolved last (`Device.reachProcess`). */
  process = 0

  constructor(host: Host) {
    this.#host = host
  }

  /**
   * Resolves a range for which `Host.resolve` returned a negative value: returns its address, in the form of `inProcess`, and sets
   * `process` to its process; −1 if it is forbidden after all, or this thread may not touch it.
   */
  resolve(key: number, pd: number, addr: number, length: number, access: number, qp: number): number {
    const host = this.#host
    const { i32, segment } = host
    for (;;) {
      const epoch = Atomics.load(i32, segment.epochWord)
      const at = host.resolve(key, pd, addr, length, access, qp)
      if (at === forbidden) return forbidden
      this.process = at < 0 ? this.#processOf(key) : 0
      segment.fence()
      // A window may have been bound to another region meanwhile: that bumps the epoch.
      if (Atomics.load(i32, segment.epochWord) === epoch) return this.process < 0 ? forbidden : at
    }
  }

  /** Returns the process of the region or window with this key, −1 if this thread may not touch it. */
  #processOf(key: number): number {
    const { i32, at, segment } = this.#host
    let entry = this.#host.findKey(key)
    if (entry >= 0 && i32[entry + Key.kind] !== keyKind.region) {
      const region = i32[entry + Key.region]!
      const bound = at.keys + region * Key.words
      entry = region >= 0 && i32[bound + Key.key] === i32[entry + Key.regionKey] ? bound : -1
    }
    if (entry < 0) return forbidden
    return i32[entry + Key.owner] === segment.me ? i32[entry + Key.process]! : forbidden
  }
}
