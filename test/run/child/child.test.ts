/** `verbena/run` as it is built: programs as child processes, what they are told, and that nothing stays behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/native/index.ts'
import { readRecords } from '../../../src/run/child/records.ts'
import type { TraceRecord } from '../../../src/run/watch/index.ts'
import { runChildModule } from '../../built.ts'
import { holds } from '../../property.ts'

const actions = '/proc/sys/kernel/seccomp/actions_avail'
const canRun = nativeAvailable && existsSync(actions) && readFileSync(actions, 'latin1').includes('user_notif')

const { run } = (await import(pathToFileURL(runChildModule).href)) as typeof import('../../../src/run/child/index.ts')
const devices = [`shm:run-child-${process.pid}`]
const isThere = (pid: number): boolean => existsSync(`/proc/${pid}/cwd`) && !/\) Z /.test(stat(pid))
const stat = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return ') Z '
  }
}

describe.skipIf(!canRun)('run', () => {
  it('gives a program its adapter, streams, folder, variables, and arguments; counts are there at its end', async () => {
    const script = 'ls /sys/class/infiniband; pwd; echo $WORD $1; cat >&2; exit 3'
    const env = { ...process.env, WORD: 'word' }
    const child = await run('sh', ['-c', script, 'sh', 'an argument'], {
      ...{ devices, names: ['rxe5'], counters: true, env, cwd: '/' },
    })
    child.stdin.end('to the program')
    const [ended, out, errors] = await Promise.all([child.ended, text(child.stdout), text(child.stderr)])
    expect({ ...ended, out, errors }).toEqual({
      ...{ code: 3, signal: null, out: 'rxe5\n/\nword an argument\n', errors: 'to the program' },
    })
    expect(child.exitCode).toBe(3)
    expect(child.counters).toMatchObject({
      adapters: [{ name: 'rxe5', device: devices[0], commands: 0 }],
      programs: [],
    })
  })

  it('starts several at once, which end by their signals and by an abort, with all that came of them', async () => {
    const abort = new AbortController()
    const script = 'sleep 1000 & echo $!; sleep 1000'
    const [killed, ended, aborted] = await Promise.all([
      run('sleep', ['1000'], { devices }),
      run('sh', ['-c', script], { devices }),
      run('sh', ['-c', script], { devices, signal: abort.signal }),
    ])
    const pids = await Promise.all(
      [ended, aborted].map(async ({ stdout }) => Number(String(await once(stdout, 'data')))),
    )
    expect(pids.map(isThere)).toEqual([true, true])
    expect(killed.kill('SIGUSR1')).toBe(true)
    ended.end()
    abort.abort(new Error('enough'))
    expect(await killed.ended).toEqual({ code: null, signal: 'SIGUSR1' })
    expect(await ended.ended).toEqual({ code: null, signal: 'SIGKILL' })
    await expect(aborted.ended).rejects.toThrow('enough')
    expect(pids.map(isThere)).toEqual([false, false])
    expect(killed.kill()).toBe(false)
  })

  it('fails where the program or its adapters cannot be', async () => {
    await expect(run('no-such-program', [], { devices })).rejects.toMatchObject({
      ...{ name: 'RunFailure', code: 'ENOENT', message: expect.stringMatching(/^no-such-program: there is no such/) },
    })
    await expect(run('true', [], { devices, names: ['mlx5_0'] })).rejects.toMatchObject({
      message: expect.stringMatching(/a name that begins with rxe/),
    })
    await expect(run('true', [], { devices, cwd: '/no/such/folder' })).rejects.toMatchObject({
      ...{ code: 'ENOENT', message: 'cwd: there is no folder /no/such/folder' },
    })
    await expect(run('true', [], { signal: AbortSignal.abort() })).rejects.toThrow(/abort/)
  })

  it('ends its programs when this process is killed', async () => {
    const script = `
      import { run } from ${JSON.stringify(pathToFileURL(runChildModule).href)}
      const child = await run('sleep', ['1000'], { devices: ${JSON.stringify(devices)} })
      console.log(child.pid)`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const pid = Number(String(await once(parent.stdout, 'data')))
    expect(isThere(pid)).toBe(true)
    parent.kill('SIGKILL')
    await expect.poll(() => isThere(pid)).toBe(false)
  })
})

it('records are whole, however their bytes come', () =>
  holds(
    fc.asyncProperty(fc.array(fc.string()), fc.array(fc.integer({ min: 1, max: 30 })), async (names, sizes) => {
      const bytes = Buffer.from(names.map((program) => `${JSON.stringify({ program })}\n`).join(''))
      const chunks: Buffer[] = []
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes[i] ?? 1000
        chunks.push(bytes.subarray(at, at + size))
        at += size
      }
      const seen: TraceRecord[] = []
      await readRecords(Readable.from(chunks, { objectMode: false }), (record) => seen.push(record))
      expect(seen).toEqual(names.map((program) => ({ program })))
    }),
    100,
  ))
