/** The compliance suite with its two ends in two processes, on one adapter or on two. */
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable, nativeReason, openDevice } from '../../../src/index.ts'
import type { ComplianceRig } from '../rig.ts'
import { sameTables, shmRig } from '../shm-rig.ts'
import { verbsCompliance } from '../suite.ts'
import { OtherProcess } from './remote.ts'

/** Cases that need two adapters. */
const oneAdapter: Readonly<Record<string, string>> = {
  '127 what is nobody’s goes to the first agent; without any it is dropped and counted':
    'the one that sends is an agent of the adapter itself',
}

export function complianceBetweenProcesses(
  device: string,
  names: readonly [string, string],
  more: Partial<ComplianceRig> = {},
): void {
  const title = `${device} between processes`
  if (!nativeAvailable) {
    describe(`verbs compliance of ${title}`, () => {
      it.skip(`needs the native library: ${nativeReason}`)
    })
    return
  }
  const { options = {} } = more
  const isOne = names[0] === names[1]
  const other = new OtherProcess(names[1], options)
  afterAll(() => other.close())
  const open = (side: 0 | 1) => (side === 0 ? openDevice(names[0], options) : other.open(names[1], options))
  it(`the other end of ${title} is in another process`, () => {
    const [here, there] = [openDevice(names[1], options), open(1)]
    expect(there.queryDevice().nodeGuid).toBe(here.queryDevice().nodeGuid)
    expect(new Set(here.device.host.segment.attachedPids())).toEqual(new Set([process.pid, other.pid]))
    there.close()
    here.close()
  })
  const skip = { ...sameTables, ...(isOne ? oneAdapter : {}) }
  verbsCompliance(title, shmRig(names, options, { open, service: other.service, skip, ...more }))
}
