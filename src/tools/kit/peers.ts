/** Threads that are kept from one measurement to the next, so that their code stays compiled. */
import { Peer } from './peer.ts'

export class Peers {
  readonly #peers = new Map<string, Peer>()

  /** Returns the thread of this name, started with `data` if there is none or it has ended; `entry`: see `entryModule`. */
  get(name: string, entry: URL, data: unknown): Peer {
    let peer = this.#peers.get(name)
    if (!peer?.alive) {
      peer = new Peer(name, entry, data)
      this.#peers.set(name, peer)
    }
    return peer
  }

  async terminate(): Promise<void> {
    await Promise.all([...this.#peers.values()].map((peer) => peer.terminate()))
    this.#peers.clear()
  }
}
