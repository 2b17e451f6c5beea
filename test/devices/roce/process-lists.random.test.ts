import { describe } from 'vitest'
import { faults } from '../../../src/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { testProcessLists } from '../process-lists.ts'

describe('lists', () => {
  testProcessLists([loopbackDevice(1), loopbackDevice(2)], true, [20, 300])
})

describe('lists, where packets are lost and reordered', () => {
  // Few of them, or too many retries in a row would be in vain one day.
  const wrap = () => [faults({ loss: 0.01, reordering: 0.02, reorderMs: 1 })]
  testProcessLists([loopbackDevice(3), loopbackDevice(4)], true, [3, 60], () => ({ wrap: wrap(), drives: true }))
})
