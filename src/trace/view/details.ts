/**
 * Details of the verdicts that consist of more than marks: the packet that is referred to, the PSNs that are acknowledged, the latency. 36
 * bytes for each of these packets (in most captures every second packet or fewer), found by bisection.
 */
import { Mark, type Verdict } from '../index.ts'

const chunkBits = 14
const chunkSize = 1 << chunkBits
const chunkMask = chunkSize - 1
const words = 7

class Chunk {
  /** Packet from 0, refersTo, coverFrom, coverTo, coverPackets, coverMessages, missing. */
  readonly words = new Uint32Array(chunkSize * words)
  readonly latency = new Float64Array(chunkSize)
}

export class Details {
  readonly #chunks: Chunk[] = []
  #count = 0

  get bytes(): number {
    return this.#chunks.length * chunkSize * (4 * words + 8)
  }

  /** Adds the details of a packet; packets come in their order, from 0. */
  add(packet: number, v: Verdict): void {
    const covers = (v.marks & Mark.Covers) !== 0
    if (!covers && v.refersTo === 0 && v.missing === 0 && v.latencyNs < 0) return
    const slot = this.#count & chunkMask
    if (slot === 0) this.#chunks.push(new Chunk())
    const chunk = this.#chunks[this.#count >> chunkBits]!
    this.#count++
    const at = slot * words
    chunk.words[at] = packet
    chunk.words[at + 1] = v.refersTo
    chunk.words[at + 2] = v.coverFrom
    chunk.words[at + 3] = v.coverTo
    chunk.words[at + 4] = v.coverPackets
    chunk.words[at + 5] = v.coverMessages
    chunk.words[at + 6] = v.missing
    chunk.latency[slot] = v.latencyNs
  }

  /** Fills in the details of a packet; `v` has been reset. */
  fill(packet: number, v: Verdict): void {
    const found = this.#find(packet)
    if (found < 0) return
    const chunk = this.#chunks[found >> chunkBits]!
    const at = (found & chunkMask) * words
    v.refersTo = chunk.words[at + 1]!
    v.coverFrom = chunk.words[at + 2]!
    v.coverTo = chunk.words[at + 3]!
    v.coverPackets = chunk.words[at + 4]!
    v.coverMessages = chunk.words[at + 5]!
    v.missing = chunk.words[at + 6]!
    v.latencyNs = chunk.latency[found & chunkMask]!
  }

  /** Returns the latency that the packet ended, in nanoseconds; -1 if it ended none. */
  latencyNs(packet: number): number {
    const found = this.#find(packet)
    return found < 0 ? -1 : this.#chunks[found >> chunkBits]!.latency[found & chunkMask]!
  }

  #find(packet: number): number {
    let low = 0
    let high = this.#count - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const at = this.#chunks[middle >> chunkBits]!.words[(middle & chunkMask) * words]!
      if (at === packet) return middle
      if (at < packet) low = middle + 1
      else high = middle - 1
    }
    return -1
  }
}
