/** Named segments where /dev/shm is as small as a container has it, 64 MiB, and when it is full: an error, never a signal. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'

/** Runs Node with a /dev/shm of its own. */
function run(mib: number, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const script = `mount -t tmpfs -o size=${mib}m tmpfs /dev/shm && exec "$@"`
  return spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', process.execPath, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
}

const possible = nativeAvailable && run(1, ['-e', '0']).status === 0
const index = new URL('../../dist/index.js', import.meta.url).href

describe.skipIf(!possible)('a small /dev/shm (needs the right to mount)', () => {
  it('of 64 MiB holds a segment; when it is full, that is ENOMEM with the remedy, and what is there goes on', () => {
    const { stdout, stderr, status, signal } = run(64, [fileURLToPath(new URL('./small-shm.mjs', import.meta.url))])
    expect({ stderr, status, signal }).toEqual({ stderr: '', status: 0, signal: null })
    const seen = JSON.parse(stdout)
    expect(seen).toMatchObject({ before: true, full: { code: 'ENOMEM' }, filled: 'ENOSPC', again: null })
    expect(seen.full.message).toMatch(/\/dev\/shm has no .*delete old segments.*docker run --shm-size.*VERBENA_SHM_MIB/)
    // Most of it is the table of keys.
    expect(seen.fresh).toBeLessThan(22)
    expect(seen.firstMib).toBeGreaterThan(38)
    expect(seen.secondMib).toBe(seen.firstMib)
    expect(seen.fullMib - seen.afterMib).toBeGreaterThan(seen.firstMib - 6)
    expect(seen.while).toMatchObject({ exchange: true, later: true, mrs: null })
    for (const what of ['alloc', 'cqs', 'pds', 'qps', 'contexts']) {
      expect([what, seen.while[what]?.code]).toEqual([what, 'ENOMEM'])
      expect(seen.while[what].message).toMatch(/docker run --shm-size/)
    }
  })

  it('that cannot hold even an empty one is ENOMEM, and nothing is left of it', () => {
    const program = `
      import { readdirSync } from 'node:fs'
      import { openDevice } from ${JSON.stringify(index)}
      try { openDevice('shm:small') } catch ({ code, message }) { console.log(JSON.stringify({ code, message, files: readdirSync('/dev/shm') })) }`
    const { stdout, stderr } = run(4, ['--input-type=module', '-e', program])
    expect(stderr).toBe('')
    const seen = JSON.parse(stdout)
    expect(seen).toMatchObject({ code: 'ENOMEM', files: [] })
    expect(seen.message).toMatch(
      /segment 'small' could not be created.*\(\d of 4 MiB are free\).*docker run --shm-size/,
    )
  })

  it('VERBENA_SHM_MIB may be small; what it must not be is said when a device is opened', () => {
    const program = `
      import { openDevice } from ${JSON.stringify(index)}
      const said = []
      for (const device of ['shm0', 'shm:small'])
        try { openDevice(device).alloc(600_000); said.push('ok') } catch ({ code, message }) { said.push(code + ' ' + message) }
      console.log(JSON.stringify(said))
      process.exit()`
    const said = (mib: string): string[] => {
      const { stdout, stderr } = run(64, ['--input-type=module', '-e', program], { VERBENA_SHM_MIB: mib })
      expect(stderr).toBe('')
      return JSON.parse(stdout)
    }
    expect(said('1')).toEqual(['ok', 'ok'])
    for (const text of said('0')) expect(text).toMatch(/^EINVAL .*VERBENA_SHM_MIB must be an integer from 1 to 2048/)
  })
})
