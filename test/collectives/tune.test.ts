/** Rules from measurements. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Chooser } from '../../src/collectives/choose.ts'
import { algorithmsOf, type Collective, collectives } from '../../src/collectives/index.ts'
import { type Measurement, tune } from '../../src/collectives/tune.ts'
import { together } from './together.ts'

/** Medians with an interval of `noise` around them. */
const rows = (
  collective: Collective,
  ranks: number,
  bytes: number,
  ns: Record<string, number>,
  noise = 0.02,
): Measurement[] =>
  Object.entries(ns).map(([algorithm, medianNs]) => ({
    ...{ collective, algorithm, ranks, bytes, medianNs },
    ...{ lowNs: medianNs * (1 - noise), highNs: medianNs * (1 + noise) },
  }))

it('what is clearly faster, by length and by ranks; lengths between take the nearer one; the rest stays', () => {
  const { table, decisions } = tune([
    ...rows('allreduce', 2, 8, { 'recursive-doubling': 300, ring: 500 }),
    ...rows('allreduce', 2, 512, { 'recursive-doubling': 3000, ring: 2000 }),
    ...rows('allreduce', 8, 8, { 'recursive-doubling': 1900, tree: 900, ring: 5000 }),
    ...rows('barrier', 2, 0, { linear: 200, dissemination: 100 }),
  ])
  expect(table.rules).toEqual([
    { collective: 'allreduce', algorithm: 'recursive-doubling', maxBytes: 64, maxRanks: 2 },
    { collective: 'allreduce', algorithm: 'halving-doubling', maxBytes: 64, maxRanks: 2 },
    { collective: 'allreduce', algorithm: 'ring', maxBytes: 64, maxRanks: 2 },
    { collective: 'allreduce', algorithm: 'ring', maxRanks: 2 },
    { collective: 'allreduce', algorithm: 'tree', maxRanks: 8 },
  ])
  expect(decisions.filter(({ chosen, standard }) => chosen !== standard)).toEqual([
    {
      ...{ collective: 'allreduce', ranks: 2, bytes: 512, standard: 'recursive-doubling', standardNs: 3000 },
      ...{ chosen: 'ring', chosenNs: 2000 },
    },
    {
      ...{ collective: 'allreduce', ranks: 8, bytes: 8, standard: 'recursive-doubling', standardNs: 1900 },
      ...{ chosen: 'tree', chosenNs: 900 },
    },
  ])
  const two = new Chooser(2, table)
  expect([8, 64, 65, 1e6].map((bytes) => two.choose('allreduce', bytes))).toEqual([
    ...['recursive-doubling', 'recursive-doubling', 'ring', 'ring'],
  ])
  expect([5, 8, 9].map((size) => new Chooser(size, table).choose('allreduce', 8))).toEqual([
    ...['tree', 'tree', 'recursive-doubling'],
  ])
})

it('a difference within the noise changes nothing', () => {
  const times = { binomial: 150, linear: 130 }
  expect(new Chooser(4, tune(rows('reduce', 4, 8, times, 0.05)).table).choose('reduce', 8)).toBe('linear')
  expect(tune(rows('reduce', 4, 8, times, 0.1)).table.rules).toEqual([])
  expect(tune(rows('reduce', 4, 8, { binomial: 102, linear: 100 }, 0.001)).table.rules).toEqual([])
  // Between runs there is noise, too.
  const other = rows('reduce', 4, 8, { binomial: 120, linear: 140 }, 0.05)
  expect(tune([...rows('reduce', 4, 8, times, 0.05), ...other]).table.rules).toEqual([])
})

it('of two that are faster than the default, the shorter length’s goes on unless the other is clearly faster', () => {
  const { decisions } = tune([
    ...rows('allreduce', 4, 8, { 'recursive-doubling': 200, tree: 100, ring: 110 }),
    ...rows('allreduce', 4, 64, { 'recursive-doubling': 200, tree: 102, ring: 100 }),
    ...rows('allreduce', 4, 512, { 'recursive-doubling': 200, tree: 150, ring: 100 }),
  ])
  expect(decisions.map(({ chosen }) => chosen)).toEqual(['tree', 'tree', 'ring'])
})

it('a number of ranks that lacks the algorithm, and fewer than were measured, keep the default', () => {
  const { table } = tune(rows('allgather', 8, 64_000, { 'recursive-doubling': 100, ring: 300 }))
  const at = (size: number, bytes: number) => new Chooser(size, table).choose('allgather', bytes)
  expect([8, 6, 4, 2].map((size) => at(size, 64_000))).toEqual(['recursive-doubling', 'ring', 'ring', 'ring'])
  expect(at(6, 8)).toBe(new Chooser(6).choose('allgather', 8))
})

it('the table takes at each point what was decided there, and the default where nothing was', () => {
  const point = fc.record({
    collective: fc.constantFrom(...collectives),
    ranks: fc.constantFrom(2, 3, 4, 6, 8),
    bytes: fc.constantFrom(0, 8, 1024, 20_000, 1 << 20),
    seed: fc.array(fc.integer({ min: 50, max: 500 }), { minLength: 4, maxLength: 4 }),
  })
  fc.assert(
    fc.property(fc.array(point, { maxLength: 30 }), (points) => {
      const { table, decisions } = tune(
        points.flatMap(({ collective, ranks, bytes, seed }) =>
          rows(
            ...([collective, ranks, bytes] as const),
            Object.fromEntries(algorithmsOf(collective, ranks).map((name, i) => [name, seed[i]!])),
          ),
        ),
      )
      for (const { collective, ranks, bytes, chosen } of decisions)
        expect(new Chooser(ranks, table).choose(collective, bytes)).toBe(chosen)
      const most = Math.max(0, ...points.map(({ ranks }) => ranks))
      for (const collective of collectives)
        for (const bytes of [0, 100, 1e5])
          expect(new Chooser(most + 1, table).choose(collective, bytes)).toBe(
            new Chooser(most + 1).choose(collective, bytes),
          )
    }),
    { numRuns: 200 },
  )
})

it('communicators take the file of VERBENA_TABLE, where nothing else is given', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-table-'))
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true })
  })
  const file = join(folder, 'table.json')
  vi.stubEnv('VERBENA_TABLE', file)
  writeFileSync(file, JSON.stringify(tune(rows('reduce', 2, 8, { binomial: 200, linear: 100 })).table))
  const algorithm = async (options: object): Promise<string[]> => {
    const found: string[] = []
    await together(2, { device: 'shm0', ...options }, async (comm) => found.push(comm.algorithmFor('reduce', 8)))
    return found
  }
  expect(await algorithm({})).toEqual(['linear', 'linear'])
  expect(await algorithm({ table: { version: 1, rules: [] } })).toEqual(['binomial', 'binomial'])
  writeFileSync(file, '{"version": 1')
  await expect(algorithm({})).rejects.toThrow(/VERBENA_TABLE, .*table\.json: .*JSON/)
  writeFileSync(file, 'null')
  await expect(algorithm({})).rejects.toThrow(/it has no table/)
  writeFileSync(file, '[]')
  await expect(algorithm({})).rejects.toThrow(/decision table: it must be/)
})
