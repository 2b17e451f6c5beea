/** A process that has closed its devices ends: no thread of theirs keeps it alive. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { startable } from '../entries.ts'
import { loopbackDevice } from '../loopback.ts'

const { file, execArgv } = startable(new URL('./ends.process.ts', import.meta.url))

it.skipIf(!nativeAvailable).each([
  [loopbackDevice(1), 'poster'],
  [`shm:ends-${process.pid}`, 'poster'],
  [`shm:ends-${process.pid}`, 'thread'],
])('%s, served by its %s', (device, engine) => {
  const { status, signal, stdout } = spawnSync(process.execPath, [...execArgv, file, device, engine], {
    ...{ encoding: 'utf8', timeout: 30_000 },
  })
  expect({ status, signal, stdout }).toEqual({ status: 0, signal: null, stdout: 'closed\n' })
})
