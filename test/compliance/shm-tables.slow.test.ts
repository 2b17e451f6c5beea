/** The shared-memory device passes the groups of the compliance suite whose cases fill its tables: shm.test.ts leaves the large ones. */
import { shmRig } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

verbsCompliance('shm', shmRig(['shm0', 'shm1'], {}, { warmUp: true }), /^(A device|F queue pairs)$/)
