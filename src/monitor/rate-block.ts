/**
 * Bytes to hosts and QPs on their way to the sketch of rates. Packets of one key in one bin are one update, which is several times as fast.
 * Bins ascend; bytes for an earlier one go to the sketch at once.
 *
 * Keys are identified by their two hashes, which a flow keeps: the sketch uses nothing else of them.
 */
import type { WaveSketch } from '../sketch/index.ts'
import { rateKey, rateKeyBytes } from './key.ts'

/** Number of keys that are summed at once, a power of two. */
const places = 2048

/**
 * Minimum bytes to a QP in a bin; fewer are left out: they are no burst, and with many QPs there would be no time for anything but the
 * sketch. The bounds of curves of QPs include this (bursts.ts). Hosts have all bytes.
 */
export const leastQpBytes = 1024
const mostBytes = 0xffffffff

/** Hashes of the keys of a flow: its QP, then its host. */
export class RateKeys {
  readonly hashes: Int32Array = new Int32Array(4)
  isKnown = false

  /** Computes the hashes of packets with this key. */
  learn(words: Int32Array, sketch: WaveSketch, scratch: Uint8Array): void {
    rateKey(words, true, scratch)
    sketch.hash(scratch, this.hashes, 0)
    rateKey(words, false, scratch)
    sketch.hash(scratch, this.hashes, 2)
    this.isKnown = true
  }
}

export class RateBlock {
  /** Hashes of the key in each slot; its bytes, and the epoch of the bin that they belong to. */
  readonly #hashes = new Int32Array(2 * places)
  readonly #bytes = new Uint32Array(places)
  readonly #epochs = new Float64Array(places)
  readonly #isHost = new Uint8Array(places)
  /** Slots that have bytes of the current bin. */
  readonly #taken = new Uint16Array(places)
  #count = 0
  #epoch = 1
  #bin = -1
  /** Hashes and bytes on their way to the sketch. */
  readonly #sentHashes = new Int32Array(2 * places)
  readonly #sentBytes = new Uint32Array(places)
  readonly #key = new Uint8Array(rateKeyBytes)
  /** Hashes for packets without a flow. */
  readonly #loose = new RateKeys()

  /**
   * Adds the bytes of a packet with this key, for the host that it goes to and for its QP. `ns` is the time in the window, `keys` those of
   * the packet's flow. Sketches have one seed.
   */
  add(words: Int32Array, bytes: number, ns: number, sketch: WaveSketch, keys: RateKeys = this.#loose): void {
    const { windowNs } = sketch.config
    const bin = Math.floor(ns / windowNs)
    if (!keys.isKnown || keys === this.#loose) keys.learn(words, sketch, this.#key)
    if (bin > this.#bin) {
      this.#send(sketch)
      this.#bin = bin
    }
    const { hashes } = keys
    if (bin < this.#bin) {
      for (let i = 0; i < 4; i += 2) this.#sendOne(hashes[i]!, hashes[i + 1]!, bytes, bin, sketch)
      return
    }
    this.#add(hashes[0]!, hashes[1]!, bytes, 0, sketch)
    this.#add(hashes[2]!, hashes[3]!, bytes, 1, sketch)
  }

  #add(h1: number, h2: number, bytes: number, isHost: number, sketch: WaveSketch): void {
    let at = h1 & (places - 1)
    if (this.#epochs[at] === this.#epoch && !this.#has(at, h1, h2)) at ^= 1
    if (this.#epochs[at] === this.#epoch) {
      if (this.#has(at, h1, h2) && this.#bytes[at]! + bytes <= mostBytes) {
        this.#bytes[at]! += bytes
        return
      }
      // Both slots are taken by other keys: the key that is replaced goes to the sketch before its bin ends, with all its bytes.
      this.#sendOne(this.#hashes[2 * at]!, this.#hashes[2 * at + 1]!, this.#bytes[at]!, this.#bin, sketch)
    } else {
      this.#epochs[at] = this.#epoch
      this.#taken[this.#count++] = at
    }
    this.#hashes[2 * at] = h1
    this.#hashes[2 * at + 1] = h2
    this.#bytes[at] = bytes
    this.#isHost[at] = isHost
  }

  #has(at: number, h1: number, h2: number): boolean {
    return this.#hashes[2 * at] === h1 && this.#hashes[2 * at + 1] === h2
  }

  #sendOne(h1: number, h2: number, bytes: number, bin: number, sketch: WaveSketch): void {
    this.#sentHashes[0] = h1
    this.#sentHashes[1] = h2
    this.#sentBytes[0] = bytes
    sketch.updateHashed(this.#sentHashes, this.#sentBytes, 1, bin * sketch.config.windowNs)
  }

  /** Sends the amounts of the current bin that are large enough to the sketch. */
  #send(sketch: WaveSketch): void {
    let kept = 0
    for (let i = 0; i < this.#count; i++) {
      const at = this.#taken[i]!
      if (this.#isHost[at] === 0 && this.#bytes[at]! < leastQpBytes) continue
      this.#sentHashes[2 * kept] = this.#hashes[2 * at]!
      this.#sentHashes[2 * kept + 1] = this.#hashes[2 * at + 1]!
      this.#sentBytes[kept++] = this.#bytes[at]!
    }
    if (kept > 0) sketch.updateHashed(this.#sentHashes, this.#sentBytes, kept, this.#bin * sketch.config.windowNs)
    this.#count = 0
    this.#epoch++
  }

  /** Ends the last bin of a window. */
  end(sketch: WaveSketch): void {
    this.#send(sketch)
    this.#bin = -1
  }
}
