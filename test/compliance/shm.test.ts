/** The shared-memory device passes the compliance suite when whoever posts a request carries it out. */
import { largeTables, shmRig } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

// What the fast path remembers of earlier messages must not outlive a change: every connection is warmed up. Those of
// shm-named.test.ts are not.
verbsCompliance('shm', shmRig(['shm0', 'shm1'], {}, { warmUp: true, skip: largeTables }))
