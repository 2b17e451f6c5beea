/** Where a median may lie, and what a run measures. */
import { describe, expect, it } from 'vitest'
import { medianInterval } from '../../../src/tools/collective/interval.ts'
import { parseAlgorithmLists, planAlgorithms } from '../../../src/tools/collective/settings.ts'

describe('the interval of a median', () => {
  // From the binomial distribution with n and 1/2, added up by hand.
  it.each([
    [8, 1, 8],
    [10, 1, 10],
    [12, 2, 11],
    [20, 4, 17],
    [50, 16, 35],
    [70, 24, 47],
  ])('of %i values is from number %i to number %i', (n, low, high) => {
    const values = Array.from({ length: n }, (_, i) => n - i)
    expect(medianInterval(values)).toEqual([low, high])
  })

  it('of few values is all of them', () => {
    expect(medianInterval([3, 1, 2])).toEqual([1, 3])
    expect(medianInterval([7])).toEqual([7, 7])
  })
})

describe('the plan', () => {
  const given = { device: 'shm', ranks: 6, repetitions: 10, noMulticast: '' }

  it('has powers of two and all ranks, one size of barriers, and each algorithm once in a step', () => {
    const plan = planAlgorithms(parseAlgorithmLists({ collective: ['barrier,allgather'], size: ['8,64'] }), given)
    expect([...plan.steps.keys()]).toEqual([2, 4, 6])
    const steps = plan.steps.get(4)!
    expect(steps.map((step) => step.map(({ settings }) => settings.algorithm))).toEqual([
      ['dissemination', 'linear'],
      ...[1, 2].map(() => ['ring', 'bruck', 'linear', 'recursive-doubling']),
    ])
    expect(steps.map(([set]) => set!.settings.size)).toEqual([0, 8, 64])
    // Six ranks do without recursive doubling.
    expect(
      plan.steps
        .get(6)!
        .at(-1)!
        .map(({ settings }) => settings.algorithm),
    ).toEqual(['ring', 'bruck', 'linear'])
    expect([...plan.steps.values()].flat(2)).toEqual(plan.sets)
  })

  it('says what it leaves out', () => {
    const plan = planAlgorithms(parseAlgorithmLists({ collective: ['barrier'], among: ['2,7'] }), given)
    expect(plan.leftOut).toEqual([{ combinations: 2, reason: 'the group has 6 ranks (--among)' }])
    const without = planAlgorithms(parseAlgorithmLists({ collective: ['broadcast'], size: ['8'] }), {
      ...{ ...given, ranks: 2, noMulticast: 'it has no groups' },
    })
    expect(without.leftOut).toEqual([{ combinations: 1, reason: 'shm has no multicast (it has no groups)' }])
    expect(without.sets).toHaveLength(4)
    expect(() => planAlgorithms(parseAlgorithmLists({ among: ['7'] }), given)).toThrow(/nothing is left to measure/)
    expect(() => parseAlgorithmLists({ size: ['12'] })).toThrow(/a multiple of 8/)
  })
})
