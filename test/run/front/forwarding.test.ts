/** Signals that come to the command before it knows its program. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { startable } from '../../entries.ts'

const { file, execArgv } = startable(new URL('./forwarding.process.ts', import.meta.url))
const ends = (how: string): unknown => {
  const { stdout, status, signal } = spawnSync(process.execPath, [...execArgv, file, how], { encoding: 'utf8' })
  return { stdout, status, signal }
}

it('a signal while the program is started is for the program', () =>
  expect(ends('spawns')).toEqual({ stdout: 'its program: SIGTERM\n', status: 0, signal: null }))
it('a signal before that ends the command', () =>
  expect(ends('waits')).toEqual({ stdout: '', status: null, signal: 'SIGTERM' }))
