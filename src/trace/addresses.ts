/**
 * Maps each address of a capture to a small number through an open-addressing hash table in typed arrays, so that flows are identified by a
 * few integers. An address is IPv4, IPv6 (or a GID), or an InfiniBand LID.
 */
import { formatIp } from '../wire/index.ts'

const kindLid = 2

/** Limit of distinct addresses; addresses above it share the last number, so that a capture of garbage does not exhaust the memory. */
const most = 65_536

export class AddressTable {
  /** Table of five words for each address: its length in bytes (2 for a LID), then up to 16 bytes. */
  #words = new Int32Array(5 * 64)
  #slots = new Int32Array(256).fill(-1)
  /** Text of each address, by its number; formatted on the first request. */
  readonly #texts: string[] = []
  count = 0

  /** Returns the number of the address bytes[at, at + length); length is 2, 4 or 16. */
  intern(bytes: Uint8Array, at: number, length: number): number {
    let a = length
    let b = 0
    let c = 0
    let d = 0
    if (length === 4) b = word(bytes, at)
    else if (length === kindLid) b = (bytes[at]! << 8) | bytes[at + 1]!
    else {
      b = word(bytes, at)
      c = word(bytes, at + 4)
      d = word(bytes, at + 8)
      a = word(bytes, at + 12)
    }
    return this.#find(length, b, c, d, length === 16 ? a : 0)
  }

  #find(length: number, b: number, c: number, d: number, last: number): number {
    const mask = this.#slots.length - 1
    let slot = hash(b, c, d, last ^ length) & mask
    for (;;) {
      const found = this.#slots[slot]!
      if (found < 0) return this.#add(slot, length, b, c, d, last)
      const w = this.#words
      const i = found * 5
      if (w[i] === length && w[i + 1] === b && w[i + 2] === c && w[i + 3] === d && w[i + 4] === last) return found
      slot = (slot + 1) & mask
    }
  }

  /** Copies the four words of an address to out[at]; returns its length in bytes, of which 4 and 2 are in the first word. */
  copy(id: number, out: Int32Array, at: number): number {
    if (id >= most - 1) {
      out.fill(0, at, at + 4)
      return 0
    }
    const w = this.#words
    const i = id * 5
    out[at] = w[i + 1]!
    out[at + 1] = w[i + 2]!
    out[at + 2] = w[i + 3]!
    out[at + 3] = w[i + 4]!
    return w[i]!
  }

  /** Interns an address of another table. */
  adopt(other: AddressTable, id: number): number {
    if (id >= most - 1) return id
    const [length, b, c, d, last] = other.#words.subarray(id * 5, id * 5 + 5)
    return this.#find(length!, b!, c!, d!, last!)
  }

  text(id: number): string {
    if (id >= most - 1) return 'other addresses'
    this.#texts[id] ??= this.#format(id)
    return this.#texts[id]
  }

  #format(id: number): string {
    const i = id * 5
    const length = this.#words[i]!
    if (length === kindLid) return `LID ${this.#words[i + 1]}`
    const bytes = new Uint8Array(length)
    for (let at = 0; at < length; at++) bytes[at] = this.#words[i + 1 + (at >> 2)]! >>> (24 - 8 * (at & 3))
    return formatIp(bytes)
  }

  #add(slot: number, length: number, b: number, c: number, d: number, last: number): number {
    if (this.count >= most - 1) return most - 1
    const id = this.count++
    if (this.#words.length < this.count * 5) {
      const grown = new Int32Array(this.#words.length * 2)
      grown.set(this.#words)
      this.#words = grown
    }
    this.#words.set([length, b, c, d, last], id * 5)
    this.#slots[slot] = id
    if (this.count * 2 > this.#slots.length) this.#rehash()
    return id
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1)
    const mask = slots.length - 1
    for (let id = 0; id < this.count; id++) {
      const [length, b, c, d, last] = this.#words.subarray(id * 5, id * 5 + 5)
      let slot = hash(b!, c!, d!, last! ^ length!) & mask
      while (slots[slot]! >= 0) slot = (slot + 1) & mask
      slots[slot] = id
    }
    this.#slots = slots
  }
}

function word(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
}

/** Returns a mix of four words that is good enough that consecutive addresses do not collide. */
export function hash(a: number, b: number, c: number, d: number): number {
  let h = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b)
  h = Math.imul((h ^ (h >>> 15)) + b, 0xc2b2ae35)
  h = Math.imul((h ^ (h >>> 13)) + c, 0x27d4eb2f)
  h = Math.imul((h ^ (h >>> 16)) + d, 0x165667b1)
  return h ^ (h >>> 15)
}
