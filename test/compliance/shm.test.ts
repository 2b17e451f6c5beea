/** The shared-memory device passes the compliance suite when whoever posts a request carries it out. */
import { openDevice } from '../../src/index.ts'
import { aging } from '../verbs/aged.ts'
import { largeTables, shmRig } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

const names = ['shm0', 'shm1'] as const

// What the fast path remembers of earlier messages must not outlive a change: every connection is warmed up. Those of
// shm-named.slow.test.ts are not. All counts and positions are near their wraps here.
verbsCompliance(
  'shm',
  shmRig(names, {}, { open: (side) => aging(openDevice(names[side])), warmUp: true, skip: largeTables }),
)
