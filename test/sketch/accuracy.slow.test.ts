/** Accuracy at the papers' memory sizes, on Zipf traces of 2.5 million packets and on a RoCE trace, as issue and reference state it. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  cocoFigures,
  distributionFigures,
  elasticFigures,
  type Figure,
  heavyKeeperFigures,
  holds,
  leastF1,
  quantileFigures,
  sixKeys,
  sketchLearnFigures,
} from '../../bench/sketch-accuracy.ts'
import { byConnection, roceKeys, roceTrace } from '../../bench/sketch-roce.ts'
import { exactTrace } from './traces.ts'

const zipf = { flows: 300_000, packets: 2_500_000, seed: 21 }

/** What is not as it is asked. */
function missed(figures: readonly Figure[]): string[] {
  expect(figures.filter(({ asked }) => asked).length).toBeGreaterThan(0)
  return figures.filter((figure) => !holds(figure)).map(({ name, value }) => `${name} ${value}`)
}

describe.each([0.8, 1, 1.2, 1.4])('skew %d', (skew) => {
  const trace = exactTrace({ ...zipf, skew })

  it('Elastic Sketch', () => {
    expect(missed(elasticFigures(trace))).toEqual([])
  })

  it('CocoSketch, of six partial keys', () => {
    expect(missed(cocoFigures(trace))).toEqual([])
  })

  it('CocoSketch, where hosts share the flows: as far as its memory goes', () => {
    const shared = exactTrace({ ...zipf, skew, hosts: 20_000 })
    expect(leastF1(shared, 500_000, 1250, Object.values(sixKeys))).toBeGreaterThanOrEqual(skew < 1 ? 0.91 : 0.95)
  })

  it('HeavyKeeper', () => {
    expect(missed(heavyKeeperFigures(trace))).toEqual([])
  })

  it('SketchLearn', () => {
    expect(missed(sketchLearnFigures(trace))).toEqual([])
  })

  it('MRAC and UnivMon', () => {
    expect(missed(distributionFigures(trace))).toEqual([])
  })
})

it('a RoCE trace, by message and by connection', () => {
  const trace = roceTrace(join(import.meta.dirname, '../../dist/verbena.js'), 10_000)
  expect(trace.packets).toBeGreaterThan(100_000)
  expect(trace.flows.length).toBeGreaterThan(40_000)
  const ours = [elasticFigures(trace), cocoFigures(trace, roceKeys), heavyKeeperFigures(trace)]
  expect(missed([...ours, distributionFigures(trace), sketchLearnFigures(byConnection(trace))].flat())).toEqual([])
})

it('DDSketch', () => {
  expect(missed(quantileFigures())).toEqual([])
})
