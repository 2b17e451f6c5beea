/** The shared-memory device passes the compliance suite on a segment that processes can share. */
import { describe, it } from 'vitest'
import { nativeAvailable, nativeReason } from '../../src/index.ts'
import { sameTables, shmRig } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

if (nativeAvailable) {
  const segment = `shm:test-${process.pid}`
  verbsCompliance('shm on a named segment', shmRig([segment, `${segment}/1`], {}, { skip: sameTables }))
} else {
  describe('verbs compliance of shm on a named segment', () => {
    it.skip(`needs the native library: ${nativeReason}`)
  })
}
