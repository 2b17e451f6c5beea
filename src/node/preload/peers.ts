/**
 * Results of earlier attempts of RDMA to an address: whether it has answered, and whether it is left alone now because it did not. Times
 * are milliseconds of one clock, and are passed as arguments.
 */

/** Times for which an address that does not answer is left alone: the first, doubled each time up to the maximum. */
const shortestSilenceMs = 2000
const longestSilenceMs = 30_000
/** Maximum number of remembered addresses; beyond it the least recently updated are forgotten. */
const limit = 1024

interface Peer {
  /** Time at which it answered last; undefined if it never has, or has not answered since. */
  answeredAt: number | undefined
  /** Time at which it was found silent, and until which it is left alone. */
  silentSince: number
  silentUntil: number
}

export class Peers {
  readonly #peers = new Map<string, Peer>()

  get size(): number {
    return this.#peers.size
  }

  /** Records a connection over RDMA to the address. */
  answered(address: string, now: number): void {
    this.#set(address, { answeredAt: now, silentSince: 0, silentUntil: 0 })
  }

  /** Records that an attempt that began at `startedAt` had no answer. */
  silent(address: string, startedAt: number, now: number): void {
    const before = this.#peers.get(address)
    // Attempts that began later had an answer, or have found the same.
    if (before !== undefined && (before.answeredAt ?? 0) > startedAt) return
    if (before !== undefined && before.silentSince > startedAt) return
    const last = before === undefined ? 0 : before.silentUntil - before.silentSince
    const silenceMs = Math.min(Math.max(2 * last, shortestSilenceMs), longestSilenceMs)
    this.#set(address, { answeredAt: undefined, silentSince: now, silentUntil: now + silenceMs })
  }

  /** True if it has answered, and gets more time. */
  hasAnswered(address: string): boolean {
    return this.#peers.get(address)?.answeredAt !== undefined
  }

  /** Returns the time since it was found silent, if it is left alone because of that; else undefined. */
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
