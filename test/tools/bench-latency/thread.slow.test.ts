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

it.each(['shm:stamps,shm:stamps', 'roce:127.23.7.1,roce:127.23.7.2'])(
  'rewrites the stamps of the adapter that sends, of which none is after the receipt: %s',
  { timeout: 120_000 },
  async (device) => {
    const { results } = run([{ device: [device], engine: ['thread'], stamp: ['send'], burst: [100], pause: [200_000] }])
    const { sets } = await results
    expect(sets.map(({ error, lat, untimed }) => [error, lat.count, untimed])).toEqual([[undefined, 100, undefined]])
  },
)
