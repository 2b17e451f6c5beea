/** Two processes, threads in each, and workers that end in the middle, open and close the same devices: all can be reached. */
import { describe, expect, it } from 'vitest'
import { canShare, segment } from '../../cli/ends.ts'
import { loopbackDevice } from '../../loopback.ts'
import { type Churn, runChurn } from './churn.ts'

const slow = process.env.VERBENA_SLOW === '1'
const seed = Number(process.env.VERBENA_SEED ?? Date.now() % 1e6)

describe.skipIf(!canShare)('devices that come and go', () => {
  it('can be reached while they are open', async () => {
    const shared = segment()
    const ms = Number(process.env.VERBENA_CHURN_MS ?? (slow ? 60_000 : 1500))
    const processes = [0, 1].map((i): Churn => {
      const own = [loopbackDevice(20 + 2 * i), loopbackDevice(21 + 2 * i)]
      return { devices: [...own, shared, `${shared}/1`], seed: seed + i, ms, workers: 1, pauseMs: 40, mortals: true }
    })
    const { reached, failures } = await runChurn(processes)
    const { VERBENA_CHURN_MS: length } = process.env
    expect(
      failures,
      `${length === undefined ? (slow ? 'VERBENA_SLOW=1 ' : '') : `VERBENA_CHURN_MS=${length} `}VERBENA_SEED=${seed} npx vitest run test/devices/roce/churn.test.ts`,
    ).toEqual([])
    expect(reached).toBeGreaterThanOrEqual(4)
    if (slow) console.log(`${reached} devices were opened and reached`)
  })
})
