/** Every algorithm of every collective gives what its definition says, for any number of ranks, root and length. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  algorithms,
  algorithmsOf,
  type Collective,
  collectives,
  scheduleOf,
} from '../../src/collectives/schedule/index.ts'
import { holds, seeds } from '../property.ts'
import { seeded } from '../random.ts'
import { type Memory, simulate } from './simulator.ts'

interface Shape {
  size: number
  root: number
  /** 32-bit elements that one rank contributes. */
  count: number
}

/** Lengths of input and output of a rank, elements. */
function lengths(collective: Collective, { size, count }: Shape): [input: number, output: number] {
  switch (collective) {
    case 'barrier':
      return [0, 0]
    case 'broadcast':
      return [0, count]
    case 'scatter':
      return [size * count, count]
    case 'gather':
    case 'allgather':
      return [count, size * count]
    case 'alltoall':
      return [size * count, size * count]
    default:
      return [count, count]
  }
}

/** What rank `me` must have in its output; null if that does not matter. */
function expected(
  collective: Collective,
  { size, root, count }: Shape,
  before: Memory[],
  me: number,
): Int32Array | null {
  const inputs = before.map(({ input }) => input)
  const part = (rank: number, i: number): number[] => [...inputs[rank]!.subarray(i * count, (i + 1) * count)]
  const sum = (): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => inputs.reduce((all, input) => (all + input[i]!) | 0, 0))
  const all = Array.from({ length: size }, (_, i) => i)
  switch (collective) {
    case 'barrier':
      return new Int32Array(0)
    case 'broadcast':
      return before[root]!.output
    case 'scatter':
      return Int32Array.from(part(root, me))
    case 'gather':
      return me === root ? Int32Array.from(inputs.flatMap((input) => [...input])) : null
    case 'allgather':
      return Int32Array.from(inputs.flatMap((input) => [...input]))
    case 'reduce':
      return me === root ? sum() : null
    case 'allreduce':
      return sum()
    case 'alltoall':
      return Int32Array.from(all.flatMap((rank) => part(rank, me)))
  }
}

function run(collective: Collective, algorithm: string, shape: Shape, seed: number, eager: boolean) {
  const random = seeded(seed)
  const word = (): number => (random() * 2 ** 32) | 0
  const [input, output] = lengths(collective, shape)
  const memories = Array.from({ length: shape.size }, () => ({
    input: Int32Array.from({ length: input }, word),
    output: Int32Array.from({ length: output }, word),
  }))
  const before = memories.map((memory) => ({ input: memory.input.slice(), output: memory.output.slice() }))
  const schedules = memories.map((_, rank) =>
    scheduleOf(collective, algorithm, { rank, ...shape, bytes: 4 * shape.count, elementBytes: 4 }),
  )
  // What the runner relies on: transfers to a peer keep their order without a queue.
  for (const { sends } of schedules.flatMap(({ rounds }) => rounds))
    expect(new Set(sends.map(({ peer }) => peer)).size).toBe(sends.length)
  const pick = (n: number): number => Math.floor(random() * n)
  const total = simulate(schedules, memories, { eager, pick, combine: (a, b) => (a + b) | 0 })
  for (const [me, memory] of memories.entries()) {
    expect(memory.input).toEqual(before[me]!.input)
    const wanted = expected(collective, shape, before, me)
    if (wanted !== null) expect(memory.output).toEqual(wanted)
  }
  return total
}

const shapes = fc
  .record({ size: fc.integer({ min: 1, max: 20 }), count: fc.nat(40), rootBits: fc.nat() })
  .map(({ size, count, rootBits }) => ({ size, count, root: rootBits % size }))

for (const collective of collectives)
  describe(collective, () => {
    for (const algorithm of Object.keys(algorithms[collective]))
      it(algorithm, () => {
        const fits = ({ size }: Shape): boolean => algorithmsOf(collective, size).includes(algorithm)
        holds(
          fc.property(shapes.filter(fits), seeds, fc.boolean(), (shape, seed, eager) => {
            run(collective, algorithm, shape, seed, eager)
          }),
          10,
          200,
        )
        const size = fits({ size: 33, root: 0, count: 0 }) ? 33 : 32
        run(collective, algorithm, { size, root: size - 2, count: 3 }, size, true)
      })
  })

describe('the work of an algorithm', () => {
  const cost = (collective: Collective, algorithm: string, size: number, count: number) =>
    run(collective, algorithm, { size, root: 0, count }, 1, true)
  const rounds = (collective: Collective, algorithm: string, size: number): number =>
    Math.max(
      ...Array.from(
        { length: size },
        (_, rank) =>
          scheduleOf(collective, algorithm, { rank, size, root: 0, bytes: 64, elementBytes: 4 }).rounds.length,
      ),
    )

  it('grows with the logarithm of the number of ranks, or not with it at all', () => {
    expect(rounds('barrier', 'dissemination', 64)).toBe(6)
    expect(rounds('allreduce', 'recursive-doubling', 64)).toBe(6)
    expect(rounds('allreduce', 'recursive-doubling', 63)).toBe(7)
    expect(rounds('allgather', 'recursive-doubling', 64)).toBe(6)
    expect(cost('broadcast', 'binomial', 64, 10)).toEqual({ messages: 63, bytes: 63 * 40 })
    // Twice the data from each rank, whatever the number of ranks.
    for (const algorithm of ['ring', 'halving-doubling'])
      expect(cost('allreduce', algorithm, 16, 1600).bytes).toBe(2 * 15 * 6400)
    expect(cost('alltoall', 'bruck', 32, 1).messages).toBe(32 * 5)
  })
})

it('refuses an algorithm that there is not, or not for so many ranks', () => {
  const task = { rank: 0, size: 3, root: 0, bytes: 4, elementBytes: 4 }
  expect(() => scheduleOf('barrier', 'ring', task)).toThrow('it has dissemination, linear')
  expect(() => scheduleOf('allgather', 'recursive-doubling', task)).toThrow('it has ring, bruck, linear')
  expect(() => scheduleOf('allgather', 'constructor', task)).toThrow('has no algorithm "constructor"')
})
