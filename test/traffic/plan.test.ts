/** The queue pairs of a configuration, and when they are too many. */
import { expect, it } from 'vitest'
import { readTraffic } from '../../src/traffic/load/index.ts'
import { mostChannels, planOf } from '../../src/traffic/run/plan.ts'

const plan = (yaml: string) => planOf(readTraffic(`servers: [a]\n${yaml}`, 'x.yaml'))
const dscps = (n: number): string => `{ ${Array.from({ length: n }, (_, i) => `${i}: 1`).join()} }`

it('has queue pairs for each type, DSCP and service level, as many as two ends agree on', () => {
  expect(plan('types: { RC: 50, UC: 50 }\ndscp: { 0: 1, 26: 1, 40: 0 }\nsl: { 1: 1, 2: 1 }').classes).toHaveLength(8)
  expect(plan(`dscp: ${dscps(4)}\nqps: 1024`).classes.length * 1024).toBe(mostChannels)
  expect(() => plan(`dscp: ${dscps(5)}\nqps: 1024`)).toThrow(
    /^qps: 5 combinations of type, DSCP and service level with 1024 queue pairs each .* 4096 queue pairs$/,
  )
  expect(() => plan(`dscp: ${dscps(64)}\nsl: ${dscps(9)}`)).toThrow(/^qps: 576 combinations .* at most 512 /)
})
