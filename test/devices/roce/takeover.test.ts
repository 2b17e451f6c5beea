import { describe } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { driversAreKilled } from './takeover.ts'

describe.skipIf(!nativeAvailable)('a device that processes share', () => {
  driversAreKilled(loopbackDevice(27), 1, 60_000)
})
