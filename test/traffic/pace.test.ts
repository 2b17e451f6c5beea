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

it('closed phases behind an open one that took longer have their time', () => {
  const open = '  - { name: x, duration: 1s, arrival: fixed, load: 0.00001 }\n'
  const closed = (name: string): string => `  - { name: ${name}, duration: 1s, arrival: { type: closed, depth: 1 } }\n`
  const config = readTraffic(
    `servers: [a]\nsize: 8\nbandwidth: 10Gbps\nphases:\n${open}${closed('y')}${closed('z')}`,
    'x.yaml',
    {},
  )
  const pace = new Pace(config)
  const taken = [0, 0, 0]
  let outstanding = -1
  for (let ms = 0; !pace.exhausted && ms < 100_000; ms += 100) {
    if (outstanding > 0) pace.over(outstanding, ms * 1e6)
    outstanding = -1
    // A hundred requests of the open phase at a look, at most: it ends late.
    for (let n = 0; n < 100 && pace.take(ms * 1e6, 0); n++) {
      outstanding = pace.phase
      taken[outstanding]!++
    }
  }
  expect(taken[0]).toBeGreaterThan(1000)
  expect(taken.slice(1)).toEqual([10, 10])
})
