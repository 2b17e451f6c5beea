/** When requests go, by a clock that the test moves. */
import { expect, it } from 'vitest'
import { readTraffic } from '../../src/traffic/load/index.ts'
import { Pace } from '../../src/traffic/run/pace.ts'

it('phases of a closed loop end when they are to, also if the loop was away at the end of one', () => {
  const phase = (name: string): string => `  - { name: ${name}, duration: 1s, arrival: { type: closed, depth: 1 } }\n`
  const config = readTraffic(`servers: [a]\nsize: 8\nphases:\n${['x', 'y', 'z'].map(phase).join('')}`, 'x.yaml', {})
  const pace = new Pace(config)
  const takenMs: number[][] = [[], [], []]
  // A look every 100 ms, but for 1.0 to 1.3 s; each request is over at the next look.
  const looksMs = Array.from({ length: 41 }, (_, i) => i * 100).filter((ms) => ms < 1000 || ms > 1300)
  let outstanding = -1
  for (const ms of looksMs) {
    if (outstanding >= 0) pace.over(outstanding, ms * 1e6)
    outstanding = -1
    while (pace.take(ms * 1e6, 0)) {
      outstanding = pace.phase
      takenMs[outstanding]!.push(ms)
    }
  }
  expect(takenMs.map((times) => [times[0], times.at(-1)])).toEqual([
    [0, 900],
    [1400, 1900],
    [2000, 2900],
  ])
  expect(pace.exhausted).toBe(true)
})
