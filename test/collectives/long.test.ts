/** Messages that are read where they are, halved between sender and receiver, or combined where they came from. */
import { expect, it } from 'vitest'
import {
  algorithmsOf,
  type CollectiveError,
  createCommunicator,
  type DecisionTable,
} from '../../src/collectives/index.ts'
import { openDevice } from '../../src/index.ts'
import { ranksHere, together } from './together.ts'

const device = 'shm0'

const equal = (a: Float64Array, b: Float64Array): boolean => a.length === b.length && a.every((x, i) => x === b[i])

it.each([2, 3])('%i ranks: reductions in place and not, by every algorithm', async (size) => {
  for (const algorithm of algorithmsOf('allreduce', size)) {
    const table: DecisionTable = { version: 1, rules: [{ collective: 'allreduce', algorithm }] }
    await together(size, { device, table }, async (comm) => {
      for (const count of [3001, 40_001]) {
        const input = comm.alloc(Float64Array, count).map((_, i) => i + comm.rank) as Float64Array
        const inPlace = comm.alloc(Float64Array, count)
        inPlace.set(input)
        const [first, others] = [comm.alloc(Float64Array, count), new Float64Array(count)]
        first.set(input)
        const wanted = Float64Array.from({ length: count }, (_, i) => size * i + (size * (size - 1)) / 2)
        await comm.allreduceAsync(first, inPlace, 'sum')
        expect(equal(inPlace, wanted)).toBe(true)
        await comm.allreduceAsync(first, first, 'sum')
        expect(equal(first, wanted)).toBe(true)
        await comm.allreduceAsync(input, others, 'sum')
        expect(equal(others, wanted)).toBe(true)
      }
    })
  }
})

it('a broadcast of which each end copies a half, from any byte on', async () => {
  await together(2, { device }, async (comm) => {
    const all = comm.alloc(Uint8Array, 300_000)
    for (const [from, to] of [
      [0, 300_000],
      [3, 299_998],
      [1, 131_073],
      [1, 131_072],
    ]) {
      const part = all.fill(9).subarray(from, to)
      if (comm.rank === 0) for (let i = 0; i < part.length; i++) part[i] = i * 7 + i / 256
      await comm.broadcastAsync(part)
      let wrong = 0
      for (let i = 0; i < part.length; i++) if (part[i] !== ((i * 7 + i / 256) & 0xff)) wrong++
      expect([
        wrong,
        all.subarray(0, from).every((byte) => byte === 9),
        all.subarray(to).every((byte) => byte === 9),
      ]).toEqual([...[0, true, true]])
    }
  })
})

it.each([
  [9000, 60_000],
  [200_000, 100],
])('%i bytes there and %i here: counts differ', async (there, here) => {
  const errors: CollectiveError[] = []
  await together(2, { device, timeoutMs: 500 }, async (comm) => {
    const call = comm.broadcastAsync(new Uint8Array(comm.rank === 0 ? there : here))
    await call.catch((error: CollectiveError) => errors.push(error))
  })
  expect(errors.map(({ code }) => code)).toContain('EMISMATCH')
  expect(errors.map(({ message }) => message).join('\n')).toContain('counts or types differ')
})

it('two communicators on one device, with calls of both outstanding', async () => {
  const context = openDevice('shm0')
  const [one, other] = await Promise.all(
    [1, 2].map(() => Promise.all(ranksHere(2).map((ranks) => createCommunicator(ranks, { context })))),
  )
  const calls = [...one!, ...other!].map(async (comm, i) => {
    const sum = new Float64Array(20_000)
    const input = sum.map(() => (i < 2 ? 1 : 10))
    await comm.allreduceAsync(input, sum, 'sum')
    await comm.barrierAsync()
    expect(sum.every((x) => x === 2 * input[0]!)).toBe(true)
    await comm.end()
  })
  await Promise.all(calls)
  context.close()
})
