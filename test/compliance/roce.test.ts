/** RoCEv2 over UDP sockets passes the compliance suite: two adapters on two loopback addresses. */
import { openDevice } from '../../src/index.ts'
import { loopbackDevice } from '../loopback.ts'
import { busyMachine, sameTables } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

const names = [loopbackDevice(1), loopbackDevice(2)] as const

verbsCompliance('roce', {
  names,
  open: (side) => openDevice(names[side]),
  patienceMs: 10_000,
  quietMs: 15,
  settle() {},
  connect: busyMachine,
  skip: sameTables,
})
