/**
 * Index of the packets of a capture: 26 bytes each, in chunks of typed arrays, so that a capture of millions of packets is listed without
 * an object for each and growing copies nothing.
 *
 *   data    6   offset of its captured bytes in the uncompressed file
 *   length  4   captured bytes
 *   time    8   nanoseconds since the first packet
 *   state   4   17 bits: flow + 1, or 0; 13 bits: marks (see Mark); 2 bits: ICRC (see IcrcState)
 *   psn     4   24 bits: PSN; 6 bits: Shape; 2 bits: the marks above those
 *
 * Rare data is kept only where a chunk needs it: a length on the wire that is not the captured one, another interface than the first, a
 * packet without a time stamp, blocks of a pcapng file that are not packets but have numbers, too.
 */
import type { CapturedPacket } from '../../capture/index.ts'
import type { Dissection, Verdict } from '../index.ts'
import { type ShapeValue, shapeOf } from './shape.ts'

const chunkBits = 16
const chunkSize = 1 << chunkBits
const chunkMask = chunkSize - 1
const flowBits = 17
const flowMask = (1 << flowBits) - 1
const markMask = 0x1fff
const markBits = 13
const shapeMask = 0x3f
const icrcShift = 30
const above32 = 2 ** 32

class Chunk {
  readonly dataLow = new Uint32Array(chunkSize)
  readonly dataHigh = new Uint16Array(chunkSize)
  readonly length = new Uint32Array(chunkSize)
  readonly time = new Float64Array(chunkSize)
  readonly state = new Uint32Array(chunkSize)
  readonly psn = new Uint32Array(chunkSize)
  original: Uint32Array | undefined
  interfaceId: Uint32Array | undefined
  timeless: Uint8Array | undefined
  /** Blocks with numbers that come before each packet, and are not packets. */
  others: Uint32Array | undefined
}

export class PacketIndex {
  readonly #chunks: Chunk[] = []
  #count = 0
  /** Flag: times never go back, so that they can be searched. */
  ordered = true
  #last = Number.NEGATIVE_INFINITY

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#chunks.reduce((sum, chunk) => {
      const { original, interfaceId, timeless, others } = chunk
      const extra = [original, interfaceId, timeless, others].map((part) => part?.byteLength ?? 0)
      return extra.reduce((all, part) => all + part, sum + chunkSize * 26)
    }, 0)
  }

  /** Appends a packet with the verdict of the analysis on it. */
  add(packet: CapturedPacket, d: Dissection, v: Verdict): void {
    const slot = this.#count & chunkMask
    if (slot === 0) this.#chunks.push(new Chunk())
    const chunk = this.#chunks[this.#count >> chunkBits]!
    this.#count++
    const high = Math.floor(packet.dataOffset / above32)
    chunk.dataLow[slot] = packet.dataOffset - high * above32
    chunk.dataHigh[slot] = high
    chunk.length[slot] = packet.length
    chunk.time[slot] = v.timeNs
    const flow = v.flow === undefined ? 0 : v.flow.index + 1
    chunk.state[slot] = (flow | ((v.marks & markMask) << flowBits) | (d.icrc << icrcShift)) >>> 0
    chunk.psn[slot] = ((d.complete ? d.psn : 0) | (shapeOf(d, v) << 24) | ((v.marks >> markBits) << 30)) >>> 0
    if (v.timeNs < this.#last) this.ordered = false
    this.#last = v.timeNs
    if (packet.originalLength !== packet.length) {
      chunk.original ??= new Uint32Array(chunkSize)
      chunk.original[slot] = packet.originalLength
    }
    if (packet.interfaceId !== 0) {
      chunk.interfaceId ??= new Uint32Array(chunkSize)
      chunk.interfaceId[slot] = packet.interfaceId
    }
    if (!packet.hasTime) {
      chunk.timeless ??= new Uint8Array(chunkSize)
      chunk.timeless[slot] = 1
    }
    if (packet.number !== this.#count) {
      chunk.others ??= new Uint32Array(chunkSize)
      chunk.others[slot] = packet.number - this.#count
    }
  }

  /** Returns the number of packet `at`, as the commands and tshark count it, from 1. */
  number(at: number): number {
    return at + 1 + (this.#chunks[at >> chunkBits]!.others?.[at & chunkMask] ?? 0)
  }

  /** Returns the packet, from 0, that has a number; -1 if none has it. */
  withNumber(number: number): number {
    let low = 0
    let high = Math.min(number, this.#count) - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const found = this.number(middle)
      if (found === number) return middle
      if (found < number) low = middle + 1
      else high = middle - 1
    }
    return -1
  }

  /** Returns the offset in the uncompressed file of the captured bytes of packet `at`, from 0. */
  dataOffset(at: number): number {
    const chunk = this.#chunks[at >> chunkBits]!
    return chunk.dataHigh[at & chunkMask]! * above32 + chunk.dataLow[at & chunkMask]!
  }

  length(at: number): number {
    return this.#chunks[at >> chunkBits]!.length[at & chunkMask]!
  }

  originalLength(at: number): number {
    return this.#chunks[at >> chunkBits]!.original?.[at & chunkMask] || this.length(at)
  }

  interfaceId(at: number): number {
    return this.#chunks[at >> chunkBits]!.interfaceId?.[at & chunkMask] ?? 0
  }

  hasTime(at: number): boolean {
    return this.#chunks[at >> chunkBits]!.timeless?.[at & chunkMask] !== 1
  }

  timeNs(at: number): number {
    return this.#chunks[at >> chunkBits]!.time[at & chunkMask]!
  }

  /** Returns the number of its flow in the table of flows; -1 without one. */
  flow(at: number): number {
    return (this.#chunks[at >> chunkBits]!.state[at & chunkMask]! & flowMask) - 1
  }

  marks(at: number): number {
    const chunk = this.#chunks[at >> chunkBits]!
    const slot = at & chunkMask
    return ((chunk.state[slot]! >>> flowBits) & markMask) | ((chunk.psn[slot]! >>> 30) << markBits)
  }

  icrc(at: number): number {
    return this.#chunks[at >> chunkBits]!.state[at & chunkMask]! >>> icrcShift
  }

  psn(at: number): number {
    return this.#chunks[at >> chunkBits]!.psn[at & chunkMask]! & 0xffffff
  }

  shape(at: number): ShapeValue {
    return ((this.#chunks[at >> chunkBits]!.psn[at & chunkMask]! >>> 24) & shapeMask) as ShapeValue
  }

  /** Returns the packets, from 0, of two flows, in their order. */
  packetsOf(flow: number, other: number): Uint32Array {
    const [a, b] = [flow + 1, other + 1]
    let count = 0
    this.#eachState((state) => {
      if ((state & flowMask) === a || (state & flowMask) === b) count++
    })
    const found = new Uint32Array(count)
    let next = 0
    this.#eachState((state, at) => {
      if ((state & flowMask) === a || (state & flowMask) === b) found[next++] = at
    })
    return found
  }

  #eachState(use: (state: number, at: number) => void): void {
    for (let at = 0; at < this.#count; at++) use(this.#chunks[at >> chunkBits]!.state[at & chunkMask]!, at)
  }
}
