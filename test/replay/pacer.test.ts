import { expect, it } from 'vitest'
import { type Pace, Pacer } from '../../src/replay/index.ts'

const times = [
  [10, 999_999_000, 100],
  [11, 1000, 50],
  [11, 500, 50],
  [11, 4000, 1],
] as const

it.each<[Pace, number[]]>([
  [{ type: 'captured', speed: 1 }, [0, 2000, 2000, 5000]],
  [{ type: 'captured', speed: 2 }, [0, 1000, 1000, 2500]],
  [{ type: 'packets', perSecond: 1e6 }, [0, 1000, 2000, 3000]],
  [{ type: 'bits', perSecond: 8e8 }, [0, 1000, 1500, 2000]],
  [{ type: 'top' }, [0, 0, 0, 0]],
])('%o', (pace, due) => {
  const pacer = new Pacer(pace)
  expect(times.map(([seconds, nanoseconds, bytes]) => pacer.dueNs(seconds, nanoseconds, bytes))).toEqual(due)
})
