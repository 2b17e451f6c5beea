/** `Ready` messages of a peer, in the order of their arrival. */
import type { Memory } from './memory.ts'

const most = 16

/** Bytes of a `Ready` message: address, bytes of the transfer, bytes to write, key. */
export const readyBytes = 32

export function writeReady(
  { f64, i32 }: Memory,
  at: number,
  { addr, total, bytes, rkey }: { addr: number; total: number; bytes: number; rkey: number },
): void {
  f64[at / 8] = addr
  f64[at / 8 + 1] = total
  f64[at / 8 + 2] = bytes
  i32[at / 4 + 6] = rkey
}

export class Readies {
  count = 0
  #first = 0
  readonly #addr = new Float64Array(most)
  readonly #total = new Float64Array(most)
  readonly #bytes = new Float64Array(most)
  readonly #rkey = new Uint32Array(most)
  readonly #tag = new Uint32Array(most)

  /** Adds the message at `at`. Returns false if it is invalid, or there are too many. */
  add({ f64, i32 }: Memory, at: number, tag: number): boolean {
    if (this.count === most) return false
    const last = (this.#first + this.count++) % most
    this.#addr[last] = f64[at / 8]!
    this.#total[last] = f64[at / 8 + 1]!
    this.#bytes[last] = f64[at / 8 + 2]!
    this.#rkey[last] = i32[at / 4 + 6]!
    this.#tag[last] = tag
    return this.#bytes[last] <= this.#total[last]!
  }

  // The oldest message.

  get addr(): number {
    return this.#addr[this.#first]!
  }

  get rkey(): number {
    return this.#rkey[this.#first]!
  }

  /** Bytes of the transfer, and number of them that the peer wants to be written. */
  get total(): number {
    return this.#total[this.#first]!
  }

  get bytes(): number {
    return this.#bytes[this.#first]!
  }

  get tag(): number {
    return this.#tag[this.#first]!
  }

  shift(): void {
    this.#first = (this.#first + 1) % most
    this.count--
  }
}
