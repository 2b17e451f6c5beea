import { expect, it } from 'vitest'
import { drainInOrder } from '../../src/collect/live.ts'
import { RingPacket } from '../../src/memory/index.ts'

/** A ring whose blocks have frames of these times, in milliseconds. */
class Blocks {
  readonly #blocks: number[][]

  constructor(blocks: number[][]) {
    this.#blocks = blocks
  }

  get nextMs(): number {
    return this.#blocks[0]?.[0] ?? Number.POSITIVE_INFINITY
  }

  drain(onPacket: (packet: RingPacket) => void, mostBlocks: number): number {
    const packet = new RingPacket()
    const frames = this.#blocks.splice(0, mostBlocks).flat()
    for (const ms of frames) {
      packet.seconds = ms / 1000
      onPacket(packet)
    }
    return frames.length
  }
}

it('drains blocks of several interfaces in the order of their time', () => {
  const seen: [id: number, ms: number][] = []
  const handlers = [0, 1].map((id) => (packet: RingPacket) => void seen.push([id, packet.seconds * 1000]))
  // Little comes to the first one, so that each of its blocks has one frame.
  const rings = [new Blocks([[1000], [2000], [3000], [4000]]), new Blocks([[500, 1500, 1999], [2001, 2900], [3500]])]
  expect(drainInOrder(rings, handlers, 3)).toBe(5)
  expect(drainInOrder(rings, handlers, 100)).toBe(5)
  expect(drainInOrder(rings, handlers, 100)).toBe(0)
  const times = [500, 1500, 1999, 1000, 2000, 2001, 2900, 3000, 3500, 4000]
  expect(seen).toEqual(times.map((ms) => [ms % 1000 === 0 ? 0 : 1, ms]))
})
