/** RoCEv2 over UDP sockets passes the compliance suite when a thread of the process plays the adapters. */
import { describe, it } from 'vitest'
import { nativeAvailable, nativeReason, openDevice } from '../../src/index.ts'
import { loopbackDevice } from '../loopback.ts'
import { busyMachine, sameTables } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

const names = [loopbackDevice(1), loopbackDevice(2)] as const
const options = { engine: 'thread' } as const

if (nativeAvailable) {
  verbsCompliance('roce with an engine thread', {
    names,
    options,
    open: (side) => openDevice(names[side], options),
    patienceMs: 30_000,
    quietMs: 40,
    settle() {},
    connect: busyMachine,
    skip: sameTables,
  })
} else {
  describe('verbs compliance of roce with an engine thread', () => {
    it.skip(`needs the native library: ${nativeReason}`)
  })
}
