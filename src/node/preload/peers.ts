/**
 * What earlier attempts say about RDMA to an address: whether it has answered, and whether it is left alone now because it did
 * not. Times are milliseconds of one clock, and arguments.
 */

/** An address that does not answer is left alone for so long at first, then twice as long each time. */
const shortestSilenceMs = 2000
const longestSilenceMs = 30_000
/** How many addresses are remembered; beyond that, those that were heard of longest ago are not. */
const limit = 1024

interface Peer {
  /** When it answered last; undefined if it never has, or has not answered since. */
  answeredAt: number | undefined
  /** When it was found silent, and until when it is left alone. */
  silentSince: number
  silentUntil: number
}

export class Peers {
  readonly #peers = new Map<string, Peer>()

  get size(): number {
    return this.#peers.size
  }

  /** Something from there connected. */
  answered(address: string, now: number): void {
    this.#set(address, { answeredAt: now, silentSince: 0, silentUntil: 0 })
  }

  /** An attempt that began at `startedAt` had no answer. */
  silent(address: string, startedAt: number, now: number): void {
    const before = this.#peers.get(address)
    // Others that began later had one, or have found the same.
    if (before !== undefined && (before.answeredAt ?? 0) > startedAt) return
    if (before !== undefined && before.silentSince > startedAt) return
    const last = before === undefined ? 0 : before.silentUntil - before.silentSince
    const silenceMs = Math.min(Math.max(2 * last, shortestSilenceMs), longestSilenceMs)
    this.#set(address, { answeredAt: undefined, silentSince: now, silentUntil: now + silenceMs })
  }

  /** Whether it has answered, and gets more time. */
  hasAnswered(address: string): boolean {
    return this.#peers.get(address)?.answeredAt !== undefined
  }

  /** How long ago it was found silent, if it is left alone because of that; else undefined. */
  leftAloneFor(address: string, now: number): number | undefined {
    const peer = this.#peers.get(address)
    return peer === undefined || now >= peer.silentUntil ? undefined : now - peer.silentSince
  }

  #set(address: string, peer: Peer): void {
    // Those that were set last are last in the map.
    this.#peers.delete(address)
    this.#peers.set(address, peer)
    if (this.#peers.size > limit) this.#peers.delete(this.#peers.keys().next().value!)
  }
}
