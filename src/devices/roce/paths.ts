/**
 * Paths to peers and from them, as this thread remembers them: for sending, the socket, the destination and the ICRC's view of the
 * headers; for receiving, that view alone. A path is found by the words of an address, without allocation.
 */
import { type IcrcFlow, ipOfGid } from '../../wire/index.ts'
import type { PacketSocket } from './packet-socket.ts'

const slots = 1024
/** Maximum number of paths that are remembered; beyond it all are forgotten, so that unknown peers cannot make the memory grow. */
const most = 4096

export interface Path {
  readonly words: Int32Array
  /** Index of the GID on this side. */
  readonly local: number
  /** Port of the sender. */
  readonly port: number
  readonly flow: IcrcFlow
  /** Index of the destination at the socket; −1 for a path that is only received from. */
  readonly destination: number
  readonly socket: PacketSocket | null
  /** Index of the GID of the same adapter that the path leads to; −1 for a path to another adapter. */
  readonly inside: number
  next: Path | null
}

/** Returns the address of a multicast group on a network of IPv4 or IPv6: its GID, or 239.x.y.z from the last bytes of an IPv6 one. */
export function groupAddress(gid: Uint8Array, family: 4 | 6): Uint8Array {
  const address = ipOfGid(gid)
  if (family === 6 || address.length === 4) return address
  return Uint8Array.of(239, gid[13]!, gid[14]!, gid[15]!)
}

export class Paths {
  #table: (Path | null)[] = new Array(slots).fill(null)
  #count = 0

  /** Returns the path between the GID `local` of this side and the address whose four words begin at `words[at]`, or null. */
  find(words: Int32Array | Uint32Array, at: number, local: number, port: number): Path | null {
    const a = words[at]! | 0
    const b = words[at + 1]! | 0
    const c = words[at + 2]! | 0
    const d = words[at + 3]! | 0
    for (let path = this.#table[slot(c, d, local, port)] ?? null; path !== null; path = path.next) {
      const w = path.words
      if (w[3] === d && w[2] === c && w[1] === b && w[0] === a && path.local === local && path.port === port)
        return path
    }
    return null
  }

  /** True if the next path makes room by forgetting all. */
  get full(): boolean {
    return this.#count >= most
  }

  add(
    words: Int32Array | Uint32Array,
    at: number,
    local: number,
    port: number,
    flow: IcrcFlow,
    socket: PacketSocket | null,
    destination: number,
    inside: number,
  ): Path {
    if (this.full) this.clear()
    this.#count++
    const copy = Int32Array.from({ length: 4 }, (_, i) => words[at + i]! | 0)
    const place = slot(copy[2]!, copy[3]!, local, port)
    const next = this.#table[place] ?? null
    const path: Path = { words: copy, local, port, flow, destination, socket, inside, next }
    this.#table[place] = path
    return path
  }

  clear(): void {
    this.#table = new Array(slots).fill(null)
    this.#count = 0
  }
}

function slot(c: number, d: number, local: number, port: number): number {
  let hash = Math.imul(d ^ (c << 7) ^ (port << 3) ^ local, 0x9e3779b1)
  hash ^= hash >>> 15
  return hash & (slots - 1)
}
