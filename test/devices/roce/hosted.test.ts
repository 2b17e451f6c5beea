/** Queue pairs that one process hosts, on an adapter that several drive: what others come upon is left to it. */
import { describe } from 'vitest'
import { loopbackDevice } from '../../loopback.ts'
import { testHandOver } from '../hand-over.ts'

describe('hosted queue pairs', () => {
  testHandOver(loopbackDevice(1), loopbackDevice(1), { short: true })
})
