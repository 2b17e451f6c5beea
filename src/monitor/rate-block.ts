/**
 * Bytes to hosts and QPs on their way to the sketch of rates. Packets of one key in one bin are one update, which is several times as
 * fast; the sketch wants bins in their order, so all keys of a bin go before the next one begins.
 */
import type { WaveSketch } from '../sketch/index.ts'
import { isHostRate, rateKey, rateKeyBytes } from './key.ts'

/** Keys that are summed at once, a power of two; one whose place is taken goes to the sketch as it comes. */
const places = 512

/**
 * What goes to a QP in a bin is left out if it is less: no burst, and with many QPs the sketch would be all that there is time for. Bounds of
 * curves of QPs say so (bursts.ts). Hosts have all of it.
 */
export const leastQpBytes = 1024

/** Where the keys of a flow are, as long as `epoch` is that of the block. */
export class RatePlace {
  epoch = -1
  qp = 0
  host = 0
}

export class RateBlock {
  readonly #packed = new Uint8Array(places * rateKeyBytes)
  readonly #bytes = new Uint32Array(places)
  readonly #times = new Float64Array(places)
  /** By hash: the number of a key + 1. */
  readonly #index = new Uint16Array(places)
  readonly #taken = new Uint16Array(places)
  readonly #key = new Uint8Array(rateKeyBytes)
  #count = 0
  #bin = -1
  #epoch = 0
  /** Of packets without a flow: used once. */
  readonly #loose = new RatePlace()

  /**
   * Adds the bytes of a packet with this key, for the host that it goes to and for its QP. `ns` is the time in the window, `place` that of
   * the packet's flow.
   */
  add(words: Int32Array, bytes: number, ns: number, sketch: WaveSketch, place: RatePlace = this.#loose): void {
    const { windowNs } = sketch.config
    const bin = Math.floor(ns / windowNs)
    if (bin !== this.#bin || this.#count > places - 2) {
      this.flush(sketch)
      this.#bin = bin
    }
    if (place.epoch !== this.#epoch) {
      rateKey(words, true, this.#key)
      place.qp = this.#find(bin * windowNs)
      rateKey(words, false, this.#key)
      place.host = this.#find(bin * windowNs)
      place.epoch = place === this.#loose ? -1 : this.#epoch
    }
    this.#bytes[place.qp]! += bytes
    this.#bytes[place.host]! += bytes
  }

  /** The number of the key in this bin; a new one has no bytes yet. */
  #find(ns: number): number {
    const key = this.#key
    let hash = 0
    for (let i = 0; i < rateKeyBytes; i++) hash = Math.imul(hash ^ key[i]!, 0x01000193)
    const place = (hash ^ (hash >>> 15)) & (places - 1)
    const known = this.#index[place]! - 1
    if (known >= 0 && this.#has(known)) return known
    const at = this.#count++
    this.#packed.set(key, at * rateKeyBytes)
    this.#bytes[at] = 0
    this.#times[at] = ns
    this.#taken[at] = place
    if (known < 0) this.#index[place] = at + 1
    return at
  }

  #has(at: number): boolean {
    const from = at * rateKeyBytes
    for (let i = 0; i < rateKeyBytes; i++) if (this.#packed[from + i] !== this.#key[i]) return false
    return true
  }

  flush(sketch: WaveSketch): void {
    const count = this.#count
    this.#epoch++
    if (count === 0) return
    let kept = 0
    for (let i = 0; i < count; i++) {
      const from = i * rateKeyBytes
      if (!isHostRate(this.#packed, from) && this.#bytes[i]! < leastQpBytes) continue
      this.#packed.copyWithin(kept * rateKeyBytes, from, from + rateKeyBytes)
      this.#bytes[kept] = this.#bytes[i]!
      this.#times[kept++] = this.#times[i]!
    }
    sketch.updateMany(
      this.#packed.subarray(0, kept * rateKeyBytes),
      this.#bytes.subarray(0, kept),
      this.#times.subarray(0, kept),
    )
    for (let i = 0; i < count; i++) this.#index[this.#taken[i]!] = 0
    this.#count = 0
  }
}
