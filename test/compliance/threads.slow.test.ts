/** Threads that share objects (group M), with all their messages, on the devices that `npm test` gives a part of them. */
import { openDevice } from '../../src/index.ts'
import { loopbackDevice } from '../loopback.ts'
import { busyMachine, shmRig } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

verbsCompliance('shm', shmRig(['shm0', 'shm1'], {}, { warmUp: true }), /^M /)

const names = [loopbackDevice(1), loopbackDevice(2)] as const
const rig = {
  names,
  open: (side: 0 | 1) => openDevice(names[side]),
  patienceMs: 10_000,
  quietMs: 40,
  settle() {},
  connect: busyMachine,
}
verbsCompliance('roce', rig, /^M /)
