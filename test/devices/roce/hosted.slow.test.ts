/** Queue pairs that one process hosts, on an adapter that several drive: what others come upon is left to it. */
import { describe } from 'vitest'
import { loopbackDevice } from '../../loopback.ts'
import { testHandOver } from '../hand-over.ts'

describe('of one adapter, from queue pairs of all kinds', () => {
  testHandOver(loopbackDevice(1), loopbackDevice(1), { patient: true })
})

describe('of two addresses', () => {
  testHandOver(loopbackDevice(2), loopbackDevice(3), { patient: true })
})
