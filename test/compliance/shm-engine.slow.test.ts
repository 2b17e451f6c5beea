/** The shared-memory device passes the compliance suite when threads of its own carry requests out. */
import { sameTables, shmRig } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

verbsCompliance('shm with engine threads', shmRig(['shm0', 'shm1'], { engine: 'thread' }, { skip: sameTables }))
