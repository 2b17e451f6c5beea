/** Two users who share a device, because the administrator lets them; and one whom nobody has let in. Needs root, to be several users. */
import { spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { startable } from '../../entries.ts'
import { loopbackDevice } from '../../loopback.ts'
import { noOtherUsers, type Other, startAs } from '../../other-users.ts'

const reason = nativeAvailable ? noOtherUsers() : 'needs koffi'
const [ann, bob, eve, group] = [61_001, 61_002, 61_003, 61_100]
const folder = `verbena-test-${process.pid}`
const environment = { VERBENA_ROCE_GROUP: folder }
const { file, execArgv } = startable(new URL('../shm/peer.process.ts', import.meta.url))
const device = loopbackDevice(30)
const others: Other[] = []

function start(uid: number, gid: number): Other {
  const other = startAs(uid, gid, [...execArgv, file, device], environment)
  others.push(other)
  return other
}

describe.skipIf(reason !== undefined)(
  `a group of users${reason === undefined ? '' : ` (${reason})`}`,
  { timeout: 60_000 },
  () => {
    beforeAll(() => {
      mkdirSync(`/dev/shm/${folder}`, { mode: 0o770 })
      chownSync(`/dev/shm/${folder}`, 0, group)
      spawnSync('chmod', ['2770', `/dev/shm/${folder}`])
    })
    afterAll(async () => {
      for (const other of others) await other.kill()
      rmSync(`/dev/shm/${folder}`, { recursive: true, force: true })
    })

    it('shares a device; who is not in it cannot open it', async () => {
      const first = start(ann, group)
      expect(await first.hears()).toContain('endpoint')
      const second = start(bob, group)
      expect(await second.hears()).toContain('endpoint')
      const third = start(eve, eve)
      expect(await third.ends()).toMatch(/EADDRINUSE/)
      // The one who made the segment goes; the other one still has the device, and a new one comes to it.
      await first.kill()
      const fourth = start(ann, group)
      expect(await fourth.hears()).toContain('endpoint')
    })
  },
)
