import { expect, it } from 'vitest'
import { currentCores, pinThread } from '../../../src/memory/index.ts'
import { parseCpuTicks, sharesOf, watchDisturbance } from '../../../src/tools/bench-kit/disturbance.ts'
import { describeMachine } from '../../../src/tools/bench-kit/machine.ts'

const stat = (cpu1: string): string => `cpu  999 0 999 999 0 0 0 99 0 0
cpu0 100 10 20 300 5 1 2 7 50 0
cpu1 ${cpu1}
intr 1 2 3
`

it('reads the ticks of the cores that the process may use', () => {
  const text = stat('10 0 0 90 0 0 0 0 0 0')
  expect(parseCpuTicks(text, [0])).toEqual({ total: 445, busy: 133, stolen: 7 })
  expect(parseCpuTicks(text, [0, 1])).toEqual({ total: 545, busy: 143, stolen: 7 })
  expect(parseCpuTicks(text, [])).toEqual({ total: 3096, busy: 1998, stolen: 99 })
  expect(parseCpuTicks(text, [77])).toEqual(parseCpuTicks(text, []))
})

it('gives the shares of the host and of other programs', () => {
  const before = parseCpuTicks(stat('0 0 0 0 0 0 0 0 0 0'), [1])
  const after = parseCpuTicks(stat('300 0 100 500 0 0 0 100 0 0'), [1])
  expect(sharesOf(before, after, 250)).toEqual({ stolen: 0.1, others: 0.15 })
  // The process's own time is finer than ticks and may be more.
  expect(sharesOf(before, after, 401)).toEqual({ stolen: 0.1, others: 0 })
  expect(sharesOf(before, before, 0)).toEqual({})
})

it('watches the machine', async () => {
  const shares = watchDisturbance()
  const until = Date.now() + 10_000
  let seen = shares()
  while (seen.others === undefined && Date.now() < until) {
    await new Promise((done) => setTimeout(done, 50))
    seen = shares()
  }
  for (const share of [seen.stolen!, seen.others!]) {
    expect(share).toBeGreaterThanOrEqual(0)
    expect(share).toBeLessThanOrEqual(1)
  }
})

it.skipIf(currentCores().length < 2)('a thread that was bound to a core is on the same machine as before', () => {
  const cores = currentCores()
  const before = describeMachine()
  expect(before).toMatchObject({ cores: cores.length })
  expect(before.boundTo).toBeUndefined()
  try {
    expect(pinThread([cores[1]!])).toBe(true)
    expect(describeMachine()).toMatchObject({ cores: cores.length, boundTo: [cores[1]] })
  } finally {
    pinThread(cores)
  }
})
