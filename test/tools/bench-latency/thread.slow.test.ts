/** The latency benchmark with an engine thread. */
import { expect, it } from 'vitest'
import { smallRuns } from './small-runs.ts'

const run = smallRuns()

it('measures with an engine thread, submit and send stamps', { timeout: 120_000 }, async () => {
  const { results } = run([
    { engine: ['thread'], stamp: ['submit', 'send'], inline: [true, false], pollComp: ['event'], pause: [50_000] },
    {
      engine: ['thread'],
      stamp: ['submit', 'send'],
      poll: ['event'],
      service: ['RC', 'UC', 'UD'],
      burst: [20],
      pause: [50_000],
    },
    { engine: ['thread'], unsignaled: [true], op: ['send-imm', 'write-imm'] },
  ])
  const { sets, complete } = await results
  expect(sets.filter(({ error }) => error !== undefined)).toEqual([])
  expect(complete).toBe(true)
  for (const set of sets) expect(set.lat.count).toBe(set.settings.burst)
})
