/** Processes that are killed at random times, again and again. VERBENA_SEED=N repeats a run. */
import { rmSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { openDevice } from '../../src/index.ts'
import { nativeAvailable } from '../../src/memory/index.ts'
import { endPeers, killRound, segmentPath } from '../devices/shm/processes.ts'
import { seeded } from '../random.ts'

afterEach(endPeers)

it.skipIf(!nativeAvailable)('a peer that is killed at random times', async () => {
  const seed = Number(process.env.VERBENA_SEED ?? Date.now() % 1e6)
  console.log(`VERBENA_SEED=${seed} npx vitest run --config vitest.slow.config.ts test/slow/killing.test.ts`)
  const random = seeded(seed)
  const name = `killing-test-${process.pid}`
  const context = openDevice(`shm:${name}`)
  const rounds = Number(process.env.VERBENA_ROUNDS ?? 30)
  const roles = ['idle', 'receives', 'flood'] as const
  for (let round = 0; round < rounds; round++)
    await killRound(context, `shm:${name}/1`, roles[Math.floor(random() * 3)]!, random() * 40)
  expect(context.counters().stale_objects_reaped).toBeGreaterThan(0)
  context.close()
  rmSync(segmentPath(name), { force: true })
})
