import { describe } from 'vitest'
import { loopbackDevice } from '../../loopback.ts'
import { testProcessLists } from '../process-lists.ts'

describe('lists', () => {
  testProcessLists([loopbackDevice(1), loopbackDevice(2)], true, [20, 300])
})
