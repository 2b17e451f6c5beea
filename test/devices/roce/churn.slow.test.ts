/** Two processes, threads in each, and workers that end in the middle, open and close the same devices: all can be reached. */
import { describe, expect, it } from 'vitest'
import { canShare, segment } from '../../cli/ends.ts'
import { loopbackDevice } from '../../loopback.ts'
import { type Churn, runChurn } from './churn.ts'

const seed = Number(process.env.VERBENA_SEED ?? Date.now() % 1e6)
const ms = Number(process.env.VERBENA_CHURN_MS ?? 30_000)
const again = `VERBENA_CHURN_MS=${ms} VERBENA_SEED=${seed} npx vitest run --config vitest.slow.config.ts test/devices/roce/churn.slow.test.ts`

describe.skipIf(!canShare)('devices that come and go can be reached while they are open', () => {
  const churn = (i: number, others: string[], lasts: number): Churn => {
    const own = [loopbackDevice(20 + 2 * i), loopbackDevice(21 + 2 * i)]
    return { devices: [...own, ...others], seed: seed + i, ms: lasts, workers: 1, pauseMs: 40, mortals: true }
  }

  it('with native calls', async () => {
    const shared = segment()
    const both = [shared, `${shared}/1`, loopbackDevice(40), loopbackDevice(41)]
    const { reached, failures } = await runChurn([0, 1].map((i) => churn(i, both, ms)))
    expect(failures, again).toEqual([])
    expect(reached).toBeGreaterThanOrEqual(4)
    console.log(`${reached} devices were opened and reached`)
  })

  it('without them', async () => {
    const env = { ...process.env, VERBENA_NO_NATIVE: '1' }
    const { reached, failures } = await runChurn(
      [2, 3].map((i) => churn(i, [], ms / 3)),
      env,
    )
    expect(failures, again).toEqual([])
    expect(reached).toBeGreaterThanOrEqual(4)
  })
})
