import { describe } from 'vitest'
import { testProcessLists } from '../process-lists.ts'

describe('lists', () => {
  testProcessLists(['shm0', 'shm1'], false, [60, 1000])
})
