/** Ten processes on one adapter for a minute, of which one is killed each second and replaced. VERBENA_ROUNDS says how often. */
import { rmSync } from 'node:fs'
import { afterAll, describe } from 'vitest'
import { nativeAvailable } from '../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../loopback.ts'
import { survival } from './survival.ts'

const name = `sharing-${process.pid}`
const much = { processes: 10, kills: Number(process.env.VERBENA_ROUNDS ?? 60), paceMs: 40 }

describe.skipIf(!nativeAvailable)('an adapter of ten processes', () => {
  afterAll(() => rmSync(`/dev/shm/verbena-${name}`, { force: true }))
  survival('shm', { device: `shm:${name}`, host: '127.0.0.1', ...much })
  survival('roce', { device: loopbackDevice(1), host: loopbackAddress(1), ...much })
})
