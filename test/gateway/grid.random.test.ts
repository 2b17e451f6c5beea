/** The rule of steps: a generator that is late leaves steps out, and never the grid (Potter 2018). In virtual time. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Grid } from '../../src/gateway/grid.ts'
import { holds } from '../property.ts'

/** A generator as VILLASnode's: asks for the next step, waits for it, then works for a while. */
function generate(rateHz: number, startNs: number, workNs: readonly number[], oversleepNs: number) {
  const grid = new Grid(rateHz, startNs)
  const met: { at: number; due: number; steps: number }[] = []
  let now = startNs
  for (const work of workNs) {
    let steps = grid.due(now)
    let due = grid.nextNs
    while (steps === 0) {
      due = grid.nextNs
      now = Math.max(now, due) + oversleepNs
      steps = grid.due(now)
    }
    met.push({ at: now, due, steps })
    now += work
  }
  return { grid, met }
}

it('meets moments on the grid only, one after the other, and counts all that it leaves out', () => {
  holds(
    fc.property(
      fc.double({ min: 0.1, max: 1e6, noNaN: true }),
      fc.integer({ min: 0, max: 1e12 }),
      // Work in periods, from nothing to several of them.
      fc.array(fc.double({ min: 0, max: 5, noNaN: true }), { minLength: 1, maxLength: 50 }),
      (rate, start, work) => {
        const period = 1e9 / rate
        const { grid, met } = generate(
          rate,
          start,
          work.map((periods) => periods * period),
          0,
        )
        let index = 0
        for (const { at, steps } of met) {
          index += steps
          // To the rounding of doubles.
          expect(Math.abs(at - (start + index * period))).toBeLessThan(1e-3 + start * 1e-15 * 4)
          expect(steps).toBeGreaterThanOrEqual(1)
        }
        expect(grid.missed).toBe(index - met.length)
      },
    ),
    300,
  )
})

it('waits for the step after the next when it is asked after the next one was due', () => {
  // Period 100: the second call comes at 210, when step 2 was due at 200.
  const { met } = generate(1e7, 0, [110, 0, 0], 0)
  expect(met.map(({ at, steps }) => [at, steps])).toEqual([
    [100, 1],
    [300, 2],
    [400, 1],
  ])
})

it('meets a moment that it waited for, however late it wakes, and counts the steps that it slept through', () => {
  const { grid, met } = generate(1e7, 0, [0, 0], 250)
  expect(met.map(({ at, steps }) => [at, steps])).toEqual([
    [350, 3],
    // Asked at 350, it waits for 400 and wakes at 650.
    [650, 3],
  ])
  expect(grid.missed).toBe(4)
})
