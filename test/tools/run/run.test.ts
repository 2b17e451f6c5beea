/** `verbena run` as a command. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/native/index.ts'
import { command } from '../../built.ts'
import { outcome, startProcess } from '../../cli/run.ts'

const actions = '/proc/sys/kernel/seccomp/actions_avail'
const canRun = nativeAvailable && existsSync(actions) && readFileSync(actions, 'latin1').includes('user_notif')
const device = ['--device', `shm:run-test-${process.pid}`]

async function run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return await outcome(startProcess(['run', ...args]))
}

describe.skipIf(!canRun)('verbena run', () => {
  it('shows its adapter to a program, whose exit code is its own', async () => {
    const script = 'cat /sys/class/infiniband/*/ports/1/state; exit 3'
    const result = await run(...device, '--name', 'rxe7', '--', 'sh', '-c', `ls /sys/class/infiniband; ${script}`)
    expect(result).toEqual({ code: 3, stdout: 'rxe7\n4: ACTIVE\n', stderr: '' })
  })

  it('below another one uses that', async () => {
    const inner = [process.execPath, command, 'run']
    const ls = ['ls', '/sys/class/infiniband']
    expect(await run(...device, ...inner, ...ls)).toMatchObject({ code: 0, stdout: 'rxe0\n' })
    const asked = await run(...device, ...inner, '--name', 'rxe1', '--', ...ls)
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringMatching(/--name: this is below another/) })
  })

  it('ends as a shell does when there is no such program', async () =>
    expect(await run(...device, 'no-such-program')).toMatchObject({
      code: 127,
      stderr: expect.stringMatching(/^verbena: no-such-program: there is no such program: give its path/),
    }))

  it.each<[string, NodeJS.ProcessEnv]>([
    ['a profiler', { NODE_V8_COVERAGE: join(tmpdir(), `verbena-run-test-${process.pid}`) }],
    ['options of Node.js', { NODE_OPTIONS: '--max-http-header-size=9000' }],
  ])('ends as well where Node.js takes its threads down itself: with %s', async (_, env) => {
    expect(
      await outcome(startProcess(['run', ...device, '--', 'sh', '-c', 'exit 3'], { env: { ...process.env, ...env } })),
    ).toMatchObject({ code: 3 })
    if (env.NODE_V8_COVERAGE) rmSync(env.NODE_V8_COVERAGE, { recursive: true })
  })

  it('says what was counted, also as JSON', async () => {
    const { code, stderr } = await run(...device, '--counters', '--json', '--', 'true')
    expect({ code, said: JSON.parse(stderr) }).toMatchObject({
      code: 0,
      said: { type: 'counters', programs: [], adapters: [{ name: 'rxe0', commands: 0, drops: 0 }] },
    })
  })

  it('says what is wrong with its options', async () => {
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('missing required argument') })
    const unknown = await run('--device', 'nothing', '--', 'true')
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing') })
  })
})
