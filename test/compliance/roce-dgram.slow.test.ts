/** RoCEv2 passes the compliance suite where the C library cannot be called: node:dgram, in the thread that drives devices. */
import { expect, it } from 'vitest'

// Before anything of the library is loaded; this file has a process of its own.
process.env.VERBENA_NO_NATIVE = '1'
const { nativeAvailable, openDevice } = await import('../../src/index.ts')
const { loopbackDevice } = await import('../loopback.ts')
const { busyMachine, sameTables } = await import('./shm-rig.ts')
const { verbsCompliance } = await import('./suite.ts')

const names = [loopbackDevice(1), loopbackDevice(2)] as const

it('is without native calls', () => {
  expect(nativeAvailable).toBe(false)
})

verbsCompliance('roce on node:dgram', {
  names,
  open: (side) => openDevice(names[side]),
  // Every packet goes through an event loop: several times slower.
  patienceMs: 30_000,
  quietMs: 40,
  settle() {},
  connect: busyMachine,
  skip: { ...sameTables, 99: 'node:dgram does not tell traffic class and hop limit' },
})

it('gives its port back when it closes', () => {
  const name = loopbackDevice(3)
  for (let i = 0; i < 3; i++) openDevice(name).close()
})
