/** The shared-memory device passes the compliance suite: in one process with both engines, and between processes. */
import { describe, it } from 'vitest'
import { type OpenOptions, openDevice } from '../../src/index.ts'
import { nativeAvailable, nativeReason } from '../../src/memory/index.ts'
import type { ComplianceRig } from './rig.ts'
import { verbsCompliance } from './suite.ts'

function rig(names: readonly [string, string], options: OpenOptions = {}, skip = {}): ComplianceRig {
  return {
    names,
    options,
    open: (side) => openDevice(names[side], options),
    patienceMs: 10_000,
    quietMs: 15,
    // Polling is all that the device needs; its threads run by themselves.
    settle() {},
    skip,
  }
}

/** Filling the tables takes long, and they are the same ones. */
const tables = { 11: 'the limits are those of the first suite', 71: 'the numbers are given as in the first suite' }

verbsCompliance('shm', rig(['shm0', 'shm1']))
verbsCompliance('shm with engine threads', rig(['shm0', 'shm1'], { engine: 'thread' }, tables))

if (nativeAvailable) {
  const segment = `shm:test-${process.pid}`
  verbsCompliance('shm on a named segment', rig([segment, `${segment}/1`], {}, tables))
} else {
  describe('verbs compliance of shm on a named segment', () => {
    it.skip(`needs the native library: ${nativeReason}`)
  })
}
