/** Two adapters on two loopback addresses as a rig. */
import { openDevice } from '../../src/index.ts'
import { loopbackDevice } from '../loopback.ts'
import type { ComplianceRig } from './rig.ts'
import { busyMachine, sameTables } from './shm-rig.ts'

const names = [loopbackDevice(1), loopbackDevice(2)] as const

export const roceRig: ComplianceRig = {
  names,
  open: (side) => openDevice(names[side]),
  patienceMs: 10_000,
  quietMs: 15,
  settle() {},
  connect: busyMachine,
  skip: sameTables,
}
